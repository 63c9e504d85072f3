"""Runs the command `onnxmap` as a person does: on a terminal of some width, or in a pipe."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping
from typing import IO, NamedTuple

_COMMAND = (sys.executable, "-m", "onnxmap")
_CONTROL_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def _words(arguments: tuple[object, ...]) -> list[str | bytes]:
    return [a if isinstance(a, bytes) else str(a) for a in (*_COMMAND, *arguments)]


def _environment(changes: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "PYTHONUNBUFFERED")
    }
    return {**kept, "PYTHONIOENCODING": "utf-8", **changes}


def piped(
    *arguments: object, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The command with its output in a pipe."""
    return subprocess.run(
        _words(arguments),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env=_environment(environment or {}),
    )


def started(*arguments: object, stdout: int | IO[str]) -> subprocess.Popen[bytes]:
    """Start the command with its output redirected, and do not wait for it."""
    return subprocess.Popen(
        _words(arguments), stdout=stdout, stderr=subprocess.PIPE, env=_environment({})
    )


class Ran(NamedTuple):
    """The status and output of a command."""

    status: int
    out: str
    err: str


# Of the fixture `run`, which runs a command line in this process.
Run = Callable[..., Ran]


class Screen(NamedTuple):
    """The output on a terminal: raw, and as text without colours."""

    status: int
    raw: str
    text: str


def on_terminal(
    width: int, *arguments: object, environment: Mapping[str, str] | None = None
) -> Screen:
    """The command on a terminal of `width` columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    process = subprocess.Popen(
        _words(arguments),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=_environment({"TERM": "xterm-256color", **(environment or {})}),
    )
    os.close(theirs)
    raw = _read_all(ours).decode().replace("\r\n", "\n")
    os.close(ours)
    return Screen(process.wait(), raw, _CONTROL_SEQUENCE.sub("", raw))


def _read_all(descriptor: int) -> bytes:
    chunks = []
    try:
        while chunk := os.read(descriptor, 1 << 16):
            chunks.append(chunk)
    except OSError:  # Linux's error if the other end is closed
        pass
    return b"".join(chunks)
