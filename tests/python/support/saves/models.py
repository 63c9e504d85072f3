"""Models to save: one for each way to store values, and for each place where a tensor may be.

Each is a function that writes the model, and its data files, into a folder and returns its path.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from support import wire_bytes as wire
from support.edits.models import EDIT_MODELS
from support.models.many_tensors import spans, write_every_type
from support.models.sample import external, model_of, write

Write = Callable[[Path], Path]
SAVE_MODELS: dict[str, Write] = {}


def _save_model(make: Write) -> Write:
    SAVE_MODELS[make.__name__] = make
    return make


def weight(name: str, *shape: int, seed: int = 0) -> TensorProto:
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return numpy_helper.from_array(values, name)


def made_external(tensor: TensorProto, location: str, data: bytearray, gap: int = 0) -> TensorProto:
    """The tensor with its values at the end of `data`, after `gap` bytes."""
    data += b"." * gap
    entries = {"location": location, "offset": str(len(data)), "length": str(len(tensor.raw_data))}
    data += tensor.raw_data
    return external(tensor.name, list(tensor.dims), entries, tensor.data_type)


def matmul_model(
    initializers: list[TensorProto], nodes: list[NodeProto] | None = None
) -> ModelProto:
    """y = x @ w0 @ w1 ..., which onnxruntime can run if each weight is a square of one size."""
    names = [one.name for one in initializers if len(one.dims) == 2]
    size = next(one.dims[0] for one in initializers if len(one.dims) == 2)
    values = ["x", *(f"h{i}" for i in range(len(names) - 1)), "y"]
    chain = [
        helper.make_node("MatMul", [values[i], name], [values[i + 1]], name=f"node{i}")
        for i, name in enumerate(names)
    ]
    float_matrix = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", size])
    graph = helper.make_graph(
        chain + (nodes or []), "main", [helper.make_value_info("x", float_matrix)],
        [helper.make_value_info("y", float_matrix)], initializers,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@_save_model
def chain(folder: Path) -> Path:
    """Weights in raw_data at odd positions, of 1, 4 and 16 KiB."""
    sizes = {"small": 16, "w": 16, "again": 16}
    weights = [weight(name, size, size, seed=i) for i, (name, size) in enumerate(sizes.items())]
    return write(matmul_model(weights), folder / "model.onnx")


@_save_model
def chain_outside(folder: Path) -> Path:
    """The same weights in two data files, of which bytes are not used."""
    data, more = bytearray(), bytearray()
    weights = [
        made_external(weight("w0", 20, 20, seed=1), "one.data", data, 100),
        made_external(weight("w1", 20, 20, seed=2), "two.data", more),
        made_external(weight("w2", 20, 20, seed=3), "one.data", data, 60),
    ]
    (folder / "one.data").write_bytes(data + b"..")
    (folder / "two.data").write_bytes(more)
    return write(matmul_model(weights), folder / "model.onnx")


@_save_model
def every_type(folder: Path) -> Path:
    """Every element type in every storage: raw, typed, external, in segments; also empty ones."""
    return write_every_type(folder).path


@_save_model
def nested(folder: Path) -> Path:
    """Initializers in subgraphs, and tensors in attributes, also of a function."""

    def constant(name: str, tensor: TensorProto) -> NodeProto:
        return helper.make_node("Constant", [], [name], value=tensor)

    def branch(name: str, seed: int) -> GraphProto:
        nodes = [
            constant(f"{name}_c", weight("", 16, 16, seed=seed)),
            helper.make_node("MatMul", ["y0", f"{name}_w"], [f"{name}_m"]),
            helper.make_node("Add", [f"{name}_m", f"{name}_c"], [f"{name}_y"]),
        ]
        output = helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, [16, 16])
        inner = weight(f"{name}_w", 16, 16, seed=seed + 1)
        return helper.make_graph(nodes, name, [], [output], [inner])

    twice = helper.make_function(
        "local", "Shift", ["a"], ["b"],
        [constant("c", weight("", 16, 16, seed=7)), helper.make_node("Add", ["a", "c"], ["b"])],
        [helper.make_opsetid("", 21)],
    )  # fmt: skip
    nodes = [
        helper.make_node("Shift", ["x"], ["y0"], domain="local"),
        helper.make_node("If", ["cond"], ["y"], then_branch=branch("then", 10),
                         else_branch=branch("else", 20)),
    ]  # fmt: skip
    matrix = helper.make_tensor_type_proto(TensorProto.FLOAT, [16, 16])
    graph = helper.make_graph(
        nodes, "main",
        [helper.make_value_info("x", matrix),
         helper.make_tensor_value_info("cond", TensorProto.BOOL, [])],
        [helper.make_value_info("y", matrix)],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)]
    made = helper.make_model(graph, functions=[twice], opset_imports=opsets, ir_version=10)
    return write(made, folder / "model.onnx")


@_save_model
def sparse(folder: Path) -> Path:
    """Sparse tensors, one of them with indices in a data file."""
    values = numpy_helper.from_array(np.arange(300, dtype=np.float32), "values")
    indices = numpy_helper.from_array(np.arange(0, 600, 2, dtype=np.int64), "indices")
    data = bytearray()
    outside = made_external(indices, "w.data", data, 5)
    (folder / "w.data").write_bytes(data)
    made = [helper.make_sparse_tensor(values, one, [600]) for one in (indices, outside)]
    made[1].values.name = "more values"
    node = helper.make_node("Constant", [], ["s"], sparse_value=made[0])
    graph = helper.make_graph([node], "g", [], [], sparse_initializer=made)
    return write(helper.make_model(graph, ir_version=10), folder / "model.onnx")


@_save_model
def shared(folder: Path) -> Path:
    """Tensors of equal bytes, inline and in a data file, and two that name the same range."""
    data = bytearray()
    same, other = weight("a", 20, 20), weight("b", 20, 20)
    outside = made_external(weight("c", 20, 20), "w.data", data)
    twin = TensorProto()
    twin.CopyFrom(outside)
    twin.name = "d"
    (folder / "w.data").write_bytes(data)
    return write(matmul_model([same, other, outside, twin]), folder / "model.onnx")


@_save_model
def overlapping(folder: Path) -> Path:
    """Ranges of a data file that overlap, and one that lies apart."""
    (folder / "w.data").write_bytes(np.random.default_rng(0).bytes(10_000))
    ranges = [("a", 100, 3000), ("b", 2000, 2500), ("c", 2500, 100), ("apart", 6000, 2000)]
    return write(model_of(list(spans(ranges, "w.data"))), folder / "model.onnx")


@_save_model
def small_and_odd(folder: Path) -> Path:
    """Strings, scalars, empty tensors, a repeated name, a tensor without a name, and segments."""
    tensors = [
        TensorProto(name="s", dims=[2], data_type=8, string_data=[b"a" * 2000, b"\xff"]),
        TensorProto(name="scalar", data_type=1, raw_data=b"\0\0\x80\x3f"),
        TensorProto(name="empty", dims=[0, 4], data_type=1, raw_data=b""),
        TensorProto(name="typed empty", dims=[0], data_type=7),
        TensorProto(name="typed", dims=[400], data_type=1, float_data=[0.5] * 400),
        weight("twice", 20, 20),
        weight("twice", 20, 20, seed=1),
        weight("", 20, 20),
        TensorProto(name="int4", dims=[3001], data_type=22, raw_data=b"\x87" * 1500 + b"\x08"),
    ]
    for begin, end in ((1200, 2000), (0, 1200)):
        piece = TensorProto(name="parts", dims=[2000], data_type=2, raw_data=b"p" * (end - begin))
        piece.segment.begin, piece.segment.end = begin, end
        tensors.append(piece)
    return write(model_of(tensors), folder / "model.onnx")


@_save_model
def unknown_fields(folder: Path) -> Path:
    """Unknown fields everywhere, also in tensors; over-long varints; a graph in two pieces."""
    inner = wire.scalar(999, 3) + wire.blob(998, b"u" * 50)
    values = np.random.default_rng(0).bytes(2000)
    tensors = [
        inner + wire.scalar(2, 2) + wire.blob(8, b"w%d" % i) + wire.blob(9, values, 4)
        + wire.blob(1, wire.varint(2000, 7)) + inner
        for i in range(3)
    ]  # fmt: skip
    graphs = [
        inner + wire.blob(5, tensors[0], 5) + wire.blob(2, b"g"),
        wire.blob(5, tensors[1]) + wire.group(50, inner) + wire.blob(5, tensors[2]) + inner,
    ]
    data = inner + b"".join(wire.blob(7, graph, 5) + inner for graph in graphs) + wire.scalar(1, 10)
    (folder / "model.onnx").write_bytes(data)
    return folder / "model.onnx"


@_save_model
def hidden(folder: Path) -> Path:
    """The places that `onnx.load` forgets: training, attributes of functions, sparse values."""
    data = bytearray()
    made = ModelProto.FromString(EDIT_MODELS["rich"])
    step = made.training_info[0].initialization
    step.initializer.append(made_external(weight("t", 20, 20, seed=4), "hidden.data", data))
    default = made.functions[0].attribute_proto.add(name="d", type=onnx.AttributeProto.TENSOR)
    default.t.CopyFrom(made_external(weight("", 20, 20, seed=5), "hidden.data", data, 3))
    (folder / "hidden.data").write_bytes(data)
    return write(made, folder / "model.onnx")
