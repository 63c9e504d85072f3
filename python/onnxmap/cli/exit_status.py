"""How a command ends: its exit status, and its message on standard error if it fails."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

from onnxmap.errors import OnnxMapError, printable

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

# What the package says of a call: its own verbs, and arguments. Quotes have names of files and of
# what is in a model, which stay.
_CALLS = re.compile(
    r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(call )?\b(?:model\.)?([a-z_0-9]+)"""
    r"""(?:\((\d*)\)|=(True|False|\.\.\.|"[^"]*"|\d+|Limits\(.*?\)))"""
)
# As in "checksum needs external_data, the name of a data file".
_BARE = re.compile(r"^\w+(?= (?:needs|must|has no use) )|(?<= needs )\w+(?=,|$)")
_PHRASES = {
    "iterate over initializers.all() to reach each of them": "onnxmap ls --all lists their paths",
    "look for it in node_outputs()": "onnxmap ls --nodes lists all outputs",
    'model.extract_weights("w.safetensors")': "onnxmap convert IN w.safetensors",
}

# The extras that parts of a command line need: a module that each installs, and the part.
_EXTRAS = {
    "onnx": ("onnx", " --(full|infer-shapes|convert-version)"),
    "ort": ("onnxruntime", "^run "), "remote": ("fsspec", "://"),
    "proto": ("google", r"\.(textproto|txtpb|prototxt|pbtxt|json|onnxjson)\b"),
}  # fmt: skip


class UsageError(Exception):
    """The command line cannot be carried out; the message says what is wrong and why."""


class WrongValue(UsageError):
    """A call of the package refuses a value; the message may name arguments of the call."""


@contextmanager
def wrong_values() -> Iterator[None]:
    """Report a value that a call of the package refuses as an error of the command line."""
    try:
        yield
    except OnnxMapError:
        raise
    except KeyError as error:  # its str() is a repr
        raise WrongValue(str(error.args[0])) from None
    except ValueError as error:
        raise WrongValue(str(error)) from None


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


def complain(failure: Exception, arguments: Namespace | None = None) -> None:
    """Print in one line on standard error what went wrong.

    Args:
        failure: the error.
        arguments: the command line, if it could be read.
    """
    print(f"onnxmap: {printable(in_words(failure, arguments))}", file=sys.stderr)


def in_words(failure: Exception, arguments: Namespace | None) -> str:
    """Return what went wrong, in the usual form of the system if the error is from the system.

    Args:
        failure: the error.
        arguments: the command line: what the package advises is said with its options.
    """
    if isinstance(failure, WrongValue) and arguments is not None:
        return with_options(_BARE.sub(r"\g<0>=...", str(failure)), arguments)
    if isinstance(failure, OnnxMapError) and arguments is not None:
        return with_options(str(failure) + _HINTS.get(failure.code, ""), arguments)
    if isinstance(failure, OSError) and failure.strerror and failure.filename is not None:
        return f"{os.fsdecode(failure.filename)}: {failure.strerror}"
    return str(failure)


def with_options(text: str, arguments: Namespace) -> str:
    """Return what the package says, with options in the place of its arguments and verbs.

    If the command lacks an option, the text says which command has it.
    """
    used = dict[str, None]()

    def option(found: re.Match[str]) -> str:
        given = (found[3] or found[4] or "").strip('"')
        for command in ("", "save", "edit"):
            parser = arguments.commands.get(command, arguments.parser)
            if told := parser.option(found[2], given):
                used[command] = None
                return f"use {told}" if found[1] else str(told)
        return found[0] + " in Python" * (found[2] == "limits")

    for said, told in _PHRASES.items():
        text = text.replace(said, told)
    text = _CALLS.sub(option, text)
    return text + "".join(f" (onnxmap {each} has these options)" for each in used if each)
