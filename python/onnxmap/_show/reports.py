"""What the verbs of surgery did."""

from __future__ import annotations

from typing import NamedTuple

from onnxmap._show.display import describe_html


class DimReport(NamedTuple):
    """What `Model.set_dims` removed, and what it left.

    Attributes:
        value_infos: the names of values whose stored types were removed.
        constants: the node inputs that are constants and still hold a number that was changed,
            like "graph.node[3].input[1]".
        rewritten: the node inputs that are constants and hold the new number now.
    """

    value_infos: list[str]
    constants: list[str]
    rewritten: list[str]

    def _repr_html_(self) -> str:
        return describe_html(self)


class PruneReport(NamedTuple):
    """What `Model.prune` removed.

    Attributes:
        nodes: their places before, like "graph.node[3]".
        initializers: their names.
        value_infos: their names.
        functions: like "domain::name", or "domain::name:overload".
        opset_imports: their domains.
    """

    nodes: list[str]
    initializers: list[str]
    value_infos: list[str]
    functions: list[str]
    opset_imports: list[str]

    def _repr_html_(self) -> str:
        return describe_html(self)
