"""Arguments of the commands: declared in one line each, with what the shell offers for them."""

from __future__ import annotations

import argparse
from argparse import ArgumentError, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable
from typing import Any

from onnxmap._base.arguments import parse_size

Parser = argparse._ActionsContainer  # or a group of its options
Completer = Callable[..., Iterable[str]]


def nothing(**_: object) -> Iterable[str]:
    """Offer nothing: there is nothing to choose from, not even files."""
    return ()


def folders(prefix: str, **_: object) -> Iterable[str]:
    """Offer the folders that begin with `prefix`."""
    from argcomplete.completers import DirectoriesCompleter

    offered: Iterable[str] = DirectoriesCompleter()(prefix)
    return offered


def last_of(prefix: str, apart: str, names: Iterable[str], end: str = "") -> list[str]:
    """Return the words that end in one of the names, and in `end`.

    Args:
        prefix: the word so far. What it has before the last of the characters `apart` stays.
        apart: the characters between the parts of a word.
        names: what the last part may be.
        end: what stands behind a name.
    """
    before = prefix[: max((prefix.rfind(each) + 1 for each in apart), default=0)]
    return [f"{before}{name}{end}" for name in names]


class InDict(argparse.Action):
    """Collects the pairs that `type` returns in a dict, for an option with several names."""

    def __call__(self, _parser: object, namespace: object, pair: Any, *_: object) -> None:
        """Add a pair."""
        found = getattr(namespace, self.dest) or {}
        if pair[0] in found:
            raise ArgumentError(self, f"{pair[0]} is given twice")
        setattr(namespace, self.dest, {**found, pair[0]: pair[1]})


def flag(parser: Parser, name: str, text: str, **others: Any) -> None:
    """Declare an option without a value."""
    parser.add_argument(name, help=text, **{"action": "store_true", **others})


def chosen(arguments: Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return what the command line says for these arguments of a call, if it has such options."""
    return {name: getattr(arguments, name) for name in names if name in arguments}


def valued(
    parser: Parser, name: str, form: str, text: str, completer: Completer = nothing, **others: Any
) -> None:
    """Declare an argument with a value.

    The shell offers what `completer(prefix=..., parsed_args=..., **others)` returns. For arguments
    that parsers declare by themselves it offers files.
    """
    declared: Any = parser.add_argument(name, metavar=form, help=text, **others)
    declared.completer = completer  # argcomplete looks for it


def size(text: str) -> int:
    """Return the number of bytes in a size like 512, 64KiB or 2GB.

    Raises:
        argparse.ArgumentTypeError: the text is none.
    """
    try:
        return parse_size(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def pair(text: str) -> tuple[str, str]:
    """Return NAME and VALUE of a text like NAME=VALUE.

    Raises:
        argparse.ArgumentTypeError: one of them is empty.
    """
    name, _, value = text.partition("=")
    if not name or not value:
        raise ArgumentTypeError(f"must be of the form NAME=VALUE, not {text!r}")
    return name, value


def at_least_one(text: str) -> int:
    """Return a whole number of at least 1.

    Raises:
        argparse.ArgumentTypeError: the text is none.
    """
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)
