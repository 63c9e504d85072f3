"""How a command ends: its exit status, and its message on standard error if it fails."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

from onnxmap.cli.text import escape
from onnxmap.errors import OnnxMapError

DONE = 0
FINDINGS = 1
BAD_INPUT = 2
# The status that a shell reports for a program that SIGINT ended.
INTERRUPTED = 130


# What a command adds to an error of the package, by its code.
_HINTS = {
    "model.not_regular": "; to read a pipe, write - for the file: cat FILE | onnxmap show -",
    "save.not_local": "; onnxmap cp copies from a URL",
}

# The options whose names differ from those of the arguments.
_OPTIONS = {
    ("external_data", False): "--inline",
    ("external_data", "view"): "--view",
    ("external_root", ...): "--external-root DIR",
}

# The extras that parts of a command line need: a module that each installs, and the part.
_EXTRAS = {
    "onnx": ("onnx", " --(full|infer-shapes)"),
    "ort": ("onnxruntime", "^run "), "remote": ("fsspec", "://"),
    "proto": ("google", r"\.(textproto|txtpb|prototxt|pbtxt|json|onnxjson)\b"),
}  # fmt: skip


class UsageError(Exception):
    """The command line cannot be carried out; the message says what is wrong and why."""


@contextmanager
def wrong_values() -> Iterator[None]:
    """Report a value that a call of the package refuses as an error of the command line."""
    try:
        yield
    except OnnxMapError:
        raise
    except KeyError as error:  # its str() is a repr
        raise UsageError(str(error.args[0])) from None
    except ValueError as error:
        raise UsageError(str(error)) from None


def missing_package(error: ImportError, words: Sequence[str]) -> UsageError:
    """Return the error for a package that is missing.

    It names all extras that the command line needs, so that nobody has to install one by one.
    """
    line = " ".join(words)
    needed = {name for name, (_, part) in _EXTRAS.items() if re.search(part, line)}
    needed = {name for name in needed if find_spec(_EXTRAS[name][0]) is None}

    def all_of(found: re.Match[str]) -> str:
        return f"onnxmap[{','.join(sorted(needed | {found[1]}))}]"

    return UsageError(re.sub(r"onnxmap\[(\w+)\]", all_of, str(error)))


def complain(failure: Exception, usage: str | None = None) -> None:
    """Print in one line on standard error what went wrong.

    Args:
        failure: the error.
        usage: see `in_words`.
    """
    print(f"onnxmap: {escape(in_words(failure, usage))}", file=sys.stderr)


def in_words(failure: Exception, usage: str | None = None) -> str:
    """Return what went wrong, in the usual form of the system if the error is from the system.

    Args:
        failure: the error. If it has a remedy, that names options of the commands.
        usage: the options of the command, as argparse prints them. If it lacks one of the remedy,
            the text says which command has it.
    """
    if isinstance(failure, OSError) and not isinstance(failure, OnnxMapError):
        if failure.strerror and failure.filename is not None:
            return f"{os.fsdecode(failure.filename)}: {failure.strerror}"
    elif isinstance(failure, OnnxMapError):
        text = failure.message + _HINTS.get(failure.code, "")
        if failure.remedy is None:
            return text
        options = [_option(*argument) for argument in failure.remedy.arguments]
        text += f"; {failure.remedy.advice.format(*options)}"
        is_elsewhere = usage is not None and any(each.split()[0] not in usage for each in options)
        return f"{text} (onnxmap save has these options)" if is_elsewhere else text
    return str(failure)


def _option(name: str, value: object) -> str:
    words = "--" + name.replace("_", "-")
    return _OPTIONS.get((name, value), words if value is True else f"{words} {value}")
