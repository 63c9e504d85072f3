"""How a command ends: its exit status, and its message on standard error if it fails."""

from __future__ import annotations

import os
import sys

from onnxmap._text import escape
from onnxmap.errors import OnnxMapError

DONE = 0
FINDINGS = 1
BAD_INPUT = 2
# The status that a shell reports for a program that SIGINT ended.
INTERRUPTED = 130


# What a command adds to an error of the package, by its code.
_HINTS = {
    "model.not_regular": "; to read a pipe, write - for the file: cat FILE | onnxmap show -",
    "save.too_large": " (onnxmap save has --external-data F and --allow-over-2gib)",
}


class UsageError(Exception):
    """The command line cannot be carried out; the message says what is wrong and why."""


def complain(failure: Exception) -> None:
    """Print in one line on standard error what went wrong."""
    print(f"onnxmap: {escape(_told(failure))}", file=sys.stderr)


def _told(failure: Exception) -> str:
    """The message, in the usual form of the system if the error is from the system."""
    if isinstance(failure, OnnxMapError):
        return str(failure) + _HINTS.get(failure.code, "")
    if isinstance(failure, OSError) and failure.strerror and failure.filename is not None:
        return f"{os.fsdecode(failure.filename)}: {failure.strerror}"
    return str(failure)
