"""The model that `onnxmap demo` makes: all element types of whole bytes, inline and external.

It has the outline of a small language model: an embedding and a head in an external file,
half-precision layers inline, one sample tensor of each element type, a subgraph with its own
weight, and a function. It passes onnx's checker. Only NumPy and ml_dtypes are needed to make it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from onnxmap import AttributeType, DataType, __version__
from onnxmap._proto_writer import EXTERNAL, encode

VOCABULARY, HIDDEN, INNER, LAYERS = 16_384, 256, 2_048, 6
SAMPLE_SHAPE = (64, 256)
# The page size: a mapping can begin exactly at an external tensor.
EXTERNAL_ALIGNMENT = 4096
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


class _ExternalFile:
    """Collects the tensors of one external file, each at a multiple of `EXTERNAL_ALIGNMENT`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.content = bytearray()

    def tensor(self, name: str, array: np.ndarray) -> bytes:
        self.content.extend(bytes(-len(self.content) % EXTERNAL_ALIGNMENT))
        place = {"location": self.name, "offset": len(self.content), "length": array.nbytes}
        self.content.extend(array.tobytes())
        return encode(
            "TensorProto",
            name=name,
            data_type=DataType.FLOAT,
            dims=array.shape,
            data_location=EXTERNAL,
            external_data=[
                encode("StringStringEntryProto", key=key, value=str(value))
                for key, value in place.items()
            ],
        )


def write_demo_model(files: DemoFiles) -> None:
    """Write the model and its external file."""
    random = np.random.default_rng(seed=0)
    external = _ExternalFile(files.weights.name)
    initializers = [
        external.tensor("embedding.weight", _normal(random, VOCABULARY, HIDDEN)),
        external.tensor("head.weight", _normal(random, HIDDEN, VOCABULARY)),
        *_layer_weights(random),
        *_one_sample_of_each_type(random),
        _inline("gate.open", DataType.BOOL, np.array(True)),
    ]
    graph = encode(
        "GraphProto",
        name="demo",
        node=_nodes(random),
        initializer=initializers,
        input=[_value("tokens", DataType.INT64, "batch", "length")],
        output=[_value("logits", DataType.FLOAT, "batch", "length", VOCABULARY)],
    )
    model = encode(
        "ModelProto",
        ir_version=IR_VERSION,
        producer_name="onnxmap demo",
        producer_version=__version__,
        doc_string="A small language model in outline; its weights are random.",
        opset_import=_opsets(),
        graph=graph,
        functions=[_activation_function()],
        metadata_props=[
            encode("StringStringEntryProto", key="license", value="Apache-2.0"),
            encode("StringStringEntryProto", key="purpose", value="a first look at onnxmap"),
        ],
    )
    files.model.write_bytes(model)
    files.weights.write_bytes(external.content)


def sample_types() -> list[DataType]:
    """Return every element type of whole bytes, in the order of onnx.proto."""
    without_width = (DataType.UNDEFINED, DataType.STRING)
    return [kind for kind in DataType if kind not in without_width and kind.bits % 8 == 0]


def _normal(random: np.random.Generator, *shape: int) -> np.ndarray:
    # The usual scale of a trained layer; a standard deviation of 1 would overflow the 8-bit types.
    return random.standard_normal(shape, dtype=np.float32) * np.float32(0.02)


def _inline(name: str, data_type: DataType, values: np.ndarray) -> bytes:
    stored = values.astype(data_type.numpy())
    return encode(
        "TensorProto",
        name=name,
        data_type=data_type,
        dims=stored.shape,
        raw_data=stored.tobytes(),
    )


def _layer_weights(random: np.random.Generator) -> list[bytes]:
    weights = []
    for layer in range(LAYERS):
        weights += [
            _inline(f"layers.{layer}.norm.weight", DataType.FLOAT, np.ones(HIDDEN)),
            _inline(f"layers.{layer}.up.weight", DataType.FLOAT16, _normal(random, HIDDEN, INNER)),
            _inline(
                f"layers.{layer}.down.weight", DataType.BFLOAT16, _normal(random, INNER, HIDDEN)
            ),
        ]
    return weights


def _one_sample_of_each_type(random: np.random.Generator) -> list[bytes]:
    # Every type holds small positive integers almost exactly, even FLOAT8E8M0 (powers of two).
    values = random.integers(1, 9, SAMPLE_SHAPE)
    return [_inline(f"sample.{kind.name.lower()}", kind, values) for kind in sample_types()]


def _nodes(random: np.random.Generator) -> list[bytes]:
    nodes = [_node("Gather", ["embedding.weight", "tokens"], "hidden.0")]
    for layer in range(LAYERS):
        nodes += _layer_nodes(layer)
    nodes += [
        _gate(random, f"hidden.{LAYERS}", "gated"),
        _node("MatMul", ["gated", "head.weight"], "logits"),
    ]
    return nodes


def _layer_nodes(layer: int) -> list[bytes]:
    own = f"layers.{layer}"
    as_float = [_attribute_int("to", DataType.FLOAT)]
    return [
        _node("RMSNormalization", [f"hidden.{layer}", f"{own}.norm.weight"], f"{own}.normed"),
        _node("Cast", [f"{own}.up.weight"], f"{own}.up.float", as_float),
        _node("MatMul", [f"{own}.normed", f"{own}.up.float"], f"{own}.inner"),
        _node("Swish", [f"{own}.inner"], f"{own}.active", domain=OWN_DOMAIN),
        _node("Cast", [f"{own}.down.weight"], f"{own}.down.float", as_float),
        _node("MatMul", [f"{own}.active", f"{own}.down.float"], f"{own}.out"),
        _node("Add", [f"hidden.{layer}", f"{own}.out"], f"hidden.{layer + 1}"),
    ]


def _gate(random: np.random.Generator, source: str, target: str) -> bytes:
    """An If with two subgraphs. One of them has a weight that only `tensors()` finds."""
    with_bias = encode(
        "GraphProto",
        name="with_bias",
        node=[_node("Add", [source, "gate.bias"], "biased")],
        initializer=[_inline("gate.bias", DataType.FLOAT, _normal(random, HIDDEN))],
        output=[_value("biased", DataType.FLOAT, "batch", "length", HIDDEN)],
    )
    as_it_is = encode(
        "GraphProto",
        name="as_it_is",
        node=[_node("Identity", [source], "kept")],
        output=[_value("kept", DataType.FLOAT, "batch", "length", HIDDEN)],
    )
    branches = [
        encode("AttributeProto", name=name, type=AttributeType.GRAPH, g=graph)
        for name, graph in (("then_branch", with_bias), ("else_branch", as_it_is))
    ]
    return _node("If", ["gate.open"], target, branches)


def _activation_function() -> bytes:
    return encode(
        "FunctionProto",
        name="Swish",
        domain=OWN_DOMAIN,
        input=["x"],
        output=["y"],
        node=[_node("Sigmoid", ["x"], "gate"), _node("Mul", ["x", "gate"], "y")],
        opset_import=_opsets()[:1],
        doc_string="x * sigmoid(x)",
    )


def _opsets() -> list[bytes]:
    return [
        encode("OperatorSetIdProto", domain="", version=OPSET_VERSION),
        encode("OperatorSetIdProto", domain=OWN_DOMAIN, version=1),
    ]


def _node(
    op_type: str,
    inputs: list[str],
    output: str,
    attributes: list[bytes] | None = None,
    domain: str = "",
) -> bytes:
    return encode(
        "NodeProto",
        input=inputs,
        output=[output],
        name=f"make {output}",
        op_type=op_type,
        domain=domain,
        attribute=attributes or [],
    )


def _attribute_int(name: str, value: int) -> bytes:
    return encode("AttributeProto", name=name, i=value, type=AttributeType.INT)


def _value(name: str, data_type: DataType, *shape: int | str) -> bytes:
    dims = [
        encode("TensorShapeProto.Dimension", dim_param=dim)
        if isinstance(dim, str)
        else encode("TensorShapeProto.Dimension", dim_value=dim)
        for dim in shape
    ]
    tensor = encode(
        "TypeProto.Tensor", elem_type=data_type, shape=encode("TensorShapeProto", dim=dims)
    )
    return encode("ValueInfoProto", name=name, type=encode("TypeProto", tensor_type=tensor))
