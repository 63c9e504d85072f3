"""The nodes of a model: name, operator, inputs, outputs, and where the node is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxmap._text import counted, escape, qualified
from onnxmap.cli.columns import Column
from onnxmap.cli.ls.listing import Listing, natural, positions

if TYPE_CHECKING:
    import onnxmap

_SHOWN = 6  # names of a list
_USUAL_OP = 18  # BatchNormalization


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the list."""

    name: str
    op: str  # with its domain, like com.microsoft.Gelu
    inputs: list[str]
    outputs: list[str]
    where: str  # like graph.node[3]


SORT_KEYS = {
    "name": lambda entry: natural(entry.name),
    "op": lambda entry: (entry.op, natural(entry.name)),
}


class Nodes(Listing[Entry]):
    """Nodes as entries."""

    what = "node"
    sort_keys = SORT_KEYS

    def names(self) -> Mapping[str, Collection[int]]:
        """See Listing. A node is found by its path and by its name."""
        return {**positions(entry.where for entry in self.entries), **super().names()}

    def columns(self) -> list[Column]:
        """See Listing."""
        entries = self.entries
        return [
            Column("name", [escape(entry.name) for entry in entries], style="cyan", narrowest=16),
            Column("op", [escape(entry.op) for entry in entries], narrowest=_USUAL_OP),
            Column(
                "where",
                [escape(entry.where) for entry in entries],
                style="dim",
                narrowest=16,
                droppable=True,
            ),
            # Last, because they have no usual width: in a pipe they would push others to the right.
            Column("inputs", [_names(entry.inputs) for entry in entries], narrowest=12),
            Column("outputs", [_names(entry.outputs) for entry in entries], narrowest=12),
        ]

    def totals(self) -> str:
        """See Listing."""
        ops = Counter(entry.op for entry in self.entries)
        return f"{counted(len(self.entries), 'node')} · {counted(len(ops), 'operator')}"


def listing(model: onnxmap.Model) -> Nodes:
    """Return the nodes of the graph, its subgraphs and the functions."""
    return Nodes(
        [
            Entry(
                node.name,
                qualified(node.domain, node.op_type),
                list(node.inputs),
                list(node.outputs),
                where,
            )
            for where, node in model.all_nodes()
        ]
    )


def _names(names: Iterable[str]) -> str:
    shown = [escape(name) or "-" for name in names]
    rest = [f"… {len(shown) - _SHOWN} more"] if len(shown) > _SHOWN else []
    return ", ".join(shown[:_SHOWN] + rest)
