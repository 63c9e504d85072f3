"""Lists of absent messages do step by step what they do in protobuf; cleared lists do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from onnx import ModelProto
from support.edits.models import EDIT_MODELS
from support.oracles.steps import disagreements

import onnxmap

if TYPE_CHECKING:
    from collections.abc import Callable

SCENARIOS = {
    **{
        f"an empty list and its absent parent: {step}": f"""
m = new("ModelProto")
l = m.graph.node
{step}
m.HasField("graph")
a = new("AttributeProto")
l = a.t.dims
{step}
a.HasField("t")
a = new("AttributeProto")
l = a.t.string_data
{step}
a.HasField("t")
"""
        for step in (
            "l.extend([])",
            "l.extend(iter([]))",
            "l.MergeFrom([])",
            "l.sort()",
            "l.sort(key=len)",
            "l.reverse()",
            "l.clear()",
            "l[:]",
            "del l[:]",
            "list(l)",
            "copy.deepcopy(l)",
            "l == []",
            "l != []",
            "1 in l",
            "len(l)",
        )
    },
    "an emptied list keeps its parent": """
a = new("AttributeProto")
a.t.dims.append(1)
a.t.dims.pop()
a.HasField("t")
a.t.segment.SetInParent()
a.t.ClearField("segment")
a.HasField("t")
m = new("ModelProto")
m.graph.node.add()
m.graph.node.clear()
m.HasField("graph")
""",
    "a list of a message that its parent clears": """
a = new("AttributeProto", t={"dims": [1, 2]})
dims = a.t.dims
a.ClearField("t")
(dims, a.HasField("t"))
a.t.dims.append(5)
(dims, a.t.dims)
""",
    "a list of an absent message": """
a = new("AttributeProto")
dims = a.t.dims
a.t.name = "n"
dims.append(1)
a
strings = new("AttributeProto").t.string_data
strings
strings.append(b"x")
strings
""",
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_lists_of_absent_messages(name: str) -> None:
    assert disagreements(SCENARIOS[name]) == []


@pytest.mark.parametrize(
    "wrong", ["l.pop()", "del l[0]", "l.append(None)", "l.extend([None])", "l.insert(0, None)"]
)
def test_an_edit_that_fails_changes_nothing(wrong: str) -> None:
    """Protobuf makes the message present, although the edit fails."""
    program = f"""
a = new("AttributeProto")
l = a.t.dims
{wrong}
a.HasField("t")
"""
    assert disagreements(program) == [("a.HasField('t')", True, False)]


def test_a_list_that_fails_in_the_middle_adds_nothing() -> None:
    """Protobuf adds the messages before the wrong one."""
    program = """
n = new("NodeProto")
n.attribute.extend([new("AttributeProto"), 1])
len(n.attribute)
"""
    assert disagreements(program) == [("len(n.attribute)", 1, 0)]


@pytest.mark.parametrize(
    "clear",
    [
        lambda node: node.Clear(),
        lambda node: (node.ClearField("input"), node.ClearField("attribute")),
        lambda node: node.CopyFrom(onnxmap.new("NodeProto", name="other")),
        lambda node: node.ParseFromString(b""),
    ],
)
def test_a_list_denotes_its_field(clear: Callable[[onnxmap.ProtoView], object]) -> None:
    """In protobuf, the lists keep what they had, and no longer belong to the message."""
    node = onnxmap.new("NodeProto", input=["x"], attribute=[{"name": "a", "i": 1}])
    texts, messages, element = node.input, node.attribute, node.attribute[0]
    clear(node)
    assert (list(texts), list(messages), len(texts), len(messages)) == ([], [], 0, 0)
    texts.append("y")
    messages.add(name="b")
    assert (node.input, [each.name for each in node.attribute]) == (["y"], ["b"])
    assert (texts, messages) == (node.input, node.attribute)
    assert messages["b"] == node.attribute[0]
    assert (element.name, element.i) == ("a", 1)
    with pytest.raises(onnxmap.EditError, match="removed"):
        element.i = 2


@pytest.mark.parametrize(
    "remove",
    [
        lambda node: node.ClearField("attribute"),
        lambda node: node.Clear(),
        lambda node: node.attribute.pop(),
        lambda node: node.attribute.clear(),
        lambda node: node.attribute.__delitem__(slice(None)),
    ],
)
def test_a_loop_leaves_out_what_was_removed(remove: Callable[[onnxmap.ProtoView], object]) -> None:
    """Also elements that were added and edited, which no object stands for any longer."""
    node = onnxmap.new("NodeProto")
    for name in "abcd":
        node.attribute.add().name = name
    seen = []
    for each in node.attribute:
        seen.append(each.name)
        if len(node.attribute) > 0:
            remove(node)
    assert seen in (["a"], ["a", "b"])
    attributes = node.attribute
    attributes.extend([onnxmap.new("AttributeProto", name="x") for _ in range(3)])
    for each in attributes:
        each.i = 1
    del each
    with pytest.raises(ValueError, match="modified"):
        attributes.sort(key=lambda _: str(remove(node)))


def test_a_list_of_a_loaded_message_follows_revert() -> None:
    model = onnxmap.loads(EDIT_MODELS["rich"])
    node = model.proto.graph.node[1]
    before, texts, attributes = list(node.input), node.input, node.attribute
    names = [each.name for each in attributes]
    node.Clear()
    assert (list(texts), list(attributes)) == ([], [])
    model.revert()
    assert (texts, [each.name for each in attributes]) == (before, names)
    texts.append("more")
    assert node.input == [*before, "more"]


def test_a_list_that_is_emptied_by_another_handle_stays() -> None:
    proto = onnxmap.loads(
        ModelProto(opset_import=[{"version": 3}], graph={}).SerializeToString()
    ).proto
    kept = proto.opset_import
    proto.opset_import.clear()
    kept.add(version=4)
    assert [each.version for each in proto.opset_import] == [4]
