"""Writes the bytes of one tensor to a path or a file object."""

from __future__ import annotations

import errno
import io
import operator
import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxmap import _core

_PIECE = 1 << 20  # bytes


def write_values(tensor: _core.Tensor, file: Any) -> None:
    """See `Tensor.tofile`."""
    nbytes = tensor._stored_nbytes or 0
    # What may fail, before a file is made.
    whole = tensor.tobytes() if nbytes <= _PIECE else None
    is_path = not hasattr(file, "write")
    with open(os.fspath(file), "wb") if is_path else nullcontext(file) as opened:
        if whole is not None:
            _write_all(opened, whole)
            return
        # Reads bytes before they are written: a view may lose its file.
        for begin in range(0, nbytes, _PIECE):
            _write_all(opened, tensor._read(begin, min(_PIECE, nbytes - begin)))


def _write_all(file: Any, data: bytes | bytearray) -> None:
    """Write all bytes to a file object, whose `write()` may take only a part of them."""
    left = memoryview(data)
    while left:
        taken = file.write(left)
        if taken is None:
            if isinstance(file, io.RawIOBase):
                raise BlockingIOError(errno.EAGAIN, "the file takes no more bytes now", 0)
            return  # this kind of object takes everything and returns no count
        if operator.index(taken) <= 0:
            raise OSError(errno.EIO, "the file takes no more bytes")
        left = left[operator.index(taken) :]
