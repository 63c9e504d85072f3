"""Memory before a hole in the address space. An access one byte too far ends the process."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_NO_ACCESS = 0


def ending_at_a_hole(nbytes: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Writable bytes in front of a page that cannot be read or written."""
    pages = -(-nbytes // mmap.PAGESIZE)
    mapped = mmap.mmap(-1, (pages + 1) * mmap.PAGESIZE)
    whole = np.frombuffer(mapped, np.uint8)
    hole = whole.ctypes.data + pages * mmap.PAGESIZE
    if _libc.mprotect(hole, mmap.PAGESIZE, _NO_ACCESS) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
    return whole[pages * mmap.PAGESIZE - nbytes : pages * mmap.PAGESIZE]
