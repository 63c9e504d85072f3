"""The model that `onnxmap demo` makes: all element types of whole bytes, inline and external.

It has the outline of a small language model: an embedding and a head in an external file,
half-precision layers inline, one sample tensor of each element type, a subgraph with its own
weight, and two functions. It passes onnx's checker. Only NumPy and ml_dtypes are needed to make it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import onnxmap
from onnxmap import DataType, ProtoView

MODEL, WEIGHTS = "demo.onnx", "demo.weights.data"
PRODUCER = "onnxmap demo"
VOCABULARY, HIDDEN, INNER, LAYERS = 16_384, 256, 2_048, 6
SAMPLE_SHAPE = (64, 256)
# Only the embedding and the head are larger. They go to the external file.
LARGEST_INLINE = 10_000_000
# The first versions with FLOAT8E8M0, the newest type that the model uses.
IR_VERSION, OPSET_VERSION = 12, 24
OWN_DOMAIN = "onnxmap.demo"
WITHOUT_WIDTH = (DataType.UNDEFINED, DataType.STRING)


def write_demo_model(folder: Path) -> None:
    """Write the model and its external file into a folder."""
    random = np.random.default_rng(seed=0)
    initializers = [
        _weight(random, "embedding.weight", DataType.FLOAT, VOCABULARY, HIDDEN),
        _weight(random, "head.weight", DataType.FLOAT, HIDDEN, VOCABULARY),
    ]
    for layer in range(LAYERS):
        own = f"layers.{layer}"
        initializers += [
            _tensor(f"{own}.norm.weight", DataType.FLOAT, np.ones(HIDDEN)),
            _weight(random, f"{own}.up.weight", DataType.FLOAT16, HIDDEN, INNER),
            _weight(random, f"{own}.down.weight", DataType.BFLOAT16, INNER, HIDDEN),
        ]
    # Every type holds small positive integers almost exactly, even FLOAT8E8M0 (powers of two).
    values = random.integers(1, 9, SAMPLE_SHAPE)
    samples = []
    for kind in DataType:
        if kind not in WITHOUT_WIDTH and kind.bits % 8 == 0:
            samples.append(f"sample.{kind.name.lower()}")
            initializers.append(_tensor(samples[-1], kind, values))
    initializers.append(_tensor("gate.open", DataType.BOOL, np.array(True)))
    graph = onnxmap.make_graph(
        _nodes(_weight(random, "gate.bias", DataType.FLOAT, HIDDEN), samples),
        "demo",
        [onnxmap.make_tensor_value_info("tokens", DataType.INT64, ("batch", "length"))],
        [_floats("logits", VOCABULARY)],
        initializers,
    )
    model = onnxmap.make_model(
        graph,
        opset_imports={"": OPSET_VERSION, OWN_DOMAIN: 1},
        functions=[_swish(), _total(samples)],
        ir_version=IR_VERSION,
        producer_name=PRODUCER,
        producer_version=onnxmap.__version__,
        doc_string="A small language model in outline; its weights are random.",
    )
    for key, value in (("license", "Apache-2.0"), ("purpose", "a first look at onnxmap")):
        model.metadata_props.add(key=key, value=value)
    onnxmap.save(model, folder / MODEL, WEIGHTS, size_threshold_bytes=LARGEST_INLINE, sync=False)


def _tensor(name: str, kind: DataType, values: np.ndarray[Any, Any]) -> ProtoView:
    stored = values.astype(kind.numpy())
    return onnxmap.make_tensor(name, kind, stored.shape, stored, raw=True)


def _weight(random: np.random.Generator, name: str, kind: DataType, *shape: int) -> ProtoView:
    # The usual scale of a trained layer; a standard deviation of 1 would overflow the 8-bit types.
    values = random.standard_normal(shape, dtype=np.float32) * np.float32(0.02)
    return _tensor(name, kind, values)


def _floats(name: str, size: int) -> ProtoView:
    return onnxmap.make_tensor_value_info(name, DataType.FLOAT, ("batch", "length", size))


def _nodes(bias: ProtoView, samples: Sequence[str]) -> list[ProtoView]:
    nodes = [_node("Gather", "embedding.weight tokens", "hidden.0")]
    for layer in range(LAYERS):
        own, hidden = f"layers.{layer}", f"hidden.{layer}"
        nodes += [
            _node("RMSNormalization", f"{hidden} {own}.norm.weight", f"{own}.normed"),
            _node("Cast", f"{own}.up.weight", f"{own}.up.float", to=int(DataType.FLOAT)),
            _node("MatMul", f"{own}.normed {own}.up.float", f"{own}.inner"),
            _node("Swish", f"{own}.inner", f"{own}.active", domain=OWN_DOMAIN),
            _node("Cast", f"{own}.down.weight", f"{own}.down.float", to=int(DataType.FLOAT)),
            _node("MatMul", f"{own}.active {own}.down.float", f"{own}.out"),
            _node("Add", f"{hidden} {own}.out", f"hidden.{layer + 1}"),
        ]
    # Only `tensors()` finds the weight of the first subgraph.
    add = _node("Add", f"hidden.{LAYERS} gate.bias", "biased")
    with_bias = onnxmap.make_graph([add], "with_bias", [], [_floats("biased", HIDDEN)], [bias])
    keep = _node("Identity", f"hidden.{LAYERS}", "kept")
    as_it_is = onnxmap.make_graph([keep], "as_it_is", [], [_floats("kept", HIDDEN)])
    return [
        *nodes,
        _node("If", "gate.open", "gated", then_branch=with_bias, else_branch=as_it_is),
        _node("MatMul", "gated head.weight", "logits"),
        _node("Total", " ".join(samples), "total", domain=OWN_DOMAIN),
    ]


def _swish() -> ProtoView:
    nodes = [_node("Sigmoid", "x", "gate"), _node("Mul", "x gate", "y")]
    return _function("Swish", ["x"], nodes, "x * sigmoid(x)")


def _total(samples: Sequence[str]) -> ProtoView:
    """The sum of the samples, so that each has a use: onnxruntime warns of those without one."""
    real = [name for name in samples if "complex" not in name]
    nodes = [_node("Cast", name, f"{name}.float", to=int(DataType.FLOAT)) for name in real]
    nodes.append(_node("Sum", " ".join(f"{name}.float" for name in real), "y"))
    return _function("Total", samples, nodes, "the sum of the numbers that are real")


def _function(name: str, inputs: Sequence[str], nodes: Sequence[ProtoView], doc: str) -> ProtoView:
    opsets = [onnxmap.make_opsetid("", OPSET_VERSION)]
    return onnxmap.make_function(OWN_DOMAIN, name, inputs, ["y"], nodes, opsets, doc_string=doc)


def _node(op_type: str, inputs: str, output: str, domain: str = "", **attributes: Any) -> ProtoView:
    return onnxmap.make_node(
        op_type, inputs.split(), [output], f"make {output}", domain=domain, **attributes
    )
