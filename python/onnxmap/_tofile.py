"""Writing the values of a tensor to a file."""

from __future__ import annotations

import errno
import io
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxmap import _core

_PIECE = 1 << 20  # bytes


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
