"""Models behind http:// URLs have the values of the local file, and fetch no unneeded bytes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support.models.paged import KINDS, stored
from support.models.small import sparse
from support.processes.subprocesses import facts_from
from support.remote.models import floats, write_external, write_inline, write_sparse_inline
from support.remote.range_server import Server, serving

import onnxmap

pytest.importorskip("aiohttp")
MIB = 1 << 20


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path) as told:
        yield told


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_the_local_file(server: Server, kind: str) -> None:
    case = stored(kind)
    case.write(server.folder)
    model = onnxmap.load(f"{server.url}/model.onnx")
    tensor = model.initializers["t"]
    local = onnxmap.load(server.folder / "model.onnx").initializers["t"]
    assert model.io == "remote"
    for array in (tensor.numpy(), model.views()["t"]):
        np.testing.assert_array_equal(array, case.values)
        assert array.dtype == case.values.dtype
    np.testing.assert_array_equal(tensor[3:7], case.values[3:7])
    assert not tensor.is_view
    assert (tensor.shape, tensor.nbytes, tensor.offset) == (
        local.shape,
        local.nbytes,
        local.offset,
    )
    if case.values.dtype != object:
        assert tensor.tobytes() == local.tobytes()
        np.testing.assert_array_equal(tensor.numpy(dtype="float32"), local.numpy(dtype="float32"))
        copy = tensor.numpy(writable=True)
        copy[:] = 0
        np.testing.assert_array_equal(tensor.numpy(), case.values)


def test_sparse_tensors(server: Server) -> None:
    (server.folder / "m.onnx").write_bytes(sparse())
    local = onnxmap.load(server.folder / "m.onnx").graph.sparse_initializers
    found = onnxmap.load(f"{server.url}/m.onnx").graph.sparse_initializers
    assert len(found) > 0
    for name, tensor in local.items():
        np.testing.assert_array_equal(found[name].to_dense(), tensor.to_dense())


def test_its_attributes(server: Server) -> None:
    values = floats(1000)
    write_external(server.folder / "a/m.onnx", values, b"sub/w.bin", server.folder / "a/sub/w.bin")
    url = f"{server.url}/a/m.onnx"
    model = onnxmap.load(url)
    tensor = model.initializers["t"]
    assert (model.path, model.io) == (url, "remote")
    assert tensor.file == f"{server.url}/a/sub/w.bin"
    assert model.external_files == [tensor.file]
    assert onnxmap.load(url.encode()).path == url
    inline = write_inline(server.folder / "b.onnx", {"x": values})
    found = onnxmap.load(f"{server.url}/{inline.name}").initializers["x"]
    assert found.file == f"{server.url}/b.onnx"
    assert found.offset == onnxmap.load(inline).initializers["x"].offset


def test_listing_two_gigabytes_moves_less_than_two_megabytes(server: Server) -> None:
    write_sparse_inline(server.folder / "big.onnx", 130, 16 * MIB)
    assert (server.folder / "big.onnx").stat().st_size > 2e9
    model = onnxmap.load(f"{server.url}/big.onnx")
    shapes = model.initializers.shapes()
    assert shapes == [(4 * MIB,)] * 130
    assert model.initializers.names()[129] == "layer.129.weight"
    assert len(set(model.initializers.dtypes())) == 1
    assert server.sent < 2 * MIB
    assert len(server.reads) <= 132
    server.forget()
    tensor = model.initializers["layer.64.weight"]
    np.testing.assert_array_equal(tensor[5:10], np.zeros(5, np.float32))
    assert server.sent < 100


def test_a_tensor_moves_its_own_bytes_in_parallel(server: Server) -> None:
    tensors = {"small": floats(20_000), "large": floats(12 * MIB), "other": floats(MIB)}
    write_inline(server.folder / "m.onnx", tensors)
    large = onnxmap.load(f"{server.url}/m.onnx").initializers["large"]
    server.forget()
    server.gate.clear()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(large.numpy)
        server.wait_for(6)
        server.gate.set()
        np.testing.assert_array_equal(answer.result(60), tensors["large"])
    # A busy machine may take so long that the file is looked at again, by a request for a byte.
    assert server.sent - server.looks == tensors["large"].nbytes
    assert sorted(nbytes for _, nbytes in server.reads) == [8 * MIB] * 6
    server.forget()
    out = np.empty(12 * MIB, np.float16)
    large.numpy(out=out)
    np.testing.assert_array_equal(out, tensors["large"].astype(np.float16))
    assert server.sent - server.looks == tensors["large"].nbytes


def test_many_requests_at_once_but_not_too_many(server: Server) -> None:
    values = floats(40 * MIB)
    write_inline(server.folder / "m.onnx", {"v": floats(20_000), "w": values})
    tensor = onnxmap.load(f"{server.url}/m.onnx").initializers["w"]
    server.forget()
    server.gate.clear()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(tensor.numpy)
        server.wait_for(16)
        server.gate.set()
        np.testing.assert_array_equal(answer.result(60), values)
    assert server.most_at_once == 16
    assert len(server.reads) == 20


def test_a_small_file_is_one_request(server: Server) -> None:
    write_inline(server.folder / "m.onnx", {"w": floats(100)})
    onnxmap.load(f"{server.url}/m.onnx")
    assert len(server.reads) == 1
    assert {method for method, _, _ in server.requests} == {"GET"}


def test_files_of_other_messages(server: Server) -> None:
    from onnx import TensorProto, numpy_helper

    proto = numpy_helper.from_array(floats(30_000), "x")
    (server.folder / "input_0.pb").write_bytes(proto.SerializeToString())
    url = f"{server.url}/input_0.pb"
    np.testing.assert_array_equal(onnxmap.load_tensor(url).numpy(), numpy_helper.to_array(proto))
    np.testing.assert_array_equal(onnxmap.load_value(url, "tensor"), numpy_helper.to_array(proto))
    view = onnxmap.load_proto(url, "TensorProto")
    assert view.data_type == TensorProto.FLOAT
    assert view.raw_data == proto.raw_data
    (server.folder / "ops.onnx").write_bytes(b"\x0a\x09ONNXOPSET")
    assert list(onnxmap.load_operator_set(f"{server.url}/ops.onnx").operators) == []
    (server.folder / "empty.onnx").write_bytes(b"")
    with pytest.raises(onnxmap.ParseError) as caught:
        onnxmap.load(f"{server.url}/empty.onnx")
    assert caught.value.code == "model.empty"


def test_texts_and_buffers(server: Server) -> None:
    """These reads use addresses, and do not hold the interpreter lock."""
    values = floats(200_000)
    write_inline(server.folder / "m.onnx", {"w": values})
    model = onnxmap.load(f"{server.url}/m.onnx")
    local = onnxmap.load(server.folder / "m.onnx")
    assert memoryview(model.initializers["w"]).tobytes() == values.tobytes()
    assert str(model.proto) == str(local.proto)


def test_readers_in_many_threads(server: Server) -> None:
    tensors = {f"t{i}": floats(50_000, seed=i) for i in range(24)}
    write_inline(server.folder / "m.onnx", tensors)
    model = onnxmap.load(f"{server.url}/m.onnx")
    begin = threading.Barrier(8)

    def read(worker: int) -> None:
        begin.wait(30)
        for i in range(24):
            name = f"t{(i * 5 + worker) % 24}"
            tensor = model.initializers[name]
            if worker % 2:
                np.testing.assert_array_equal(tensor.numpy(), tensors[name])
            else:  # all threads want the same addresses, and hold the interpreter lock meanwhile
                assert memoryview(tensor).tobytes() == tensors[name].tobytes()

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(read, worker) for worker in range(8)]:
            done.result(120)


def test_models_share_a_data_file(server: Server) -> None:
    values = floats(50_000)
    write_external(server.folder / "a.onnx", values, b"w.bin", server.folder / "w.bin")
    write_external(server.folder / "b.onnx", values, b"w.bin")
    models = [onnxmap.load(f"{server.url}/{name}.onnx") for name in "ab"]
    views = [memoryview(model.initializers["t"]) for model in models]
    first, second = (np.asarray(view).__array_interface__["data"][0] for view in views)
    assert first == second


def test_a_forked_process_reads_on(server: Server) -> None:
    write_inline(server.folder / "m.onnx", {"w": floats(50_000)})
    facts = facts_from(
        """
        import os, warnings
        import numpy as np
        import onnxmap
        model = onnxmap.load(sys.argv[1])
        before = model.initializers["w"].numpy().sum()
        warnings.simplefilter("ignore", DeprecationWarning)  # fork in a process with threads
        child = os.fork()
        if child == 0:
            same = model.initializers["w"].numpy().sum() == before
            os._exit(0 if same else 1)
        report(status=os.waitpid(child, 0)[1])
        """,
        f"{server.url}/m.onnx",
    )
    assert facts["status"] == 0


def test_the_page_cache_holds_nothing_of_it(server: Server) -> None:
    write_inline(server.folder / "model.onnx", {"t": floats(100_000)})
    model = onnxmap.load(f"{server.url}/model.onnx")
    model.prefetch()
    model.arrays()
    assert (model.residency().resident, model.residency().total) == (0, 400_000)


def test_safetensors_and_shards(server: Server) -> None:
    arrays = {f"w{i}": floats(30_000) + i for i in range(4)}
    model = onnxmap.from_arrays(arrays, {"format": "pt"})
    onnxmap.save_safetensors(model, server.folder / "w.safetensors")
    onnxmap.save_safetensors(
        model, server.folder / "s.safetensors", max_shard_size_bytes=200_000, metadata=False
    )
    for name in ("w.safetensors", "s.safetensors.index.json"):
        server.forget()
        found = onnxmap.load_safetensors(f"{server.url}/{name}")
        assert server.sent < 70_000  # the headers
        assert set(found.initializers) == set(arrays)
        for key, array in arrays.items():
            np.testing.assert_array_equal(found.initializers[key].numpy(), array)
    with pytest.raises(FileNotFoundError):
        onnxmap.load_safetensors(f"{server.url}/none.safetensors")
