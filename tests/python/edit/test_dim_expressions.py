"""Dimensions that are expressions of names, as symbolic shape inference writes them."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import ModelProto, helper
from support.edits.rich_model import saved
from support.processes.work import Work, too_steep

import onnxmap
from onnxmap import DimReport


def info(name: str, shape: list[Any]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, 1, shape)


def model_of(x: list[Any], y: list[Any], z: list[Any]) -> ModelProto:
    """Values y and z, and a branch with an output like y."""
    node = helper.make_node("Neg", ["x"], ["o"])
    branch = helper.make_graph([node], "branch", [], [info("o", y)])
    nodes = [
        helper.make_node("Neg", ["x"], ["y"]),
        helper.make_node("Neg", ["y"], ["z"]),
        helper.make_node("If", ["c"], ["i"], then_branch=branch, else_branch=branch),
    ]
    flag = helper.make_tensor_value_info("c", 9, [])
    graph = helper.make_graph(
        nodes, "g", [info("x", x), flag], [info("z", z)], value_info=[info("y", y)]
    )
    return helper.make_model(graph)


def loads(message: ModelProto) -> onnxmap.Model:
    return onnxmap.loads(message.SerializeToString())


EXPRESSION = "floor(height/2 - 1/2) + heights*height.x"


@pytest.mark.parametrize("name", ["batch-size", "batch size", "größe", "a:b"])
def test_a_name_may_have_any_characters(name: str) -> None:
    model = loads(model_of([name], [f"floor({name}/2)"], [name]))
    model.set_dims({name: 4})
    assert saved(model).graph.value_info[0] == info("y", [None])
    assert saved(model).graph.output[0] == info("z", [4])


@pytest.mark.parametrize(
    ("new", "found"),
    [
        (640, None),
        (None, None),
        ("h2", None),
        ("height", EXPRESSION),
    ],
)
def test_expressions_of_a_name_become_unknown(new: Any, found: str | None) -> None:
    model = loads(model_of(["batch", "height"], ["batch", EXPRESSION], ["2*b", "batch*height"]))
    assert model.set_dims({"height": new}) == DimReport([], [], [])
    assert saved(model).graph.value_info[0] == info("y", ["batch", found])
    assert model.graph.outputs["z"].shape is not None
    assert model.graph.outputs["z"].shape[0] == "2*b"
    assert ("batch*height" in model.graph.dimension_params) == (new == "height")
    branch = saved(model).graph.node[2].attribute[0].g
    assert branch.output[0].type.tensor_type == info("o", ["batch", found]).type.tensor_type
    assert model.edited == (new != "height")


def test_a_name_in_expressions_alone_is_no_dimension() -> None:
    model = loads(model_of(["batch", 32], ["2*other", 32], ["batch", 32]))
    with pytest.raises(onnxmap.UnknownNameError, match="no dimension 'other'"):
        model.set_dims({"other": 1})


def test_very_many_expressions() -> None:
    def prepare(many: int) -> tuple[bytes, Work]:
        shape = [f"n{i}" for i in range(many)]
        text = " + ".join(shape)
        graph = helper.make_graph([], "g", [info("x", shape)], [info("y", [text])])
        data = helper.make_model(graph).SerializeToString()
        return data, lambda: onnxmap.loads(data).set_dims({name: "m" + name for name in shape})

    assert not too_steep(prepare, (100, 1_000))
