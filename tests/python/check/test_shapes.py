"""Shapes that operators make: they go forward through the graph, and only certain faults count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper

import onnxmap

RULES = ["value.shape", "operator.attribute_value"]
Dims = list[Any] | None


def model_of(
    nodes: list[onnx.NodeProto],
    inputs: Mapping[str, Dims],
    outputs: Mapping[str, Dims] | None = None,
    constants: dict[str, Any] | None = None,
    opset: int = 21,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, 1, dims) for name, dims in inputs.items()],
        [helper.make_tensor_value_info(name, 1, dims) for name, dims in (outputs or {}).items()],
        [numpy_helper.from_array(np.array(value, np.int64), name)
         for name, value in (constants or {}).items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def found(model: onnx.ModelProto) -> list[tuple[str, str]]:
    report = onnxmap.loads(model.SerializeToString()).check(select=RULES)
    return [(each.where.removeprefix("graph.node"), each.message) for each in report]


def of_one(
    op_type: str, *shapes: Dims, opset: int = 21, axes: Any = None, made: Dims = None, **more: Any
) -> list[tuple[str, str]]:
    """The findings in a node whose inputs have these shapes, and the last one these elements."""
    inputs = {f"i{i}": shape for i, shape in enumerate(shapes)}
    constants = {} if axes is None else {"c": axes}
    node = helper.make_node(op_type, [*inputs, *constants], ["y"], **more)
    outputs = {"y": made} if made is not None else {}
    return found(model_of([node], inputs, outputs, constants, opset))


BESIDE = "its shape is %s, and that of input 0 [2, 3]"
SHORT = "the operator takes %d dimensions here"
PADDING = "constant reflect edge wrap"
WRONG: list[tuple[list[tuple[str, str]], str, str]] = [
    (of_one("Softmax", [2, 3], axis=2), '[0].attribute["axis"]',
     "Softmax: there is no axis 2: the value has 2 dimensions"),
    (of_one("Transpose", [2, 3], perm=[0, 0]), '[0].attribute["perm"]',
     "Transpose: the axis 0 is there twice"),
    (of_one("Transpose", [2, 3], perm=[0, 1, 2]), '[0].attribute["perm"]',
     "Transpose: it has 3 axes, and the value has the shape [2, 3]"),
    (of_one("Add", [2, 3], [3, 2]), "[0].input[1]",
     "Add: the inputs do not broadcast: its shape is [3, 2], and that of input 0 [2, 3]"),
    (of_one("Concat", [2, 3], [4, 2], axis=0), "[0].input[1]",
     "Concat: dimensions differ that are not joined: " + BESIDE % "[4, 2]"),
    (of_one("Concat", [2, 3], [2], axis=0), "[0].input[1]",
     "Concat: the numbers of dimensions differ: its shape is [2], and that of input 0 [2, 3]"),
    (of_one("ReduceSum", [2, 3], axes=[2]), "[0].input[1]",
     "ReduceSum: there is no axis 2: the value has 2 dimensions"),
    (of_one("ReduceMax", [2, 3], opset=13, axes=None, made=[2, 3]), "[0].output[0]",
     "the node makes the shape [1, 1], and the graph says that 'y' has [2, 3]"),
    (of_one("Squeeze", [2, 3], axes=[0]), "[0].input[1]",
     "Squeeze: dimension 0 of the value is 2, and 1 is left out"),
    (of_one("Unsqueeze", [2], axes=[1, 1]), "[0].input[1]",
     "Unsqueeze: the axis 1 is there twice"),
    (of_one("Reshape", [2, 3], axes=[4, -1]), "[0].input[1]",
     "Reshape: it asks for [4, -1], and the shape of the value is [2, 3]"),
    (of_one("Reshape", ["n", 3], axes=[0, 0, 0]), "[0].input[1]",
     "Reshape: dimension 2 is copied, and the shape is [?, 3]"),
    (of_one("Expand", [2, 3], axes=[4, 1]), "[0].input[1]",
     "Expand: the value has the shape [2, 3], which does not broadcast to [4, 1]"),
    (of_one("Gather", [2, 3], [5], axis=-3), '[0].attribute["axis"]',
     "Gather: there is no axis -3: the value has 2 dimensions"),
    (of_one("MatMul", [2, 3], [4, 5]), "[0].input[1]",
     "MatMul: the inner dimensions differ: its shape is [4, 5], and that of input 0 [2, 3]"),
    (of_one("MatMul", [7, 2, 3], [3, 5], made=[7, 2, 4]), "[0].output[0]",
     "the node makes the shape [7, 2, 5], and the graph says that 'y' has [7, 2, 4]"),
    (of_one("Gemm", [2, 3], [5, 3], [4], transB=1), "[0].input[2]",
     "Gemm: its shape is [4], which does not broadcast to the result [2, 5]"),
    (of_one("Conv", [1, 2, 8, 8], [4, 2, 3, 3], strides=[2]), '[0].attribute["strides"]',
     "Conv: it has 1 numbers, and the shapes need 2"),
    (of_one("Conv", [1, 2, 8, 9], [4, 2, 3, 3], strides=[2, 2], made=[1, 4, 4, 4]),
     "[0].output[0]",
     "the node makes the shape [1, 4, 3, 4], and the graph says that 'y' has [1, 4, 4, 4]"),
    (of_one("MaxPool", [1, 2, 8], kernel_shape=[2, 2]), '[0].attribute["kernel_shape"]',
     "MaxPool: it has 2 numbers, and the shapes need 1"),
    (of_one("BatchNormalization", [1, 2, 8], [2], [3], [2], [2]), "[0].input[2]",
     "BatchNormalization: the shape is [3], and dimension 0 has to be 2"),
    (of_one("ConvTranspose", [1, 2], [2, 2]), "[0].input[0]",
     "ConvTranspose: the shape is [1, 2], and " + SHORT % 3),
    (of_one("RotaryEmbedding", [2, 4], opset=23), "[0].input[0]",
     "RotaryEmbedding: the shape is [2, 4], and " + SHORT % 3),
    (of_one("Pad", [2, 3], mode="mirror", axes=[0, 0, 0, 0]), '[0].attribute["mode"]',
     f"the attribute 'mode' of Pad of version 21 is 'mirror', and none of: {PADDING}"),
]  # fmt: skip


@pytest.mark.parametrize(("report", "where", "message"), WRONG)
def test_a_wrong_shape(report: list[tuple[str, str]], where: str, message: str) -> None:
    assert report == [(where, message)]


@pytest.mark.parametrize(
    "report",
    [
        of_one("Softmax", [2, 3], axis=2, opset=11),  # the rank itself, before version 13
        of_one("Add", ["n", 3], ["m", 3]),  # names are not known to differ
        of_one("Add", ["?", 3], [-1, 1]),
        of_one("Concat", ["n", 3], [2, 3], axis=0, made=[7, 3]),
        of_one("MatMul", None, [4, 5]),
        of_one("Reshape", ["n", 3], axes=[4, 5]),
        of_one("Squeeze", ["n", 3], axes=[0]),
        of_one("Gather", [2, 3], None, axis=1),
        of_one("Softmax", [], axis=-1),
        of_one(
            "AveragePool", [1, 1, 6], kernel_shape=[3], strides=[2], ceil_mode=1, made=[1, 1, 9]
        ),
        of_one("Conv", [1, 1, 9], [1, 1, 3], auto_pad=""),  # the empty word is the default
        of_one("ReduceSum", [2, 3], [1]),  # which axis is not known
        of_one("Constant", value_ints=list(range(100)), made=[100]),
        of_one("Shape", [2, 3], start=-(2**63), made=[2]),
        # Any number of dimensions, as version 20 says of GridSample.
        of_one("GridSample", [1, 2, 3], [1, 4, 1], made=[1, 2, 4]),
        of_one("ConvTranspose", [1, 1, *[2] * 4], [1, 1, *[1] * 4], made=[1, 1, *[2] * 4]),
    ],
)
def test_what_is_not_certain_is_no_finding(report: list[tuple[str, str]]) -> None:
    assert report == []


def test_axes_are_attributes_or_inputs_by_version() -> None:
    for op_type in ("Squeeze", "Unsqueeze", "ReduceSum"):
        node = helper.make_node(op_type, ["x"], ["y"], axes=[9])
        ((where, message),) = found(model_of([node], {"x": [1, 1]}, opset=11))
        assert where == '[0].attribute["axes"]'
        assert "there is no axis 9" in message


@pytest.mark.parametrize("size", [5, 2**40])
def test_elements_that_a_shape_does_not_count(size: int) -> None:
    """A Reshape to an unknown size, then to a wrong one: the list still has two elements."""
    nodes = [
        helper.make_node("Reshape", ["list", "given"], ["any"]),
        helper.make_node("Reshape", ["any", "size"], ["long"]),
        helper.make_node("Slice", ["long", "start", "end"], ["cut"]),
        helper.make_node("ConstantOfShape", ["cut"], ["y"]),
    ]
    constants = {"list": [7, 8], "size": [size], "start": [size // 2], "end": [size // 2 + 2]}
    model = model_of(nodes, {"given": [1]}, {"y": [9, 9, 9]}, constants)
    ((where, message),) = found(model)
    assert where == "[3].output[0]"
    assert message.startswith("the node makes the shape [?, ?], and")


def test_many_elements_are_not_kept() -> None:
    joined = helper.make_node("Concat", ["a", "b"], ["s"], axis=0)
    expanded = helper.make_node("Expand", ["x", "s"], ["y"])
    ones = [1] * 60
    assert found(model_of([joined, expanded], {"x": [1]}, {}, {"a": ones, "b": ones})) == []


@pytest.mark.parametrize(("size", "made"), [(2**32 + 2, []), (4, ["value.shape"])])
def test_a_cast_keeps_what_int32_can_hold(size: int, made: list[str]) -> None:
    """A larger number becomes another one."""
    nodes = [
        helper.make_node("Cast", ["s"], ["small"], to=TensorProto.INT32),
        helper.make_node("Cast", ["small"], ["shape"], to=TensorProto.INT64),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    model = model_of(nodes, {"x": ["n"]}, {"y": [2]}, {"s": [size]})
    report = onnxmap.loads(model.SerializeToString()).check(select=RULES)
    assert [each.rule for each in report] == made


def test_shapes_go_forward_through_sizes_that_are_calculated() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "first"], ["list"]),
        helper.make_node("Concat", ["list", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["y"]),
    ]
    constants = {"zero": 0, "first": [0], "rest": [-1]}
    shapes: dict[str, Dims] = {"x": [2, 3, 4], "w": [12, 5]}
    assert found(model_of(nodes, shapes, {"y": [2, 5]}, constants)) == []
    ((where, message),) = found(model_of(nodes, {**shapes, "w": [11, 5]}, {}, constants))
    assert (where, message) == (
        "[5].input[1]",
        "MatMul: the inner dimensions differ: its shape is [11, 5], and that of input 0 [2, 12]",
    )


def test_the_default_of_an_input_tells_no_sizes() -> None:
    """Whoever runs the model may give another value; before IR version 4, nobody can."""
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    model = model_of([node], {"x": [2, 3]}, {}, {"shape": [4]})
    model.graph.input.append(helper.make_tensor_value_info("shape", TensorProto.INT64, [1]))
    assert found(model) == []
    model.ir_version = 3
    assert [where for where, _ in found(model)] == ["[0].input[1]"]


def test_an_attribute_of_the_caller_is_not_known() -> None:
    axis = AttributeProto(name="axis", type=AttributeProto.INT, ref_attr_name="axis")
    softmax = helper.make_node("Softmax", ["k"], ["y"])
    softmax.attribute.append(axis)
    value = numpy_helper.from_array(np.ones(2, np.float32))
    constant = helper.make_node("Constant", [], ["k"], value=value)
    far = helper.make_node("Softmax", ["k"], ["z"], axis=9)
    opsets = [helper.make_opsetid("", 21)]
    nodes = [constant, softmax, far]
    function = helper.make_function("d", "F", [], ["y", "z"], nodes, opsets, ["axis"])
    call = helper.make_node("F", [], ["y", "z"], domain="d", axis=0)
    model = model_of([call], {})
    model.opset_import.add(domain="d", version=1)
    model.functions.append(function)
    assert [where for where, _ in found(model)] == ['functions[0].node[2].attribute["axis"]']


def test_a_subgraph_sees_the_shapes_around_it() -> None:
    branch = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["t"])], "b", [],
                               [onnx.ValueInfoProto(name="t")])  # fmt: skip
    other = helper.make_graph([helper.make_node("Identity", ["x"], ["e"])], "c", [],
                              [onnx.ValueInfoProto(name="e")])  # fmt: skip
    node = helper.make_node("If", ["flag"], ["y"], then_branch=branch, else_branch=other)
    model = model_of([node], {"x": [2, 3], "w": [4, 5]})
    model.graph.input.append(helper.make_tensor_value_info("flag", TensorProto.BOOL, []))
    assert [where for where, _ in found(model)] == [
        '[0].attribute["then_branch"].g.node[0].input[1]'
    ]


def test_elements_of_sequences_have_the_type_of_the_sequence() -> None:
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "x"], ["s"]),
        helper.make_node("SequenceInsert", ["s", "i"], ["t"]),
        helper.make_node("SequenceAt", ["s", "i"], ["y"]),
    ]
    model = model_of(nodes, {"x": [2]}, {}, {"i": 0})
    model.graph.value_info.append(helper.make_tensor_value_info("y", TensorProto.DOUBLE, None))
    report = onnxmap.loads(model.SerializeToString()).check(select=["operator.type", "value.type"])
    assert [(each.where, each.message) for each in report] == [
        ("graph.node[1].input[1]",
         "'i' is INT64, and 's' is a sequence of FLOAT; SequenceInsert takes both in one type"),
        ("graph.node[2].output[0]",
         "the node makes FLOAT, and the graph says that 'y' is DOUBLE"),
    ]  # fmt: skip


def test_words_are_those_that_onnx_documents() -> None:
    """Each word of the table stands in the text of its attribute, or of an older version's."""
    told: dict[tuple[str, str], str] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        for name, attribute in schema.attributes.items():
            key = schema.name, name
            told[key] = told.get(key, "") + attribute.description
    cases = {
        ("Pad", "mode"): "mirror", ("LSTM", "direction"): "both",
        ("Resize", "mode"): "area", ("Resize", "nearest_mode"): "round",
        ("GridSample", "padding_mode"): "wrap", ("ScatterND", "reduction"): "mean",
        ("DepthToSpace", "mode"): "DCR CRD", ("Gelu", "approximate"): "erf",
        ("Conv", "auto_pad"): "SAME", ("RoiAlign", "mode"): "mean",
        ("Resize", "keep_aspect_ratio_policy"): "fit", ("BitShift", "direction"): "UP",
    }  # fmt: skip
    for (op_type, name), wrong in cases.items():
        schema = onnx.defs.get_schema(op_type)
        inputs = {f"i{i}": None for i in range(schema.min_input)}
        node = helper.make_node(op_type, list(inputs), ["y"], **{name: wrong})
        ((_, message),) = found(model_of([node], inputs, opset=schema.since_version))
        for word in message.split("none of: ")[1].split():
            assert word in told[op_type, name], (op_type, name, word)
            node.attribute[0].s = word.encode()
            assert found(model_of([node], inputs, opset=schema.since_version)) == []
