"""Saves of which one system call fails, or at which a signal arrives. For a child process.

Each save runs in a fork. Its system calls on files wait until this process answers them.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import json
import os
import random
import select
import signal
import socket
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import onnxmap
from onnxmap.__main__ import main
from support.faults import seccomp_filter
from support.saves.judges import LEFT_BY_SAVES, contents

# The calls on files, by their numbers on x86-64.
CALLS = {
    "read": 0, "write": 1, "close": 3, "fstat": 5, "lseek": 8, "ioctl": 16, "pread64": 17,
    "pwrite64": 18, "access": 21, "sendfile": 40, "fcntl": 72, "flock": 73, "fsync": 74,
    "fdatasync": 75, "ftruncate": 77, "getcwd": 79, "readlink": 89, "fchmod": 91, "fchown": 93,
    "fstatfs": 138, "fsetxattr": 190, "fgetxattr": 193, "listxattr": 194, "flistxattr": 196,
    "fremovexattr": 199, "getdents64": 217, "openat": 257, "mkdirat": 258, "newfstatat": 262,
    "unlinkat": 263, "renameat": 264, "linkat": 265, "readlinkat": 267, "utimensat": 280,
    "fallocate": 285, "renameat2": 316, "copy_file_range": 326, "preadv2": 327, "statx": 332,
    "openat2": 437, "faccessat2": 439,
}  # fmt: skip
NAMES = {number: name for name, number in CALLS.items()}

_RECEIVE, _SEND, _CONTINUE = 0xC0502100, 0xC0182101, 1  # Source: linux/seccomp.h
_REQUEST, _ANSWER = struct.Struct("=QIIi60x"), struct.Struct("=QqiI")

SIGNALS = {"interrupt": signal.SIGINT, "kill": signal.SIGKILL}
Files = dict[str, bytes]


class Ending(NamedTuple):
    status: int
    """The exit status, negative for a signal."""
    calls: list[str]
    error: str | None
    """The type of the exception; None if there was none."""
    left_over: list[str]


def command(*words: str) -> SimpleNamespace:
    """The report of a command of `onnxmap`. Once it is printed, the command has done its work."""
    text, status = io.StringIO(), None
    nowhere = contextlib.redirect_stderr(io.StringIO())
    with contextlib.suppress(OSError), contextlib.redirect_stdout(text), nowhere:
        status = main([*map(str, words), "--json"])
    if status == 130:
        raise KeyboardInterrupt
    if not text.getvalue():
        raise OSError
    return SimpleNamespace(**json.loads(text.getvalue()))


def _save(save: str, source: Path, out: Path) -> Any:
    names = {"onnxmap": onnxmap, "command": command, "source": source, "out": out}
    return eval(save, names, {"model": onnxmap.load(source)})


def _save_in_child(work: Callable[[], Any], parent: socket.socket) -> None:
    facts: dict[str, Any] = {"error": None, "left_over": []}
    socket.send_fds(parent, [b"."], [seccomp_filter.ask(list(CALLS.values()))])
    try:
        report = work()
        facts["left_over"] = getattr(report, "left_over", [])
        for _ in range(100):  # a signal has arrived by then
            pass
    except BaseException as error:  # noqa: BLE001 -- the parent judges it
        facts["error"] = type(error).__name__
    parent.send(json.dumps(facts).encode())


def _forked(work: Callable[[], Any], fault: str, at: int) -> Ending:
    """Run `work` in a fork, whose call number `at` gets the fault."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child = os.fork()
    if child == 0:
        _save_in_child(work, theirs)
        os._exit(0)
    theirs.close()
    _, (listener,), _, _ = socket.recv_fds(ours, 1, 1)
    poll = select.poll()
    poll.register(listener)
    calls: list[str] = []
    while not any(event & select.POLLHUP for _, event in poll.poll()):  # that the child has ended
        request = bytearray(_REQUEST.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, request)
        except FileNotFoundError:  # the child was killed meanwhile
            continue
        number, _, _, call = _REQUEST.unpack(request)
        is_it = len(calls) == at
        calls.append(NAMES[call])
        failed = is_it and fault == "error"
        if is_it and fault in SIGNALS:
            os.kill(child, SIGNALS[fault])
        made = failed or NAMES[call] in ("fsync", "fdatasync")  # the disk is not waited for
        answer = _ANSWER.pack(number, 0, -errno.EIO * failed, 0 if made else _CONTINUE)
        with contextlib.suppress(FileNotFoundError):  # the child was killed
            fcntl.ioctl(listener, _SEND, answer)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    facts = json.loads(ours.recv(1 << 16) or b'{"error": null, "left_over": []}')
    os.close(listener)
    ours.close()
    return Ending(status, calls, **facts)


def _put(files: Files, folder: Path) -> None:
    if contents(folder) == files:
        return
    for path in folder.iterdir():
        path.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def _is_sound(found: Files, old: Files, new: Files, main_file: str) -> bool:
    """Whether a crash left the old files, the new ones, or the old ones to be renamed back."""
    plain, aside = dict[str, bytes](), dict[str, bytes]()
    for name, data in found.items():
        if name.endswith(".onnxmap-old"):
            aside[name.rsplit(".", 2)[0]] = data
        elif not name.endswith(".onnxmap-tmp"):
            plain[name] = data
    if not plain.keys() <= new.keys():
        return False
    if main_file not in plain:  # restored as the guide says
        return old.items() <= (plain | aside).items()
    complete = new if plain[main_file] == new[main_file] else old
    return complete.items() <= plain.items()


def _problem(fault: str, end: Ending, at: int, old: Files, new: Files, found: Files) -> str:
    """What is wrong; empty if nothing is."""
    if fault == "kill":
        return "" if end.status == -signal.SIGKILL else f"ended by {end.status}"
    if end.status != 0:
        return f"ended by {end.status}"
    for path in end.left_over:
        if not path.endswith(LEFT_BY_SAVES):
            return f"{path} was left"
        found.pop(Path(path).name)
    if found not in (old, new):
        return f"neither the old files nor the new ones: {sorted(found)}"
    if fault == "interrupt":
        return "" if end.error == "KeyboardInterrupt" else f"the interrupt became {end.error}"
    if end.error is None:
        return "" if found == new else "no error, and no new files"
    # The disk may report an error after a file took the name of an old one.
    return "" if found == old or end.calls[at] == "fsync" else f"{end.error}, and new files"


def outcomes(save: str, main_file: str, folder: Path, most: int | None) -> dict[str, Any]:
    """Save over old files with each fault at each call, or at `most` calls of different names.

    `save` is an expression of `model`, its path `source`, and the folder `out`. A crash may leave
    any data files beside `main_file`, but those that it needs.
    """
    sources, out = (folder / "old.onnx", folder / "new.onnx"), folder / "out"
    out.mkdir()
    states: list[Files] = []
    for value, source in enumerate(sources):
        names = ["a", "b", source.stem]  # another name is another index
        arrays = {name: np.full(40_000 // 9**i, value, "f4") for i, name in enumerate(names)}
        onnxmap.from_arrays(arrays, {"value": str(value)}).save(source, sync=False)
        _save(save, source, out)
        states.append(contents(out))
    old, new = states
    assert old.keys() == new.keys()
    assert all(old[name] != new[name] for name in old)

    work = lambda: _save(save, sources[1], out)
    _put(old, out)
    calls = _forked(work, "none", -1).calls
    assert contents(out) == new
    by_name: dict[str, list[int]] = {}
    for at, name in enumerate(calls):
        by_name.setdefault(name, []).append(at)
    rng, problems, seen = random.Random(save), [], Counter[str]()
    for fault in ("error", *SIGNALS):
        some = [rng.choice(by_name[name]) for name in rng.sample(list(by_name), most or 0)]
        for at in some or range(len(calls)):
            _put(old, out)
            end = _forked(work, fault, at)
            found = contents(out)
            seen[f"{fault}: " + ("new" if found == new else "old" if found == old else "both")] += 1
            problem = _problem(fault, end, at, old, new, dict(found))
            if fault == "kill" and not _is_sound(found, old, new, main_file):
                problem = f"not sound: {sorted(found)}"
            if problem:
                problems.append(f"{fault} at call {at} ({calls[at]}): {problem}")
    return {"calls": len(calls), "seen": seen, "problems": problems}
