"""Renames initializers, with everything that refers to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._text import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from onnxmap._messages import Message

_BINDINGS = ("initialization_binding", "update_binding")


def rename(graph: _core.Graph, names: Mapping[str, str]) -> None:
    """Rename initializers of a graph; see `Initializers.rename`."""
    proto = graph.proto
    names = {old: new for old, new in names.items() if old != new}
    _check(graph, proto, names)
    # The uses are looked up before the first edit: each edit makes the index of uses stale.
    uses = [(new, graph.uses(old)) for old, new in names.items()]
    for new, places in uses:
        for user, position in places:
            if isinstance(user, _core.Node):
                user.inputs[position] = new
            else:
                user.outputs[position].name = new
    for field in ("initializer", "input", "value_info"):  # outputs are among the uses
        _rename_in(getattr(proto, field), "name", names)
    for sparse in proto.sparse_initializer:
        _rename_in([sparse.values], "name", names)
    for annotation in proto.quantization_annotation:
        _rename_in([annotation], "tensor_name", names)
        _rename_in(annotation.quant_parameter_tensor_names, "value", names)
    for training in graph.training_info():
        for field in _BINDINGS:
            _rename_in(getattr(training, field), "key", names)


def _rename_in(messages: Any, field: str, names: Mapping[str, str]) -> None:
    for message in messages:
        new = names.get(getattr(message, field))
        if new is not None:
            setattr(message, field, new)


def _check(graph: _core.Graph, proto: Message, names: Mapping[str, str]) -> None:
    known = graph.names(sparse=False)
    sparse = graph.names(sparse=True)
    taken = set(_made_in(proto)) - names.keys()
    new_names: set[str] = set()
    for old, new in names.items():
        if not isinstance(new, str):
            raise TypeError(f"a name is a str, not {type(new).__name__}")
        if not new:
            raise ValueError("an initializer needs a name")
        if old not in sparse:
            known.position(old)  # raises an error that suggests names
        if new in taken or new in new_names:
            raise ValueError(f"the graph has a value of the name {escape(repr(new))} already")
        new_names.add(new)
    for subgraph in _subgraphs(proto):
        hidden = new_names.intersection(_made_in(subgraph))
        if hidden:
            raise ValueError(
                f"a subgraph has a value of its own of the name {escape(repr(min(hidden)))}, "
                "which would hide the initializer"
            )


def _made_in(graph: Message) -> Iterator[str]:
    """The names of the values that a graph has of its own."""
    for field in ("input", "initializer"):
        for message in getattr(graph, field):
            yield message.name
    for sparse in graph.sparse_initializer:
        yield sparse.values.name
    for node in graph.node:
        yield from node.output


def _subgraphs(graph: Message) -> Iterator[Message]:
    """All graphs in the attributes of a graph's nodes, at any depth."""
    for node in graph.node:
        for attribute in node.attribute:
            inner = [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]
            for each in inner:
                yield each
                yield from _subgraphs(each)
