"""Pickled tensors: by reference if a file has the bytes, otherwise by value."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from support.models.sample import external, floats, model_of, write
from support.processes.subprocesses import facts_from
from support.tensors.places import place
from support.tensors.stored import NUMERIC, number_of, random_codes, stored, write_sparse

import onnxmap

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)
BY_REFERENCE = ["mmap", "read", "external"]


def again(tensor: onnxmap.Tensor, protocol: int = pickle.HIGHEST_PROTOCOL) -> onnxmap.Tensor:
    found = pickle.loads(pickle.dumps(tensor, protocol))
    assert isinstance(found, onnxmap.Tensor)
    return found


def assert_same_tensor(ours: onnxmap.Tensor, theirs: onnxmap.Tensor) -> None:
    for fact in (
        "name",
        "dtype",
        "shape",
        "size",
        "ndim",
        "nbytes",
        "doc_string",
        "file",
        "offset",
    ):
        assert getattr(ours, fact) == getattr(theirs, fact), fact
    assert dict(ours.metadata_props) == dict(theirs.metadata_props)
    array, other = ours.numpy(), theirs.numpy()
    assert (array.dtype, array.shape) == (other.dtype, other.shape)
    assert not array.flags.writeable
    if array.dtype == object:
        assert array.tolist() == other.tolist()
    else:
        assert array.tobytes() == other.tobytes()


def with_text(tensor: TensorProto) -> TensorProto:
    tensor.doc_string = "what it is"
    tensor.metadata_props.add(key="k", value="v")
    tensor.metadata_props.add(key="é", value="")
    return tensor


@pytest.mark.parametrize("where", [*BY_REFERENCE, "loads"])
@pytest.mark.parametrize("type_name", NUMERIC)
def test_every_type(type_name: str, where: str, tmp_path: Path) -> None:
    data = stored(type_name, random_codes(type_name, 105))
    tensor = place(where, type_name, [3, 5, 7], data, tmp_path)
    found = again(tensor)
    assert_same_tensor(found, tensor)
    assert found.tobytes() == data
    assert found.is_external == (where != "loads")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("inline", [True, False])
def test_text_fields_and_protocols(protocol: int, inline: bool, tmp_path: Path) -> None:
    np.arange(3, dtype=np.float32).tofile(tmp_path / "w.bin")
    message = floats("w", 3) if inline else external("w", [3], {"location": "w.bin"})
    path = write(model_of([with_text(message)]), tmp_path / "model.onnx")
    tensor = onnxmap.load(path).initializers["w"]
    found = again(tensor, protocol)
    assert_same_tensor(found, tensor)
    assert dict(found.metadata_props) == {"k": "v", "é": ""}
    assert found.is_external
    assert Path(found.file) == (path if inline else tmp_path / "w.bin")
    assert_same_tensor(again(found, protocol), tensor)  # pickled a second time
    assert "\n" not in repr(found)


TYPED: dict[str, dict[str, Any]] = {
    "INT64": {"int64_data": [1, -2, 3]},
    "FLOAT16": {"int32_data": [0x3C00, 0x7C01, 0]},
    "INT4": {"int32_data": [0x21, 0x0F]},
    "FLOAT6E2M3": {"int32_data": [1, 2, 63]},
    "UINT2": {"int32_data": [0x1B]},
    "BOOL": {"int32_data": [1, 0, 1]},
    "UINT64": {"uint64_data": [1, 2, (1 << 64) - 1]},
    "STRING": {"string_data": [b"a", b"", "ü".encode()]},
}


@pytest.mark.parametrize("in_file", [True, False])
@pytest.mark.parametrize("type_name", TYPED)
def test_typed_fields_go_by_value(type_name: str, in_file: bool, tmp_path: Path) -> None:
    message = TensorProto(name="t", dims=[3], data_type=number_of(type_name), **TYPED[type_name])
    path = write(model_of([with_text(message)]), tmp_path / "model.onnx")
    model = onnxmap.load(path) if in_file else onnxmap.loads(path.read_bytes())
    tensor = model.initializers["t"]
    data = pickle.dumps(tensor)
    values = tensor.numpy()
    path.unlink()
    found = pickle.loads(data)
    assert (found.name, found.dtype, found.shape) == ("t", tensor.dtype, (3,))
    assert found.doc_string == "what it is"
    assert dict(found.metadata_props) == {"k": "v", "é": ""}
    assert (found.is_external, found.file) == (False, None)
    assert found.numpy().dtype == values.dtype
    if type_name == "STRING":
        assert found.numpy().tolist() == values.tolist()
    else:
        assert found.numpy().tobytes() == values.tobytes()
        assert found.tobytes() == tensor.tobytes()
    assert_same_tensor(again(found), found)


def test_one_packed_run_goes_by_reference(tmp_path: Path) -> None:
    values = np.arange(5000, dtype=np.float32)
    message = TensorProto(name="t", dims=[5000], data_type=1, float_data=values)
    path = write(model_of([message]), tmp_path / "model.onnx")
    tensor = onnxmap.load(path).initializers["t"]
    data = pickle.dumps(tensor)
    assert len(data) < 1000
    found = pickle.loads(data)
    assert_same_tensor(found, tensor)
    assert found.is_view
    assert found.numpy().tolist() == values.tolist()


def test_by_value_costs_its_bytes_and_little_more(tmp_path: Path) -> None:
    tensor = place("loads", "FLOAT", [25_000], bytes(100_000), tmp_path)
    assert 100_000 < len(pickle.dumps(tensor)) < 101_000
    found = again(tensor)
    assert found.numpy(copy=True).tobytes() == bytes(100_000)
    assert found.file is None


def test_copies_are_the_tensor_itself(tmp_path: Path) -> None:
    for where in [*BY_REFERENCE, "loads"]:
        tensor = place(where, "FLOAT", [2], bytes(8), tmp_path)
        assert copy.copy(tensor) is tensor
        assert copy.deepcopy(tensor) is tensor
        assert copy.deepcopy({"a": [tensor]})["a"][0] is tensor


def test_a_tensor_that_cannot_be_read_is_not_pickled(tmp_path: Path) -> None:
    message = TensorProto(name="bad", dims=[3], data_type=1, raw_data=b"1234")
    path = write(model_of([message]), tmp_path / "model.onnx")
    for model in (onnxmap.load(path), onnxmap.loads(path.read_bytes())):
        with pytest.raises(onnxmap.TensorError) as caught:
            pickle.dumps(model.initializers["bad"])
        assert caught.value.code == "tensor.data_size"
    missing = external("w", [3], {"location": "missing.bin"})
    path = write(model_of([missing]), tmp_path / "model.onnx")
    with pytest.raises(FileNotFoundError):
        pickle.dumps(onnxmap.load(path).initializers["w"])


@pytest.fixture
def large(tmp_path: Path) -> Iterator[Path]:
    """A model of 1.8 GB. Only the first and last bytes of its tensor are not a hole."""
    path = tmp_path / "large.onnx"
    write_sparse(path, "FLOAT", [3, 150_000_000], np.float32([1, 2, 3, 4]).tobytes())
    assert path.stat().st_size > 1_800_000_000
    yield path
    path.unlink()


def test_a_tensor_of_a_large_model_is_small_when_pickled(large: Path) -> None:
    tensor = onnxmap.load(large).initializers["t"]
    for protocol in PROTOCOLS:
        assert len(pickle.dumps(tensor, protocol)) < 1000
    found = again(tensor)
    assert (found.file, found.offset, found.nbytes) == (str(large), tensor.offset, 1_800_000_000)
    assert found[0, :4].tolist() == found[2, -4:].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_another_process_opens_the_same_bytes(large: Path, method: str, tmp_path: Path) -> None:
    code = """
    import multiprocessing, pickle, warnings
    from concurrent.futures import ProcessPoolExecutor
    import onnxmap
    from support.processes.pickle_worker import name_of, open_pickled
    warnings.simplefilter("ignore", DeprecationWarning)  # fork, while NumPy has threads of its own
    method, *paths = sys.argv[1:]
    found = {}
    if __name__ == "__main__":
        context = multiprocessing.get_context(method)
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            for path in paths:
                tensor = onnxmap.load(path).initializers["t"]
                facts = found[path] = pool.submit(open_pickled, pickle.dumps(tensor)).result()
                facts["edges"] = [part.hex() for part in facts["edges"]]
                facts["same"] = pool.submit(name_of, tensor).result() == "t"  # pickled by the pool
        report(**found)
    """
    outside = tmp_path / "small.onnx"
    offset = onnxmap.load(large).initializers["t"].offset
    entries = {"location": large.name, "offset": str(offset), "length": "1800000000"}
    write(model_of([external("t", [3, 150_000_000], entries)]), outside)
    found = facts_from(code, method, str(large), str(outside))
    edge = np.float32([1, 2, 3, 4]).tobytes().hex()
    assert set(found) == {str(large), str(outside)}
    for facts in found.values():
        assert facts["edges"] == [edge, edge]
        assert (facts["name"], facts["dtype"], facts["shape"]) == ("t", "FLOAT", [3, 150_000_000])
        assert facts["is_view"]
        assert facts["same"]
        assert facts["mapped"] >= 1


def test_unnamed_scalar_and_empty_tensors(tmp_path: Path) -> None:
    messages = [
        TensorProto(dims=[], data_type=7, raw_data=bytes(range(8))),
        TensorProto(name="empty", dims=[0, 3], data_type=1, raw_data=b""),
        TensorProto(name="no data", dims=[0], data_type=7),
    ]
    path = write(model_of(messages), tmp_path / "model.onnx")
    for tensor in onnxmap.load(path).initializers.all():
        found = again(tensor)
        assert (found.name, found.shape, found.dtype) == (tensor.name, tensor.shape, tensor.dtype)
        assert found.numpy().tobytes() == tensor.numpy().tobytes()


def test_a_tensor_that_is_the_whole_file(tmp_path: Path) -> None:
    path = write(floats("w", 5), tmp_path / "input_0.pb")
    assert_same_tensor(again(onnxmap.load_tensor(path)), onnxmap.load_tensor(path))


def test_tensors_within_other_objects(tmp_path: Path) -> None:
    tensor = place("mmap", "FLOAT", [3], bytes(12), tmp_path)
    one, other = pickle.loads(pickle.dumps({"a": tensor, "b": [tensor]})).values()
    assert other == [one]  # pickled once, and referred to twice
    assert_same_tensor(one, tensor)


def test_paths_of_all_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path relative to a folder that is left, one through a link, and one that is not UTF-8."""
    model = write(model_of([floats("w", 3)]), tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    relative = pickle.dumps(onnxmap.load("model.onnx").initializers["w"])
    monkeypatch.chdir("/")
    assert pickle.loads(relative).file == str(model)
    (tmp_path / "sub").mkdir()
    link = tmp_path / "sub" / "link.onnx"
    link.symlink_to(model)
    assert again(onnxmap.load(link).initializers["w"]).file == str(model)  # the link may go
    other = os.fsencode(tmp_path) + b"/\xff.onnx"
    Path(os.fsdecode(other)).write_bytes(model.read_bytes())
    found = again(onnxmap.load(other).initializers["w"])
    assert os.fsencode(found.file) == other
    assert found.numpy().tolist() == [0, 1, 2]
