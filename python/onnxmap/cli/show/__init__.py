"""Show a model on one screen: origin, interface, operators, weights and files."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from onnxmap._schema import type_name
from onnxmap.cli.model_file import add_opening_options, open_model
from onnxmap.cli.outcome import in_options
from onnxmap.cli.screen import draw, open_screen
from onnxmap.cli.show.page import PLACES, page
from onnxmap.cli.type_text import type_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    import onnxmap

SUMMARY = "show a model on one screen: interface, operators, weights, files"

_NODE, _FUNCTION = "graph.node[", "functions["
_INITIALIZER, _SPARSE = "graph.initializer[", "graph.sparse_initializer["
_INNER_GRAPH = re.compile(r"\]\.(g|graphs\[[0-9]+\])\.")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap show`."""
    parser.add_argument("file", help="the model; - is standard input")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    add_opening_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap show`."""
    start = time.perf_counter()
    model = open_model(arguments.file, arguments)
    seconds = time.perf_counter() - start
    with model:
        facts = {
            "path": arguments.file,
            "nbytes": model.proto.ByteSize(),
            "load_seconds": seconds,
            **summary(model),
        }
    if arguments.json:
        json.dump(facts, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        draw(page(facts, open_screen()))
    return 0


def summary(model: onnxmap.Model) -> dict[str, Any]:
    """Return the facts of a model. `--json` prints them, and the page is drawn from them."""
    graph = model.graph
    tensors = model.tensors()
    return {
        "ir_version": model.ir_version,
        "opset_imports": dict(model.opset_imports),
        "producer_name": model.producer_name,
        "producer_version": model.producer_version,
        "domain": model.domain,
        "model_version": model.model_version,
        "doc_string": model.doc_string,
        "graph_name": graph.name,
        "inputs": [_interface(value) for value in graph.inputs],
        "outputs": [_interface(value) for value in graph.outputs],
        "node_count": len(graph.nodes),
        "op_counts": dict(graph.op_counts()),
        "functions": [
            {"domain": function.domain, "name": function.name, "node_count": len(function.nodes)}
            for function in model.functions
        ],
        "initializers": _initializers(graph.initializers),
        "elsewhere": _elsewhere(model, tensors),
        "external_files": _external_files(tensor for _, tensor in tensors),
        "metadata_props": dict(model.metadata_props),
    }


def _interface(value: onnxmap.ValueInfo) -> dict[str, Any]:
    return {"name": value.name, "type": type_in_words(value.type)}


def _initializers(initializers: onnxmap.Initializers) -> dict[str, Any]:
    """The number and bytes of the initializers, in all and by element type."""
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for dtype, nbytes in zip(initializers.dtypes(), initializers.nbytes(), strict=True):
        counts[type_name(dtype)] += 1
        sizes[type_name(dtype)] += nbytes
    return {
        "count": counts.total(),
        "nbytes": sizes.total(),
        "by_dtype": {
            name: {"count": counts[name], "nbytes": nbytes} for name, nbytes in sizes.most_common()
        },
    }


def _elsewhere(
    model: onnxmap.Model, tensors: Iterable[tuple[str, onnxmap.Tensor]]
) -> dict[str, dict[str, int]]:
    """The nodes and tensors that are in no list of the graph. Functions list their nodes."""
    found = {place: {"node_count": 0, "count": 0, "nbytes": 0} for place in PLACES}
    for path, _ in model.all_nodes():
        if not path.startswith(_NODE) or _INNER_GRAPH.search(path):
            found[_place(path)]["node_count"] += not path.startswith(_FUNCTION)
    for path, tensor in tensors:
        if path.startswith(_INITIALIZER):
            continue
        sums = found[_place(path)]
        # A sparse initializer has two tensors, and counts once.
        sums["count"] += not (path.startswith(_SPARSE) and path.endswith(".indices"))
        sums["nbytes"] += tensor.nbytes
    return {place: sums for place, sums in found.items() if sums["node_count"] or sums["count"]}


def _place(path: str) -> str:
    """Where the node or tensor of a path is: one of PLACES."""
    if path.startswith(_FUNCTION):
        return "functions"
    if not path.startswith("graph."):
        return "training"
    if _INNER_GRAPH.search(path):
        return "subgraphs"
    return "sparse_initializers" if path.startswith(_SPARSE) else "node_attributes"


def _external_files(tensors: Iterable[onnxmap.Tensor]) -> list[dict[str, Any]]:
    """Each data file once, with the reason if it cannot be opened."""
    from onnxmap._checksums import data_files

    return [
        {
            "path": file.path,
            "nbytes": None if file.opened is None else file.opened.size,
            "error": None if file.failure is None else _reason(file.failure),
        }
        for file in data_files(tensors, declared_only=False)
    ]


def _reason(failure: Exception) -> str:
    return "missing" if isinstance(failure, FileNotFoundError) else in_options(str(failure))
