"""Assignments to the properties of Model, Graph, Node and the other classes.

The properties are taken from the classes, so a new one is tried without being listed here.
"""

from __future__ import annotations

import inspect
from collections.abc import MutableMapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from support.edits.rich_model import everything, rich, saved
from support.oracles.canonical import message_class

import onnxmap
from onnxmap import DataType
from onnxmap.types import (
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
)

KINDS = tuple(everything(rich()))


def assignable(kind: str) -> list[str]:
    """The properties of a class that can be assigned to."""
    cls = getattr(onnxmap, kind)
    thing = everything(rich()).get(kind)
    return [
        name
        for name in dir(cls)
        if not name.startswith("_")
        and inspect.isdatadescriptor(member := inspect.getattr_static(cls, name))
        and _has_setter(member, thing, name)
    ]


def _has_setter(member: Any, thing: Any, name: str) -> bool:
    if isinstance(member, property):
        return member.fset is not None
    try:
        setattr(thing, name, getattr(thing, name))
    except AttributeError:
        return False
    except (TypeError, ValueError):
        return True
    return True


PROPERTIES = [(kind, name) for kind in KINDS for name in assignable(kind)]


def other_value(value: Any, name: str) -> Any:
    """Another value that the same property takes."""
    if isinstance(value, str):
        return f"{value}, changed"
    if isinstance(value, bytes):
        return value + b"!"
    if isinstance(value, bool | int):
        return int(value) + 1
    if isinstance(value, MutableMapping) and name == "opset_imports":
        return {"": 22, "other.domain": 3}
    if isinstance(value, MutableMapping) and name in ("attributes", "attribute_protos"):
        return {"first": 1.5, "second": [1, 2]}
    if isinstance(value, MutableMapping):
        return {"k": "v", "": "é", "l": ""}
    if isinstance(value, onnxmap.MessageList):
        made = onnxmap.new(value.type_name)
        return [*value, made, *value][::-1]
    if isinstance(value, onnxmap.ValueList):
        return [*value, *(["y"] if not len(value) or isinstance(value[0], str) else [7])]
    if isinstance(value, onnxmap.Graph):
        return onnxmap.make_graph([onnxmap.make_node("Neg", ["a"], ["b"])], "new", [], [])
    if name == "shape":
        return (None, "n", 3)
    if isinstance(value, TensorType):
        return SequenceType(TensorType(DataType.INT8, (None, "n", 3)))
    raise AssertionError(f"no other value of {value!r}")


def plain(value: Any) -> Any:
    """A value of a property in a form that can be compared."""
    if isinstance(value, MutableMapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, onnxmap.MessageList | onnxmap.ValueList | list):
        return [plain(one) for one in value]
    if isinstance(value, onnxmap.Attribute):
        return plain(value.value)
    view = getattr(value, "proto", value)
    if not isinstance(view, onnxmap.ProtoView):
        return value
    return message_class(view.message_type).FromString(view.SerializeToString())


def test_every_property_is_tried() -> None:
    assert len(PROPERTIES) > 60
    assert {"Node.op_type", "Graph.nodes", "Model.opset_imports", "ValueInfo.type"} <= {
        f"{kind}.{name}" for kind, name in PROPERTIES
    }
    names = {name for name in onnxmap.__all__ if isinstance(getattr(onnxmap, name), type)}
    bound = {name for name in names if hasattr(getattr(onnxmap, name), "proto")}
    without = {"Model", "Graph", "Operator", "OperatorSet", "SparseTensor"}
    assert bound - set(KINDS) <= without
    assert assignable("SparseTensor") == []


@pytest.mark.parametrize(("kind", "name"), PROPERTIES)
def test_an_assignment_is_read_back_and_saved(kind: str, name: str) -> None:
    model = rich()
    thing = everything(model)[kind]
    before = onnxmap.dumps(model)
    given = other_value(getattr(thing, name), name)
    expected = plain(given)
    setattr(thing, name, given)
    assert plain(getattr(thing, name)) == expected
    assert onnxmap.dumps(model) != before
    saved(model)


@pytest.mark.parametrize(("kind", "name"), PROPERTIES)
def test_what_a_property_has_can_be_assigned_to_it(kind: str, name: str) -> None:
    """As `node.inputs += ["x"]` does."""
    model = rich()
    thing = everything(model)[kind]
    expected = plain(getattr(thing, name))
    setattr(thing, name, getattr(thing, name))
    assert plain(getattr(thing, name)) == expected
    saved(model)


@pytest.mark.parametrize(("kind", "name"), PROPERTIES)
@pytest.mark.parametrize("wrong", [object(), 1.5, -(1 << 70)], ids=["object", "float", "large"])
def test_a_wrong_value_changes_nothing(kind: str, name: str, wrong: object) -> None:
    if (kind, name) == ("Attribute", "value") and wrong == 1.5:
        return  # a value of an attribute
    model = rich()
    thing = everything(model)[kind]
    before = onnxmap.dumps(model)
    with pytest.raises((TypeError, ValueError)):
        setattr(thing, name, wrong)
    assert onnxmap.dumps(model) == before


@pytest.mark.parametrize(("kind", "name"), PROPERTIES)
def test_none_removes_a_message_and_is_wrong_elsewhere(kind: str, name: str) -> None:
    model = rich()
    thing = everything(model)[kind]
    value = getattr(thing, name)
    if isinstance(value, onnxmap.Graph) or f"{kind}.{name}" in (
        "ValueInfo.type",
        "ValueInfo.shape",
    ):
        setattr(thing, name, None)
        assert getattr(thing, name) is None
        saved(model)
    else:
        before = onnxmap.dumps(model)
        with pytest.raises((TypeError, ValueError)):
            setattr(thing, name, None)
        assert onnxmap.dumps(model) == before


READ_ONLY = [
    ("Model", "graph"), ("Model", "nbytes"), ("Model", "initializers"), ("Model", "edited"),
    ("Graph", "initializers"), ("Graph", "sparse_initializers"), ("Graph", "proto"),
    ("Node", "proto"), ("Attribute", "type"), ("Tensor", "shape"), ("Tensor", "dtype"),
    ("Tensor", "name"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), READ_ONLY)
def test_other_properties_are_read_only(kind: str, name: str) -> None:
    thing = everything(rich())[kind]
    with pytest.raises(AttributeError):
        setattr(thing, name, getattr(thing, name))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ProtoView"])
def test_names_that_no_class_has(kind: str) -> None:
    thing = everything(rich())[kind]
    with pytest.raises(AttributeError):
        thing.no_such_property = 1


def test_lists_grow_in_place() -> None:
    model = rich()
    node = model.graph.nodes[1]
    inputs = node.inputs
    node.inputs += ["last"]
    node.inputs += (name for name in ("one", "two"))
    assert inputs == node.inputs == ["x", "w", "", "last", "one", "two"]
    model.graph.nodes += [node, onnxmap.make_node("Neg", ["x"], ["n"])]
    model.functions += model.functions
    made = saved(model)
    assert [one.op_type for one in made.graph.node] == ["If", "Gemm", "Op", "Gemm", "Neg"]
    assert [one.name for one in made.functions] == ["twice", "twice"]
    with pytest.raises(TypeError, match="extend"):
        model.proto.graph.node[0].input += ["x"]


def test_a_list_of_its_own_elements() -> None:
    model = rich()
    graph = model.graph
    graph.nodes = [node for node in graph.nodes if node.op_type != "Gemm"]
    graph.nodes = reversed(graph.nodes)
    node = graph.nodes[0]
    node.inputs = node.inputs[:1] + node.outputs
    node.inputs = [*node.inputs, *node.inputs]
    made = saved(model).graph.node
    assert [one.op_type for one in made] == ["Op", "If"]
    assert list(made[0].input) == ["y", "z", "y", "z"]


def test_what_is_no_list() -> None:
    model = rich()
    node = model.graph.nodes[1]
    for value, said in (
        ("x", "input: expected a list, not a single str"),
        (b"x", "input: expected a list, not a single bytes"),
        (None, "input: expected an iterable, not None"),
    ):
        with pytest.raises(TypeError, match=said):
            node.inputs = value
    with pytest.raises(TypeError, match="node: expected an iterable, not int"):
        model.graph.nodes = 3
    assert not model.edited


def test_messages_of_other_libraries_and_models() -> None:
    model, other = rich(), rich()
    other.graph.nodes[0].name = "from another model"
    model.graph.nodes = [
        helper.make_node("Abs", ["x"], ["a"]), other.graph.nodes[0], other.proto.graph.node[1],
        onnxmap.make_node("Neg", ["a"], ["y"]),
    ]  # fmt: skip
    other.graph.nodes[0].name = "changed afterwards"
    names = [(node.op_type, node.name) for node in saved(model).graph.node]
    assert names == [("Abs", ""), ("If", "from another model"), ("Gemm", "gemm"), ("Neg", "")]
    with pytest.raises(TypeError, match="expected a NodeProto, not ValueInfoProto"):
        model.graph.nodes = [model.graph.inputs[0]]  # type: ignore[list-item]
    assert len(model.graph.nodes) == 4


ATTRIBUTE_VALUES: dict[str, tuple[Any, Any]] = {  # what is assigned, and what `helper` makes of it
    "int": (3, 3),
    "bool": (True, 1),
    "float": (2.5, 2.5),
    "text": ("é", "é"),
    "bytes": (b"\xff", b"\xff"),
    "ints": ([1, -2], [1, -2]),
    "floats": ((1.5, 2.0), (1.5, 2.0)),
    "texts": (["a", "b"], ["a", "b"]),
    "NumPy numbers": (np.float32(0.5), 0.5),
    "array": (np.arange(4.0).reshape(2, 2), None),
    "graph": (helper.make_graph([], "g", [], []),) * 2,
    "graphs": ([helper.make_graph([], "g", [], [])],) * 2,
    "type": (TensorType(DataType.FLOAT, (1, "n")), helper.make_tensor_type_proto(1, [1, "n"])),
}


@pytest.mark.parametrize("case", ATTRIBUTE_VALUES)
def test_values_of_attributes(case: str) -> None:
    given, expected = ATTRIBUTE_VALUES[case]
    model = rich()
    attribute = model.graph.nodes[2].attributes["mode"]
    attribute.doc_string = "stays"
    attribute.value = given
    made = next(one for one in saved(model).graph.node[2].attribute if one.name == "mode")
    if case == "array":
        assert onnx.numpy_helper.to_array(made.t).tolist() == given.tolist()
        assert attribute.value.numpy().tolist() == given.tolist()
    else:
        wanted = helper.make_attribute("mode", expected, "stays")
        assert made.SerializeToString(deterministic=True) == wanted.SerializeToString(
            deterministic=True
        )
    assert attribute.type == made.type


def test_an_attribute_changes_its_type_and_keeps_its_handle() -> None:
    model = rich()
    attribute = model.graph.nodes[2].attributes["axes"]
    for value in (1.5, [1.5], "text", ["text"], 7, [7, 8]):
        attribute.value = value
        found = model.graph.nodes[2].attributes["axes"].value
        assert found == {"text": b"text"}.get(str(value), [b"text"] if value == ["text"] else value)
        assert len(attribute.proto.ListFields()) == 3  # name, type and the one value
    saved(model)


def test_types_of_values() -> None:
    model = rich()
    info = model.graph.inputs[0]
    info.type = TensorType(DataType.FLOAT16, ("batch", 3, None))
    assert (info.dtype, info.shape) == (DataType.FLOAT16, ("batch", 3, None))
    info.type = MapType(DataType.INT64, TensorType(DataType.FLOAT, None))
    assert (info.dtype, info.shape) == (None, None)
    assert info.type == MapType(DataType.INT64, TensorType(DataType.FLOAT, None))
    info.type = ("float16", ["n", 2])
    assert (info.dtype, info.shape) == (DataType.FLOAT16, ("n", 2))
    info.type = helper.make_tensor_type_proto(7, [])
    assert (info.dtype, info.shape) == (DataType.INT64, ())
    expected = helper.make_value_info("x", helper.make_tensor_type_proto(7, []))
    assert saved(model).graph.input[0] == expected


def test_shapes_and_element_types_of_values() -> None:
    model = rich()
    info = model.graph.inputs[0]
    info.type = helper.make_tensor_type_proto(1, [3], ["DATA_BATCH"])
    info.proto.type.denotation = "IMAGE"
    info.dtype = np.float16
    assert info.proto.type.tensor_type.shape.dim[0].denotation == "DATA_BATCH"
    info.shape = ("batch", 128, None)
    assert (info.dtype, info.shape) == (DataType.FLOAT16, ("batch", 128, None))
    assert info.proto.type.denotation == "IMAGE"
    for wrong, error in (
        (("n", 1.5), ValueError), (("n", True), TypeError), (3, TypeError), ("NCHW", TypeError),
        (b"ab", TypeError),
    ):  # fmt: skip
        with pytest.raises(error):
            info.shape = wrong
        assert info.shape == ("batch", 128, None)
    info.shape = ()
    assert info.shape == ()
    info.shape = None
    assert (info.dtype, info.shape) == (DataType.FLOAT16, None)
    info.type = None
    with pytest.raises(ValueError, match=r"assign \.dtype first"):
        info.shape = (1,)
    info.dtype = "int8"
    info.shape = (1,)
    assert info.type == TensorType(DataType.INT8, (1,))
    info.type = SequenceType(TensorType(DataType.FLOAT, None))
    for change in (lambda: setattr(info, "shape", (1,)), lambda: setattr(info, "dtype", 1)):
        with pytest.raises(
            ValueError, match=r"is not a tensor: its type is sequence_type; assign \.type"
        ):
            change()
    assert saved(model).graph.input[0].type.HasField("sequence_type")


IMAGE = TensorType(DataType.FLOAT, ("N", 3, None), ("DATA_BATCH", None, "DATA_FEATURE"), "IMAGE")


def denoted() -> onnxmap.Model:
    model = onnxmap.loads(helper.make_model(helper.make_graph([], "g", [], [])).SerializeToString())
    types = (
        IMAGE, SequenceType(IMAGE, "BATCH"), MapType(DataType.INT64, IMAGE, "TABLE"),
        OptionalType(IMAGE, "MAYBE"), OpaqueType("d", "n", "THING"),
        SparseTensorType(DataType.INT8, (1,), ("X",), "SPARSE"),
    )  # fmt: skip
    model.functions.append(onnxmap.new("FunctionProto", name="F"))
    graph = model.graph
    for values in (graph.inputs, graph.outputs, graph.value_infos, model.functions[0].value_infos):
        values.extend(onnxmap.make_value_info(f"v{i}", kind) for i, kind in enumerate(types))
        assert tuple(value.type for value in values) == types
    return model


def test_a_type_has_the_denotations_of_the_message() -> None:
    kind = denoted().graph.inputs[0].proto.type
    assert kind.denotation == "IMAGE"
    assert [dim.denotation for dim in kind.tensor_type.shape.dim] == [
        "DATA_BATCH", "", "DATA_FEATURE",
    ]  # fmt: skip
    assert not kind.tensor_type.shape.dim[1].HasField("denotation")


@pytest.mark.parametrize("name", ["type", "shape", "dtype"])
def test_what_a_value_has_can_be_assigned_with_its_denotations(name: str) -> None:
    model = denoted()
    before = onnxmap.dumps(model)
    graph = model.graph
    for values in (graph.inputs, graph.outputs, graph.value_infos, model.functions[0].value_infos):
        for value in values if name == "type" else (values[0], values[5]):
            setattr(value, name, getattr(value, name))
    assert model.edited
    expected = message_class("ModelProto").FromString(before)
    assert message_class("ModelProto").FromString(onnxmap.dumps(model)) == expected


def test_denotations_go_with_types_and_stay_with_shapes_of_the_same_rank() -> None:
    first, second = denoted().graph.inputs[0], denoted().graph.outputs[1]
    second.type = first.type
    assert second.type == IMAGE
    second.shape = (8, 3, 224)
    assert second.type == IMAGE._replace(shape=(8, 3, 224))
    second.type = second.type._replace(denotation="AUDIO")
    assert second.proto.type.denotation == "AUDIO"
    second.shape = (8, 3)
    assert second.type == TensorType(DataType.FLOAT, (8, 3), denotation="AUDIO")
    with pytest.raises(ValueError, match="1 denotations for 2 dimensions"):
        second.type = TensorType(DataType.FLOAT, (8, 3), ("DATA_BATCH",))
    second.type = ("FLOAT", (8, 3))
    assert second.type == TensorType(DataType.FLOAT, (8, 3))


def test_a_type_is_shown_without_what_it_lacks() -> None:
    assert repr(TensorType(DataType.FLOAT, ())) == (
        "TensorType(dtype=<DataType.FLOAT: 1>, shape=())"
    )
    assert repr(SequenceType(None, "BATCH")) == ("SequenceType(elem_type=None, denotation='BATCH')")
