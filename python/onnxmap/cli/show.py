"""Show a model on one screen: origin, interface, operators, weights and files.

Example: onnxmap show demo.onnx
"""

from __future__ import annotations

import re
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import onnxmap
from onnxmap._base.schema import type_name
from onnxmap._base.text import bytes_in_words, counted, type_in_words
from onnxmap.cli import table
from onnxmap.cli.exit_status import in_words
from onnxmap.cli.model_file import open_model
from onnxmap.cli.text import cut, print_json, seconds_in_words

# These keep the page to one screen; --json prints everything.
_MOST_LINES = 8
_MOST_CHARACTERS = 200
_BAR_WIDTH = 20
_LABEL_WIDTH = len("operators")

# Where nodes and tensors are beside the lists of the graph: in the facts, on the page, and the
# pattern that their paths match. The last one that matches counts.
PLACES = {
    "node_attributes": ("Constant and other nodes", re.compile(r"graph\.node\[[0-9]+\]\.")),
    "sparse_initializers": ("sparse initializers", re.compile(r"graph\.sparse_initializer\[")),
    "subgraphs": ("subgraphs", re.compile(r".*\]\.(g|graphs\[[0-9]+\])\.", re.DOTALL)),
    "functions": ("functions", re.compile(r"functions\[")),
    "training": ("training", re.compile(r"(?!graph\.|functions\[)")),
}

_FIELDS = ("ir_version", "model_version", "num_parameters", "domain", "doc_string")

Cells = tuple[str, ...]  # of one line


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap show`."""
    parser.add_argument("file", help="the model; - is standard input")


def run(arguments: Namespace) -> None:
    """Run `onnxmap show`."""
    start = time.perf_counter()
    model = open_model(arguments.file, arguments)
    seconds = time.perf_counter() - start
    with model:
        facts = _facts(model, arguments, seconds)
    if arguments.json:
        print_json(facts)
    else:
        for label, rows in _sections(facts):
            if rows:
                _print_section(label, rows)


def _facts(model: onnxmap.Model, arguments: Namespace, seconds: float) -> dict[str, Any]:
    """What `--json` prints, and the page is drawn from."""
    graph = model.graph
    return {
        "path": arguments.file,
        "nbytes": model.proto.ByteSize(),
        "load_seconds": seconds,
        **{name: getattr(model, name) for name in _FIELDS},
        "producer_name": model.producer_name,
        "producer_version": model.producer_version,
        "opset_imports": dict(model.opset_imports),
        "graph_name": graph.name,
        "inputs": _values(graph.inputs),
        "outputs": _values(graph.outputs),
        "node_count": len(graph.nodes),
        "op_counts": dict(graph.op_counts()),
        "functions": [
            {"domain": each.domain, "name": each.name, "node_count": len(each.nodes)}
            for each in model.functions
        ],
        "initializers": _initializers(model.initializers),
        "elsewhere": _elsewhere(model),
        "external_files": [
            {"path": each.path, "nbytes": each.nbytes, "error": _reason(each.failure, arguments)}
            for each in model.data_files()
        ],
        "metadata_props": dict(model.metadata_props),
    }


def _values(values: Iterable[onnxmap.ValueInfo]) -> list[dict[str, str]]:
    return [{"name": value.name, "type": type_in_words(value.type)} for value in values]


def _initializers(initializers: onnxmap.Initializers) -> dict[str, Any]:
    """The number and bytes of the initializers, in all and by element type."""
    dtypes, sizes = initializers.dtypes(), initializers.nbytes()
    by_dtype: dict[str, dict[str, int]] = {}
    for dtype, nbytes in zip(dtypes, sizes, strict=True):
        sums = by_dtype.setdefault(type_name(dtype), {"count": 0, "nbytes": 0})
        sums["count"] += 1
        sums["nbytes"] += nbytes
    ranked = sorted(by_dtype.items(), key=lambda item: -item[1]["nbytes"])
    return {"count": len(dtypes), "nbytes": sum(sizes), "by_dtype": dict(ranked)}


def _elsewhere(model: onnxmap.Model) -> dict[str, dict[str, int]]:
    """The nodes and tensors that are in no list of the graph. Functions list their nodes."""
    found = {place: {"node_count": 0, "count": 0, "nbytes": 0} for place in PLACES}
    for path, _ in model.all_nodes():
        if (place := _place(path)) and place != "functions":
            found[place]["node_count"] += 1
    for path, tensor in model.tensors():
        if place := _place(path):
            # A sparse initializer has two tensors, and counts once.
            found[place]["count"] += place != "sparse_initializers" or path.endswith(".values")
            found[place]["nbytes"] += tensor.nbytes
    return {place: sums for place, sums in found.items() if sums["node_count"] or sums["count"]}


def _place(path: str) -> str | None:
    """Where the node or tensor of a path is: one of PLACES, or None for a list of the graph."""
    matching = (name for name, (_, paths) in reversed(PLACES.items()) if paths.match(path))
    return next(matching, None)


def _reason(failure: Exception | None, arguments: Namespace) -> str | None:
    if isinstance(failure, FileNotFoundError):
        return "missing"
    return None if failure is None else in_words(failure, arguments)


def _version(number: int) -> str:
    """A version of a model, which is semantic if its first four bytes are not zero."""
    parts = number >> 48, number >> 32 & 0xFFFF, number & 0xFFFFFFFF
    return ".".join(map(str, parts)) if number >= 1 << 32 else str(number)


def _sections(facts: dict[str, Any]) -> Iterator[tuple[str, list[Cells]]]:
    """The page: labels, and the lines beside each."""
    opened = f"opened in {seconds_in_words(facts['load_seconds'])}"
    yield "model", [(PurePath(facts["path"]).name, bytes_in_words(facts["nbytes"]), opened)]
    yield "producer", _text(f"{facts['producer_name']} {facts['producer_version']}".strip())
    opsets = (f"{name or 'ai.onnx'} {number}" for name, number in facts["opset_imports"].items())
    own = [f"model {_version(facts['model_version'])}"] if facts["model_version"] else []
    yield "versions", _text(" · ".join((f"IR {facts['ir_version']}", *opsets, *own)))
    yield "domain", _text(facts["domain"])
    yield "about", _text(facts["doc_string"])
    weights = facts["initializers"]
    nodes, tensors = counted(facts["node_count"], "node"), counted(weights["count"], "initializer")
    sizes = counted(facts["num_parameters"], "parameter"), bytes_in_words(weights["nbytes"])
    yield "graph", _text(f"{facts['graph_name']}  {' · '.join((nodes, tensors, *sizes))}".lstrip())
    for label in ("inputs", "outputs"):
        yield label, _first([(value["name"], value["type"]) for value in facts[label]])
    ops = sorted(facts["op_counts"].items(), key=lambda item: (-item[1], item[0]))
    yield "operators", _ranked([(count, (name, f"{count:,}")) for name, count in ops])
    yield "weights", _ranked([
        (sums["nbytes"], (name, f"{sums['count']:,}", bytes_in_words(sums["nbytes"])))
        for name, sums in weights["by_dtype"].items()
    ])  # fmt: skip
    yield "elsewhere", _rows_elsewhere(facts["elsewhere"])
    yield "files", _first([
        (PurePath(file["path"]).name, file["error"] or bytes_in_words(file["nbytes"]))
        for file in facts["external_files"]
    ])  # fmt: skip
    yield "functions", _first([
        (f"{of['domain']}::{of['name']}".removeprefix("::"), counted(of["node_count"], "node"))
        for of in facts["functions"]
    ])  # fmt: skip
    yield "metadata", _first(list(facts["metadata_props"].items()))


def _print_section(label: str, rows: list[Cells]) -> None:
    columns = [table.Column(style="dim")]
    if len(rows[0]) == 1:
        columns += [table.Text()]
    elif label in ("operators", "weights"):
        numbers = [table.Number()] * (len(rows[0]) - 2)
        columns += [table.Name(), *numbers, table.Column(style="blue", spare=True)]
    else:
        columns += [table.Name(), *[table.Text()] * (len(rows[0]) - 1)]
    # A program gets the label in each line, a person in the first one.
    labels = [label] * len(rows)
    if sys.stdout.isatty():
        labels = [label.ljust(_LABEL_WIDTH), *[""] * (len(rows) - 1)]
    cells = [[cut(cell, _MOST_CHARACTERS) for cell in row] for row in rows]
    table.print_table(columns, [(labels.pop(0), *row) for row in cells])


def _text(text: str) -> list[Cells]:
    return [(text,)] if text else []


def _first(rows: list[Cells]) -> list[Cells]:
    """The first rows, with the number of the others."""
    shown = [(name or "(unnamed)", *others) for name, *others in rows[:_MOST_LINES]]
    rest = len(rows) - len(shown)
    return [*shown, (f"… and {rest:,} more",)] if rest else shown


def _ranked(rows: Sequence[tuple[int, Cells]]) -> list[Cells]:
    """The first rows, each with a bar for its number."""
    most = max((number for number, _ in rows), default=0)
    return _first([(*cells, _bar(number, most)) for number, cells in rows])


def _bar(number: int, most: int) -> str:
    return ("█" * round(_BAR_WIDTH * number / most) or "▏") if number else ""


def _rows_elsewhere(places: Mapping[str, Mapping[str, int]]) -> list[Cells]:
    rows: list[Cells] = []
    for place, sums in places.items():
        parts = [counted(sums["node_count"], "node")] if sums["node_count"] else []
        if sums["count"]:
            parts += [counted(sums["count"], "tensor"), bytes_in_words(sums["nbytes"])]
        rows.append((PLACES[place][0], " · ".join(parts)))
    if any(sums["count"] for sums in places.values()):
        rows.append(("'onnxmap ls --all' lists these tensors",))
    return rows
