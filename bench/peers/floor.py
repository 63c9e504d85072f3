"""The floors F1 to F5, mapped headers, and the disk: the system's work, no library."""

from __future__ import annotations

import mmap
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  for the sizes of its types
import numpy as np

from bench import witness
from bench.floors import load_floors
from bench.tasks import Task, data_file, manifest, model_file, places, touched_array, writing

FLOORS = load_floors()
FLOOR_THREADS = 2
DISK_THREADS, DISK_BYTES = 2, 8 << 20  # larger values are not faster


def read_headers(folder: Path) -> Task:
    """F1: open, fstat, one pread of 256 bytes per initializer, close."""
    path = model_file(folder)
    offsets = np.array([line["header_offset"] for line in manifest(folder)], np.int64)
    return Task(lambda: FLOORS.read_headers(path, offsets))


def mapped_headers(folder: Path) -> Task:
    """A mapping with the usual read-ahead, of which every header is read."""
    path = model_file(folder)
    offsets = np.array([line["header_offset"] for line in manifest(folder)], np.int64)
    return Task(lambda: FLOORS.mapped_headers(path, offsets))


def read_into_huge_pages(folder: Path) -> Task:
    """F3: two threads pread the initializers' bytes into huge pages."""
    path, where = str(data_file(folder)), places(folder)
    begin, end = min(p.begin for p in where), max(p.end for p in where)

    def arrays(memory: np.ndarray[Any, Any], full: bool) -> dict[str, str]:
        parts = {p.name: (memory[p.begin - begin : p.end - begin], p) for p in where}
        return witness.arrays(
            {name: part.view(p.dtype).reshape(p.shape) for name, (part, p) in parts.items()}, full
        )

    return Task(
        lambda: FLOORS.read_into_huge_pages(path, begin, end - begin, FLOOR_THREADS), arrays
    )


def read_directly(folder: Path) -> Task:
    """The disk alone: direct reads of the data file, always into the same few megabytes."""
    path = data_file(folder)
    buffers = [_huge_pages(DISK_BYTES) for _ in range(DISK_THREADS)]

    def run() -> int:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
        starts = iter(range(0, os.fstat(descriptor).st_size, DISK_BYTES))

        def read(buffer: mmap.mmap) -> int:
            return sum(os.preadv(descriptor, [buffer], start) for start in starts)

        try:
            with ThreadPoolExecutor(DISK_THREADS) as pool:
                return sum(pool.map(read, buffers))
        finally:
            os.close(descriptor)

    return Task(run)


def _huge_pages(nbytes: int) -> mmap.mmap:
    """Memory that one disk request can fill. With small pages, a request fills at most 254."""
    memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    memory.write(bytes(nbytes))
    return memory


def bare_arrays(folder: Path) -> Task:
    """F2: a dict with an array object per initializer over one buffer; all of one dtype."""
    lines = manifest(folder)
    (dtype,) = {line["dtype"] for line in lines}
    names = [line["name"] for line in lines]
    offsets = np.array([line["data_offset"] for line in lines], np.int64)
    ranks = np.array([len(line["shape"]) for line in lines], np.int64)
    extents = np.array([extent for line in lines for extent in line["shape"]], np.int64)
    buffer = np.asarray(np.memmap(data_file(folder), np.uint8, "r"))

    # `lines` stays alive: freeing it would leave memory that has been touched already.
    def run(_kept: object = lines) -> object:
        return FLOORS.bare_arrays(names, np.dtype(dtype), buffer, offsets, ranks, extents)

    return Task(run, witness.arrays)


def copy_file(folder: Path) -> Task:
    """F4: the file with the initializers' bytes, copied by the system and written to the disk."""
    return _copy_file(folder, sync=True)


def copy_file_unsynced(folder: Path) -> Task:
    """F4 without fsync."""
    return _copy_file(folder, sync=False)


def copy_bytes_unsynced(folder: Path) -> Task:
    """The same for a work that converts types: what is in the copy proves nothing."""
    task = _copy_file(folder, sync=False)
    return Task(task.run, clean=task.clean)


def _copy_file(folder: Path, sync: bool) -> Task:
    source, where = str(data_file(folder)), places(folder)

    def arrays(copy: Path, full: bool) -> dict[str, str]:
        stored = np.memmap(copy, np.uint8, "r")
        return witness.arrays(
            {p.name: stored[p.begin : p.end].view(p.dtype).reshape(p.shape) for p in where}, full
        )

    return writing(folder, lambda path: FLOORS.copy_file(source, str(path), sync), arrays)


def copy_to_new(folder: Path) -> Task:
    """F5: a memory copy of the result of `numpy()` into new memory."""
    source = _output(folder)
    return Task(lambda: FLOORS.copy_memory(source))


def copy_to_warm(folder: Path) -> Task:
    """F5: the same, into memory that was written before."""
    return _copy_to_warm(_output(folder))


def copy_float32(folder: Path) -> Task:
    """F5: a memory copy of the result of a conversion to float32, into memory written before."""
    return _copy_to_warm(_output(folder, "float32"))


def copy_float16(folder: Path) -> Task:
    """F5: the same for a type of 16 bits."""
    return _copy_to_warm(_output(folder, "float16"))


def _copy_to_warm(source: np.ndarray[Any, Any]) -> Task:
    destination = touched_array(source.shape, source.dtype.name)
    return Task(lambda: FLOORS.copy_memory(source, destination))


def _output(folder: Path, dtype: str = "") -> np.ndarray[Any, Any]:
    """An array of the size of the result."""
    (line,) = manifest(folder)
    return touched_array(tuple(line["shape"]), dtype or line["dtype"])
