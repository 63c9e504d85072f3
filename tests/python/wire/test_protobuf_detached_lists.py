"""Lists of absent messages and lists that were cleared do step by step what they do in protobuf."""

from __future__ import annotations

import pytest
from onnx import ModelProto
from support.edits.models import EDIT_MODELS
from support.oracles.steps import disagreements

import onnxmap

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
    "a list of values that is cleared is detached": """
a = new("AttributeProto", ints=[1, 2])
held = a.ints
again = a.ints
a.ClearField("ints")
(held, len(held), held[0], again, held == [1, 2], 2 in held)
a.ints
a.ints.append(3)
(a.ints, held)
later = a.ints
later.append(4)
(a.ints, later, held)
""",
    "an empty list of values that is cleared is detached": """
a = new("AttributeProto")
held = a.ints
a.ClearField("ints")
a.ints.append(3)
(a.ints, held)
""",
    "a list of messages that is cleared is detached": """
n = new("NodeProto", attribute=[{"i": 1}, {"i": 2}])
held = n.attribute
element = held[1]
n.ClearField("attribute")
([each.i for each in held], len(held), held[1].i, element.i, bool(held))
len(n.attribute)
n.attribute.add().i = 3
([each.i for each in n.attribute], [each.i for each in held], [each.i for each in held[::-1]])
new("AttributeProto", i=2) in held
held == n.attribute
""",
    "a list of a message that is cleared is detached": """
a = new("AttributeProto", ints=[1, 2], tensors=[{"dims": [3]}])
ints = a.ints
tensors = a.tensors
a.Clear()
(ints, len(tensors), tensors[0].dims)
a.ints.append(5)
(a.ints, ints, len(a.tensors))
""",
    "a list of a message that is copied into": """
a = new("AttributeProto", ints=[1, 2])
ints = a.ints
a.CopyFrom(new("AttributeProto", ints=[7]))
(a.ints, ints)
a.ParseFromString(wire.scalar(8, 9))
(a.ints, ints)
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
def test_detached_lists(name: str) -> None:
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


def test_a_detached_list_can_only_be_read() -> None:
    node = onnxmap.new("NodeProto", input=["x"], attribute=[{"name": "a"}])
    texts, messages = node.input, node.attribute
    node.Clear()
    for change in (
        lambda: texts.append("y"),
        lambda: texts.pop(),
        lambda: texts.__setitem__(0, "y"),
        lambda: messages.add(),
        lambda: messages.pop(),
        lambda: messages.sort(key=str),
        lambda: messages.clear(),
    ):
        with pytest.raises(onnxmap.EditError, match="cleared"):
            change()
    assert (texts, [each.name for each in messages]) == (["x"], ["a"])
    assert [node.input, list(node.attribute)] == [[], []]


def test_revert_attaches_the_lists_of_a_loaded_message_again() -> None:
    model = onnxmap.loads(EDIT_MODELS["rich"])
    node = model.proto.graph.node[1]
    before, texts, attributes = list(node.input), node.input, node.attribute
    names = [each.name for each in attributes]
    node.Clear()
    assert (texts, [each.name for each in attributes]) == (before, names)
    model.revert()
    texts.append("more")
    attributes.add(name="more")
    assert node.input == [*before, "more"]
    assert [each.name for each in node.attribute] == [*names, "more"]


def test_elements_that_were_added_keep_their_edits_in_a_detached_list() -> None:
    node = onnxmap.loads_proto(b"", "NodeProto")
    held = node.attribute
    node.attribute.add(name="a").t.name = "edited"
    node.ClearField("attribute")
    assert [each.t.name for each in held] == ["edited"]


def test_a_list_that_is_emptied_by_another_handle_stays() -> None:
    proto = onnxmap.loads(
        ModelProto(opset_import=[{"version": 3}], graph={}).SerializeToString()
    ).proto
    kept = proto.opset_import
    proto.opset_import.clear()
    kept.add(version=4)
    assert [each.version for each in proto.opset_import] == [4]
