"""List the initializers of a model, or all its tensors, its nodes, or its inputs and outputs.

Example: onnxmap ls demo.onnx 'layers.0.*' --sort size
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import starmap
from typing import Any, NamedTuple

import onnxmap
from onnxmap._base.schema import type_name
from onnxmap._base.text import bytes_in_words, counted, shape_in_words, type_in_words
from onnxmap.cli import table
from onnxmap.cli.arguments import valued
from onnxmap.cli.exit_status import UsageError
from onnxmap.cli.model_file import complete_names, open_model
from onnxmap.cli.names import names_meant
from onnxmap.cli.text import natural, print_json_list
from onnxmap.errors import OnnxMapError

Facts = dict[str, Any]  # of one tensor, node or value: what --json prints

_INPUTS, _OUTPUT = ("input", "input with default"), "output"
_ALIGNED = {True: "yes", False: "no", None: "-"}


class Row(NamedTuple):
    """One line of a list."""

    facts: Facts
    names: tuple[str, ...]  # each of them selects the line


class Kind(NamedTuple):
    """A list that the command prints."""

    what: str  # what a line is about
    read: Callable[[onnxmap.Model], Iterable[Row]]
    columns: Mapping[table.Column, Callable[[Row], str]]  # with the text of a line in each
    totals: Callable[[Sequence[Row]], str]
    sort_keys: Sequence[str]


_SORT_KEYS: Mapping[str, Callable[[Facts], Any]] = {
    "dtype": lambda facts: (facts["dtype"], natural(facts["name"])),
    "file": lambda facts: (facts["file"] or "", facts["offset"] or 0),
    "name": lambda facts: natural(facts["name"]),
    "op": lambda facts: (facts["op"], natural(facts["name"])),
    "size": lambda facts: (-facts["nbytes"], natural(facts["name"])),
}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap ls`."""
    parser.add_argument("file", help="the model; - is standard input")
    of_model = complete_names(lambda model, of: _positions(of.kind.read(model)))
    text = "list only these: a name, a path, or a glob like '*.bias'"
    valued(parser, "names", "NAME", text, of_model, nargs="*", default=[])
    parser.set_defaults(kind=_INITIALIZERS)
    kinds = parser.add_mutually_exclusive_group()
    for option, kind, text in (
        ("--all", _TENSORS, "list every tensor, by its path: also those of nodes"),
        ("--nodes", _NODES, "list the nodes"),
        ("--inputs", _VALUES, "list the inputs and outputs"),
    ):
        kinds.add_argument(option, action="store_const", dest="kind", const=kind, help=text)
    parser.add_argument(
        "--sort", choices=_SORT_KEYS, help="the order (default: the order in the file)"
    )


def run(arguments: Namespace) -> None:
    """Run `onnxmap ls`."""
    kind: Kind = arguments.kind
    with open_model(arguments.file, arguments) as model:
        rows = list(kind.read(model))
        elsewhere = 0 if rows or kind is not _INITIALIZERS else len(model.tensors())
    if elsewhere and not arguments.json:
        hint = f"no initializers; --all lists {counted(elsewhere, 'tensor')} of nodes and functions"
        print(f"onnxmap: {hint}", file=sys.stderr)
    if arguments.names:
        rows = _chosen(kind, rows, arguments.names)
    if arguments.sort:
        if arguments.sort not in kind.sort_keys:
            known = ", ".join(kind.sort_keys)
            raise UsageError(f"this list cannot be sorted by {arguments.sort}; choose from {known}")
        rows.sort(key=lambda row: _SORT_KEYS[arguments.sort](row.facts))
    if arguments.json:
        print_json_list(row.facts for row in rows)
    else:
        cells = [[text(row) for text in kind.columns.values()] for row in rows]
        table.print_table(list(kind.columns), cells, footer=kind.totals(rows))


def _chosen(kind: Kind, rows: Sequence[Row], names: Iterable[str]) -> list[Row]:
    """The rows that the command line names, in their order."""
    present = _positions(rows)
    meant = {known for name in names for known in names_meant(kind.what, name, present)}
    wanted = {position for name in meant for position in present[name]}
    return [rows[position] for position in sorted(wanted)]


def _positions(rows: Iterable[Row]) -> dict[str, list[int]]:
    """The positions of the rows that each name selects."""
    found: dict[str, list[int]] = {}
    for position, row in enumerate(rows):
        for name in row.names:
            found.setdefault(name, []).append(position)
    return found


def _initializers(model: onnxmap.Model) -> Iterable[Row]:
    dense = model.initializers
    columns = dense.all(), dense.dtypes(), dense.shapes(), dense.names()
    yield from starmap(_tensor, zip(*columns, strict=True))
    for sparse in model.graph.sparse_initializers.all():
        values, shape = sparse.values, sparse.proto.dims
        facts, names = _tensor(values, values.proto.data_type, shape, sparse.name)
        facts["nbytes"] += sparse.indices.nbytes
        yield Row({**facts, "offset": None, "aligned": None, "sparse": True}, names)  # it has two


def _all_tensors(model: onnxmap.Model) -> Iterable[Row]:
    for path, tensor in model.tensors():
        dtype, shape = tensor.proto.data_type, tensor.proto.dims
        yield _tensor(tensor, dtype, shape, path, *filter(None, [tensor.name]))


def _tensor(tensor: onnxmap.Tensor, dtype: int, shape: Iterable[int], *names: str) -> Row:
    facts = {"name": names[0], "dtype": type_name(dtype), "shape": tuple(shape)}
    return Row({**facts, "nbytes": tensor.nbytes, **_place(tensor), "sparse": False}, names)


def _place(tensor: onnxmap.Tensor) -> Facts:
    """The external file as the model spells it, the offset, and whether a view is aligned.

    The file is None for values in the model, the offset if it is unknown, and the last without a
    view.
    """
    place: Facts = {"file": "?", "offset": None, "aligned": None}
    with suppress(OnnxMapError):  # what is wrong stays unknown
        external = tensor.external
        place["file"] = external.location if external else None
        place["offset"] = external.offset if external else None
        place["offset"] = tensor.offset
        place["aligned"] = tensor.is_aligned if tensor.is_view else None
    return place


def _nodes(model: onnxmap.Model) -> Iterable[Row]:
    for path, node in model.all_nodes():
        lists = {"inputs": list(node.inputs), "outputs": list(node.outputs)}
        op = f"{node.domain}.{node.op_type}".removeprefix(".")
        yield Row({"name": node.name, "op": op, **lists, "where": path}, (path, node.name))


def _values(model: onnxmap.Model) -> Iterable[Row]:
    with_default = {value.name for value in model.graph.overridable_inputs}
    found = [(each, _INPUTS[each.name in with_default]) for each in model.graph.inputs]
    found += [(each, _OUTPUT) for each in model.graph.outputs]
    for value, kind in found:
        facts = {"name": value.name, "kind": kind, "type": type_in_words(value.type)}
        yield Row(facts, (value.name,))


def _or_dash(value: str | int | None) -> str:
    return "-" if value in (None, "") else str(value)


def _joined(names: Sequence[str]) -> str:
    return ", ".join(map(_or_dash, names))


def _fact(name: str) -> Callable[[Row], str]:
    return lambda row: str(row.facts[name])


def _tensor_totals(rows: Sequence[Row]) -> str:
    tensors = [row.facts for row in rows]
    parts = [counted(len(rows), "tensor"), bytes_in_words(sum(each["nbytes"] for each in tensors))]
    files = Counter(facts["file"] for facts in tensors)
    inline = files.pop(None, 0)
    if files:
        other = counted(len(files), "other file")
        parts += [f"{inline:,} inline", f"{files.total():,} in {other}"]
    if unaligned := sum(facts["aligned"] is False for facts in tensors):
        parts.append(f"{unaligned:,} not aligned")
    return " · ".join(parts)


def _node_totals(rows: Sequence[Row]) -> str:
    ops = {row.facts["op"] for row in rows}
    return f"{counted(len(rows), 'node')} · {counted(len(ops), 'operator')}"


def _value_totals(rows: Sequence[Row]) -> str:
    outputs = sum(row.facts["kind"] == _OUTPUT for row in rows)
    return f"{counted(len(rows) - outputs, 'input')} · {counted(outputs, 'output')}"


# Each cell is one word, so that it is one field for awk and sort.
_FACT_COLUMNS: Mapping[table.Column, Callable[[Row], str]] = {
    table.Column("type"): lambda row: "sparse:" * row.facts["sparse"] + row.facts["dtype"],
    table.Shape("shape"): lambda row: shape_in_words(row.facts["shape"]),
    table.Number("bytes"): lambda row: f"{row.facts['nbytes']:,}",
    table.Text("in", spare=True): lambda row: row.facts["file"] or "inline",
    table.Number("offset", style="dim", spare=True): lambda row: _or_dash(row.facts["offset"]),
    table.Column("aligned", "dim", spare=True): lambda row: _ALIGNED[row.facts["aligned"]],
}
_TENSOR_KEYS = ("dtype", "file", "name", "size")
_INITIALIZERS = Kind(
    "tensor", _initializers, {table.Name("name"): _fact("name"), **_FACT_COLUMNS},
    _tensor_totals, _TENSOR_KEYS,
)  # fmt: skip
_TENSORS = Kind(
    "tensor", _all_tensors,
    {
        table.Name("path"): _fact("name"),
        table.Name("name"): lambda row: _or_dash("".join(row.names[1:])),
        **_FACT_COLUMNS,
    },
    _tensor_totals, _TENSOR_KEYS,
)  # fmt: skip
_NODES = Kind(
    "node", _nodes,
    {
        table.Name("name"): _fact("name"), table.Text("op"): _fact("op"),
        table.Text("where", style="dim"): _fact("where"),
        table.Text("inputs"): lambda row: _joined(row.facts["inputs"]),
        table.Text("outputs"): lambda row: _joined(row.facts["outputs"]),
    },
    _node_totals, ("name", "op"),
)  # fmt: skip
_VALUES = Kind(
    "input or output", _values,
    {
        table.Name("name"): _fact("name"), table.Column("kind"): _fact("kind"),
        table.Text("type"): _fact("type"),
    },
    _value_totals, ("name",),
)  # fmt: skip
