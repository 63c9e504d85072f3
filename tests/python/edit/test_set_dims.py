"""`Model.set_dims` beside onnx.tools.update_model_dims."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper
from onnx.tools.update_model_dims import update_inputs_outputs_dims
from support.edits.rich_model import saved
from support.surgery.programs import errors

import onnxmap
from onnxmap.types import DimReport

Shape = list[Any]


def info(name: str, shape: Shape) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, 1, shape)


def model_of(x: Shape, y: Shape, z: Shape) -> ModelProto:
    """x -> Neg -> y -> Reshape -> z, and a branch that tells the shape of what it takes."""
    branch = helper.make_graph(
        [helper.make_node("Neg", ["y"], ["b"]), helper.make_node("Neg", ["b"], ["o"])],
        "branch", [], [info("o", y)], value_info=[info("b", y)],
    )  # fmt: skip
    nodes = [
        helper.make_node("Neg", ["x"], ["y"]),
        helper.make_node("Constant", [], ["size"], value_ints=[32]),
        helper.make_node("Reshape", ["y", "shape"], ["z"]),
        helper.make_node("If", ["c"], ["i"], then_branch=branch, else_branch=branch),
        helper.make_node("Neg", ["other"], ["aside"]),
        helper.make_node("Neg", ["aside"], ["last"]),
    ]
    graph = helper.make_graph(
        nodes, "g",
        [info("x", x), helper.make_tensor_value_info("c", 9, []), info("other", ["batch", 32])],
        [info("z", z), info("i", y), info("last", ["batch", 32])],
        [numpy_helper.from_array(np.array([-1, 32], np.int64), "shape")],
        value_info=[info("y", y), info("aside", ["batch", 32])],
    )  # fmt: skip
    sequence = helper.make_tensor_sequence_value_info("s", 1, ["batch"])
    graph.value_info.append(sequence)
    neg = helper.make_node("Neg", ["a"], ["b"])
    function = helper.make_function("f", "F", ["a"], ["b"], [neg], [helper.make_opsetid("", 18)])
    function.value_info.append(info("b", ["batch"]))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    return helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=10)


def loads(message: ModelProto) -> onnxmap.Model:
    return onnxmap.loads(message.SerializeToString())


def shapes(model: ModelProto) -> dict[str, Shape]:
    found = {}
    for value in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
        if value.type.HasField("tensor_type"):
            dims = value.type.tensor_type.shape.dim
            found[value.name] = [
                dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None
                for dim in dims
            ]
    return found


@pytest.mark.parametrize("new", [1, "N", 0])
def test_a_name_is_replaced_everywhere(new: int | str) -> None:
    given = (["batch", 32], ["batch", 32], ["batch", 32])
    model = loads(model_of(*given))
    assert model.set_dims({"batch": new}) == DimReport([], [])
    ours = saved(model)
    assert shapes(ours) == {
        "x": [new, 32], "c": [], "other": [new, 32], "z": [new, 32], "i": [new, 32],
        "last": [new, 32], "y": [new, 32], "aside": [new, 32],
    }  # fmt: skip
    sequence = helper.make_tensor_sequence_value_info("s", 1, [new])
    assert ours.graph.value_info[-1] == sequence
    assert ours.functions[0].value_info[0] == info("b", [new])
    branch = ours.graph.node[3].attribute[0].g
    assert branch.output[0].type.tensor_type == info("o", [new, 32]).type.tensor_type
    assert "batch" not in model.graph.dimension_params
    assert errors(model) == set()


def test_as_the_official_tool() -> None:
    """Which wants all inputs and outputs, and leaves the values between them."""
    message = model_of(["batch", 32], ["batch", 32], ["batch", 32])
    new = {"x": [5, 32], "c": [], "other": [5, 32]}
    outputs = {"z": [5, 32], "i": [5, 32], "last": [5, 32]}
    official = update_inputs_outputs_dims(message, new, outputs)
    model = loads(model_of(["batch", 32], ["batch", 32], ["batch", 32]))
    model.set_dims(inputs=new)
    ours = saved(model)
    assert ours.graph.input == official.graph.input
    assert ours.graph.output == official.graph.output


def test_a_number_makes_stored_shapes_stale() -> None:
    model = loads(model_of(["batch", 32], ["batch", 32], ["batch", 32]))
    report = model.set_dims({"batch": 2}, {"x": [2, 64]})
    assert report == DimReport(["y", "b", "b"], ["graph.node[2].input[1]"])
    ours = saved(model)
    found = shapes(ours)
    assert found["x"] == [2, 64]
    assert found["z"] == [2, None]
    assert found["i"] == [2, None]
    assert found["last"] == [2, 32]  # does not depend on x
    assert found["aside"] == [2, 32]
    assert "y" not in found
    output = ours.graph.node[3].attribute[0].g.output[0]
    assert not output.type.tensor_type.shape.dim[1].HasField("dim_value")
    model.infer_shapes()
    assert model.graph.value("y").shape == (2, 64)  # type: ignore[union-attr]
    model.revert()
    assert model.graph.inputs["x"].shape == ("batch", 32)


def test_unknown_dimensions_of_inputs() -> None:
    model = loads(model_of([None, 32], [None, 32], [None, 32]))
    assert model.set_dims(inputs={"x": ["N", 32]}) == DimReport([], [])
    assert model.graph.inputs["x"].shape == ("N", 32)
    assert model.graph.value("y").shape == (None, 32)  # type: ignore[union-attr]
    assert model.set_dims(inputs={"x": [None, 32]}).value_infos == ["y", "b", "b"]
    assert model.graph.inputs["x"].shape == (None, 32)


def test_names_are_swapped() -> None:
    model = loads(model_of(["a", "b"], ["b", "a"], ["a", "a"]))
    model.set_dims({"a": "b", "b": "a"})
    assert shapes(saved(model))["x"] == ["b", "a"]
    assert shapes(saved(model))["y"] == ["a", "b"]


@pytest.mark.parametrize(
    ("dims", "inputs", "error", "text"),
    [
        ({"nope": 1}, {}, KeyError, "no dimension 'nope'"),
        ({}, {"nope": [1]}, KeyError, "no input 'nope'"),
        ({}, {"x": [1]}, ValueError, "has 2 dimensions, not 1"),
        ({"batch": 2}, {"x": [3, 32]}, ValueError, "'batch' would be two different"),
        ({"batch": -1}, {}, ValueError, "not negative"),
        ({"batch": 1.5}, {}, TypeError, "float"),
        ({1: 2}, {}, TypeError, "str"),
    ],
)
def test_refused(
    dims: dict[Any, Any], inputs: dict[str, Shape], error: type[Exception], text: str
) -> None:
    model = loads(model_of(["batch", 32], ["batch", 32], ["batch", 32]))
    with pytest.raises(error, match=text):
        model.set_dims(dims, inputs)
    assert not model.edited
