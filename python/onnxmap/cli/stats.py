"""Print minimum, maximum, mean, standard deviation, zeros, NaN and infinities of initializers.

--json prints a list of objects, one a line. The last one has no name, and is the total.
With --histogram, each of the others has the counts of its values and the edges of the bins.

Example: onnxmap stats demo.onnx 'sample.*' --sort max
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

import onnxmap
from onnxmap._base.schema import type_name
from onnxmap._read.stats import HEADINGS, cells
from onnxmap.cli import table
from onnxmap.cli.arguments import valued
from onnxmap.cli.bar import progress_bar
from onnxmap.cli.model_file import complete_initializers, open_model
from onnxmap.cli.names import chosen_tensors
from onnxmap.cli.text import natural, print_json_list, spread_in_words

Row = tuple[str | None, "onnxmap.TensorStats"]  # no name: all tensors together
Histograms = Mapping[str | None, tuple[list[int], list[float]]]  # counts and edges

_BARS = 16  # of a histogram: they have room beside the other columns
# For an order by a number: the greatest one comes first.
_NUMBERS: dict[str, Callable[[onnxmap.TensorStats], float | None]] = {
    "count": lambda found: found.count,
    "min": lambda found: None if found.min is None else -found.min,
    "max": lambda found: found.max,
    "mean": lambda found: None if found.mean is None else abs(found.mean),
    "std": lambda found: found.std,
    "zeros": lambda found: found.zero_share,
    "nan": lambda found: found.nans,
    "inf": lambda found: found.infinities,
}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap stats`."""
    parser.add_argument("file", metavar="FILE", help="the model; - is standard input")
    text = "read only these: a name, or a glob like '*.bias'"
    valued(parser, "names", "NAME", text, complete_initializers, nargs="*", default=[])
    text = "the order: the greatest first, except for name and min; mean by its size "
    text += "(default: the order in the file)"
    parser.add_argument("--sort", choices=("name", *_NUMBERS), help=text)
    text = "also show a histogram of each tensor; this reads the values twice more"
    parser.add_argument("--histogram", action="store_true", help=text)


def run(arguments: Namespace) -> None:
    """Run `onnxmap stats`."""
    with open_model(arguments.file, arguments) as model, progress_bar("reading") as bar:
        found = model.stats(chosen_tensors(model, arguments.names), progress=bar)
        histograms = _histograms(model, found) if arguments.histogram else None
    named = list(found.items())
    if arguments.sort:
        named.sort(key=lambda row: _order(arguments.sort, *row))
    rows: list[Row] = [*named, (None, found.total)]
    if arguments.json:
        print_json_list(_as_json(row, histograms) for row in rows)
    else:
        _print(rows, histograms)


def _histograms(model: onnxmap.Model, stats: onnxmap.ModelStats) -> Histograms:
    """Of all tensors whose values have an order: complex numbers have none."""
    types = {name: each.dtype for name, each in stats.items()}
    names = [name for name, each in types.items() if each and "COMPLEX" not in each.name]
    found = {name: model.initializers[name].histogram(_BARS) for name in names}
    return {name: (counts.tolist(), edges.tolist()) for name, (counts, edges) in found.items()}


def _order(by: str, name: str, found: onnxmap.TensorStats) -> Any:
    """What is compared for the order; tensors without the number come last."""
    number = _NUMBERS[by](found) if by != "name" else None
    return number is None, -(number or 0), natural(name)


def _as_json(row: Row, histograms: Histograms | None) -> dict[str, Any]:
    name, found = row
    facts = {"name": name, **asdict(found)}
    facts["dtype"] = None if found.dtype is None else type_name(found.dtype)
    if isinstance(found.mean, complex):
        facts["mean"] = [found.mean.real, found.mean.imag]
    if histograms is not None:
        one = histograms.get(name)
        facts["histogram"] = one and {"counts": one[0], "edges": one[1]}
    return facts


def _print(rows: Iterable[Row], histograms: Histograms | None) -> None:
    texts = []
    for name, found in rows:
        texts.append(["total" if name is None else name, *cells(found)])
        if histograms is not None:
            texts[-1].append(spread_in_words(histograms[name][0]) if name in histograms else "")
    type_and_shape = table.Column(HEADINGS[0], spare=True), table.Shape(HEADINGS[1], spare=True)
    numbers = map(table.Number, HEADINGS[2:])
    spread = [table.Column("histogram", style="blue")] if histograms is not None else []
    table.print_table([table.Name("name"), *type_and_shape, *numbers, *spread], texts)
