"""A process that exchanges two names as fast as it can. Each exchange is atomic."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def exchange_for_ever(first: str, second: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    names = (_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE)
    if libc.renameat2(*names) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")
    sys.stdout.write("swapping\n")
    sys.stdout.flush()
    while True:
        libc.renameat2(*names)


@contextlib.contextmanager
def swapping(first: Path, second: Path) -> Iterator[None]:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from support.faults import swapping; swapping.exchange_for_ever(*sys.argv[2:])"
    )
    arguments = [str(Path(__file__).parents[2]), str(first), str(second)]
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"swapping\n"
            yield
            assert process.poll() is None, "it ended before its time"
        finally:
            process.kill()
