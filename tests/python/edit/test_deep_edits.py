"""Edits that nest messages too deeply raise LimitError, and never exhaust the stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import onnxmap


def type_within(levels: int) -> tuple[onnxmap.ProtoView, onnxmap.ProtoView]:
    """An empty TypeProto, and the one that many sequence types below it would hold."""
    root = message = onnxmap.loads_proto(b"", "TypeProto")
    for _ in range(levels):
        message = message.sequence_type.elem_type
    return root, message


def test_absent_messages_are_as_deep_as_the_limit() -> None:
    root, innermost = type_within(50)
    innermost.denotation = "x"
    loaded = onnxmap.loads_proto(root.SerializeToString(), "TypeProto")
    assert loaded == root
    _, innermost = type_within(50)
    with pytest.raises(onnxmap.LimitError) as caught:
        innermost.sequence_type  # noqa: B018 -- the access raises
    assert caught.value.code == "limit.depth"


@pytest.mark.parametrize("levels", [1, 50])
def test_messages_that_edits_nest_too_deeply_are_not_saved(levels: int) -> None:
    deep, innermost = type_within(50)
    innermost.denotation = "x"
    root, innermost = type_within(levels)
    innermost.CopyFrom(deep)
    for read in (root.SerializeToString, root.ByteSize, root.to_text):
        with pytest.raises(onnxmap.LimitError) as caught:
            read()
        assert caught.value.code == "limit.depth"
    with pytest.raises(onnxmap.LimitError):  # a copy reads it
        type_within(1)[1].CopyFrom(root)
    root.ClearField("sequence_type")
    assert root.SerializeToString() == b""


def nested_node(levels: int) -> onnxmap.ProtoView:
    node = onnxmap.new("NodeProto", op_type="Innermost")
    for _ in range(levels):
        graph = onnxmap.new("GraphProto", name="inner", node=[node])
        node = onnxmap.new("NodeProto", op_type="If", attribute=[{"name": "a", "g": graph}])
    return node


DEEP_NODE = nested_node(8)
DEEP_GRAPH = onnxmap.new("GraphProto", name="other", node=[{"op_type": "First"}, DEEP_NODE])
DEEP_MODEL = onnxmap.new("ModelProto", producer_name="other", ir_version=9, graph=DEEP_GRAPH)
DEEP_ATTRIBUTE = DEEP_NODE.attribute[0]


def deep_bytes(message: onnxmap.ProtoView) -> bytes:
    return message.SerializeToString()


def fill_absent_node_list(model: onnxmap.Model) -> None:
    model.proto.graph.node[0].attribute[0].g.node.append(DEEP_NODE)


# Each takes a model whose messages may be nested less deeply than those that it gets.
FAILING: dict[str, Callable[[onnxmap.Model], object]] = {
    "copy a model": lambda m: m.proto.CopyFrom(DEEP_MODEL),
    "merge a model": lambda m: m.proto.MergeFrom(DEEP_MODEL),
    "parse a model": lambda m: m.proto.ParseFromString(deep_bytes(DEEP_MODEL)),
    "merge the bytes of a model": lambda m: m.proto.MergeFromString(deep_bytes(DEEP_MODEL)),
    "copy a graph": lambda m: m.proto.graph.CopyFrom(DEEP_GRAPH),
    "merge a graph": lambda m: m.proto.graph.MergeFrom(DEEP_GRAPH),
    "parse a graph": lambda m: m.proto.graph.ParseFromString(deep_bytes(DEEP_GRAPH)),
    "copy a node": lambda m: m.proto.graph.node[0].CopyFrom(DEEP_NODE),
    "copy into an absent message": lambda m: (
        m.proto.graph.node[0].attribute[0].g.CopyFrom(DEEP_GRAPH)
    ),
    "merge into an absent message": lambda m: (
        m.proto.graph.node[0].attribute[0].g.MergeFrom(DEEP_GRAPH)
    ),
    "append in an absent message": fill_absent_node_list,
    "extend": lambda m: m.proto.graph.node.extend([nested_node(1), DEEP_NODE]),
    "insert": lambda m: m.graph.nodes.insert(0, DEEP_NODE),
    "add": lambda m: m.proto.graph.node.add(op_type="If", attribute=[DEEP_ATTRIBUTE]),
    "assign a node": lambda m: m.graph.nodes.__setitem__(0, DEEP_NODE),
    "assign a slice": lambda m: m.graph.nodes.__setitem__(slice(None), [nested_node(1), DEEP_NODE]),
    "assign a list": lambda m: setattr(m.graph, "nodes", [nested_node(1), DEEP_NODE]),
    "assign an attribute": lambda m: m.graph.nodes[0].attributes.__setitem__(
        "a", onnxmap.wrap(DEEP_GRAPH)
    ),
    "assign a value": lambda m: setattr(
        m.graph.nodes[0].attributes["a"], "value", onnxmap.wrap(DEEP_GRAPH)
    ),
}


@pytest.mark.parametrize("way", FAILING)
def test_an_edit_that_nests_too_deeply_changes_nothing(way: str) -> None:
    """`CopyFrom` once cleared the message first, and `MergeFrom` went level by level."""
    data = onnxmap.dumps(
        onnxmap.new(
            "ModelProto",
            producer_name="before",
            graph={
                "name": "graph",
                "node": [{"op_type": "If", "attribute": [{"name": "a", "i": 1}]}] * 3,
                "initializer": [{"name": "w", "dims": [0], "data_type": 1}],
            },
        )
    )
    model: Any = onnxmap.loads(data, limits=onnxmap.Limits(depth=12))
    node = model.proto.graph.node[0]
    with pytest.raises(onnxmap.LimitError) as caught:
        FAILING[way](model)
    assert caught.value.code == "limit.depth"
    assert model.proto.SerializeToString() == data
    node.name = "still in the model"
    assert model.graph.nodes[0].name == "still in the model"
