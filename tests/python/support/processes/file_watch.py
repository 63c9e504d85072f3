"""Reports if any process opens or reads files that must not be opened.

To locate a file (O_PATH) is not to open it. A hard link counts as the file itself.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

_ACCESS, _OPEN = 0x1, 0x20
_QUEUE_OVERFLOW = 0x4000
_NONBLOCK, _CLOEXEC = 0o4000, 0o2000000


class FileWatch:
    """inotify on `paths`. A folder stands for itself and the files in it."""

    def __init__(self, paths: Iterable[Path]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(_NONBLOCK | _CLOEXEC)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._paths: dict[int, Path] = {}
        for path in paths:
            number = libc.inotify_add_watch(self._descriptor, os.fsencode(path), _ACCESS | _OPEN)
            if number < 0:
                self.close()
                raise OSError(ctypes.get_errno(), "inotify_add_watch", str(path))
            self._paths[number] = path

    def opened(self) -> set[str]:
        """Return the files that were opened or read since the last call."""
        found = set()
        while True:
            try:
                events = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                return found
            while events:
                number, mask, _, length = struct.unpack_from("iIII", events)
                name = os.fsdecode(events[16 : 16 + length].rstrip(b"\0"))
                lost = mask & _QUEUE_OVERFLOW
                found.add("more than can be told" if lost else str(self._paths[number] / name))
                events = events[16 + length :]

    def close(self) -> None:
        os.close(self._descriptor)
