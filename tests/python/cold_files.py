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
# The share of pages that are said to be there when all are: of some files, mincore denies a run of
# pages that preadv2 reads at once (RWF_NOWAIT), for minutes (seen on Linux 6.18, 1 of 60 files of 40 MB).
NEARLY_ALL = 0.95

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
