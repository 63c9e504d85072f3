"""Slices of tensors, which read only what they need, and writing a tensor to a file."""

from __future__ import annotations

import errno
import io
import os
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from onnxmap import _core

_PIECE = 1 << 20  # bytes


def read_slice(tensor: _core.Tensor, key: Any) -> Any:
    """Return `tensor.numpy()[key]`. Basic indexing reads only the elements that it needs."""
    if not _is_basic(key):
        return tensor.numpy()[key]
    # Slice an array that has no elements: only offset, shape and strides of the part are needed.
    one = np.zeros(1, np.uint8)
    shape = tensor.shape
    strides = np.cumprod((1, *shape[:0:-1]), dtype=np.int64)[::-1] if shape else ()
    whole = np.lib.stride_tricks.as_strided(one, shape, strides, writeable=False)
    keys = key if isinstance(key, tuple) else (key,)
    part = whole[key if ... in keys else (*keys, ...)]
    base = one.ctypes.data
    low, high = np.lib.array_utils.byte_bounds(part) if part.size else (base, base)
    elements = tensor._elements(low - base, high - low)
    if elements is None:
        return tensor.numpy()[key]
    if part.size == 0:
        return elements.reshape(part.shape)
    first = (part.__array_interface__["data"][0] - low) * elements.itemsize
    steps = [stride * elements.itemsize for stride in part.strides]
    array: Any = np.ndarray(part.shape, elements.dtype, elements, first, steps)
    return array if any(item is ... for item in keys) else array[()]


def _is_basic(key: Any) -> bool:
    keys = key if isinstance(key, tuple) else (key,)
    return all(
        part is None
        or (isinstance(part, (slice, EllipsisType, int, np.integer)) and not isinstance(part, bool))
        for part in keys
    )


def write_values(tensor: _core.Tensor, file: Any) -> None:
    """See `Tensor.tofile`. Bytes are read before they are written: a view may lose its file."""
    nbytes = tensor._stored_nbytes
    if nbytes is None or nbytes <= _PIECE:
        write_all(file, memoryview(tensor.tobytes()))
        return
    if not hasattr(file, "write"):
        with open(os.fspath(file), "wb") as opened:  # noqa: PTH123 -- a path may be bytes
            write_values(tensor, opened)
        return
    for begin in range(0, nbytes, _PIECE):
        write_all(file, memoryview(tensor._read(begin, min(_PIECE, nbytes - begin))))


def write_all(file: Any, data: memoryview) -> None:
    """Write bytes to a path, or to a file object whose `write()` may take only a part of them."""
    if not hasattr(file, "write"):
        with open(os.fspath(file), "wb") as opened:  # noqa: PTH123 -- a path may be bytes
            write_all(opened, data)
        return
    while data:
        written = file.write(data)
        if written is None:
            if isinstance(file, io.RawIOBase):
                raise BlockingIOError(errno.EAGAIN, "the file takes no more bytes now", 0)
            return  # this kind of object takes everything and returns no count
        if written <= 0:
            raise OSError(errno.EIO, "the file takes no more bytes")
        data = data[written:]
