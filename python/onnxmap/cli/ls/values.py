"""The inputs and outputs of a graph: name, type, and whether an input has a default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxmap._text import counted, escape
from onnxmap.cli.columns import Column
from onnxmap.cli.ls.listing import Listing, natural
from onnxmap.cli.type_text import type_in_words

if TYPE_CHECKING:
    import onnxmap

REQUIRED = "input"
OVERRIDABLE = "input with default"
OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the list."""

    name: str
    kind: str  # input, "input with default", or output
    type: str


SORT_KEYS = {"name": lambda entry: natural(entry.name)}


class Values(Listing[Entry]):
    """Inputs and outputs as entries."""

    what = "input or output"
    sort_keys = SORT_KEYS

    def columns(self) -> list[Column]:
        """See Listing."""
        entries = self.entries
        return [
            Column("name", [escape(entry.name) for entry in entries], style="cyan", narrowest=24),
            Column("kind", [entry.kind for entry in entries]),
            Column("type", [entry.type for entry in entries], narrowest=16),
        ]

    def totals(self) -> str:
        """See Listing."""
        outputs = sum(entry.kind == OUTPUT for entry in self.entries)
        return f"{counted(len(self.entries) - outputs, 'input')} · {counted(outputs, 'output')}"


def listing(model: onnxmap.Model) -> Values:
    """Return the inputs of the graph, then its outputs."""
    graph = model.graph
    with_default = {value.name for value in graph.overridable_inputs}
    inputs = [
        Entry(
            value.name,
            OVERRIDABLE if value.name in with_default else REQUIRED,
            type_in_words(value.type),
        )
        for value in graph.inputs
    ]
    outputs = [Entry(value.name, OUTPUT, type_in_words(value.type)) for value in graph.outputs]
    return Values(inputs + outputs)
