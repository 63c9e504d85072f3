"""Arguments of the commands: declared in one line each, with what the shell offers for them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from onnxmap.cli.completion import Completer, complete_with
from onnxmap.cli.exit_status import UsageError


def flag(parser: argparse._ActionsContainer, name: str, text: str) -> None:
    """Declare an option without a value."""
    parser.add_argument(name, action="store_true", help=text)


def valued(
    parser: argparse._ActionsContainer,
    name: str,
    metavar: str,
    text: str,
    completer: Completer,
    **others: Any,
) -> None:
    """Declare an argument with a value for which the shell offers what the completer returns."""
    complete_with(parser.add_argument(name, metavar=metavar, help=text, **others), completer)


def size(text: str) -> int:
    """Return the number of bytes in a size like 512, 64KiB or 2GB.

    Raises:
        argparse.ArgumentTypeError: the text is none.
    """
    form = r"([0-9]+(?:\.[0-9]+)?)\s*(?:([kmgt])(i?)b|b)?"
    found = re.fullmatch(form, text.strip(), re.IGNORECASE)
    if found is None:
        said = f'a size is written like "256MiB" or "1.5 GB", not {text!r}'
        raise argparse.ArgumentTypeError(said)
    number, letter, is_binary = found.groups()
    unit = (1024 if is_binary else 1000) ** " kmgt".index((letter or " ").lower())
    return int(Fraction(number) * unit)


def pair(text: str) -> tuple[str, str]:
    """Return NAME and VALUE of a text like NAME=VALUE.

    Raises:
        argparse.ArgumentTypeError: one of them is empty.
    """
    name, _, value = text.partition("=")
    if not name or not value:
        raise argparse.ArgumentTypeError(f"must be of the form NAME=VALUE, not {text!r}")
    return name, value


def each_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return values by name.

    Raises:
        UsageError: a name is given twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UsageError(f"a name is given twice: {', '.join(name for name, _ in pairs)}")
    return found


def at_least_one(text: str) -> int:
    """Return a whole number of at least 1.

    Raises:
        argparse.ArgumentTypeError: the text is none.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)
