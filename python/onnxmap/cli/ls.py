"""List the initializers of a model: name, type, shape, bytes, and where the bytes are."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from onnxmap._graph import names_meant
from onnxmap._schema import type_name
from onnxmap._text import bytes_in_words, escape
from onnxmap.cli.columns import Column, lay_out
from onnxmap.cli.outcome import UsageError
from onnxmap.cli.text import count, shape_in_words
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    from rich.console import Console

    import onnxmap

SUMMARY = "list the initializers: name, type, shape, bytes, place"

# Lines that are written at a time: few system calls, and the first screen still comes at once.
_LINES_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the list. A value is None if the file has none, or a malformed one."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    file: str | None  # the location of external data as the model spells it; None for inline
    offset: int | None
    aligned: bool | None


_SORT_KEYS: dict[str, Callable[[Entry], Any]] = {
    "size": lambda entry: (-entry.nbytes, entry.name),
    "name": lambda entry: entry.name,
    "dtype": lambda entry: (entry.dtype, entry.name),
    "file": lambda entry: (entry.file or "", entry.offset or 0),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap ls`."""
    parser.add_argument("file", help="the model")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="list only these: a name, or a glob like '*.bias'"
    )
    parser.add_argument(
        "--sort", choices=sorted(_SORT_KEYS), help="the order (default: the order in the file)"
    )
    parser.add_argument("--json", action="store_true", help="print a list of objects, one a line")


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap ls`."""
    import onnxmap

    if arguments.json:
        screen = None
    else:
        from onnxmap.cli.screen import open_screen

        screen = open_screen()
    with onnxmap.load(arguments.file) as model:
        entries = _entries(model.initializers)
    if arguments.names:
        entries = _chosen(entries, arguments.names)
    if arguments.sort:
        entries.sort(key=_SORT_KEYS[arguments.sort])
    if screen is None:
        _write_json(entries)
    else:
        _draw(screen, entries)
    return 0


def _entries(initializers: onnxmap.Initializers) -> list[Entry]:
    columns = zip(
        initializers.names(),
        initializers.dtypes(),
        initializers.shapes(),
        initializers.nbytes(),
        initializers.all(),
        strict=True,
    )
    return [
        Entry(name, type_name(dtype), shape, nbytes, *_place(tensor))
        for name, dtype, shape, nbytes, tensor in columns
    ]


def _place(tensor: onnxmap.Tensor) -> tuple[str | None, int | None, bool | None]:
    """The external file, the offset, and whether a view is aligned; None if unknown."""
    try:
        external = tensor.external
        file = external.location if external else None
    except OnnxMapError:
        return "?", None, None
    try:
        return file, tensor.offset, tensor.is_aligned if tensor.is_view else None
    except OnnxMapError:
        return file, external.offset if external else None, None


def _chosen(entries: Iterable[Entry], names: Sequence[str]) -> list[Entry]:
    """The entries that `names` select."""
    present = {entry.name for entry in entries}
    wanted: set[str] = set()
    for name in names:
        meant = names_meant(name, present)
        if not meant:
            raise UsageError(f"no initializer matches '{name}'; leave out the name to list all")
        wanted.update(meant)
    return [entry for entry in entries if entry.name in wanted]


def _write_json(entries: Sequence[Entry]) -> None:
    lines = (json.dumps(asdict(entry)) for entry in entries)
    _write_joined(lines, before="[", between=",\n ", after="]\n")


def _draw(screen: Console, entries: Sequence[Entry]) -> None:
    columns = [
        Column("name", [escape(entry.name) for entry in entries], style="cyan", narrowest=24),
        Column("type", [entry.dtype for entry in entries]),
        Column("shape", [shape_in_words(entry.shape) for entry in entries], narrowest=14),
        Column("bytes", [f"{entry.nbytes:,}" for entry in entries], right=True),
        Column("in", [escape(entry.file or "inline") for entry in entries], narrowest=12),
        Column(
            "offset", [_offset(entry) for entry in entries], right=True, style="dim", droppable=True
        ),
    ]
    _write_joined(lay_out(columns, screen), between="\n", after="\n")
    if screen.is_terminal:
        screen.print(_totals(entries), style="dim")


def _offset(entry: Entry) -> str:
    """The position in the file, with a star if a view is not aligned to its elements."""
    if entry.offset is None:
        return "- "
    return f"{entry.offset}{'*' if entry.aligned is False else ' '}"


def _totals(entries: Sequence[Entry]) -> str:
    nbytes = sum(entry.nbytes for entry in entries)
    parts = [count(len(entries), "tensor"), bytes_in_words(nbytes)]
    files = Counter(entry.file for entry in entries)
    inline = files.pop(None, 0)
    if files:
        parts += [f"{inline:,} inline", f"{files.total():,} in {count(len(files), 'other file')}"]
    unaligned = sum(entry.aligned is False for entry in entries)
    if unaligned:
        parts.append(f"{unaligned:,} not aligned (*)")
    return " · ".join(parts)


def _write_joined(lines: Iterable[str], *, before: str = "", between: str, after: str) -> None:
    """Write `lines` in blocks: without a list of all of them, and without a call for each."""
    source: Iterator[str] = iter(lines)
    lead = before
    while block := list(islice(source, _LINES_AT_ONCE)):
        sys.stdout.write(lead + between.join(block))
        lead = between
    sys.stdout.write(("" if lead == between else before) + after)
