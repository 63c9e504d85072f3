"""SIGBUS, which a mapping raises for lost bytes: its handlers, and processes that it ended."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from support.run_options import SANITIZED

_libc = ctypes.CDLL(None, use_errno=True)
_SA_SIGINFO = 4  # Source: bits/sigaction.h
_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_installed: list[Any] = []  # keep a reference, because C holds the handler


class _Action(ctypes.Structure):
    """`struct sigaction` of the C library."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_byte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


def _sigaction(new: _Action | None) -> _Action:
    old = _Action()
    given = None if new is None else ctypes.byref(new)
    if _libc.sigaction(signal.SIGBUS, given, ctypes.byref(old)) != 0:
        raise OSError(ctypes.get_errno(), "sigaction")
    return old


def handler_address() -> int:
    """The address of the current handler of SIGBUS; 0 for the default."""
    return _sigaction(None).handler or 0


def install_handler(handle: Callable[[int], None]) -> None:
    """Install a handler with sigaction, as a C library does. `handle` gets the fault's address."""

    def called(_number: int, info: int, _context: int) -> None:
        # si_addr follows three ints and their padding.
        handle(ctypes.c_void_p.from_address(info + 16).value or 0)

    handler = _Handler(called)
    _installed.append(handler)
    action = _Action(handler=ctypes.cast(handler, ctypes.c_void_p).value, flags=_SA_SIGINFO)
    _sigaction(action)


def emptied_mapping(folder: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Memory of this process in which every byte is a fault."""
    path = Path(folder, "mapped")
    path.write_bytes(bytes(mmap.PAGESIZE))
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    os.truncate(path, 0)
    return np.frombuffer(mapped, np.uint8)


def ended_by_bus_error(result: subprocess.CompletedProcess[str]) -> bool:
    if SANITIZED and "AddressSanitizer: BUS" in result.stderr:
        return result.returncode != 0  # it reports the signal, and exits
    return result.returncode == -signal.SIGBUS
