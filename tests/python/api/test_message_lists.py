"""Lists of messages are whole sequences, and messages with the same content are equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from support import wire_bytes as wire

import onnxmap

OPS = ["Add", "Relu", "Add", "Mul"]


def model_of(*ops: str) -> onnxmap.Model:
    nodes = b"".join(wire.blob(1, wire.blob(4, op.encode())) for op in ops)
    return onnxmap.loads(wire.blob(7, nodes + wire.blob(5, wire.blob(8, b"w"))))


LISTS: dict[str, Callable[[onnxmap.Model], Sequence[Any]]] = {
    "nodes": lambda model: model.graph.nodes,
    "views": lambda model: model.proto.graph.node,
}


@pytest.fixture(params=LISTS)
def nodes(request: pytest.FixtureRequest) -> Sequence[Any]:
    return LISTS[request.param](model_of(*OPS))


def test_a_list_is_a_sequence(nodes: Sequence[Any]) -> None:
    assert isinstance(nodes, Sequence)
    assert [node.op_type for node in nodes] == OPS
    assert [node.op_type for node in reversed(nodes)] == OPS[::-1]
    assert [node.op_type for node in nodes[::-2]] == OPS[::-2]


def test_a_list_finds_its_messages(nodes: Sequence[Any]) -> None:
    for position in range(len(OPS)):
        assert nodes[position] in nodes
        assert nodes.index(nodes[position]) == OPS.index(OPS[position])
        assert nodes.count(nodes[position]) == OPS.count(OPS[position])
    with pytest.raises(ValueError):
        nodes.index(nodes[1], 2)
    assert nodes.index(nodes[-1], -1) == len(OPS) - 1
    assert (model_of("Mul").graph.nodes[0] in nodes) == isinstance(nodes[0], onnxmap.Node)
    for other in (None, "Add", object(), model_of("Neg").graph.nodes[0]):
        assert other not in nodes
        assert nodes.count(other) == 0


def test_lists_compare_like_python_lists(nodes: Sequence[Any]) -> None:
    assert nodes == nodes[:]
    assert nodes[:] == nodes
    assert nodes != nodes[:-1]
    assert nodes != nodes[::-1]
    assert nodes != tuple(nodes)
    assert nodes != "nodes"
    with pytest.raises(TypeError, match="unhashable"):
        hash(nodes)


def test_two_lists_of_one_field_are_equal() -> None:
    model = model_of(*OPS)
    for find in LISTS.values():
        assert find(model) == find(model)
        assert find(model) == find(model_of(*OPS))
        assert find(model) != find(model_of("Neg", *OPS[1:]))
        assert find(model_of()) == find(model_of()) == []


MESSAGES: dict[str, Callable[[onnxmap.Model], Any]] = {
    "Node": lambda model: model.graph.nodes[0],
    "ProtoView": lambda model: model.proto.graph.node[0],
    "Tensor": lambda model: model.initializers["w"],
    "Graph": lambda model: onnxmap.wrap(model.proto.graph),
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_objects_of_one_message_are_equal(kind: str) -> None:
    model, same = model_of("Add", "Add"), model_of("Add", "Add")
    find = MESSAGES[kind]
    first, second, third = find(model), find(model), find(same)
    assert first is not second
    assert first == second == third
    assert len({first, second, third}) == 1
    assert first != 1


def test_messages_of_other_content_or_class_differ() -> None:
    model = model_of("", "", "Add")  # the first two are empty
    assert len(set(model.graph.nodes)) == 2
    assert model.graph.nodes[0] != model.graph.nodes[0].proto


def test_a_message_in_parts_equals_itself() -> None:
    parts = [wire.blob(7, wire.blob(1, wire.blob(4, op))) for op in (b"Add", b"Mul")]
    model = onnxmap.loads(b"".join(parts))
    assert model.proto.graph == model.proto.graph
    assert model.graph.nodes.index(model.graph.nodes[1]) == 1


def test_unknown_fields_are_sequences_too() -> None:
    field = wire.blob(99, b"x") + wire.scalar(98, 7)
    unknown = onnxmap.loads(wire.blob(7, wire.blob(5, b"")) + field).proto.unknown_fields
    assert unknown == unknown[:]
    assert unknown.index(unknown[1]) == 1
    assert len({unknown[0], unknown[0]}) == 1
    assert [one.field_number for one in reversed(unknown)] == [98, 99]


def test_the_class_takes_its_element_in_brackets() -> None:
    assert onnxmap.MessageList[onnxmap.Node].__args__ == (onnxmap.Node,)  # type: ignore[attr-defined]
