"""The model that `onnxmap demo` makes: all element types of whole bytes, inline and external.

It has the outline of a small language model: an embedding and a head in an external file,
half-precision layers inline, one sample tensor of each element type, a subgraph with its own
weight, and a function. It passes onnx's checker. Only NumPy and ml_dtypes are needed to make it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import onnxmap
from onnxmap import DataType, __version__

VOCABULARY, HIDDEN, INNER, LAYERS = 16_384, 256, 2_048, 6
SAMPLE_SHAPE = (64, 256)
# Only the embedding and the head are larger. They go to the external file.
LARGEST_INLINE = 10_000_000
# The first versions with FLOAT8E8M0, the newest type that the model uses.
IR_VERSION, OPSET_VERSION = 12, 24
OWN_DOMAIN = "onnxmap.demo"


@dataclass(frozen=True)
class DemoFiles:
    """The paths of the demo's model and of the file with its external weights."""

    model: Path
    weights: Path

    @classmethod
    def in_folder(cls, folder: Path) -> DemoFiles:
        """Return the paths of the two files in `folder`, which need not exist."""
        return cls(folder / "demo.onnx", folder / "demo.weights.data")


def write_demo_model(files: DemoFiles) -> None:
    """Write the model and its external file."""
    random = np.random.default_rng(seed=0)
    initializers = [
        _tensor("embedding.weight", DataType.FLOAT, _normal(random, VOCABULARY, HIDDEN)),
        _tensor("head.weight", DataType.FLOAT, _normal(random, HIDDEN, VOCABULARY)),
        *_layer_weights(random),
        *_one_sample_of_each_type(random),
        _tensor("gate.open", DataType.BOOL, np.array(True)),
    ]
    graph = onnxmap.make_graph(
        _nodes(random),
        "demo",
        [_value("tokens", DataType.INT64, "batch", "length")],
        [_value("logits", DataType.FLOAT, "batch", "length", VOCABULARY)],
        initializers,
    )
    model = onnxmap.make_model(
        graph,
        opset_imports={"": OPSET_VERSION, OWN_DOMAIN: 1},
        functions=[_activation_function()],
        ir_version=IR_VERSION,
        producer_name="onnxmap demo",
        producer_version=__version__,
        doc_string="A small language model in outline; its weights are random.",
    )
    for key, value in (("license", "Apache-2.0"), ("purpose", "a first look at onnxmap")):
        model.metadata_props.add(key=key, value=value)
    onnxmap.save(
        model, files.model, files.weights.name, size_threshold_bytes=LARGEST_INLINE, sync=False
    )


def sample_types() -> list[DataType]:
    """Return every element type of whole bytes, in the order of onnx.proto."""
    without_width = (DataType.UNDEFINED, DataType.STRING)
    return [kind for kind in DataType if kind not in without_width and kind.bits % 8 == 0]


def _normal(random: np.random.Generator, *shape: int) -> np.ndarray:
    # The usual scale of a trained layer; a standard deviation of 1 would overflow the 8-bit types.
    return random.standard_normal(shape, dtype=np.float32) * np.float32(0.02)


def _tensor(name: str, data_type: DataType, values: np.ndarray) -> onnxmap.ProtoView:
    stored = values.astype(data_type.numpy())
    return onnxmap.make_tensor(name, data_type, stored.shape, stored, raw=True)


def _layer_weights(random: np.random.Generator) -> list[onnxmap.ProtoView]:
    weights = []
    for layer in range(LAYERS):
        weights += [
            _tensor(f"layers.{layer}.norm.weight", DataType.FLOAT, np.ones(HIDDEN)),
            _tensor(f"layers.{layer}.up.weight", DataType.FLOAT16, _normal(random, HIDDEN, INNER)),
            _tensor(
                f"layers.{layer}.down.weight", DataType.BFLOAT16, _normal(random, INNER, HIDDEN)
            ),
        ]
    return weights


def _one_sample_of_each_type(random: np.random.Generator) -> list[onnxmap.ProtoView]:
    # Every type holds small positive integers almost exactly, even FLOAT8E8M0 (powers of two).
    values = random.integers(1, 9, SAMPLE_SHAPE)
    return [_tensor(f"sample.{kind.name.lower()}", kind, values) for kind in sample_types()]


def _nodes(random: np.random.Generator) -> list[onnxmap.ProtoView]:
    nodes = [_node("Gather", ["embedding.weight", "tokens"], "hidden.0")]
    for layer in range(LAYERS):
        nodes += _layer_nodes(layer)
    nodes += [
        _gate(random, f"hidden.{LAYERS}", "gated"),
        _node("MatMul", ["gated", "head.weight"], "logits"),
    ]
    return nodes


def _layer_nodes(layer: int) -> list[onnxmap.ProtoView]:
    own = f"layers.{layer}"
    as_float = int(DataType.FLOAT)
    return [
        _node("RMSNormalization", [f"hidden.{layer}", f"{own}.norm.weight"], f"{own}.normed"),
        _node("Cast", [f"{own}.up.weight"], f"{own}.up.float", to=as_float),
        _node("MatMul", [f"{own}.normed", f"{own}.up.float"], f"{own}.inner"),
        _node("Swish", [f"{own}.inner"], f"{own}.active", domain=OWN_DOMAIN),
        _node("Cast", [f"{own}.down.weight"], f"{own}.down.float", to=as_float),
        _node("MatMul", [f"{own}.active", f"{own}.down.float"], f"{own}.out"),
        _node("Add", [f"hidden.{layer}", f"{own}.out"], f"hidden.{layer + 1}"),
    ]


def _gate(random: np.random.Generator, source: str, target: str) -> onnxmap.ProtoView:
    """An If with two subgraphs. One of them has a weight that only `tensors()` finds."""
    with_bias = onnxmap.make_graph(
        [_node("Add", [source, "gate.bias"], "biased")],
        "with_bias",
        [],
        [_value("biased", DataType.FLOAT, "batch", "length", HIDDEN)],
        [_tensor("gate.bias", DataType.FLOAT, _normal(random, HIDDEN))],
    )
    as_it_is = onnxmap.make_graph(
        [_node("Identity", [source], "kept")],
        "as_it_is",
        [],
        [_value("kept", DataType.FLOAT, "batch", "length", HIDDEN)],
    )
    return _node("If", ["gate.open"], target, then_branch=with_bias, else_branch=as_it_is)


def _activation_function() -> onnxmap.ProtoView:
    return onnxmap.make_function(
        OWN_DOMAIN,
        "Swish",
        ["x"],
        ["y"],
        [_node("Sigmoid", ["x"], "gate"), _node("Mul", ["x", "gate"], "y")],
        [onnxmap.make_opsetid("", OPSET_VERSION)],
        doc_string="x * sigmoid(x)",
    )


def _node(
    op_type: str, inputs: list[str], output: str, domain: str = "", **attributes: Any
) -> onnxmap.ProtoView:
    return onnxmap.make_node(
        op_type, inputs, [output], f"make {output}", domain=domain, **attributes
    )


def _value(name: str, data_type: DataType, *shape: int | str) -> onnxmap.ProtoView:
    return onnxmap.make_tensor_value_info(name, data_type, shape)
