"""Files that are not in the page cache, and what Linux says of the pages of a file."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

import numpy as np
import pytest
import wire_bytes as wire

PAGE = mmap.PAGESIZE
# The share of pages that are there once all have come: the kernel may evict some at any moment, also with
# gigabytes free (Linux 6.18: up to 450 of 10 000, of 1 in 60 files).
NEARLY_ALL = 0.95

_CACHESTAT = 451
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]


def pages_there(path: Path) -> np.ndarray:
    """Which pages of the file are in the page cache."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        view = np.frombuffer(mapped, np.uint8)
        pages = np.zeros(-(-view.size // PAGE), np.uint8)
        failed = _libc.mincore(view.ctypes.data, view.size, pages.ctypes.data)
        del view
    assert not failed
    return (pages & 1).astype(bool)


def have_come(path: Path, begin: int, end: int) -> bool:
    """Whether the pages of bytes begin .. end are in the page cache, or have been and were evicted."""
    there = pages_there(path)[begin // PAGE : end // PAGE]
    span = (ctypes.c_uint64 * 2)(begin, end - begin)
    found = (ctypes.c_uint64 * 5)()  # struct cachestat of linux/mman.h, from Linux 6.5 on
    with path.open("rb") as file:
        failed = _libc.syscall(_CACHESTAT, file.fileno(), span, found, 0)
    evicted = 0 if failed else found[3]
    return bool(there.sum() + evicted >= there.size)


def drop(path: Path) -> None:
    """Takes a file out of the page cache; skips the test where that cannot be done, as on a tmpfs."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if pages_there(path).any():
        pytest.skip("the file stays in memory here")


def write_sparse(path: Path, sizes: list[int]) -> None:
    """A model of uint8 tensors of those sizes, which are holes in the file."""
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
