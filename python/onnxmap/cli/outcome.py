"""How a command ends: its exit status, and its message on standard error if it fails."""

from __future__ import annotations

import os
import re
import sys

from onnxmap._text import escape
from onnxmap.errors import OnnxMapError

DONE = 0
FINDINGS = 1
BAD_INPUT = 2
# The status that a shell reports for a program that SIGINT ended.
INTERRUPTED = 130


# What a command adds to an error of the package, by its code.
_HINTS = {"model.not_regular": "; to read a pipe, write - for the file: cat FILE | onnxmap show -"}

# An argument that an error of the package advises, as in `pass lenient=True`.
_ADVISED = re.compile(r"\b([a-z_0-9]+)=(True|False|\.\.\.|\"[^\"]*\")")
# The options whose names differ from those of the arguments.
_OPTIONS = {
    "external_data=False": "--inline",
    'external_data="view"': "--view",
    "external_root=...": "--external-root DIR",
}
_WITH_A_VALUE = ("external_data", "link_policy", "io")
_WITHOUT_A_VALUE = ("allow_hardlinks", "lenient", "allow_over_2gib")


class UsageError(Exception):
    """The command line cannot be carried out; the message says what is wrong and why."""


def complain(failure: Exception, usage: str | None = None) -> None:
    """Print in one line on standard error what went wrong.

    Args:
        failure: the error.
        usage: see `in_options`.
    """
    print(f"onnxmap: {escape(_told(failure, usage))}", file=sys.stderr)


def _told(failure: Exception, usage: str | None) -> str:
    """The message, in the usual form of the system if the error is from the system."""
    if isinstance(failure, OnnxMapError):
        return in_options(str(failure), usage) + _HINTS.get(failure.code, "")
    if isinstance(failure, OSError) and failure.strerror and failure.filename is not None:
        return f"{os.fsdecode(failure.filename)}: {failure.strerror}"
    return in_options(str(failure), usage)


def in_options(message: str, usage: str | None = None) -> str:
    """Return a message with options of the commands instead of arguments of Python calls.

    Args:
        message: what an error says.
        usage: the options of the command, as argparse prints them. If it lacks one, the message
            says which command has it.
    """
    advised: list[str] = []

    def option(argument: re.Match[str]) -> str:
        name, value = argument.groups()
        words = "--" + name.replace("_", "-")
        if argument[0] in _OPTIONS:
            words = _OPTIONS[argument[0]]
        elif name in _WITH_A_VALUE:
            words += " " + value.strip('"')
        elif name not in _WITHOUT_A_VALUE:
            return argument[0]
        advised.append(words.split()[0])
        return words

    told = _ADVISED.sub(option, message)
    if usage is None or all(each in usage for each in advised):
        return told
    return f"{told} (onnxmap save has these options)"
