"""What the shell offers for an argument, through argcomplete, which is imported only then."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

Completer = Callable[..., Iterable[str]]


def complete_with(argument: argparse.Action, completer: Completer) -> None:
    """Let `completer(prefix, parsed_args, **others)` return what the shell offers."""
    argument.completer = completer  # type: ignore[attr-defined] # argcomplete looks for it


def folders(prefix: str, **_: object) -> Iterable[str]:
    """Return the folders that begin with `prefix`."""
    return _offered("DirectoriesCompleter", prefix)


def files(prefix: str, **_: object) -> Iterable[str]:
    """Return the files and folders that begin with `prefix`."""
    return _offered("FilesCompleter", prefix)


def _offered(kind: str, prefix: str) -> Iterable[str]:
    from argcomplete import completers

    offered: Iterable[str] = getattr(completers, kind)()(prefix)
    return offered


def nothing(prefix: str, **_: object) -> Iterable[str]:
    """Return nothing: there is nothing to choose from, not even files."""
    return ()
