"""Keeps free memory backed by the hypervisor, so that samples are comparable."""

from __future__ import annotations

import mmap
from contextlib import suppress
from pathlib import Path

import numpy as np


class BackedMemory:
    """Memory that is held between samples, and freed just before a sample begins.

    A guest may report its free pages to its host (free page reporting). The host takes them back
    within seconds. The first touch of such a page is then work for the host, and up to forty times
    as slow: 3.4 GB took 0.4 s if they had just been freed, 7 s one second later, and 18 s ten
    seconds later. Without this class, a sample would measure when its memory was last in use.

    At most half of the available memory is held.
    """

    def __init__(self, nbytes: int) -> None:
        fields = dict(
            line.split(":")
            for line in Path("/proc/meminfo").read_text().splitlines()
            if ":" in line
        )
        available = int(fields["MemAvailable"].split()[0]) * 1024
        self._nbytes = min(nbytes, available // 2) // mmap.PAGESIZE * mmap.PAGESIZE
        self._memory: mmap.mmap | None = None

    def __enter__(self) -> BackedMemory:  # noqa: PYI034 typing.Self is Python 3.11's
        self.take()
        return self

    def __exit__(self, *_: object) -> None:
        self.give()

    def take(self) -> None:
        """Map and touch the memory, unless it is held already."""
        if self._memory is not None or not self._nbytes:
            return
        self._memory = mmap.mmap(-1, self._nbytes)
        with suppress(OSError):  # a kernel without huge pages
            self._memory.madvise(mmap.MADV_HUGEPAGE)
        np.frombuffer(self._memory, np.uint8)[:: mmap.PAGESIZE] = 1

    def give(self) -> None:
        """Free the memory for the next sample."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None
