"""`Model.to_dask()`: arrays of references, read chunk by chunk on the schedulers of one machine."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import numpy as np
import pytest
from onnx import TensorProto
from support.models.sample import external, floats, model_of, write
from support.run_options import EXHAUSTIVE
from support.tensors.places import PLACES, place
from support.tensors.stored import NUMERIC, model_head, random_codes, stored, values_of

import onnxmap
from onnxmap.interop import dask as interop

SHAPE = (3, 5, 7)
CHUNKS: list[Any] = ["auto", "20B", -1, 2, (1, 5, 7), (3, 2, 3), {0: 2}, ((1, 2), (5,), (3, 4))]


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    with dask.config.set(scheduler="sync"):
        yield


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The (first element, count) of each chunk that is read."""
    seen: list[tuple[int, int]] = []
    read = interop._read

    def noting(tensor: onnxmap.Tensor, shape: tuple[int, ...], keys: tuple[Any, ...]) -> Any:
        found = read(tensor, shape, keys)
        chosen = np.arange(np.prod(shape, dtype=int)).reshape(shape)[keys]
        seen.append((int(chosen.flat[0]) if chosen.size else 0, found.size))
        return found

    monkeypatch.setattr(interop, "_read", noting)
    return seen


def large(folder: Path, shape: tuple[int, ...]) -> tuple[Path, np.ndarray[Any, Any]]:
    values = np.random.default_rng(0).standard_normal(shape, np.float32)
    path = folder / "large.onnx"
    path.write_bytes(model_head("FLOAT", shape, values.nbytes) + values.tobytes())
    return path, values


def model_with(where: str, type_name: str, folder: Path) -> onnxmap.Model:
    place(where, type_name, SHAPE, stored(type_name, random_codes(type_name, 105)), folder)
    (path,) = folder.glob("*.onnx")
    return onnxmap.load(path, io="read" if where == "read" else "auto")


@pytest.mark.parametrize("where", [place for place in PLACES if place != "loads"])
@pytest.mark.parametrize("type_name", NUMERIC)
def test_every_type_in_chunks_of_any_shape(type_name: str, where: str, tmp_path: Path) -> None:
    tried = CHUNKS if EXHAUSTIVE or type_name == "FLOAT" else CHUNKS[::3]
    values = values_of(type_name, random_codes(type_name, 105)).reshape(SHAPE)
    model = model_with(where, type_name, tmp_path)
    for chunks in tried:
        array = model.to_dask("t", chunks)["t"]
        assert (array.dtype, array.shape) == (values.dtype, SHAPE)
        for here in (array, pickle.loads(pickle.dumps(array))):  # this model, a reference
            found = here.compute()
            assert type(found) is np.ndarray
            assert (found.dtype, found.shape) == (values.dtype, SHAPE)
            assert found.tobytes() == values.tobytes()
            assert here[1:, ::-2, 3].compute().tobytes() == values[1:, ::-2, 3].tobytes()


@pytest.mark.parametrize("shape", [(2**58, 0), (0, 2**58), (3, 0, 2**50)])
def test_many_rows_without_elements_are_one_chunk(shape: tuple[int, ...]) -> None:
    """Chunks of the usual size would be billions of chunks."""
    array = onnxmap.loads(model_head("FLOAT", shape, 0)).to_dask()["t"]
    assert (array.shape, array.npartitions) == (shape, 1)


def test_auto_chunks_are_ranges_of_the_file(tmp_path: Path, reads: list[tuple[int, int]]) -> None:
    path, values = large(tmp_path, (4, 6, 100))
    model = onnxmap.load(path)
    for size, chunks in {
        "1MB": ((4,), (6,), (100,)),
        "5000B": ((2, 2), (6,), (100,)),
        "1000B": ((1,) * 4, (2, 2, 2), (100,)),
        "250B": ((1,) * 4, (1,) * 6, (62, 38)),
        "1B": ((1,) * 4, (1,) * 6, (1,) * 100),
    }.items():
        with dask.config.set({"array.chunk-size": size}):
            array = model.to_dask()["t"]
        assert array.chunks == chunks == model.to_dask(chunks=size)["t"].chunks
        reads.clear()
        assert array.compute().tobytes() == values.tobytes()
        assert len(reads) == array.npartitions
        assert min(reads)[0] == 0
        assert sum(count for _, count in reads) == values.size


def test_a_slice_reads_its_bytes(tmp_path: Path, reads: list[tuple[int, int]]) -> None:
    path, values = large(tmp_path, (100, 1000))
    array = onnxmap.load(path).to_dask()["t"]
    assert array[2:5].compute().tobytes() == values[2:5].tobytes()
    assert reads == [(2000, 3000)]
    reads.clear()
    assert array[7].compute().tobytes() == values[7].tobytes()
    assert reads == [(7000, 1000)]


@pytest.mark.parametrize(
    "key",
    [
        (slice(None), slice(1, 4), slice(None)), (-1, slice(None, None, -2)), (2, 3, 4),
        (slice(3, 1), 0), ([3, 1, 1], slice(2)), (slice(None), slice(None), [0, -1]),
        (slice(1, 3), [], 0), (None, 1), (..., 3), (np.int64(2), None, slice(5, None, 3)),
        (slice(None), np.arange(6) % 2 == 0),
    ],
    ids=str,
)  # fmt: skip
def test_indexing(key: Any, tmp_path: Path, reads: list[tuple[int, int]]) -> None:
    path, values = large(tmp_path, (4, 6, 10))
    model = onnxmap.load(path)
    for chunks in ("auto", (2, 2, 10), (3, 6, 4)):
        array = model.to_dask(chunks=chunks)["t"]
        found, expected = array[key].compute(), values[key]
        assert (found.shape, found.tobytes()) == (expected.shape, expected.tobytes())
    tensor = model.initializers["t"]
    reference, state = interop.reference_to(tensor), tensor._file_state()
    assert reference is not None
    assert state is not None
    source = interop.FileValues(reference, state, values.dtype, values.shape, tensor)
    reads.clear()
    assert source[key].tobytes() == expected.tobytes()
    assert sum(count for _, count in reads) <= values.size


def test_nothing_is_read_before_it_is_computed(
    tmp_path: Path, reads: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, values = large(tmp_path, (4, 6, 100))
    with monkeypatch.context() as without_samples:
        without_samples.setattr("onnxmap._read.pickled_tensors.digest_of", None)
        array = onnxmap.load(path).to_dask()["t"]
        assert (array.shape, array.dtype, reads) == (values.shape, values.dtype, [])
        with pytest.raises(TypeError, match="not callable"):
            pickle.dumps(array)
    assert pickle.loads(pickle.dumps(array)).compute().tobytes() == values.tobytes()


def test_the_names_of_arrays_identify_the_state_of_the_file(tmp_path: Path) -> None:
    path = write(model_of([floats("a", 10), floats("b", 10)]), tmp_path / "model.onnx")

    def names(**options: Any) -> list[str]:
        return [array.name for array in onnxmap.load(path).to_dask(**options).values()]

    first = names()
    assert first == names()
    assert len(set(first)) == 2
    assert not set(first) & set(names(chunks=3))
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert not set(first) & set(names())


def test_names_and_patterns_choose_tensors(tmp_path: Path) -> None:
    tensors = [floats("a.weight", 2), floats("a.bias", 2), floats("b.weight", 2)]
    model = onnxmap.load(write(model_of(tensors), tmp_path / "model.onnx"))
    assert list(model.to_dask()) == ["a.weight", "a.bias", "b.weight"]
    assert list(model.to_dask("*.weight")) == ["a.weight", "b.weight"]
    assert list(model.to_dask(["b.weight", "a.bias"])) == ["b.weight", "a.bias"]
    with pytest.raises(KeyError):
        model.to_dask(["c"])


@pytest.mark.parametrize("in_file", [True, False])
def test_values_that_no_file_has_go_with_the_task(in_file: bool, tmp_path: Path) -> None:
    piece = {"dims": [4], "data_type": 1}
    tensors = [
        TensorProto(name="text", dims=[2, 2], data_type=8, string_data=[b"a", b"", b"\xff", b"d"]),
        TensorProto(name="typed", dims=[3, 2], data_type=7, int64_data=[1, -2, 3, 4, 5, 6]),
        TensorProto(name="int4", dims=[3], data_type=22, int32_data=[0x21, 0x0F]),
        TensorProto(name="empty", dims=[0, 4], data_type=1),
        TensorProto(name="scalar", dims=[], data_type=7, int64_data=[7]),
        TensorProto(name="raw scalar", dims=[], data_type=16, raw_data=b"\x80\x3f"),
    ]
    for begin, end in ((0, 2), (2, 4)):
        part = TensorProto(name="segmented", **piece, raw_data=np.float32([begin, end]).tobytes())
        part.segment.begin, part.segment.end = begin, end
        tensors.append(part)
    path = write(model_of(tensors), tmp_path / "model.onnx")
    model = onnxmap.load(path) if in_file else onnxmap.loads(path.read_bytes())
    for chunks in ("auto", "1B", 1):
        arrays = model.to_dask(chunks=chunks)
        assert list(arrays) == list(model.initializers)
        again = model.to_dask(chunks=chunks)
        for name, array in arrays.items():
            expected = model.initializers[name].numpy()
            assert array.name == again[name].name
            for here in (array, cloudpickle.loads(cloudpickle.dumps(array))):
                found = here.compute()
                assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
                assert found.tolist() == expected.tolist()
        assert len(arrays["typed"].chunks[0]) == (1 if chunks == "auto" else 3)


def test_a_buffer_goes_with_the_task(tmp_path: Path) -> None:
    path, values = large(tmp_path, (30, 40))
    array = onnxmap.loads(path.read_bytes()).to_dask()["t"]
    assert len(pickle.dumps(array)) > values.nbytes
    assert pickle.loads(pickle.dumps(array)).compute().tobytes() == values.tobytes()
    assert onnxmap.loads(path.read_bytes()).to_dask()["t"].name == array.name  # by content


@pytest.mark.parametrize("inline", [True, False])
def test_a_reference_is_small_and_knows_a_changed_file(inline: bool, tmp_path: Path) -> None:
    values = np.arange(100_000, dtype=np.float32)
    message = TensorProto(name="w", dims=[1000, 100], data_type=1, raw_data=values.tobytes())
    data = tmp_path / "model.onnx"
    if not inline:
        data = tmp_path / "w.bin"
        values.tofile(data)
        message = external("w", [1000, 100], {"location": "w.bin"})
    path = write(model_of([message]), tmp_path / "model.onnx")
    array = onnxmap.load(path).to_dask(chunks=(10, 100))["w"]
    pickled = pickle.dumps(array)
    assert len(pickled) < 3000
    assert len(dict(array.dask)) == array.npartitions == 100  # no task for the reference

    def total() -> float:
        interop._opened.cache_clear()
        return float(pickle.loads(pickled).astype(np.float64).sum().compute())

    assert total() == values.sum(dtype=np.float64)
    original = data.read_bytes()
    copied = shutil.copy(data, tmp_path / "copy")
    os.utime(copied, ns=(0, 0))
    os.replace(copied, data)  # noqa: PTH105 -- another file with the same content
    assert total() == values.sum(dtype=np.float64)
    data.write_bytes(original[:-1])
    with pytest.raises(onnxmap.FileChangedError):
        total()
    end = original.index(values.tobytes()) + values.nbytes
    data.write_bytes(original[: end - 4] + b"\0\0\0\0" + original[end:])
    with pytest.raises(onnxmap.FileChangedError):
        total()
    data.unlink()
    with pytest.raises(FileNotFoundError):
        total()


def test_a_change_that_the_samples_miss(tmp_path: Path) -> None:
    """The samples of a file miss some changes, but its state shows them: here another time."""
    path, _ = large(tmp_path, (1000, 1000))
    pickled = pickle.dumps(onnxmap.load(path).to_dask()["t"])
    stat = path.stat()
    with path.open("r+b") as file:
        file.seek(stat.st_size // 2 + 20_000)
        file.write(b"\1\1\1\1")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000_000))
    interop._opened.cache_clear()
    with pytest.raises(onnxmap.FileChangedError, match="after to_dask"):
        pickle.loads(pickled).compute()


@pytest.mark.parametrize(("scheduler", "workers"), [("threads", 2), ("processes", 1)])
def test_schedulers(scheduler: str, workers: int, tmp_path: Path) -> None:
    path, values = large(tmp_path, (500, 200))
    arrays = onnxmap.load(path).to_dask(chunks=(50, 200))
    found = (arrays["t"].T @ arrays["t"]).compute(scheduler=scheduler, num_workers=workers)
    np.testing.assert_allclose(found, values.T @ values, rtol=1e-3, atol=1e-3)


def test_a_process_opens_a_tensor_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, values = large(tmp_path, (500, 200))
    array = pickle.loads(pickle.dumps(onnxmap.load(path).to_dask(chunks=(1, 200))["t"]))
    opened: list[str] = []
    open_reference = interop.open_reference

    def noting(reference: Any, io: str) -> onnxmap.Tensor:
        opened.append(io)
        return open_reference(reference, io)

    monkeypatch.setattr(interop, "open_reference", noting)
    assert array.compute().tobytes() == values.tobytes()
    assert opened == ["read"]
