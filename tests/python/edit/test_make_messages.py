"""`make_node` and its like make what the functions of `onnx.helper` make, field by field.

`test_make_tensors` has the tests of `make_tensor`.
"""

from __future__ import annotations

import numbers
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper
from support.edits.models import rich_model
from support.oracles.made_messages import assert_same, form, ours

import onnxmap
from onnxmap.types import (
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
)

TENSOR = numpy_helper.from_array(np.arange(3, dtype=np.float32), "t")
SPARSE = helper.make_sparse_tensor(TENSOR, numpy_helper.from_array(np.arange(3)), [5])
GRAPH = rich_model().graph
TYPE = helper.make_tensor_type_proto(TensorProto.INT64, [1, "N", None])


NODES: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "plain": (("Add", ["x", "w"], ["y"]), {}),
    "nothing": (("", [], []), {}),
    "tuples": (("Add", ("x",), iter(["y"])), {}),
    "all options": (("F", ["x"], ["y"], "n", "doc", "local", "over"), {}),
    "empty options": (("F", [], []), {"name": "", "doc_string": "", "domain": "", "overload": ""}),
    "attributes": (
        ("Op", ["x"], ["y"]),
        {"zeta": 1, "alpha": 0.5, "mode": "m", "axes": [0, -1], "none": None, "data": b"\xff"},
    ),
    "messages": (
        ("Op", [], []),
        {"t": TENSOR, "g": GRAPH, "s": SPARSE, "tp": TYPE, "ts": [TENSOR] * 2, "gs": [GRAPH]},
    ),
    "numbers of NumPy": (
        ("Op", [], []),
        {"i": np.int8(3), "f": np.float16(0.5), "is_": np.array([1, 2]), "fs": np.ones(2)},
    ),
    "empty list": (("Op", [], []), {"axes": []}),
    "wrong value": (("Op", [], []), {"axes": object()}),
    "wrong input": (("Op", [1], []), {}),
    "wrong name": (("Op", [], []), {"name": 5}),
}


@pytest.mark.parametrize("case", NODES)
def test_make_node(case: str) -> None:
    arguments, options = NODES[case]
    if case == "tuples":
        made = ours("make_node")("Add", ("x",), iter(["y"]))
        assert form(made) == form(helper.make_node("Add", ["x"], ["y"]))
        return
    assert_same("make_node", *arguments, **options)


VALUES: dict[str, Any] = {
    "int": 3, "negative": -(1 << 63), "too large": 1 << 63, "bool": True, "float": 0.1,
    "float inf": float("inf"), "too large a float": 1e300, "fraction": Fraction(1, 3),
    "text": "é", "bytes": b"\xff\0", "empty text": "", "numpy int": np.uint8(7),
    "numpy float": np.float64(0.1), "numpy text": np.str_("x"), "enum": TensorProto.DOUBLE,
    "IntEnum": onnxmap.DataType.DOUBLE, "tensor": TENSOR, "graph": GRAPH, "sparse": SPARSE,
    "type": TYPE, "ints": [1, 2], "range": range(3), "tuple": (1, 2), "set": {5},
    "mixed numbers": [1, 2.5], "floats": [0.1, 1e-45], "texts": ["a", b"\xff", ""],
    "tensors": [TENSOR, TENSOR], "graphs": [GRAPH], "sparse tensors": [SPARSE], "types": [TYPE],
    "array of ints": np.array([1, 2], np.int32), "array of floats": np.array([0.1, 2], np.float32),
    "array of texts": np.array(["a", "bc"]), "array of objects": np.array([1, 2]).astype(object),
    "empty": [], "empty array": np.array([], np.int64), "mixed": [1, "a"], "none": None,
    "list of none": [None], "list of lists": [[1], [2]], "number and tensor": [1, TENSOR],
    "dict": {"a": 1}, "complex": 1j, "object": object(), "attribute": AttributeProto(),
    "node": onnx.NodeProto(), "too large in a list": [1 << 63], "a type": int,
}  # fmt: skip


@pytest.mark.parametrize("case", VALUES)
def test_make_attribute(case: str) -> None:
    for attr_type in (None, *AttributeProto.AttributeType.values()[1:]):
        assert_same_attribute(VALUES[case], attr_type)


def assert_same_attribute(value: Any, attr_type: int | None) -> None:
    if attr_type == AttributeProto.TENSOR and isinstance(value, np.ndarray):
        return  # onnx.helper refuses what is a tensor to onnxmap
    try:
        expected = helper.make_attribute("a", value, "doc", attr_type)
    except (TypeError, ValueError, AssertionError) as error:
        # An AssertionError is its own fault: a list, of which a single value is wanted.
        is_plain = attr_type is None and not isinstance(error, AssertionError)
        with pytest.raises(type(error) if is_plain else (TypeError, ValueError)):
            ours("make_attribute")("a", value, "doc", attr_type)
        return
    assert form(ours("make_attribute")("a", value, "doc", attr_type)) == form(expected)


ARRAYS = {
    "scalar": np.array(1.5), "matrix": np.arange(6, dtype=np.int64).reshape(2, 3),
    "bools": np.array([True, False]), "complex": np.array([1j]), "texts": np.array([["a"], ["é"]]),
    "bfloat16": np.array([1.5], ml_dtypes.bfloat16), "int4": np.arange(3).astype(ml_dtypes.int4),
    "float8": np.ones((2, 2), ml_dtypes.float8_e4m3fn), "empty": np.zeros((0, 3), np.float32),
}  # fmt: skip


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_that_are_no_list_are_tensors(case: str) -> None:
    array = ARRAYS[case]
    expected = helper.make_attribute("a", numpy_helper.from_array(array))
    assert form(ours("make_attribute")("a", array)) == form(expected)
    assert form(ours("make_attribute")("a", array, attr_type=AttributeProto.TENSOR)) == form(
        expected
    )
    several = helper.make_attribute("a", [numpy_helper.from_array(array)] * 2)
    assert form(ours("make_attribute")("a", [array, array])) == form(several)


def test_a_list_that_is_wanted_as_a_tensor() -> None:
    array = np.array([1, 2])
    expected = helper.make_attribute("a", numpy_helper.from_array(array))
    made = ours("make_attribute")("a", array, attr_type=onnxmap.AttributeType.TENSOR)
    assert form(made) == form(expected)


def test_bools_are_integers() -> None:
    expected = helper.make_attribute("a", [1, 0])
    assert form(ours("make_attribute")("a", [True, False])) == form(expected)
    assert form(ours("make_attribute")("a", np.True_)) == form(helper.make_attribute("a", 1))


def test_texts_that_are_not_utf_8() -> None:
    expected = helper.make_attribute("a", [b"\xff", b"b"])
    assert form(ours("make_attribute")("a", ["\udcff", "b"])) == form(expected)


def test_objects_of_onnxmap() -> None:
    """A tensor, graph, sparse tensor or type that was read from a model."""
    source = rich_model()
    node = source.graph.node[1]
    node.attribute.append(helper.make_attribute("sparse", SPARSE))
    node.attribute.append(helper.make_attribute("type", TYPE))
    model = onnxmap.loads(source.SerializeToString())
    expected = {one.name: one for one in [*source.graph.node[0].attribute, *node.attribute]}
    found = {**model.graph.nodes[0].attributes, **model.graph.nodes[1].attributes}
    for name in ("then_branch", "alpha", "transB", "sparse", "type"):
        assert form(ours("make_attribute")(name, found[name].value)) == form(expected[name])
        message = getattr(found[name].proto, {"sparse": "sparse_tensor"}.get(name, "g"))
        if name in ("then_branch", "sparse"):
            assert form(ours("make_attribute")(name, message)) == form(expected[name])
    tensor = model.initializers["w"]
    attribute = helper.make_attribute("value", source.graph.initializer[0])
    assert form(ours("make_attribute")("value", tensor)) == form(attribute)
    assert form(ours("make_attribute")("value", [tensor]).tensors[0]) == form(attribute.t)


def test_inputs_that_are_one_text_are_refused() -> None:
    """onnx.helper makes an input of each letter."""
    with pytest.raises(TypeError, match=r"\['xy'\]"):
        ours("make_node")("Add", "xy", ["y"])
    with pytest.raises(TypeError, match="outputs"):
        ours("make_node")("Add", [], "y")


SHAPES = [None, [], [1], [1, "N", None], ["a", 0, -1], [1.5], [True], (3, 4)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["tensor", "sparse_tensor"])
def test_types_of_tensors(kind: str, shape: Any) -> None:
    names = [["b", "", "c"][: len(shape or [])], ["wrong"] * 5, [], None]
    for denotation in names:
        assert_same(f"make_{kind}_type_proto", TensorProto.FLOAT, shape, denotation)
        assert_same(f"make_{kind}_value_info", "x", 1, shape, "doc", denotation)
    assert_same("make_tensor_sequence_value_info", "x", 99, shape, "doc", names[0])


def test_types_of_types() -> None:
    for name in ("make_sequence_type_proto", "make_optional_type_proto"):
        assert_same(name, TYPE)
        assert_same(name, 5)
    assert_same("make_map_type_proto", TensorProto.STRING, TYPE)
    assert_same("make_value_info", "x", TYPE)
    assert_same("make_value_info", "", helper.make_map_type_proto(7, TYPE), "doc")
    assert_same("make_value_info", "x", TENSOR)


def test_types_of_onnxmap() -> None:
    plain = TensorType(onnxmap.DataType.INT64, (1, "N", None))
    pairs = {
        plain: TYPE,
        SparseTensorType(1, None): helper.make_sparse_tensor_type_proto(1, None),
        SequenceType(plain): helper.make_sequence_type_proto(TYPE),
        OptionalType(SequenceType(plain)): helper.make_optional_type_proto(
            helper.make_sequence_type_proto(TYPE)
        ),
        MapType(onnxmap.DataType.STRING, plain): helper.make_map_type_proto(8, TYPE),
        OpaqueType("d", "n"): onnx.TypeProto(opaque_type={"domain": "d", "name": "n"}),
    }
    for given_type, expected in pairs.items():
        made = ours("make_value_info")("x", given_type)
        assert form(made) == form(helper.make_value_info("x", expected))
        made = ours("make_attribute")("a", given_type)
        assert form(made) == form(helper.make_attribute("a", expected))
    for dtype in ("int64", "INT64", np.int64, np.dtype("int64"), 7):
        made = ours("make_value_info")("x", (dtype, [1, "N", None]))
        assert form(made) == form(helper.make_value_info("x", TYPE))


def test_graphs_functions_and_models() -> None:
    model = rich_model()
    graph, function = model.graph, model.functions[0]
    lists = list(graph.node), graph.name, list(graph.input), list(graph.output)
    assert_same("make_graph", *lists)
    assert_same("make_graph", *lists, list(graph.initializer), "doc", list(graph.value_info))
    assert_same("make_graph", *lists, sparse_initializer=[SPARSE])
    assert_same("make_graph", [TENSOR], "g", [], [])
    parts = ["x"], ["y"], list(function.node), list(function.opset_import)
    assert_same("make_function", "local", "f", *parts)
    assert_same(
        "make_function", "local", "f", *parts, ["alpha"], list(function.attribute_proto), "doc",
        "over", list(graph.value_info),
    )  # fmt: skip
    assert_same("make_model", graph)
    assert_same("make_model", graph, opset_imports=[], functions=[function], producer_name="p")
    assert_same("make_model", graph, opset_imports=list(function.opset_import), ir_version=8)
    assert_same("make_sparse_tensor", TENSOR, TENSOR, [3])
    assert_same("make_opsetid", "ai.onnx", 21)
    assert_same("make_operatorsetid", "", 21)
    assert_same("make_attribute_ref", "a", AttributeProto.INT)
    assert_same("make_attribute_ref", "a", AttributeProto.INTS, "doc", ref_attr_name="b")
    assert_same("make_attribute_ref", "", AttributeProto.INT)
    made = ours("make_model")(graph, opset_imports={"": 21, "local": 1})
    expected = helper.make_model(graph, opset_imports=list(model.opset_import))
    assert form(made) == form(expected)
    with pytest.raises(AttributeError):
        ours("make_model")(graph, nope=1)
    with pytest.raises(AttributeError):
        ours("make_model")(graph, metadata_props=[])


def test_the_newest_opset_is_that_of_the_newest_format() -> None:
    made = onnxmap.make_model(onnxmap.make_graph([], "g", [], []))
    assert [one.version for one in made.opset_import] == [onnx.defs.onnx_opset_version()]


def test_what_is_made_is_a_copy() -> None:
    graph = onnx.GraphProto(name="before")
    made = ours("make_attribute")("g", graph)
    graph.name = "after"
    assert made.g.name == "before"


def test_a_short_name_of_a_message() -> None:
    with pytest.raises(ValueError, match=r"no message type Node; did you mean NodeProto\?$"):
        onnxmap.new("Node")
    with pytest.raises(ValueError, match=r"no message type Nodes$"):
        onnxmap.new("Nodes")


class Raises:
    """A number, or a list, whose methods raise."""

    def __int__(self) -> int:
        raise KeyError("boom")

    def __iter__(self) -> Any:
        raise KeyError("boom")


numbers.Integral.register(Raises)


def test_errors_of_values_are_passed_on() -> None:
    for value in (Raises(), [1, Raises()]):
        with pytest.raises(KeyError, match="boom"):
            onnxmap.make_attribute("a", value)


def test_a_list_is_read_by_its_own_iteration() -> None:
    class Reversed(list[int]):
        def __iter__(self) -> Any:
            return reversed(list(super().__iter__()))

    assert list(onnxmap.make_attribute("a", Reversed([1, 2])).ints) == [2, 1]


@pytest.mark.parametrize("wanted", [0, onnxmap.AttributeType.UNDEFINED])
def test_no_attribute_is_of_the_type_undefined(wanted: int) -> None:
    for value in (1, [1]):
        with pytest.raises(TypeError, match="UNDEFINED"):
            onnxmap.make_attribute("a", value, attr_type=wanted)


def test_none_is_no_type_and_no_name() -> None:
    for make in (
        lambda: onnxmap.make_sequence_type_proto(None),
        lambda: onnxmap.make_optional_type_proto(None),
        lambda: onnxmap.make_map_type_proto(7, None),
        lambda: onnxmap.make_value_info("x", SequenceType(None)),
        lambda: onnxmap.make_value_info("x", OpaqueType(None, None)),  # type: ignore[arg-type]
        lambda: onnxmap.make_attribute_ref(None, 1, ref_attr_name="r"),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError):
            make()


def test_types_that_are_nested_too_deep() -> None:
    nested: Any = TensorType(1, (1,))
    for _ in range(100_000):
        nested = SequenceType(nested)
    with pytest.raises(onnxmap.LimitError, match="deep"):
        onnxmap.make_value_info("x", nested)


def test_an_element_type_may_be_a_bool() -> None:
    assert onnxmap.make_tensor_type_proto(True, [1]).tensor_type.elem_type == 1
