"""The nodes of a model for its report."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from onnxmap import _core
from onnxmap._base.text import qualified
from onnxmap._show.display import value_in_words
from onnxmap.report.weights import LONGEST_PATH, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxmap._files.model import Model

_MOST_NODES = 10_000
_MOST = 30  # inputs, outputs or attributes of a node


class NodeRow(NamedTuple):
    """A node in the table. The last of many inputs or outputs is the number of those left out."""

    operator: str
    name: str
    inputs: list[str | int]
    outputs: list[str | int]
    attributes: str
    path: str


def node_table(model: Model) -> tuple[list[NodeRow], int]:
    """Return a row for each node, also of subgraphs and functions, and how many are left out."""
    nodes = model.all_nodes()
    rows = [_row(path, node) for path, node in nodes[:_MOST_NODES]]
    return rows, len(nodes) - len(rows)


def _row(path: str, node: _core.Node) -> NodeRow:
    # Not `node.attributes`, which warns of a repeated name.
    every = node.proto.attribute
    shown = [_attribute(_core.wrap(each)) for each in islice(every, _MOST)]
    more = [f"and {len(every) - _MOST:,} more"] if len(every) > _MOST else []
    return NodeRow(
        short(qualified(node.domain, node.op_type)), short(node.name), _names(node.inputs),
        _names(node.outputs), ", ".join(shown + more), short(path, LONGEST_PATH),
    )  # fmt: skip


def _names(names: Sequence[str]) -> list[str | int]:
    shown: list[str | int] = [short(name) for name in names[:_MOST]]
    return shown if len(names) <= _MOST else [*shown, len(names) - _MOST]


def _attribute(attribute: _core.Attribute) -> str:
    """Its name and value; of a tensor or a graph, what it is."""
    value = value_in_words(attribute).removeprefix("<onnxmap.").removesuffix(">")
    return f"{short(attribute.name)}={value}"
