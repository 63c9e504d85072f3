"""The names that a command line gives: what they mean, and errors for those that nothing has."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Collection, Iterable

import onnxmap
from onnxmap.cli.exit_status import UsageError

_LONGEST = 200  # characters shown of a name, or compared
_MOST_COMPARED = 2000  # names; difflib takes some 20 us for each
_MOST_SUGGESTED = 3


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


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three names: those that contain `name`, and then those that are like it."""
    known = [each for each in names if len(each) <= _LONGEST]
    near = sorted((each for each in known if len(name) > 2 and name in each), key=len)
    if len(known) > _MOST_COMPARED:
        known = [each for each in known if name[:3] == each[:3] or name[-3:] == each[-3:]]
    near = near[:_MOST_SUGGESTED]
    near += difflib.get_close_matches(name[:_LONGEST], known[:_MOST_COMPARED], _MOST_SUGGESTED)
    return list(dict.fromkeys(near))[:_MOST_SUGGESTED]


def unknown_name(what: str, name: str, near: Iterable[str]) -> UsageError:
    """Return the error for a name that nothing has, with the nearest ones that exist."""
    return UsageError(f"no {what} is named {name[:_LONGEST]!r}{suggestion(near)}")


def suggestion(near: Iterable[str]) -> str:
    """Return what an error adds to suggest these names; nothing for no names."""
    shown = " or ".join(repr(each[:_LONGEST]) for each in near)
    return f"; did you mean {shown}?" if shown else ""
