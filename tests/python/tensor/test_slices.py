"""Slices of tensors that are read. The C++ tests of tensor/box count what is read for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

import onnxmap

if TYPE_CHECKING:
    from pathlib import Path


def read_tensor(folder: Path, values: np.ndarray[Any, Any]) -> onnxmap.Tensor:
    """A tensor of a file that is read, not mapped."""
    path = folder / "model.onnx"
    onnxmap.from_arrays({"w": values}).save(path, sync=False)
    return onnxmap.load(path, io="read").initializers["w"]


@given(st.data(), array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6))
@settings(deadline=None)
def test_any_basic_index_gives_what_numpy_gives(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, shape: tuple[int, ...]
) -> None:
    values = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    key = data.draw(basic_indices(shape, allow_newaxis=True))
    tensor = read_tensor(tmp_path_factory.mktemp("slices"), values)
    found, expected = tensor[key], values[key]
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found, expected)
    assert found.shape == expected.shape


def test_a_slice_of_a_file_that_is_read_is_read_only_and_keeps_no_more(tmp_path: Path) -> None:
    values = np.arange(64 * 512, dtype=np.int32).reshape(64, 512)
    weight = read_tensor(tmp_path, values)
    column = weight[:, 3]
    np.testing.assert_array_equal(column, values[:, 3])
    assert not column.flags.writeable
    assert column.base is None or column.base.nbytes == column.nbytes
    with pytest.raises(IndexError):
        weight[64]
    with pytest.raises(IndexError):
        weight[0, 0, 0]


class Edits:
    """An index that edits the tensor when its number is asked for a second time."""

    def __init__(self, tensor: onnxmap.Tensor, **fields: Any) -> None:
        self.tensor, self.fields, self.asked = tensor, fields, 0

    def __index__(self) -> int:
        self.asked += 1
        if self.asked == 2:  # first NumPy judges the index
            self.tensor.proto.CopyFrom(onnxmap.new("TensorProto", **self.fields))
        return 90


@pytest.mark.parametrize(
    "fields",
    [
        {"data_type": 21, "dims": [2, 2], "raw_data": b"\0\0"},
        {"data_type": 21, "dims": [0, 0]},
        {"data_type": 21, "dims": [10000], "raw_data": bytes(5000)},
        {"data_type": 8, "dims": [2], "string_data": [b"1", b"2"]},
    ],
    ids=["smaller", "empty", "of another rank", "of strings"],
)
def test_a_tensor_that_its_index_edits(fields: dict[str, Any]) -> None:
    made = onnxmap.make_tensor("w", onnxmap.DataType.UINT4, [100, 100], bytes(5000), raw=True)
    graph = onnxmap.make_graph([], "g", [], [], [made])
    model = onnxmap.from_proto(onnxmap.make_model(graph))
    tensor = model.initializers["w"]
    with pytest.raises(IndexError, match="edited"):
        tensor[50:, Edits(tensor, **fields) :]
