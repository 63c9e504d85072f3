"""Models that go to another library and come back, and what a whole model of weights looks like."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper

import onnxmap
from support import wire_bytes as wire
from support.edits.models import EDIT_MODELS
from support.oracles.tensors import tensors_of
from support.saves.models import SAVE_MODELS

_EDIT = "edit: "
NAMES = [*SAVE_MODELS, *(_EDIT + name for name in EDIT_MODELS)]
WIDTH = 20  # a square of float32: 1600 bytes, so its values are left out of structures


def opened(name: str, folder: Path) -> onnxmap.Model:
    """One of the models of `support.saves.models` or `support.edits.models`."""
    if name.startswith(_EDIT):
        return onnxmap.loads(EDIT_MODELS[name.removeprefix(_EDIT)])
    return onnxmap.load(SAVE_MODELS[name](folder))


def wheel_models() -> Iterator[Path]:
    """All models of onnx's backend tests."""
    yield from sorted((Path(onnx.__file__).parent / "backend/test/data").rglob("*.onnx"))


def message_of(model: onnxmap.Model) -> ModelProto:
    return ModelProto.FromString(onnxmap.dumps(model))


def whole_message(model: onnxmap.Model) -> ModelProto:
    """The message of a model as the official package has it: with all of its values inline."""
    message = message_of(model)
    for (_, tensor), ours in zip(
        tensors_of(message), (one for _, one in model.tensors()), strict=True
    ):
        if tensor.external_data:
            try:
                data = ours.tobytes()
            except onnxmap.ExternalDataError:
                continue
            del tensor.external_data[:]
            tensor.ClearField("data_location")
            tensor.raw_data = data
    return message


def weighted_model(opset: int = 13, name: str = "w") -> ModelProto:
    """A model of weights, a shape of Reshape, a large constant, and operators that changed."""
    weight = np.random.default_rng(1).standard_normal((WIDTH, WIDTH)).astype(np.float32)
    constant = numpy_helper.from_array(weight + 1)
    nodes = [
        helper.make_node("MatMul", ["x", name], ["h"], name="first"),
        helper.make_node("Constant", [], ["c"], name="constant", value=constant),
        helper.make_node("Add", ["h", "c"], ["a"], name="add"),
        helper.make_node("Unsqueeze", ["a", "axes"], ["u"], name="unsqueeze"),
        helper.make_node("ReduceMean", ["u"], ["r"], name="mean", axes=[-1], keepdims=1),
        helper.make_node("Reshape", ["r", "shape"], ["y"], name="reshape"),
    ]
    initializers = [
        numpy_helper.from_array(weight, name),
        numpy_helper.from_array(np.array([0]), "axes"),
        numpy_helper.from_array(np.array([WIDTH, 1]), "shape"),
    ]
    graph = helper.make_graph(
        nodes, "main", [helper.make_tensor_value_info("x", 1, [WIDTH, WIDTH])],
        [helper.make_tensor_value_info("y", 1, [WIDTH, 1])], initializers,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def write_weights(path: Path, count: int, side: int, mark: bool = False) -> Path:
    """A chain of products with square weights, which are holes in the file.

    `mark`: the first element of weight number i is i + 1.
    """
    values = ["x", *(f"h{i}" for i in range(count - 1)), "y"]
    graph = onnx.GraphProto(name="main")
    for i in range(count):
        node = helper.make_node("MatMul", [values[i], f"w{i}"], [values[i + 1]], name=f"node{i}")
        graph.node.append(node)
    graph.input.append(helper.make_tensor_value_info("x", 1, ["N", side]))
    graph.output.append(helper.make_tensor_value_info("y", 1, ["N", side]))
    nbytes = 4 * side * side
    heads = [
        onnx.TensorProto(name=f"w{i}", dims=[side, side], data_type=1).SerializeToString()
        + wire.tag(9, wire.LENGTH) + wire.varint(nbytes)
        for i in range(count)
    ]  # fmt: skip
    fields = [wire.tag(5, wire.LENGTH) + wire.varint(len(one) + nbytes) + one for one in heads]
    size = graph.ByteSize() + sum(map(len, fields)) + count * nbytes
    opset = helper.make_opsetid("", 13)
    with path.open("wb") as file:
        file.write(ModelProto(ir_version=10, opset_import=[opset]).SerializeToString())
        file.write(wire.tag(7, wire.LENGTH) + wire.varint(size) + graph.SerializeToString())
        for i, field in enumerate(fields):
            file.write(field)
            begin = file.tell()
            if mark:
                file.write(np.float32(i + 1).tobytes())
            file.seek(begin + nbytes)
        file.truncate()
    return path
