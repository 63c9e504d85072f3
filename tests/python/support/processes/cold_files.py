"""Files that are not in the page cache, and the pages of a file that are."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from support import wire_bytes as wire

PAGE = mmap.PAGESIZE

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
_libc.mlock2.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint]
_libc.sync_file_range.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
_WRITE_AND_WAIT = 7  # SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE and _WAIT_AFTER


def pages_there(path: Path) -> np.ndarray:
    """The pages of the file that are in the page cache. The kernel may evict any at any moment."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        view = np.frombuffer(mapped, np.uint8)
        pages = np.zeros(-(-view.size // PAGE), np.uint8)
        failed = _libc.mincore(view.ctypes.data, view.size, pages.ctypes.data)
        del view
    assert not failed
    return (pages & 1).astype(bool)


@contextmanager
def locked(path: Path, first: int, count: int) -> Iterator[None]:
    """Keeps a few pages of the file in the page cache. A process may lock only a few."""
    begin = first * PAGE
    nbytes = min(count * PAGE, path.stat().st_size - begin)
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), nbytes, prot=mmap.PROT_READ, offset=begin) as mapped,
    ):
        view = np.frombuffer(mapped, np.uint8)
        if _libc.mlock2(view.ctypes.data, view.size, 0):  # AddressSanitizer replaces mlock
            pytest.skip("no memory may be locked here")
        try:
            yield
        finally:
            del view


def drop(path: Path) -> None:
    """Evicts a file from the page cache. Skips the test if that is impossible, as on a tmpfs."""
    with path.open("rb") as file:
        for _ in range(10):  # the kernel skips pages that are in use
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            if not pages_there(path).any():
                return
            # Pages that are not on disk yet cannot be evicted. Unlike fsync, this call does not
            # wait for other files.
            if _libc.sync_file_range(file.fileno(), 0, 0, _WRITE_AND_WAIT):
                os.fsync(file.fileno())
    pytest.skip("the file stays in memory here")


def write_sparse(path: Path, sizes: list[int]) -> None:
    """A model of uint8 tensors of these sizes. They are holes in the file."""
    heads = []
    for i, size in enumerate(sizes):
        head = wire.blob(8, f"w{i}".encode()) + wire.scalar(2, 2) + wire.scalar(1, size)
        head += wire.tag(9, wire.LENGTH) + wire.varint(size)
        heads.append(wire.tag(5, wire.LENGTH) + wire.varint(len(head) + size) + head)
    with path.open("wb") as file:
        file.write(wire.tag(7, wire.LENGTH) + wire.varint(sum(map(len, heads)) + sum(sizes)))
        for head, size in zip(heads, sizes, strict=True):
            file.write(head)
            file.seek(size, os.SEEK_CUR)
        file.truncate(file.tell())
