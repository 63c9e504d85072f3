"""`Tensor.numpy(writable=True)`: the caller may write, and no other reader sees the writes."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.models.sample import external, model_of, write
from support.processes.subprocesses import facts_from
from support.run_options import SANITIZED
from support.tensors.stored import NUMERIC, in_buffer, random_codes, stored, values_of, write_sparse

import onnxmap

SMALL, LARGE = 37, (8 << 20) // 4 + 3
Reopen = Callable[[Path], onnxmap.Tensor]


def of(model: onnxmap.Model) -> onnxmap.Tensor:
    return model.initializers["t"]


# The place of the bytes, and how the model is opened. The first word says which file of
# `write_both`.
WAYS: dict[str, Reopen] = {
    "inline mmap": lambda folder: of(onnxmap.load(folder / "inline.onnx", io="mmap")),
    "inline read": lambda folder: of(onnxmap.load(folder / "inline.onnx", io="read")),
    "inline loads": lambda folder: of(onnxmap.loads((folder / "inline.onnx").read_bytes())),
    "external mmap": lambda folder: of(onnxmap.load(folder / "external.onnx", io="mmap")),
    "external read": lambda folder: of(onnxmap.load(folder / "external.onnx", io="read")),
    "external loads": lambda folder: of(
        onnxmap.loads((folder / "external.onnx").read_bytes(), external_root=folder)
    ),
}


def numbers(count: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.arange(count, dtype=np.float32)


def write_both(folder: Path, count: int) -> None:
    """The same tensor twice: in a model, and in a data file at an odd offset."""
    data = numbers(count).tobytes()
    buffer, _ = in_buffer("FLOAT", [count], data)
    (folder / "inline.onnx").write_bytes(buffer)
    (folder / "w.bin").write_bytes(b"head" * 7 + data + b"tail")
    entries = {"location": "w.bin", "offset": "28", "length": str(len(data))}
    write(model_of([external("t", [count], entries)]), folder / "external.onnx")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def mappings(folder: Path) -> int:
    return Path("/proc/self/maps").read_text().count(str(folder))


@pytest.mark.parametrize("count", [SMALL, LARGE])
@pytest.mark.parametrize("way", WAYS)
def test_writes_stay_with_the_writer(tmp_path: Path, way: str, count: int) -> None:
    write_both(tmp_path, count)
    before = contents(tmp_path)
    tensor = WAYS[way](tmp_path)
    view, first, second = tensor.numpy(), tensor.numpy(writable=True), tensor.numpy(writable=True)
    for array in (first, second):
        assert array.flags.writeable
        assert array.dtype == np.float32
        assert array.tobytes() == numbers(count).tobytes()
    first[...] = -1
    second[0], second[-1] = -2, -3
    assert (first == -1).all()
    assert (second[0], second[-1], second[1]) == (-2, -3, 1)
    for array in (view, tensor.numpy(), tensor.numpy(writable=True), WAYS[way](tmp_path).numpy()):
        assert array.tobytes() == numbers(count).tobytes()
    assert not view.flags.writeable
    assert contents(tmp_path) == before


@pytest.mark.parametrize("count", [SMALL, LARGE])
@pytest.mark.parametrize("way", WAYS)
def test_writable_arrays_outlive_the_model(tmp_path: Path, way: str, count: int) -> None:
    write_both(tmp_path, count)
    tensor = WAYS[way](tmp_path)
    array = tensor.numpy(writable=True)
    del tensor
    gc.collect()
    array += 1
    assert array.tobytes() == (numbers(count) + 1).tobytes()
    kept = array[3:5]
    del array
    gc.collect()
    assert kept.tolist() == [4, 5]
    del kept
    gc.collect()
    assert mappings(tmp_path) == 0


@pytest.mark.parametrize("count", [SMALL, LARGE])
@pytest.mark.parametrize("name", ["inline", "external"])
def test_a_tensor_of_a_closed_model(tmp_path: Path, name: str, count: int) -> None:
    """`close()` drops the model's own reference. The tensor has one as well."""
    write_both(tmp_path, count)
    with onnxmap.load(tmp_path / f"{name}.onnx") as model:
        tensor = model.initializers["t"]
    array = tensor.numpy(writable=True)
    array[1] = 50
    assert tensor.numpy().tobytes() == numbers(count).tobytes()
    assert array[:3].tolist() == [0, 50, 2]


# External files are opened on first access. The file that is there then is the tensor's.
REPLACED = [(way, True) for way in WAYS] + [(way, False) for way in WAYS if "inline" in way]


@pytest.mark.parametrize("count", [SMALL, LARGE])
@pytest.mark.parametrize(("way", "touched_before"), REPLACED)
def test_a_replaced_file_never_gives_wrong_bytes(
    tmp_path: Path, way: str, touched_before: bool, count: int
) -> None:
    """A save by rename gives the name to another file of the same size and time."""
    write_both(tmp_path, count)
    tensor = WAYS[way](tmp_path)
    if touched_before:
        assert tensor.numpy()[1] == 1
    for path in list(tmp_path.iterdir()):
        facts = path.stat()
        other = path.with_name("other")
        other.write_bytes(b"A" * facts.st_size)
        os.utime(other, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        other.replace(path)
    try:
        array = tensor.numpy(writable=True)
    except onnxmap.FileChangedError as error:
        assert way != "inline loads"
        assert error.code == "file.changed"  # noqa: PT017  (either answer is right)
    else:
        assert array.tobytes() == numbers(count).tobytes()
        array[0] = 9
        assert array[:2].tolist() == [9, 1]


@pytest.mark.parametrize("type_name", NUMERIC)
def test_every_type(tmp_path: Path, type_name: str) -> None:
    codes = random_codes(type_name, 65)
    buffer, _ = in_buffer(type_name, [5, 13], stored(type_name, codes))
    (tmp_path / "model.onnx").write_bytes(buffer)
    for io in ("mmap", "read"):
        tensor = onnxmap.load(tmp_path / "model.onnx", io=io).initializers["t"]
        array = tensor.numpy(writable=True)
        expected = values_of(type_name, codes)
        assert (array.dtype, array.shape) == (expected.dtype, (5, 13))
        assert array.tobytes() == expected.tobytes()
        array[...] = array[0, 0]
        assert tensor.numpy().tobytes() == expected.tobytes()
    assert (tmp_path / "model.onnx").read_bytes() == buffer.tobytes()


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,)])
def test_small_shapes(tmp_path: Path, shape: tuple[int, ...]) -> None:
    count = int(np.prod(shape))
    buffer, _ = in_buffer("INT64", shape, np.full(count, 7, np.int64).tobytes())
    (tmp_path / "model.onnx").write_bytes(buffer)
    tensor = onnxmap.load(tmp_path / "model.onnx").initializers["t"]
    array = tensor.numpy(writable=True)
    assert array.shape == shape
    assert array.flags.writeable
    array[...] = 8
    assert tensor.numpy().tolist() == np.full(shape, 7).tolist()


def test_with_copy(tmp_path: Path) -> None:
    write_both(tmp_path, SMALL)
    tensor = WAYS["inline mmap"](tmp_path)
    for copy in (None, True):
        array = tensor.numpy(writable=True, copy=copy)
        array[0] = 1
        assert array.flags.writeable
        assert array[1:].tobytes() == numbers(SMALL)[1:].tobytes()
    assert tensor.numpy()[0] == 0
    packed = onnxmap.loads(in_buffer("INT4", [2], b"\x21")[0]).initializers["t"]
    for refused in (tensor, packed):
        with pytest.raises(ValueError, match="copy"):
            refused.numpy(writable=True, copy=False)


def test_mappings_and_descriptors_are_closed(tmp_path: Path) -> None:
    write_both(tmp_path, LARGE)
    tensors = [WAYS[way](tmp_path) for way in WAYS]
    for tensor in tensors:
        tensor.numpy(writable=True)[0] = 1
    gc.collect()
    before = mappings(tmp_path), len(list(Path("/proc/self/fd").iterdir()))
    for tensor in tensors:
        for _ in range(50):
            tensor.numpy(writable=True)[0] = 1
    gc.collect()
    assert (mappings(tmp_path), len(list(Path("/proc/self/fd").iterdir()))) == before


@pytest.mark.skipif(SANITIZED, reason="resident memory under ASan is ASan's own")
def test_only_written_pages_cost_memory(tmp_path: Path) -> None:
    """A writable array of 1.8 GB. Three places in it are written."""
    path = tmp_path / "large.onnx"
    write_sparse(path, "FLOAT", [450_000_000], numbers(4).tobytes())
    code = """
    import os
    import onnxmap
    def anonymous_kib():
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
    tensor = onnxmap.load(sys.argv[1]).initializers["t"]
    tensor.numpy(writable=True)[0] = 1
    before = anonymous_kib()
    array = tensor.numpy(writable=True)
    made = anonymous_kib() - before
    array[0] = array[225_000_000] = array[-1] = 7
    written = anonymous_kib() - before
    report(made=made, written=written, last=float(array[-1]), middle=float(array[225_000_000]),
           view=tensor.numpy()[-4:].tolist())
    """
    facts = facts_from(code, str(path))
    assert facts["made"] < 1024
    assert facts["written"] < 8 * 1024  # at most one huge page for each
    assert (facts["last"], facts["middle"]) == (7.0, 7.0)
    assert facts["view"] == [0, 1, 2, 3]
