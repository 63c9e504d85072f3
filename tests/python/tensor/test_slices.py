"""Slices of tensors that are read: NumPy's result, from only the elements of the slice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices
from support import wire_bytes as wire

import onnxmap
from onnxmap import _slicing

if TYPE_CHECKING:
    from pathlib import Path


class CountingTensor:
    """The members of a tensor that the reader of slices uses. It counts what is read."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values
        self.shape = values.shape
        self.dtype = self
        self._stored_nbytes = values.nbytes
        self.reads: list[int] = []

    def numpy(self) -> Any:
        return self.values.dtype

    def _elements(self, begin: int, count: int) -> np.ndarray[Any, Any]:
        assert 0 <= begin <= begin + count <= self.values.size
        self.reads.append(count)
        return self.values.reshape(-1)[begin : begin + count].copy()


def read(tensor: CountingTensor, key: Any) -> Any:
    return _slicing.read_slice(tensor, key)  # type: ignore[arg-type]


@given(st.data(), array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6))
@settings(deadline=None)
def test_any_basic_index_gives_what_numpy_gives(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    values = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    key = data.draw(basic_indices(shape, allow_newaxis=True))
    found, expected = read(CountingTensor(values), key), values[key]
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found, expected)
    assert found.shape == expected.shape


@pytest.mark.parametrize(
    ("key", "elements"),
    [
        ((slice(None), 5), 4_000),  # a column: the gaps are too large to read through
        ((slice(10, 14), slice(0, 3)), 4 * 3),
        (slice(100, 102), 2 * 50_000),
        ((3, 4), 1),
        ((slice(None, None, 1000), -1), 4_000),
        (slice(5, 5), 0),
    ],
)
def test_only_the_elements_of_the_slice_are_read(key: Any, elements: int) -> None:
    values = np.broadcast_to(np.uint8(7), (4_000, 50_000))
    tensor = CountingTensor(values)
    tensor._elements = lambda begin, count: (  # type: ignore[method-assign]
        tensor.reads.append(count) or np.full(count, 7, np.uint8)
    )
    found = read(tensor, key)
    assert found.shape == values[key].shape
    assert sum(tensor.reads) <= elements


def test_a_slice_of_a_file_that_is_read_is_read_only_and_keeps_no_more(tmp_path: Path) -> None:
    values = np.arange(64 * 512, dtype=np.int32).reshape(64, 512)
    dims = b"".join(wire.scalar(1, n) for n in values.shape)
    tensor = dims + wire.scalar(2, 6) + wire.blob(8, b"w")
    tensor += wire.blob(9, values.tobytes())
    path = tmp_path / "model.onnx"
    path.write_bytes(wire.scalar(1, 10) + wire.blob(7, wire.blob(5, tensor)))
    weight = onnxmap.load(path, io="read").initializers["w"]
    column = weight[:, 3]
    np.testing.assert_array_equal(column, values[:, 3])
    assert not column.flags.writeable
    assert column.base is None or column.base.nbytes == column.nbytes
    with pytest.raises(IndexError):
        weight[64]
    with pytest.raises(IndexError):
        weight[0, 0, 0]
