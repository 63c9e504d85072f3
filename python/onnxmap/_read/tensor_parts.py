"""Parts of tensors by NumPy's indices, read without the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxmap._core import Tensor

_ALL = slice(None)


def part_of(tensor: Tensor, key: Any) -> Any:
    """Return `tensor.numpy()[key]`.

    Basic indices of stored bytes read only the elements that they need. The result is then a new
    array that cannot be written to, or a scalar.
    """
    keys = key if isinstance(key, tuple) else (key,)
    if tensor._stored_nbytes is None or not all(map(_is_basic, keys)):
        return tensor.numpy()[key]
    shape = tensor.shape
    # NumPy itself judges the indices, on an array that takes no memory.
    np.broadcast_to(np.uint8(0), shape)[key]
    given = sum(each is not None and each is not ... for each in keys)
    left_out = [_ALL] * (len(shape) - given)
    has_ellipsis = any(each is ... for each in keys)
    filled: list[Any] = []
    for each in keys if has_ellipsis else (*keys, ...):
        filled += left_out if each is ... else [each]
    box, inside = box_of(tensor, [each for each in filled if each is not None])
    found = iter(inside)
    index = tuple(None if each is None else next(found) for each in filled)
    # As in NumPy, an ellipsis makes an array of what would be a scalar.
    part = box[(*index, ...) if has_ellipsis else index]
    if isinstance(part, np.ndarray):
        # A copy: otherwise a few elements would keep the whole box in memory.
        part = part if part.size == box.size else part.copy()
        part.flags.writeable = False
    return part


def box_of(tensor: Tensor, keys: Sequence[Any]) -> tuple[np.ndarray[Any, Any], tuple[Any, ...]]:
    """Return the smallest box that holds what the keys select, and the keys relative to the box.

    Args:
        tensor: a tensor whose values are stored as bytes.
        keys: for each axis an int, a slice or a list of positions.
    """
    selected = [_selected(*each) for each in zip(keys, tensor.shape, strict=True)]
    return tensor._box([each[0] for each in selected]), tuple(each[1] for each in selected)


def _is_basic(key: Any) -> bool:
    is_number = isinstance(key, int | np.integer) and not isinstance(key, bool)
    return is_number or isinstance(key, slice) or key is None or key is ...


def _selected(key: Any, length: int) -> tuple[tuple[int, int], Any]:
    """The smallest range that holds what a key selects, and the key relative to the range."""
    if isinstance(key, slice):
        chosen = range(length)[key]
        if not chosen:
            return (0, 0), _ALL
        low, high = sorted((chosen[0], chosen[-1]))
        step = None if chosen.step == 1 else chosen.step
        return (low, high - low + 1), slice(None, None, step)
    if isinstance(key, int | np.integer):
        return (range(length)[key], 1), 0
    # Dask passes a list of positions on together with the slices of the chunk.
    positions = np.arange(length)[np.asarray(key, None if len(key) else np.intp)]
    if positions.size == 0:
        return (0, 0), positions
    first = int(positions.min())
    return (first, int(positions.max()) - first + 1), positions - first
