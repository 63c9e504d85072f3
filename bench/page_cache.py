"""Puts files into the page cache before a sample, or takes them out."""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

CHUNK_BYTES = 8 << 20
COLD_SHARE = 0.001  # the largest resident share of a cold file: a page in use cannot be dropped
DROP_CACHES = Path("/proc/sys/vm/drop_caches")
Span = tuple[Path, int, int]  # a file, and the bytes [begin, end) that the work may read

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]


def resident_share(spans: Iterable[Span]) -> float:
    """Return the share of the spans' pages that is in the page cache, by `mincore`."""
    resident = total = 0
    for path, begin, end in spans:
        begin -= begin % mmap.PAGESIZE
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            pages = np.zeros(-(-(end - begin) // mmap.PAGESIZE), np.uint8)
            view = np.frombuffer(mapped, np.uint8)
            address = view.ctypes.data + begin
            failed = _libc.mincore(address, end - begin, pages.ctypes.data)
            del view  # the mapping cannot be closed while a view of it exists
            if failed:
                raise OSError(ctypes.get_errno(), "mincore", str(path))
        resident += int((pages & 1).sum())
        total += len(pages)
    return resident / total if total else 1.0


def warm(spans: Iterable[Span]) -> None:
    """Read the spans into the page cache."""
    chunk = bytearray(CHUNK_BYTES)
    for path, begin, end in spans:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            for offset in range(begin, end, CHUNK_BYTES):
                os.preadv(descriptor, [memoryview(chunk)[: end - offset]], offset)
        finally:
            os.close(descriptor)


def drop(path: Path) -> None:
    """Drop a file from the page cache, for example after writing it.

    The kernel caches written pages one by one, and read pages in large folios, which are mapped
    many times faster. The files of a real model have been read, so they must be in large folios.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)  # pages that are not on disk yet cannot be dropped
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def chill(spans: Iterable[Span]) -> float:
    """Drop the spans' files from the page cache, and return the share that is still resident.

    Other files stay cached, so that imports during a sample stay warm. If pages of the spans remain
    and this process is root, the whole page cache is dropped.
    """
    spans = list(spans)
    for path in {path for path, _, _ in spans}:
        drop(path)
    share = resident_share(spans)
    if share > COLD_SHARE and os.access(DROP_CACHES, os.W_OK):
        os.sync()
        DROP_CACHES.write_text("1")
        share = resident_share(spans)
    return share


def can_be_cold(folder: Path) -> bool:
    """Return whether files in `folder` can leave the page cache; files on a tmpfs cannot."""
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(bytes(CHUNK_BYTES))
        file.flush()
        return chill([(Path(file.name), 0, CHUNK_BYTES)]) <= COLD_SHARE
