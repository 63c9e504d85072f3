"""Payloads larger than any read-ahead, in every decoded form, by every way of reading a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, ModelProto, TensorProto

import onnxmap

COUNT = 200_000
READERS = [(io, check) for io in ("mmap", "read") for check in ("full", "lazy")]


def two_runs(field: int, values: np.ndarray[Any, Any], first: bytes) -> bytes:
    """A tensor whose values are two packed runs of a field, behind its type and shape."""
    runs = [part.tobytes() for part in np.array_split(values, 2)]
    return first + b"".join(bytes([field << 3 | 2]) + _length(run) + run for run in runs)


def _length(run: bytes) -> bytes:
    out, left = bytearray(), len(run)
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])


def tensor(kind: str) -> tuple[bytes, Any]:
    """A serialized tensor, and its values."""
    if kind == "two float runs":
        values = np.arange(COUNT, dtype=np.float32)
        head = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[COUNT]).SerializeToString()
        return two_runs(4, values, head), values
    if kind == "int64":
        values = np.arange(COUNT) * 37 - 1000
        made = TensorProto(name="w", data_type=TensorProto.INT64, dims=[COUNT], int64_data=values)
        return made.SerializeToString(), values
    if kind == "int4":
        made = TensorProto(name="w", data_type=TensorProto.INT4, dims=[2 * COUNT])
        made.int32_data.extend([0x21] * COUNT)
        return made.SerializeToString(), np.tile(np.array([1, 2]), COUNT)
    texts = [bytes([65 + i]) * 50_000 for i in range(4)]
    made = TensorProto(name="w", data_type=TensorProto.STRING, dims=[4], string_data=texts)
    return made.SerializeToString(), np.array([text.decode() for text in texts], object)


@pytest.mark.parametrize("kind", ["two float runs", "int64", "int4", "strings"])
@pytest.mark.parametrize(("io", "check"), READERS)
def test_all_of_it_is_read(kind: str, io: Any, check: Any, tmp_path: Path) -> None:
    serialized, values = tensor(kind)
    path = tmp_path / "m.onnx"
    graph = GraphProto(name="g", initializer=[TensorProto.FromString(serialized)])
    path.write_bytes(ModelProto(ir_version=13, graph=graph).SerializeToString())
    model = onnxmap.load(path, io=io, check=check)
    for array in (model.initializers["w"].numpy(), model.views()["w"]):
        assert array.astype(values.dtype).tolist() == values.tolist()


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_two_runs_of_a_tensor_file(io: Any, tmp_path: Path) -> None:
    serialized, values = tensor("two float runs")
    path = tmp_path / "t.pb"
    path.write_bytes(serialized)
    read = onnxmap.load_tensor(path, io=io)
    assert not read.is_view
    assert np.array_equal(read.numpy(), values)


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_segments(io: Any, tmp_path: Path) -> None:
    values = np.arange(2 * COUNT)
    pieces = [
        TensorProto(
            name="w",
            data_type=TensorProto.INT64,
            dims=[2 * COUNT],
            int64_data=values[begin : begin + COUNT],
            segment=TensorProto.Segment(begin=begin, end=begin + COUNT),
        )
        for begin in (COUNT, 0)
    ]
    path = tmp_path / "m.onnx"
    graph = GraphProto(name="g", initializer=pieces)
    path.write_bytes(ModelProto(ir_version=13, graph=graph).SerializeToString())
    assert np.array_equal(onnxmap.load(path, io=io).initializers["w"].numpy(), values)
