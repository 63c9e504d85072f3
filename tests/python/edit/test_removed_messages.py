"""A message that was removed can still be read; writing to it raises ValueError.

Handles of the messages around it stay valid, and show the edits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from onnx import ModelProto, TensorProto
from support.edits.models import EDIT_MODELS

import onnxmap

# How a node of the graph is removed: statements about the model `m`, whose node 1 it is.
REMOVALS: dict[str, Callable[[Any], object]] = {
    "del": lambda m: m.graph.node.__delitem__(1),
    "del from the end": lambda m: m.graph.node.__delitem__(-2),
    "del of a slice": lambda m: m.graph.node.__delitem__(slice(1, 3)),
    "pop": lambda m: m.graph.node.pop(1),
    "remove": lambda m: m.graph.node.remove(m.graph.node[1]),
    "clear of the list": lambda m: m.graph.node.clear(),
    "ClearField of the list": lambda m: m.graph.ClearField("node"),
    "ClearField of the graph": lambda m: m.ClearField("graph"),
    "Clear of the graph": lambda m: m.graph.Clear(),
    "Clear of the model": lambda m: m.Clear(),
    "CopyFrom": lambda m: m.graph.CopyFrom(m.functions[0].node[0].attribute.add().g),
    "ParseFromString": lambda m: m.graph.ParseFromString(b""),
    "ParseFromString of the model": lambda m: m.ParseFromString(b""),
}

WRITES: dict[str, Callable[[Any], object]] = {
    "assignment": lambda node: setattr(node, "op_type", "Z"),
    "ClearField": lambda node: node.ClearField("op_type"),
    "append": lambda node: node.input.append("z"),
    "an element": lambda node: node.input.__setitem__(0, "z"),
    "del": lambda node: node.input.__delitem__(0),
    "add": lambda node: node.attribute.add(),
    "a message within": lambda node: setattr(node.attribute[0], "name", "z"),
    "an absent message within": lambda node: node.attribute[0].t.dims.append(1),
    "SetInParent within": lambda node: node.attribute[0].t.SetInParent(),
    "Clear": lambda node: node.Clear(),
    "CopyFrom": lambda node: node.CopyFrom(onnxmap.new("NodeProto", op_type="Z")),
    "MergeFrom": lambda node: node.MergeFrom(onnxmap.new("NodeProto", op_type="Z")),
    "MergeFromString": lambda node: node.MergeFromString(b""),
    "reverse": lambda node: node.input.reverse(),
    "sort": lambda node: node.input.sort(),
}


def rich() -> onnxmap.Model:
    return onnxmap.loads(EDIT_MODELS["rich"])


def expected_after(change: Callable[[Any], object]) -> bytes:
    message = ModelProto.FromString(EDIT_MODELS["rich"])
    change(message)
    return message.SerializeToString(deterministic=True)


def state(model: onnxmap.Model) -> bytes:
    return ModelProto.FromString(onnxmap.dumps(model)).SerializeToString(deterministic=True)


@pytest.mark.parametrize("removal", REMOVALS)
def test_it_can_still_be_read(removal: str) -> None:
    model = rich()
    node = model.proto.graph.node[1]
    attribute = node.attribute[0]
    before = node.SerializeToString(), attribute.SerializeToString(), str(node)
    REMOVALS[removal](model.proto)
    assert (node.SerializeToString(), attribute.SerializeToString(), str(node)) == before
    assert (node.op_type, list(node.input), attribute.name) == ("Gemm", ["x", "w", ""], "alpha")
    assert state(model) == expected_after(REMOVALS[removal])


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("write", WRITES)
def test_writing_to_it_is_an_error(removal: str, write: str) -> None:
    model = rich()
    node = model.proto.graph.node[1]
    before = node.SerializeToString()
    REMOVALS[removal](model.proto)
    with pytest.raises(ValueError, match="removed"):
        WRITES[write](node)
    assert node.SerializeToString() == before
    assert state(model) == expected_after(REMOVALS[removal])


def test_it_can_be_copied_into_the_model_again() -> None:
    model = rich()
    nodes = model.proto.graph.node
    node = nodes.pop(0)
    nodes.append(node)
    nodes[-1].name = "again"
    assert (node.name, [one.name for one in nodes]) == ("if", ["gemm", "op", "again"])

    def change(message: ModelProto) -> None:
        moved = message.graph.node.pop(0)
        message.graph.node.append(moved)
        message.graph.node[-1].name = "again"

    assert state(model) == expected_after(change)


@pytest.mark.parametrize("switch", ["sequence_type", "map_type", "optional_type"])
def test_a_member_of_a_oneof_is_removed_by_another(switch: str) -> None:
    model = rich()
    kind = model.proto.graph.input[0].type
    tensor, dim = kind.tensor_type, kind.tensor_type.shape.dim[0]
    getattr(kind, switch).SetInParent()
    assert (tensor.elem_type, dim.dim_value) == (TensorProto.FLOAT, 2)
    assert kind.WhichOneof("value") == switch
    for write in (
        lambda: setattr(tensor, "elem_type", 7),
        lambda: setattr(dim, "dim_param", "M"),
        lambda: tensor.SetInParent(),
    ):
        with pytest.raises(ValueError, match="removed"):
            write()
    assert kind.WhichOneof("value") == switch
    assert kind.tensor_type.elem_type == 0


def test_a_handle_of_an_absent_message_makes_it_present() -> None:
    model = rich()
    shape = model.proto.graph.input[0].type.sequence_type.elem_type.tensor_type.shape
    assert not model.proto.graph.input[0].type.HasField("sequence_type")
    shape.dim.add(dim_value=3)
    found = model.proto.graph.input[0].type
    assert found.WhichOneof("value") == "sequence_type"
    assert found.sequence_type.elem_type.tensor_type.shape.dim[0].dim_value == 3
    assert [dim.dim_value for dim in shape.dim] == [3]


CLEARINGS: dict[str, Callable[[Any], object]] = {
    "ClearField": lambda model: model.ClearField("graph"),
    "Clear": lambda model: model.Clear(),
    "ParseFromString": lambda model: model.ParseFromString(b""),
}


@pytest.mark.parametrize("clearing", CLEARINGS)
def test_a_handle_of_an_absent_message_stays_a_handle_of_its_field(clearing: str) -> None:
    model = onnxmap.new("ModelProto")
    held = model.graph
    held.name = "first"
    CLEARINGS[clearing](model)
    assert (held.name, model.HasField("graph")) == ("", False)
    model.graph.name = "second"
    assert held.name == "second"
    held.name = "third"
    assert model.graph.name == "third"


def test_handles_follow_their_messages() -> None:
    model = rich()
    nodes = model.proto.graph.node
    handles = {node.name: node for node in nodes}
    nodes.insert(0, onnxmap.new("NodeProto", name="first"))
    nodes.reverse()
    nodes.sort(key=lambda node: node.name)
    del nodes[[node.name for node in nodes].index("gemm")]
    for name in ("if", "op"):
        handles[name].doc_string = f"was {name}"
        handles[name].output.append("more")
    assert {node.name: node.doc_string for node in nodes} == {
        "first": "", "if": "was if", "op": "was op",
    }  # fmt: skip
    assert [list(node.output)[-1:] for node in nodes if node.name != "first"] == [["more"]] * 2
    with pytest.raises(ValueError, match="removed"):
        handles["gemm"].name = "x"


def test_lists_and_friendly_objects_show_the_edits() -> None:
    model = rich()
    inputs, node, graph = model.proto.graph.node[1].input, model.graph.nodes[1], model.graph
    inputs[0] = "renamed"
    inputs.append("last")
    assert node.inputs == ["renamed", "w", "", "last"]
    assert graph.node_inputs()[1] == ["renamed", "w", "", "last"]
    model.proto.graph.node[1].attribute[0].f = 2.5
    assert node.attributes["alpha"].value == 2.5
    del model.proto.graph.node[0]
    assert (node.name, graph.nodes[0].name, graph.op_types()) == ("gemm", "gemm", ["Gemm", "Op"])
    model.revert()
    assert graph.node_inputs()[1] == ["x", "w", ""]
    assert onnxmap.dumps(model) == EDIT_MODELS["rich"]


@pytest.mark.parametrize("start", [0, 1, 2, 5])
@pytest.mark.parametrize("stop", [0, 1, 2, -4])
def test_an_empty_slice_is_the_place_before_its_start(start: int, stop: int) -> None:
    """As in Python's lists. upb corrupts its memory when it deletes such a slice."""
    model, expected = rich(), [-(1 << 63), 300, 300]
    values = model.proto.graph.initializer[3].int64_data
    if expected[start:stop]:
        stop = start
    del values[start:stop]
    assert list(values) == expected
    del model.proto.graph.node[start:stop]
    assert len(model.proto.graph.node) == 3
    values[start:stop] = [1, 2]
    expected[start:stop] = [1, 2]
    assert list(values) == expected


def fill(message: Any) -> Any:
    message.graph.name = "new"
    return message


# What happens to a model without a graph while somebody holds its absent graph.
WHILE_ABSENT: dict[str, Callable[[Any, Any], object]] = {
    "CopyFrom": lambda m, new: m.CopyFrom(new),
    "CopyFrom of an empty one, and of a full one": lambda m, new: (
        m.CopyFrom(onnxmap.new("ModelProto")),
        m.CopyFrom(new),
    ),
    "MergeFrom": lambda m, new: m.MergeFrom(new),
    "ParseFromString": lambda m, new: m.ParseFromString(new.SerializeToString()),
    "MergeFromString": lambda m, new: m.MergeFromString(new.SerializeToString()),
    "Clear": lambda m, new: (m.Clear(), m.MergeFrom(new)),
    "ClearField": lambda m, new: (m.ClearField("graph"), m.MergeFrom(new)),
    "an edit": lambda m, new: fill(m),
}


@pytest.mark.parametrize("change", WHILE_ABSENT)
def test_who_holds_an_absent_message_sees_what_fills_its_field(change: str) -> None:
    message = onnxmap.new("ModelProto")
    held = message.graph
    WHILE_ABSENT[change](message, fill(onnxmap.new("ModelProto")))
    assert (held.name, message.graph.name) == ("new", "new")


def copies_of_absent_messages(model: Any) -> list[bool]:
    first, second = (
        value.type.tensor_type.shape for value in (model.graph.input[0], model.graph.output[0])
    )
    first.CopyFrom(second)
    present = [model.graph.input[0].type.tensor_type.HasField("shape")]
    second.CopyFrom(model.graph.output[0].type.tensor_type.shape)  # a copy of itself
    present.append(model.graph.output[0].HasField("type"))
    return present


def test_an_absent_message_is_known_by_its_place() -> None:
    """Two absent messages of one type once counted as the same, so `CopyFrom` did nothing."""
    given = ModelProto()
    given.graph.input.add()
    given.graph.output.add()
    model = onnxmap.loads_proto(given.SerializeToString(), "ModelProto")
    assert copies_of_absent_messages(model) == copies_of_absent_messages(given) == [True, False]
