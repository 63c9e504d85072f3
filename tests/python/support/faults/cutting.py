"""A process that cuts a file off and mends it, again and again, while others read it."""

from __future__ import annotations

import contextlib
import mmap
import os
import random
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PIECE = 1 << 20  # bytes
LONGEST_PAUSE_S = 0.02  # in which the file is whole


@contextlib.contextmanager
def kept_cutting(path: Path, cuts: int) -> Iterator[Callable[[], bool]]:
    """Cut the file off and mend it, again and again, in a child process.

    Yields:
        Whether it will be cut again. Afterwards the file is whole.
    """
    command = [sys.executable, __file__, str(path), str(cuts)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as cutter:
        yield lambda: cutter.poll() is None
        cutter.communicate()  # closes its standard input, which ends it
    assert cutter.returncode == 0


def _cut_and_mend(descriptor: int, data: bytes, rng: random.Random) -> None:
    """Cut where a page begins. Then bytes are lost or unchanged, and never zeros."""
    least = 0 if rng.random() < 0.1 else max(len(data) - 8 * PIECE, 0)
    cut = rng.randrange(least, len(data)) // mmap.PAGESIZE * mmap.PAGESIZE
    os.ftruncate(descriptor, cut)
    time.sleep(rng.choice([0, 0.0005, 0.003]))
    for begin in range(cut, len(data), PIECE):
        os.pwrite(descriptor, data[begin : begin + PIECE], begin)


def _keep_cutting(path: Path, cuts: int) -> None:
    """Wait until standard input ends. It also ends if the parent dies."""
    data, rng = path.read_bytes(), random.Random(1)
    descriptor = os.open(path, os.O_RDWR)
    for _ in range(cuts):
        if select.select([0], [], [], rng.uniform(0, LONGEST_PAUSE_S))[0]:
            break
        _cut_and_mend(descriptor, data, rng)


if __name__ == "__main__":
    _keep_cutting(Path(sys.argv[1]), int(sys.argv[2]))
