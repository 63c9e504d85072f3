"""Names and numbers that exporters write for sizes that they do not know."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from support.edits.rich_model import saved

import onnxmap

PLACEHOLDERS = ["?", -1, "-1", "", "None", "unk__12"]
NAMES = [each for each in PLACEHOLDERS if isinstance(each, str)]
DIM = ".type.tensor_type.shape.dim"


def info(name: str, shape: list[Any]) -> onnx.ValueInfoProto:
    """Also with empty names, which the official function leaves out."""
    made = helper.make_tensor_value_info(name, 1, shape)
    for dim, size in zip(made.type.tensor_type.shape.dim, shape, strict=True):
        if size == "":
            dim.dim_param = ""
    return made


def model_of(batch: Any, size: Any) -> ModelProto:
    """A classifier of images of any height and width, as PaddleOCR has one."""
    weight = numpy_helper.from_array(np.full((4, 3, 3, 3), 0.1, np.float32), "w")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["y"]),
        helper.make_node("GlobalAveragePool", ["c"], ["p"]),
        helper.make_node("Flatten", ["p"], ["z"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [info("x", [batch, 3, size, size])],
        [info("y", [batch, 4, size, size]), info("z", [batch, 4])], [weight],
        value_info=[info("c", [batch, 4, size, size])],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def loads(message: ModelProto) -> onnxmap.Model:
    return onnxmap.loads(message.SerializeToString())


@pytest.mark.parametrize("each", PLACEHOLDERS)
def test_each_is_an_unknown_size_of_its_own(each: Any) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    model = loads(model_of(each, each))
    assert model.graph.inputs["x"].shape == (None, 3, None, None)
    assert str(model.graph.inputs["x"].type) == "FLOAT [?, 3, ?, ?]"
    assert not model.graph.dimension_params
    model.set_dims(inputs={"x": [1, 3, 48, None]})
    assert model.graph.inputs["x"].shape == (1, 3, 48, None)
    assert model.graph.outputs["y"].shape == (None, 4, None, None)  # the height is 24
    assert model.graph.outputs["z"].shape == (None, 4)
    model.set_dims(inputs={"x": [1, 3, 48, 192]})
    ours = saved(model)
    session = onnxruntime.InferenceSession(ours.SerializeToString())
    assert session.run(["y"], {"x": np.ones((1, 3, 48, 192), np.float32)})[0].shape == (
        1,
        4,
        24,
        96,
    )
    model.infer_shapes()
    assert model.graph.outputs["y"].shape == (1, 4, 24, 96)


@pytest.mark.parametrize("each", ["?", -1, "-1", "None", "unk__12", None])
def test_as_a_new_size_each_is_none(each: Any) -> None:
    model = loads(model_of("N", "S"))
    model.set_dims({"N": each})
    dims = saved(model).graph.output[1].type.tensor_type.shape.dim
    assert dims[0].WhichOneof("value") is None
    model.set_dims(inputs={"x": [each, 3, each, 7]})
    assert model.graph.inputs["x"].shape == (None, 3, None, 7)


@pytest.mark.parametrize("each", NAMES)
def test_none_is_a_name_to_replace(each: str) -> None:
    model = loads(model_of(each, each))
    with pytest.raises(onnxmap.UnknownNameError, match="give the input a new shape"):
        model.set_dims({each: 5})
    assert not model.edited


@pytest.mark.parametrize("name", ["unk__", "unk__1a", "unk_12", "N", "none", "??", "batch"])
def test_other_names_are_names(name: str) -> None:
    model = loads(model_of(name, "S"))
    assert list(model.graph.dimension_params) == [name, "S"]
    model.set_dims({name: 2})
    assert model.graph.outputs["z"].shape == (2, 4)


@pytest.mark.parametrize("each", PLACEHOLDERS)
def test_a_default_of_any_size_fits(each: Any) -> None:
    message = model_of(each, 3)
    message.graph.initializer.append(numpy_helper.from_array(np.ones((2, 3, 3, 3), "f"), "x"))
    rules = {finding.rule for finding in loads(message).check().findings}
    assert "graph.initializer_type" not in rules


@pytest.mark.parametrize("each", PLACEHOLDERS)
def test_merging_connects_any_size(each: Any) -> None:
    neg = helper.make_node("Neg", ["a"], ["b"])
    graph = helper.make_graph([neg], "g", [info("a", [1, 4, 24, 96])], [info("b", [1, 4, 24, 96])])
    after = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    merged = onnxmap.merge(loads(model_of(each, each)), loads(after), {"y": "a"})
    assert merged.graph.inputs["x"].shape == (None, 3, None, None)


def test_dimensions_are_of_these_kinds() -> None:
    kinds = {TensorProto.FLOAT: helper.make_tensor_value_info}
    for make in (*kinds.values(), helper.make_tensor_sequence_value_info):
        value = make("v", 1, ["?", -1, "n", 4])
        graph = helper.make_graph([], "g", [value], [])
        found = loads(helper.make_model(graph)).graph.inputs["v"].type
        assert getattr(found, "elem_type", found).shape == (None, None, "n", 4)
