"""Weights from another model: they refer to its file, which need not stay loaded, or exist."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from support.edits.rich_model import rich
from support.models.sample import external, floats, model_of, write
from support.processes.subprocesses import facts_from

import onnxmap

COUNT = 5_000
VALUES = np.arange(COUNT, dtype=np.float32)


def write_other(folder: Path) -> Path:
    """A model with weights of each kind of storage, all with the same name as their kind."""
    (folder / "other.bin").write_bytes(b"!" * 64 + VALUES.tobytes())
    entries = {"location": "other.bin", "offset": "64", "length": str(VALUES.nbytes)}
    pieces = [floats("segments", COUNT // 2, start) for start in (0, COUNT // 2)]
    for tensor, begin in zip(pieces, (0, COUNT // 2), strict=True):
        tensor.dims[:] = [COUNT]
        tensor.segment.begin, tensor.segment.end = begin, begin + COUNT // 2
    texts = [str(number).encode() for number in range(COUNT)]
    tensors = [
        floats("inline", COUNT),
        external("external", [COUNT], entries),
        TensorProto(name="packed", dims=[COUNT], data_type=1, float_data=VALUES),
        TensorProto(name="typed", dims=[COUNT], data_type=7, int64_data=range(COUNT)),
        TensorProto(name="texts", dims=[COUNT], data_type=8, string_data=texts),
        numpy_helper.from_array(np.int8(7), "scalar"),
        numpy_helper.from_array(np.zeros((0, 3), np.float32), "empty"),
        helper.make_tensor("int4", TensorProto.INT4, [3], [1, -2, 3]),
        *pieces,
    ]
    return write(model_of(tensors), folder / "other.onnx")


KINDS = (
    "inline", "external", "packed", "typed", "texts", "scalar", "empty", "int4", "segments",
)  # fmt: skip
HELD = ("inline", "external", "packed")  # whole bytes that are neither decoded nor copied


def equal(found: Any, expected: Any) -> bool:
    same_type = found.dtype == expected.dtype and found.shape == expected.shape
    return same_type and found.tolist() == expected.tolist()


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("kind", KINDS)
def test_values_outlive_their_model_and_its_file(kind: str, io: Any, tmp_path: Path) -> None:
    other = onnxmap.load(write_other(tmp_path), io=io)
    expected = np.array(other.initializers[kind].numpy(), copy=True)
    model = rich()
    model.initializers["w"] = other.initializers[kind]
    model.initializers["new"] = other.initializers[kind]
    other.close()
    del other
    gc.collect()
    (tmp_path / "other.onnx").unlink()
    (tmp_path / "other.bin").unlink()
    for name in ("w", "new"):
        tensor = model.initializers[name]
        assert tensor.name == name
        assert equal(tensor.numpy(), expected)
        assert equal(model.views([name])[name], expected)
        assert equal(model.arrays([name])[name], expected)
        assert equal(dict(model.stream([name]))[name], expected)
    made = ModelProto.FromString(onnxmap.dumps(model)).graph.initializer[0]
    if kind != "int4":
        assert numpy_helper.to_array(made).reshape(-1).tolist() == [
            one.decode() if isinstance(one, bytes) else one for one in expected.reshape(-1).tolist()
        ]


@pytest.mark.parametrize("kind", HELD)
def test_large_values_stay_in_their_file(kind: str, tmp_path: Path) -> None:
    other = onnxmap.load(write_other(tmp_path))
    theirs = other.initializers[kind]
    model = rich()
    model.initializers["w"] = theirs
    ours = model.initializers["w"]
    assert np.shares_memory(ours.numpy(), theirs.numpy())
    assert (ours.file, ours.is_external, ours.is_view) == (theirs.file, False, True)
    assert ours.offset == theirs.offset
    third = onnxmap.loads(onnxmap.dumps(rich()))
    third.initializers["w"] = ours
    assert np.shares_memory(third.initializers["w"].numpy(), theirs.numpy())


def test_the_other_model_is_not_changed(tmp_path: Path) -> None:
    other = onnxmap.load(write_other(tmp_path))
    before = onnxmap.dumps(other)
    model = rich()
    model.initializers["w"] = other.initializers["inline"]
    model.initializers["w"].doc_string = "mine"
    model.initializers.rename("w", "other name")
    model.initializers["other name"] = np.zeros(3)
    assert onnxmap.dumps(other) == before
    assert not other.edited


def test_later_edits_of_the_other_model_do_not_show(tmp_path: Path) -> None:
    other = onnxmap.load(write_other(tmp_path))
    model = rich()
    model.initializers["w"] = other.initializers["inline"]
    other.initializers["inline"] = np.zeros(3)
    assert model.initializers["w"].shape == (COUNT,)
    other.revert()
    model.initializers["w"] = other.initializers["inline"]
    other.proto.graph.initializer[0].ClearField("raw_data")
    assert equal(model.initializers["w"].numpy(), VALUES)


def test_an_edited_tensor_of_another_model(tmp_path: Path) -> None:
    other = onnxmap.load(write_other(tmp_path))
    array = np.ones(COUNT, np.float16)
    other.initializers["inline"] = array
    model = rich()
    model.initializers["w"] = other.initializers["inline"]
    del other
    gc.collect()
    assert np.shares_memory(model.initializers["w"].numpy(), array)


def test_a_tensor_without_a_model(tmp_path: Path) -> None:
    (tmp_path / "t.pb").write_bytes(floats("t", COUNT).SerializeToString())
    model = rich()
    model.initializers["w"] = onnxmap.load_tensor(tmp_path / "t.pb")
    model.initializers["v"] = onnxmap.loads_tensor(floats("t", 3).SerializeToString())
    made = onnxmap.wrap(onnxmap.make_tensor("made", "FLOAT", [2], [1, 2]))
    model.initializers["made"] = made
    assert equal(model.initializers["w"].numpy(), VALUES)
    assert model.initializers["v"].numpy().tolist() == [0, 1, 2]
    assert model.initializers["made"].numpy().tolist() == [1, 2]
    assert model.initializers.names()[-2:] == ["v", "made"]


def test_a_tensor_of_the_same_model() -> None:
    model = rich()
    model.initializers["w"] = np.arange(COUNT)
    model.initializers["same"] = model.initializers["w"]
    model.initializers["w"] = model.initializers["w"]
    assert np.shares_memory(model.initializers["same"].numpy(), model.initializers["w"].numpy())
    model.initializers["f"], model.initializers["w"] = (
        model.initializers["w"], model.initializers["f"],
    )  # fmt: skip
    assert model.initializers["f"].numpy().tolist() == list(range(COUNT))


BROKEN: dict[str, TensorProto] = {
    "missing file": external("t", [3], {"location": "none.bin"}),
    "unsafe path": external("t", [3], {"location": "../x"}),
    "past the end": external("t", [3], {"location": "other.bin", "offset": "100000000"}),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_tensor_that_cannot_be_read_changes_nothing(case: str, tmp_path: Path) -> None:
    write_other(tmp_path)
    other = onnxmap.load(write(model_of([BROKEN[case]]), tmp_path / "broken.onnx"))
    model = rich()
    before = onnxmap.dumps(model)
    for name in ("w", "new"):
        with pytest.raises(onnxmap.ExternalDataError):
            model.initializers[name] = other.initializers["t"]
    assert onnxmap.dumps(model) == before


def test_a_file_that_changes_afterwards_is_noticed(tmp_path: Path) -> None:
    path = write_other(tmp_path)
    model = rich()
    model.initializers["w"] = onnxmap.load(path).initializers["external"]
    assert model.arrays(["w"])["w"][3] == 3
    with (tmp_path / "other.bin").open("r+b") as file:
        file.write(b"changed")
    os.utime(tmp_path / "other.bin", (1, 1))
    with pytest.raises(onnxmap.FileChangedError):
        model.arrays(["w"])
    with pytest.raises(onnxmap.FileChangedError):
        model.views(["w"])


READ_CUT = """
import os
import onnxmap
path, = sys.argv[1:]
other = onnxmap.load(path, watch=False)
model = onnxmap.loads(onnxmap.dumps(onnxmap.new("ModelProto", graph={"name": "g"})), watch=False)
for name in ("one run", "two runs"):
    model.initializers[name] = other.initializers["t"]
merged = model.initializers["two runs"].proto
merged.MergeFrom(other.initializers["t"].proto)
merged.dims[:] = [2 * merged.dims[0]]
merged.name = "two runs"
os.truncate(path, 100)
found = {}
for name in model.initializers:
    readings = {"numpy": lambda: model.initializers[name].numpy(copy=True),
                "arrays": lambda: model.arrays([name])}
    for reading, read in readings.items():
        try:
            read()
        except onnxmap.FileChangedError as error:
            found[f"{name}, {reading}"] = error.code
report(**found)
"""
LARGE: dict[str, dict[str, Any]] = {
    "packed": {"dims": [COUNT], "data_type": 1, "float_data": VALUES},
    "typed": {"dims": [COUNT], "data_type": 7, "int64_data": range(COUNT)},
    "texts": {"dims": [3], "data_type": 8, "string_data": [b"x" * 5000] * 3},
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_file_that_is_cut_afterwards_is_noticed(kind: str, tmp_path: Path) -> None:
    """The values are in pages of that file, and the model itself has no file."""
    path = write(model_of([TensorProto(name="t", **LARGE[kind])]), tmp_path / "other.onnx")
    facts = facts_from(READ_CUT, str(path))
    names = [f"{runs}, {way}" for runs in ("one run", "two runs") for way in ("numpy", "arrays")]
    assert facts == dict.fromkeys(names, "file.changed")


@pytest.mark.parametrize("count", [1000, 5000, 10_000, 100_000])
def test_numbers_that_were_added_are_read(count: int) -> None:
    """A run of 4096 bytes or more is a piece of memory by itself."""
    model = rich()
    added = model.proto.graph.initializer.add(name="added", dims=[count], data_type=7)
    added.int64_data.extend(range(count))
    assert model.initializers["added"].numpy().tolist() == list(range(count))
    model.initializers["copy"] = model.initializers["added"]
    assert model.arrays(["copy"])["copy"].tolist() == list(range(count))
