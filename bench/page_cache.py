"""Files that are in the page cache before a sample, or are not."""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

CHUNK_BYTES = 8 << 20
COLD_SHARE = 0.001  # a page that is being looked at just now cannot be dropped
DROP_CACHES = Path("/proc/sys/vm/drop_caches")
Span = tuple[Path, int, int]  # a file, and the bytes [begin, end) of it that the work may read

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]


def resident_share(spans: Iterable[Span]) -> float:
    """The share of the spans' pages that is in the page cache, as `mincore` says."""
    resident = total = 0
    for path, begin, end in spans:
        begin -= begin % mmap.PAGESIZE
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            pages = np.zeros(-(-(end - begin) // mmap.PAGESIZE), np.uint8)
            view = np.frombuffer(mapped, np.uint8)
            address = view.ctypes.data + begin
            failed = _libc.mincore(address, end - begin, pages.ctypes.data)
            del view  # the mapping cannot be closed while somebody looks into it
            if failed:
                raise OSError(ctypes.get_errno(), "mincore", str(path))
        resident += int((pages & 1).sum())
        total += len(pages)
    return resident / total if total else 1.0


def warm(spans: Iterable[Span]) -> None:
    """Read the spans, so that the page cache holds them."""
    chunk = bytearray(CHUNK_BYTES)
    for path, begin, end in spans:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            for offset in range(begin, end, CHUNK_BYTES):
                os.preadv(descriptor, [memoryview(chunk)[: end - offset]], offset)
        finally:
            os.close(descriptor)


def drop(path: Path) -> None:
    """Take a file that was just written out of the page cache.

    The kernel keeps written pages one by one and pages that were read in large pieces, which are mapped
    many times faster. A model that somebody loads was read.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)  # what is not on disk yet stays
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def chill(spans: Iterable[Span]) -> float:
    """Take the spans' files out of the page cache; returns the share that could not be taken.

    Other files stay, so that what a library imports while it works is as warm as ever. Only where that
    leaves pages behind, and root may do it, the whole page cache is dropped.
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
    """Whether files in `folder` can leave the page cache at all; those of a tmpfs cannot."""
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(bytes(CHUNK_BYTES))
        file.flush()
        return chill([(Path(file.name), 0, CHUNK_BYTES)]) <= COLD_SHARE
