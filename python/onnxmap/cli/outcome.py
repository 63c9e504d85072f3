"""How a command ends: its exit status, and what it says on standard error if it fails."""

from __future__ import annotations

import os
import sys

from onnxmap.cli.text import escape

DONE = 0
FINDINGS = 1
BAD_INPUT = 2
# The shell's own status for a program that SIGINT ended.
INTERRUPTED = 130


class UsageError(Exception):
    """The command line asks for something that cannot be done; its text says what and why."""


def complain(failure: Exception) -> None:
    """Says in one line on standard error what went wrong."""
    print(f"onnxmap: {escape(_told(failure))}", file=sys.stderr)


def _told(failure: Exception) -> str:
    """The failure in the system's usual form if the system caused it, else its own message."""
    if isinstance(failure, OSError) and failure.strerror and failure.filename is not None:
        return f"{os.fsdecode(failure.filename)}: {failure.strerror}"
    return str(failure)
