"""`Node`, `Attribute`, and the objects that they have."""

from __future__ import annotations

import math
from collections.abc import Mapping

import onnx
import pytest
from onnx import AttributeProto, TensorProto, helper
from support import wire_bytes as wire
from support.models.sample import floats, model_of
from support.models.small import SMALL_MODELS

import onnxmap


def node_of(made: onnx.NodeProto) -> onnxmap.Node:
    message = model_of([])
    message.graph.node.append(made)
    return onnxmap.loads(message.SerializeToString()).graph.nodes[0]


def test_fields() -> None:
    made = helper.make_node(
        "Add", ["a", "", "c"], ["y"], name="n", doc_string="doc", domain="d", overload="o"
    )
    made.metadata_props.add(key="k", value="v")
    node = node_of(made)
    assert (node.name, node.op_type, node.domain, node.overload) == ("n", "Add", "d", "o")
    assert list(node.inputs) == ["a", "", "c"]
    assert list(node.outputs) == ["y"]
    assert node.doc_string == "doc"
    assert dict(node.metadata_props) == {"k": "v"}
    assert dict(node.attributes) == {}
    assert str(node.proto) == str(made)


def test_an_empty_node() -> None:
    node = node_of(onnx.NodeProto())
    assert (node.name, node.op_type, node.domain, node.overload) == ("", "", "", "")
    assert list(node.inputs) == list(node.outputs) == []


VALUES: dict[str, object] = {
    "f": 1.5, "i": -(1 << 63), "s": b"\xff\0", "floats": [0.5, math.inf], "ints": [1, -1],
    "strings": [b"a", b""], "no_floats": AttributeProto(name="no_floats", type=6),
}  # fmt: skip


def attributes(node: onnx.NodeProto) -> Mapping[str, onnxmap.Attribute]:
    return node_of(node).attributes


def test_plain_values() -> None:
    made = helper.make_node("Op", [], [])
    for name, value in VALUES.items():
        one = value if isinstance(value, AttributeProto) else helper.make_attribute(name, value)
        made.attribute.append(one)
    found = attributes(made)
    assert list(found) == list(VALUES)
    assert isinstance(found, Mapping)
    for name, value in VALUES.items():
        if name == "no_floats":
            assert list(found[name].value) == []
            continue
        assert found[name].value == value
        assert type(found[name].value) is type(value)
        assert found[name].name == name
        assert found[name].type == helper.make_attribute(name, value).type
    with pytest.raises(KeyError, match="missing"):
        found["missing"]
    assert "missing" not in found


def test_messages_as_values() -> None:
    tensor = floats("t", 2)
    graph = helper.make_graph([], "g", [], [])
    kind = helper.make_tensor_type_proto(TensorProto.FLOAT, [1])
    sparse = helper.make_sparse_tensor(floats("v", 1), TensorProto(dims=[1], data_type=7), [3])
    made = helper.make_node("Op", [], [])
    made.attribute.extend(
        [
            helper.make_attribute("t", tensor),
            helper.make_attribute("g", graph),
            helper.make_attribute("sparse", sparse),
            helper.make_attribute("type", kind),
            helper.make_attribute("tensors", [tensor, tensor]),
            helper.make_attribute("graphs", [graph]),
            helper.make_attribute("sparses", [sparse]),
            helper.make_attribute("types", [kind], attr_type=AttributeProto.TYPE_PROTOS),
        ]
    )
    found = attributes(made)
    assert isinstance(found["t"].value, onnxmap.Tensor)
    assert found["t"].value.numpy().tolist() == [0.0, 1.0]
    assert isinstance(found["g"].value, onnxmap.Graph)
    assert isinstance(found["sparse"].value, onnxmap.SparseTensor)
    assert [type(one) for one in found["tensors"].value] == [onnxmap.Tensor] * 2
    assert [type(one) for one in found["graphs"].value] == [onnxmap.Graph]
    assert [type(one) for one in found["sparses"].value] == [onnxmap.SparseTensor]
    assert str(found["type"].proto.tp) == str(kind)
    assert type(found["type"].value) is type(found["types"].value[0])


def test_every_official_attribute_type_has_a_value() -> None:
    (node,) = onnxmap.loads(SMALL_MODELS["attributes_of_every_type"]).graph.nodes
    made = onnx.ModelProto.FromString(SMALL_MODELS["attributes_of_every_type"]).graph.node[0]
    assert [one.name for one in made.attribute] == list(node.attributes)
    for one in made.attribute:
        ours = node.attributes[one.name]
        assert ours.type == one.type
        assert str(ours.proto) == str(one)
        assert "\n" not in repr(ours)
        theirs = helper.get_attribute_value(one)
        if isinstance(theirs, float | int | bytes):
            assert ours.value == theirs


def test_a_reference_to_a_function_s_attribute() -> None:
    made = helper.make_node("Op", [], [])
    made.attribute.append(AttributeProto(name="a", ref_attr_name="alpha", type=1, doc_string="doc"))
    attribute = attributes(made)["a"]
    assert (attribute.ref_attr_name, attribute.doc_string) == ("alpha", "doc")
    assert attribute.value is None


def test_a_missing_or_unknown_type() -> None:
    """The enum does not list 99, so the type is an unknown field, and the present field counts."""
    for kind in (b"", wire.scalar(20, 99)):
        attribute = wire.blob(1, b"a") + kind + wire.scalar(3, 5)
        data = wire.blob(7, wire.blob(1, wire.blob(5, attribute)))
        found = onnxmap.loads(data).graph.nodes[0].attributes["a"]
        assert not found.proto.HasField("type")
        assert found.proto.i == 5
        assert found.value == 5


def test_repeated_attribute_names_are_all_in_proto() -> None:
    made = helper.make_node("Op", [], [])
    made.attribute.extend([helper.make_attribute("a", 1), helper.make_attribute("a", 2)])
    node = node_of(made)
    with pytest.warns(onnxmap.RepeatedKeyWarning, match="'a' occurs more than once"):
        assert list(node.attributes) == ["a"]
    assert [one.i for one in node.proto.attribute] == [1, 2]


def test_a_tensor_that_occurs_twice_in_one_attribute_merges() -> None:
    """Dims are appended, the last raw_data counts, and the type comes from the first occurrence."""
    first = wire.scalar(1, 2) + wire.scalar(2, 2) + wire.blob(9, b"aaaa")
    second = wire.scalar(1, 3) + wire.blob(9, b"bbbbbb")
    attribute = wire.blob(1, b"a") + wire.scalar(20, 4) + wire.blob(5, first) + wire.blob(5, second)
    data = wire.blob(7, wire.blob(1, wire.blob(5, attribute)))
    tensor = onnxmap.loads(data).graph.nodes[0].attributes["a"].value
    assert (tensor.shape, tensor.dtype) == ((2, 3), onnxmap.DataType.UINT8)
    assert tensor.numpy().tobytes() == b"bbbbbb"


def test_repr_is_one_line() -> None:
    made = helper.make_node("Add\n", ["a"] * 1_000, ["y"], name="n" * 1_000, alpha=1.5)
    node = node_of(made)
    for text in (repr(node), repr(node.attributes["alpha"]), repr(node.attributes)):
        assert "\n" not in text
        assert len(text) < 1_000
    assert "Node" in repr(node)
    assert "alpha" in repr(node.attributes["alpha"])
    assert "1.5" in repr(node.attributes["alpha"])
