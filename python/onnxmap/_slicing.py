"""Parts of tensors, read without the rest."""

from __future__ import annotations

import math
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxmap import _core

# In elements: the largest gap between two rows of a part that is worth reading through, and how
# much is then read at a time.
_GAP = 16 << 10
_AT_ONCE = 8 << 20


def read_slice(tensor: _core.Tensor, key: Any) -> Any:
    """Return `tensor.numpy()[key]`. Basic indexing reads only the elements that it needs."""
    keys = key if isinstance(key, tuple) else (key,)
    if not _is_basic(keys) or tensor._stored_nbytes is None:
        return tensor.numpy()[key]
    shape = tensor.shape
    # NumPy itself judges the indices, on an array that takes no memory.
    np.broadcast_to(np.uint8(0), shape)[key]
    given = [each for each in keys if each is not None and each is not ...]
    skipped = (slice(None),) * (len(shape) - len(given))
    filled = (*keys, ...) if ... not in keys else keys
    at = filled.index(...)
    filled = (*filled[:at], *skipped, *filled[at + 1 :])
    box, inside = read_box(tensor, tuple(each for each in filled if each is not None))
    axes = iter(inside)
    index = tuple(None if each is None else next(axes) for each in filled)
    found: Any = box[(*index, ...) if ... in keys else index]
    if isinstance(found, np.ndarray):
        # A copy: otherwise a few elements would keep the whole box in memory.
        found = found if found.size == box.size else np.array(found)
        found.flags.writeable = False
    return found


def _is_basic(keys: tuple[Any, ...]) -> bool:
    return all(
        part is None
        or (isinstance(part, (slice, EllipsisType, int, np.integer)) and not isinstance(part, bool))
        for part in keys
    )


def read_box(
    tensor: _core.Tensor, keys: tuple[Any, ...]
) -> tuple[np.ndarray[Any, Any], tuple[Any, ...]]:
    """Return the smallest box that holds what the keys select, and the keys relative to the box.

    Args:
        tensor: a tensor whose values are stored as bytes.
        keys: for each axis an int, a slice or a list of positions.
    """
    parts = [_range_of(key, n) for key, n in zip(keys, tensor.shape, strict=True)]
    return _read_ranges(tensor, [each for each, _ in parts]), tuple(index for _, index in parts)


def _range_of(key: Any, n: int) -> tuple[tuple[int, int], Any]:
    """The smallest range that holds what an index selects, and the index relative to the range."""
    if isinstance(key, slice):
        chosen = range(n)[key]
        if not chosen:
            return (0, 0), slice(None)
        step = None if key.step in (None, 1) else key.step
        return (min(chosen), max(chosen) + 1), slice(None, None, step)
    if isinstance(key, (int, np.integer)):
        position = range(n)[key]
        return (position, position + 1), 0
    # A list of positions: Dask passes it on together with the slices of the chunk.
    positions = np.arange(n)[np.asarray(key, dtype=None if len(key) else np.intp)]
    if not positions.size:
        return (0, 0), positions
    first = int(positions.min())
    return (first, int(positions.max()) + 1), positions - first


def _read_ranges(tensor: _core.Tensor, ranges: list[tuple[int, int]]) -> np.ndarray[Any, Any]:
    shape = tuple(max(end - begin, 0) for begin, end in ranges)
    if 0 in shape:
        return _elements(tensor, 0, 0).reshape(shape)
    strides = [math.prod(tensor.shape[axis + 1 :]) for axis in range(len(shape))]
    first = sum(begin * stride for (begin, _), stride in zip(ranges, strides, strict=True))
    if math.prod(shape) == _span(shape, strides):
        return _elements(tensor, first, math.prod(shape)).reshape(shape)
    box: np.ndarray[Any, Any] = np.empty(shape, tensor.dtype.numpy())
    if box.size:
        _fill(box, tensor, first, strides)
    return box


def _fill(out: np.ndarray[Any, Any], tensor: _core.Tensor, first: int, strides: list[int]) -> None:
    """Read the box of a tensor that begins at element `first`, in as few reads as are worth it."""
    row, stride = _span(out.shape[1:], strides[1:]), strides[0]
    at_once = _AT_ONCE // stride if stride - row <= _GAP else 0
    if at_once < 2 and row > math.prod(out.shape[1:]):
        for i in range(len(out)):
            _fill(out[i], tensor, first + i * stride, strides[1:])
        return
    for i in range(0, len(out), max(at_once, 1)):
        part = out[i : i + max(at_once, 1)]
        read = _elements(tensor, first + i * stride, _span(part.shape, strides))
        steps = [each * read.itemsize for each in strides]
        part[...] = np.ndarray(part.shape, read.dtype, read, 0, steps)


def _span(shape: Sequence[int], strides: Sequence[int]) -> int:
    """The number of elements from the first to the last of a box, gaps included."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))


def _elements(tensor: _core.Tensor, begin: int, count: int) -> np.ndarray[Any, Any]:
    found = tensor._elements(begin, count)
    assert found is not None, "a reference has stored bytes"
    return found
