"""Imports inside calls. A fork waits until they have ended.

Python locks a module while it imports it. The child of a fork lacks the thread that would unlock
the module, and would wait for it for ever.
"""

from __future__ import annotations

import importlib
import os
import sys
from _thread import RLock  # `threading` costs import time
from contextlib import suppress
from typing import Any

_PATIENCE = 60.0  # seconds: an import may itself wait for the thread that forks
importing: Any = RLock()  # held during these imports, and by a thread that forks


def import_module(name: str) -> Any:
    """Return a module. Import it unless it has been imported.

    Example:
        >>> import_module("onnxmap.types").Use
        <class 'onnxmap.Use'>
    """
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is not None and not getattr(spec, "_initializing", False):
        return sys.modules[name]
    with importing:
        return importlib.import_module(name)


def _locks() -> list[Any]:
    """The locks that handlers hold during a fork, of those that run before the one below."""
    found = (getattr(sys.modules.get(name), lock, None) for name, lock in _HELD.items())
    return [lock for lock in found if lock is not None]


def _before_fork() -> None:
    """Wait for the imports of other threads."""
    if importing.acquire(blocking=False):
        return
    # The import may need these locks, and may add one, which its handler then expects to be held.
    for lock in _locks():
        with suppress(RuntimeError):  # its handler has just been added
            lock.release()
    importing.acquire(timeout=_PATIENCE)
    for lock in _locks():
        lock.acquire()


def _release() -> None:
    """Let others import again, unless waiting for them has ended without success."""
    if importing._is_owned():
        importing.release()


def _begin_anew() -> None:
    """In the child: whoever else holds the lock does not exist there."""
    _release() if importing._is_owned() else importing._at_fork_reinit()


_HELD = {"logging": "_lock", "concurrent.futures.thread": "_global_shutdown_lock"}
_HELD = {name: lock for name, lock in _HELD.items() if name not in sys.modules}
os.register_at_fork(before=_before_fork, after_in_parent=_release, after_in_child=_begin_anew)
