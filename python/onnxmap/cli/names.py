"""The names that a command line gives: what they mean, and errors for those that nothing has."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable

import onnxmap
from onnxmap._base.text import nearest, suggestion
from onnxmap.cli.exit_status import UsageError

_LONGEST = 200  # characters shown of a name


def names_meant(what: str, name: str, present: Collection[str]) -> list[str]:
    """Return the names that a name or glob means.

    If nothing matches, a `[` stands for itself: it does in a path with a star, `graph.node[1]*`.

    Raises:
        UsageError: there are none.
    """
    if name in present:
        return [name]
    for glob in (name, name.replace("[", "[[]")):
        if meant := fnmatch.filter(present, glob):
            return meant
    raise unknown_name(what, name, nearest(name, present))


def chosen_tensors(model: onnxmap.Model, names: Iterable[str]) -> list[str] | None:
    """Return the initializers that the command line names, in the order of the file.

    Returns None for all, if it names none.

    Raises:
        UsageError: a name means none.
    """
    present = dict.fromkeys(model.initializers)
    wanted = {meant for name in names for meant in names_meant("tensor", name, present)}
    return [name for name in present if name in wanted] if names else None


def unknown_name(what: str, name: str, near: Iterable[str]) -> UsageError:
    """Return the error for a name that nothing has, with the nearest ones that exist."""
    return UsageError(f"no {what} is named {name[:_LONGEST]!r}{suggestion(near)}")
