"""List the initializers of a model, or all its tensors, its nodes, or its inputs and outputs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from onnxmap._names import names_meant, unknown_name
from onnxmap._text import counted
from onnxmap.cli.columns import lay_out
from onnxmap.cli.completion import complete_with
from onnxmap.cli.ls import nodes, tensors, values
from onnxmap.cli.model_file import STANDARD_INPUT, add_opening_options, open_model
from onnxmap.cli.outcome import UsageError
from onnxmap.cli.screen import Screen, open_screen
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    import onnxmap
    from onnxmap.cli.ls.listing import Listing

SUMMARY = "list the initializers, all tensors, the nodes, or the inputs and outputs"

# Lines that are written at a time: few system calls, and the first screen still comes at once.
_LINES_AT_ONCE = 500

_SORT_KEYS = sorted({key for module in (nodes, tensors, values) for key in module.SORT_KEYS})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap ls`."""
    parser.add_argument("file", help="the model; - is standard input")
    names = parser.add_argument(
        "names",
        nargs="*",
        default=[],
        metavar="NAME",
        help="list only these: a name, a path, or a glob like '*.bias'",
    )
    complete_with(names, _complete_name)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument(
        "--all", action="store_true", help="list every tensor, by its path: also those of nodes"
    )
    kinds.add_argument("--nodes", action="store_true", help="list the nodes")
    kinds.add_argument("--inputs", action="store_true", help="list the inputs and outputs")
    parser.add_argument(
        "--sort", choices=_SORT_KEYS, help="the order (default: the order in the file)"
    )
    parser.add_argument("--json", action="store_true", help="print a list of objects, one a line")
    add_opening_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap ls`."""
    with open_model(arguments.file, arguments) as model:
        listing = _listing(model, arguments)
        if not listing.entries and not arguments.json:
            _point_to_all(model, arguments)
    if arguments.names:
        listing = listing.chosen(_chosen(listing, arguments.names))
    if arguments.sort:
        listing = listing.sorted(arguments.sort)
    if arguments.json:
        lines = (json.dumps(asdict(entry)) for entry in listing.entries)
        _write_joined(lines, before="[", between=",\n ", after="]\n")
    else:
        _draw(open_screen(), listing)
    return 0


def _listing(model: onnxmap.Model, arguments: argparse.Namespace) -> Listing[Any]:
    if arguments.nodes:
        return nodes.listing(model)
    if arguments.inputs:
        return values.listing(model)
    return tensors.listing(model, everywhere=arguments.all)


def _point_to_all(model: onnxmap.Model, arguments: argparse.Namespace) -> None:
    """Say where the tensors are if the graph has no initializers."""
    is_of_initializers = not (arguments.all or arguments.nodes or arguments.inputs)
    if is_of_initializers and (elsewhere := len(model.tensors())):
        hint = f"no initializers; --all lists {counted(elsewhere, 'tensor')} of nodes and functions"
        print(f"onnxmap: {hint}", file=sys.stderr)


def _complete_name(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """The names that begin with `prefix`, for the shell; none if the model cannot be read now."""
    if parsed_args.file == STANDARD_INPUT:
        return []
    try:
        with open_model(parsed_args.file, parsed_args) as model:
            names = _listing(model, parsed_args).names()
    except (OnnxMapError, OSError):
        return []
    # The shell prints them as they are, and some would control the terminal.
    return [name for name in names if name.startswith(prefix) and name.isprintable()]


def _chosen(listing: Listing[Any], names: Sequence[str]) -> set[int]:
    """The positions of the entries that are meant by what the command line has."""
    present = listing.names()
    wanted: set[int] = set()
    for name in names:
        meant = _meant(name, present)
        if not meant:
            raise UsageError(str(unknown_name(listing.what, name, present)))
        wanted.update(*(present[known] for known in meant))
    return wanted


def _meant(name: str, present: Mapping[str, object]) -> list[str]:
    """The names that a name or glob means.

    If nothing matches, a `[` stands for itself: it does in a path with a star, `graph.node[1]*`.
    """
    for glob in (name, name.replace("[", "[[]")):
        meant = [known for known in names_meant(glob, present) if known in present]
        if meant:
            return meant
    return []


def _draw(screen: Screen, listing: Listing[Any]) -> None:
    _write_joined(lay_out(listing.columns(), screen), between="\n", after="\n")
    if screen.is_terminal:
        sys.stdout.write(screen.styled(listing.totals(), "dim") + "\n")


def _write_joined(lines: Iterable[str], *, before: str = "", between: str, after: str) -> None:
    """Write `lines` in blocks: without a list of all of them, and without a call for each."""
    source: Iterator[str] = iter(lines)
    lead = before
    while block := list(islice(source, _LINES_AT_ONCE)):
        sys.stdout.write(lead + between.join(block))
        lead = between
    sys.stdout.write(("" if lead == between else before) + after)
