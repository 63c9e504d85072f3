"""Print minimum, maximum, mean, standard deviation, zeros, NaN and infinities of initializers."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from onnxmap._names import names_meant, unknown_name
from onnxmap._schema import type_name
from onnxmap._text import escape
from onnxmap.cli.columns import Column, lay_out
from onnxmap.cli.completion import complete_with
from onnxmap.cli.ls.listing import natural
from onnxmap.cli.model_file import STANDARD_INPUT, add_opening_options, open_model
from onnxmap.cli.outcome import DONE, UsageError
from onnxmap.cli.saving_bar import SavingBar
from onnxmap.cli.screen import draw, open_screen
from onnxmap.cli.text import shape_in_words
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    import onnxmap

    Row = tuple[str | None, onnxmap.TensorStats]  # no name: all tensors together

SUMMARY = "print minimum, maximum, mean, deviation, zeros and NaN of the initializers"

_TOTAL = "total"


def _greatest_first(fact: Callable[[Any], float | None]) -> Callable[[Row], Any]:
    """The key for an order by a number; tensors that have none come last."""

    def key(row: Row) -> Any:
        number = fact(row[1])
        return number is None, 0 if number is None else -number, natural(row[0] or "")

    return key


_SORT_KEYS: dict[str, Callable[[Row], Any]] = {
    "name": lambda row: natural(row[0] or ""),
    "count": _greatest_first(lambda found: found.count),
    "min": _greatest_first(lambda found: None if found.min is None else -found.min),
    "max": _greatest_first(lambda found: found.max),
    "mean": _greatest_first(lambda found: None if found.mean is None else abs(found.mean)),
    "std": _greatest_first(lambda found: found.std),
    "zeros": _greatest_first(lambda found: found.zero_share),
    "nan": _greatest_first(lambda found: found.nans),
    "inf": _greatest_first(lambda found: found.infinities),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap stats`."""
    parser.add_argument("file", metavar="FILE", help="the model; - is standard input")
    names = parser.add_argument(
        "names",
        nargs="*",
        default=[],
        metavar="NAME",
        help="read only these: a name, or a glob like '*.bias'",
    )
    complete_with(names, _complete_name)
    parser.add_argument(
        "--sort",
        choices=_SORT_KEYS,
        help="the order: the greatest first, except for name and min; mean by its size "
        "(default: the order in the file)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a list of objects, one a line; the last one, without a name, is the total",
    )
    add_opening_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap stats`."""
    with open_model(arguments.file, arguments) as model, SavingBar("reading") as bar:
        found = model.stats(_chosen(model, arguments.names), progress=bar)
    rows: list[Row] = list(found.items())
    if arguments.sort:
        rows.sort(key=_SORT_KEYS[arguments.sort])
    rows.append((None, found.total))
    if arguments.json:
        lines = ",\n ".join(json.dumps(_as_json(*row)) for row in rows)
        sys.stdout.write(f"[{lines}]\n")
    else:
        draw(lay_out(_columns(rows), open_screen()))
    return DONE


def _chosen(model: onnxmap.Model, names: Iterable[str]) -> list[str] | None:
    """The initializers that the command line names, in the order of the file; None for all."""
    if not names:
        return None
    present = model.initializers
    wanted: set[str] = set()
    for name in names:
        meant = [known for known in names_meant(name, present) if known in present]
        if not meant:
            raise UsageError(str(unknown_name("tensor", name, present)))
        wanted.update(meant)
    return [name for name in present if name in wanted]


def _as_json(name: str | None, found: onnxmap.TensorStats) -> dict[str, Any]:
    mean = found.mean
    return {
        "name": name,
        "dtype": None if found.dtype is None else type_name(found.dtype),
        "shape": found.shape,
        "count": found.count,
        "finite": found.finite,
        "min": found.min,
        "max": found.max,
        "mean": [mean.real, mean.imag] if isinstance(mean, complex) else mean,
        "std": found.std,
        "zeros": found.zeros,
        "nans": found.nans,
        "infinities": found.infinities,
    }


def _columns(rows: Iterable[Row]) -> list[Column]:
    from onnxmap._stats import HEADINGS, cells

    rows = list(rows)
    names = [_TOTAL if name is None else escape(name) for name, _ in rows]
    texts = [cells(found) for _, found in rows]
    shapes = ["" if row.shape is None else shape_in_words(row.shape) for _, row in rows]
    numbers = [
        Column(heading, [text[i] for text in texts], right=True)
        for i, heading in enumerate(HEADINGS)
        if i >= 2
    ]
    return [
        Column("name", names, style="cyan", narrowest=24),
        Column("type", [text[0] for text in texts], droppable=True),
        Column("shape", shapes, narrowest=14, droppable=True),
        *numbers,
    ]


def _complete_name(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """The names that begin with `prefix`, for the shell; none if the model cannot be read now."""
    if parsed_args.file == STANDARD_INPUT:
        return []
    try:
        with open_model(parsed_args.file, parsed_args) as model:
            names = model.initializers.names()
    except (OnnxMapError, OSError):
        return []
    return [name for name in names if name.startswith(prefix) and name.isprintable()]
