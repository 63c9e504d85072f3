"""Models to edit: small ones for each part of the format, odd encodings of them, and a large one.

Each is named. `EDIT_MODELS` holds their bytes, which protobuf reads, and `edited_model` finds a
model of any name, also `mutant N`: a small model whose tree of fields was changed at random.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

from support import wire_bytes as wire
from support.hostile.wire_mutator import Field, encode, mutant, read_tree
from support.models.small import SMALL_MODELS
from support.oracles.canonical import DESCRIPTORS, parse

UNKNOWN = 999
LARGE = "many nodes"
LARGEST_BACKEND_MODEL = 1_500  # bytes
MANY = 1_200  # nodes: more than 32 kB, from which size on a graph has an index


def rich_model() -> ModelProto:
    """A model with subgraphs in two levels, a function, training, and every kind of value."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["v", "w"], ["o"], name="inner", domain=""),
            helper.make_node("Constant", [], ["k"], value_ints=[1, 2, 3]),
        ],
        "body",
        [helper.make_tensor_value_info("v", TensorProto.FLOAT, ["N"])],
        [helper.make_tensor_value_info("o", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array([1.5], np.float32), "w")],
    )
    branch = helper.make_graph([helper.make_node("Loop", ["n"], ["r"], body=body)], "then", [], [])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["r"])], "else", [], [])
    nodes = [
        helper.make_node("If", ["c"], ["r"], name="if", then_branch=branch, else_branch=other),
        helper.make_node("Gemm", ["x", "w", ""], ["y"], name="gemm", alpha=0.5, transB=1),
        helper.make_node("Op", ["y"] * 3, ["z"], name="op", domain="d", mode="m", axes=[0, -1]),
    ]
    nodes[2].attribute.append(helper.make_attribute("words", ["a", b"\xff"]))
    nodes[2].attribute.append(helper.make_attribute("t", TensorProto(dims=[1], raw_data=b"x")))
    plain = helper.make_tensor_type_proto(TensorProto.FLOAT, [2, "N", None])
    graph = helper.make_graph(
        nodes, "main", [helper.make_value_info("x", plain)], [helper.make_value_info("y", plain)],
        [
            numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "w"),
            TensorProto(name="f", dims=[3], data_type=1, float_data=[1.5, -0.0, 3.0]),
            TensorProto(name="i", dims=[2], data_type=6, int32_data=[1, -1]),
            TensorProto(name="l", dims=[3], data_type=7, int64_data=[-(1 << 63), 300, 300]),
            TensorProto(name="u", dims=[1], data_type=13, uint64_data=[(1 << 64) - 1]),
            TensorProto(name="d", dims=[1], data_type=11, double_data=[0.1]),
            TensorProto(name="s", dims=[2], data_type=8, string_data=[b"a", b"\xff"]),
        ],
        value_info=[
            helper.make_value_info("m", helper.make_map_type_proto(TensorProto.INT64, plain)),
            helper.make_value_info("q", helper.make_sequence_type_proto(plain)),
        ],
    )  # fmt: skip
    note = graph.quantization_annotation.add(tensor_name="w")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    function = helper.make_function(
        "local", "twice", ["x"], ["y"], [helper.make_node("Add", ["x", "x"], ["y"])],
        [helper.make_opsetid("", 21)], ["alpha"], [helper.make_attribute("beta", 2)],
    )  # fmt: skip
    model = helper.make_model(graph, functions=[function], opset_imports=[])
    model.opset_import.add(domain="", version=21)
    model.opset_import.add(domain="local", version=1)
    model.metadata_props.add(key="license", value="MIT")
    model.training_info.append(helper.make_training_info(branch, [("w", "v")], other, []))
    model.producer_name = "p"
    return model


def many_nodes() -> ModelProto:
    """A graph whose lists are long enough for an index."""
    graph = onnx.GraphProto(name="many")
    for number in range(MANY):
        graph.node.append(
            helper.make_node("Add", [f"v{number}", "w"], [f"v{number + 1}"], name=f"node{number}")
        )
    for number in range(MANY // 9):
        graph.initializer.add(name=f"w{number}", dims=[1], data_type=1, raw_data=b"\0\0\x80\x3f")
        graph.value_info.add(name=f"v{number}")
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


def _tree(data: bytes) -> list[Field]:
    return read_tree(data, DESCRIPTORS["ModelProto"])


def _lists(fields: list[Field]) -> Iterator[list[Field]]:
    yield fields
    for field in fields:
        if isinstance(field.value, list) and field.wire_type == wire.LENGTH:
            yield from _lists(field.value)


def with_unknown_fields(data: bytes) -> bytes:
    """The message with unknown fields and a group at both ends of each of its messages."""
    tree = _tree(data)
    for number, fields in enumerate(list(_lists(tree))):
        inner = [Field(1, wire.VARINT, number), Field(3, wire.START_GROUP, [])]
        fields.insert(0, Field(UNKNOWN, wire.VARINT, number))
        fields.append(Field(UNKNOWN + 1, wire.START_GROUP, inner))
        fields.insert(len(fields) // 2, Field(UNKNOWN, wire.LENGTH, b"u%d" % number))
    return encode(tree)


def with_overlong_varints(data: bytes) -> bytes:
    """The message with longer tags, lengths and values than they need."""
    tree = _tree(data)
    for number, field in enumerate(one for fields in _lists(tree) for one in fields):
        field.tag_width, field.length_width, field.value_width = number % 6, number % 5, number % 11
    return encode(tree)


def with_split_messages(data: bytes) -> bytes:
    """The message with each singular message cut into two occurrences, which readers merge."""
    tree = _tree(data)

    def split(fields: list[Field], message: str) -> None:
        for field in list(fields):
            declared = DESCRIPTORS[message].fields_by_number.get(field.number)
            if not isinstance(field.value, list) or declared is None or not declared.message_type:
                continue
            split(field.value, str(declared.message_type.full_name.removeprefix("onnx.")))
            if not declared.is_repeated:
                middle = len(field.value) // 2
                second = Field(field.number, wire.LENGTH, field.value[middle:])
                field.value = field.value[:middle]
                fields.append(second)

    split(tree, "ModelProto")
    return encode(tree)


def with_unpacked_numbers(data: bytes) -> bytes:
    """The message with a run for each half of a packed list, and single values between."""
    found = ModelProto.FromString(data)
    tensor = wire.scalar(1, 2) + wire.blob(1, wire.varint(3) + wire.varint(4)) + wire.scalar(1, 5)
    ints = wire.scalar(8, 1) + wire.blob(8, bytes([2, 3])) + wire.blob(8, b"") + wire.scalar(8, 4)
    found.graph.initializer.add().MergeFromString(tensor)
    attribute = found.graph.node[0].attribute.add(name="i", type=AttributeProto.INTS)
    attribute.MergeFromString(ints)
    graph = wire.blob(5, tensor) + wire.blob(1, wire.blob(5, wire.blob(1, b"a") + ints))
    return found.SerializeToString() + wire.blob(7, graph)


def _backend_models() -> dict[str, bytes]:
    root = Path(onnx.__file__).parent / "backend" / "test" / "data"
    small = [
        path for path in sorted(root.rglob("*.onnx"))
        if path.stat().st_size <= LARGEST_BACKEND_MODEL
    ]  # fmt: skip
    return {f"backend {path.parent.name}": path.read_bytes() for path in small[::6]}


def _models() -> dict[str, bytes]:
    rich = rich_model().SerializeToString()
    small = {name: data for name, data in SMALL_MODELS.items() if name != "groups"}
    return {
        **small,
        "rich": rich,
        "rich twice": rich + rich,
        "rich with unknown fields": with_unknown_fields(rich),
        "rich with overlong varints": with_overlong_varints(rich),
        "rich in split messages": with_split_messages(rich),
        "rich with everything odd": with_overlong_varints(
            with_unknown_fields(with_split_messages(rich))
        ),
        "runs of numbers": with_unpacked_numbers(rich),
        "groups": SMALL_MODELS["groups"],
        LARGE: many_nodes().SerializeToString(),
        **_backend_models(),
    }


EDIT_MODELS: dict[str, bytes] = _models()


@cache
def _mutant(number: int) -> bytes:
    seeds = [*SMALL_MODELS.values(), EDIT_MODELS["rich"]]
    rng = random.Random(f"mutant {number}")
    while True:
        data = mutant(rng, seeds, DESCRIPTORS["ModelProto"])
        message = parse(data)
        if message is not None and message.HasField("graph"):
            return data


def edited_model(name: str) -> bytes:
    """The bytes of the model of this name."""
    kind, _, number = name.partition(" ")
    return _mutant(int(number)) if kind == "mutant" else EDIT_MODELS[name]


def model_name(rng: random.Random) -> str:
    """A name at random. The large model is rare, because each of its edits takes longer."""
    rich = [name for name in EDIT_MODELS if name.startswith("rich")]
    others = [name for name in EDIT_MODELS if name not in (LARGE, *rich)]
    names = [f"mutant {rng.randrange(1_000)}", rng.choice(rich), rng.choice(others), LARGE]
    return rng.choices(names, [20, 40, 40, 4])[0]
