"""Twenty small models, each below 300 bytes and named for the part of the format it exercises.

They are small because tests take every prefix and flip every bit of each. Forms that onnx cannot
write (groups, packed runs in two pieces, over-long varints) are written with `wire_bytes`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, helper, numpy_helper

from support import wire_bytes as wire

MODEL_GRAPH, GRAPH_NODE, GRAPH_NAME, GRAPH_INITIALIZER, GRAPH_INPUT = 7, 1, 2, 5, 11
Build = Callable[[], bytes]
_BUILDERS: dict[str, Build] = {}


def _small_model(build: Build) -> Build:
    _BUILDERS[build.__name__] = build
    return build


def _model(graph: GraphProto | None = None, **fields: object) -> ModelProto:
    model = ModelProto(ir_version=10, **fields)  # type: ignore[arg-type]
    model.opset_import.add(domain="", version=21)
    model.graph.CopyFrom(graph or GraphProto(name="g"))
    return model


def _value(name: str, shape: list[int | str | None] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


@_small_model
def plain_nodes() -> bytes:
    add = helper.make_node("Add", ["x", "w"], ["y"], name="n", doc_string="adds", domain="d")
    graph = helper.make_graph([add], "g", [_value("x", [2, "N", None])], [_value("y")])
    return _model(graph, producer_name="p", model_version=3).SerializeToString()


@_small_model
def raw_initializers() -> bytes:
    weights = [
        numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "w"),
        numpy_helper.from_array(np.array([1, -2], dtype=np.int64), "b"),
        numpy_helper.from_array(np.array(True), "t"),
    ]
    return _model(GraphProto(name="g", initializer=weights)).SerializeToString()


@_small_model
def typed_packed() -> bytes:
    tensors = [
        TensorProto(name="f", dims=[2], data_type=1, float_data=[1.5, -0.0]),
        TensorProto(name="i", dims=[3], data_type=6, int32_data=[1, -1, 1 << 30]),
        TensorProto(name="l", dims=[2], data_type=7, int64_data=[-(1 << 63), 300]),
        TensorProto(name="d", dims=[1], data_type=11, double_data=[0.1]),
        TensorProto(name="u", dims=[1], data_type=13, uint64_data=[(1 << 64) - 1]),
        TensorProto(name="s", dims=[2], data_type=8, string_data=[b"a", b"\xff"]),
    ]
    return _model(GraphProto(name="g", initializer=tensors)).SerializeToString()


@_small_model
def typed_unpacked() -> bytes:
    floats = wire.tag(4, wire.FIXED32) + b"\x00\x00\x80\x3f"
    doubles = wire.tag(10, wire.FIXED64) + b"\x00" * 6 + b"\xf0\x3f"
    ints = wire.scalar(5, 7) + wire.blob(5, wire.varint(-1) + wire.varint(1)) + wire.scalar(5, 9)
    longs = wire.scalar(7, -5) + wire.blob(7, b"") + wire.scalar(11, 1 << 63)
    dims = wire.blob(1, wire.varint(2)) + wire.scalar(1, 3)
    tensor = wire.scalar(2, 1) + dims + floats * 2 + ints + longs + doubles
    graph = wire.blob(GRAPH_NAME, b"g") + wire.blob(GRAPH_INITIALIZER, tensor)
    return wire.scalar(1, 8) + wire.blob(MODEL_GRAPH, graph)


@_small_model
def subgraphs() -> bytes:
    branch = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "then", [], [_value("y")])
    other = helper.make_graph([helper.make_node("Abs", ["x"], ["z"])], "else", [], [_value("z")])
    node = helper.make_node("If", ["c"], ["o"], then_branch=branch, else_branch=other)
    node.attribute.append(helper.make_attribute("all", [branch]))
    return _model(helper.make_graph([node], "g", [], [])).SerializeToString()


@_small_model
def functions() -> bytes:
    function = helper.make_function(
        "local", "twice", ["x"], ["y"], [helper.make_node("Add", ["x", "x"], ["y"])],
        [helper.make_opsetid("", 21)], attributes=["alpha"],
        attribute_protos=[helper.make_attribute("beta", 2)],
    )  # fmt: skip
    function.overload = "o"
    function.node[0].attribute.append(AttributeProto(name="a", ref_attr_name="alpha", type=1))
    retired = wire.scalar(2, 1) + wire.scalar(3, 1)  # since_version and status, of IR version 7
    body = function.SerializeToString() + retired
    return _model().SerializeToString() + wire.blob(25, body)


@_small_model
def sparse() -> bytes:
    values = numpy_helper.from_array(np.array([1.0, 2.0], dtype=np.float32), "s")
    indices = numpy_helper.from_array(np.array([0, 3], dtype=np.int64), "i")
    tensor = helper.make_sparse_tensor(values, indices, [4])
    node = helper.make_node("Constant", [], ["c"], sparse_value=tensor)
    return _model(
        helper.make_graph([node], "g", [], [], sparse_initializer=[tensor])
    ).SerializeToString()


@_small_model
def external_data() -> bytes:
    tensor = TensorProto(name="w", dims=[4], data_type=1, data_location=TensorProto.EXTERNAL)
    for key, text in {"location": "w.bin", "offset": "16", "length": "16", "checksum": "0"}.items():
        tensor.external_data.add(key=key, value=text)
    tensor.metadata_props.add(key="k", value="v")
    piece = TensorProto(name="p", segment=TensorProto.Segment(begin=0, end=4))
    return _model(GraphProto(name="g", initializer=[tensor, piece])).SerializeToString()


@_small_model
def oneof_types() -> bytes:
    dims = wire.blob(1, wire.scalar(1, 5) + wire.blob(2, b"N"))
    dims += wire.blob(1, wire.blob(3, b"axis"))
    tensor = wire.blob(1, wire.scalar(1, 1) + wire.blob(2, dims))
    sequence = wire.blob(4, wire.blob(1, tensor))
    last_wins = wire.blob(2, tensor + sequence)
    merged = wire.blob(2, tensor + wire.blob(1, wire.blob(2, wire.blob(1, wire.scalar(1, 7)))))
    inputs = [wire.blob(1, b"x") + last_wins, wire.blob(1, b"y") + merged]
    graph = b"".join(wire.blob(GRAPH_INPUT, one) for one in inputs)
    return wire.blob(MODEL_GRAPH, graph)


@_small_model
def maps_and_optionals() -> bytes:
    plain = helper.make_tensor_type_proto(TensorProto.FLOAT, [1, "N"])
    types = [
        helper.make_map_type_proto(TensorProto.INT64, plain),
        helper.make_optional_type_proto(helper.make_sequence_type_proto(plain)),
        helper.make_sparse_tensor_type_proto(TensorProto.INT8, [2]),
        onnx.TypeProto(opaque_type=onnx.TypeProto.Opaque(domain="d", name="o"), denotation="IMAGE"),
    ]
    graph = GraphProto(name="g")
    graph.input.extend(helper.make_value_info(f"v{i}", one) for i, one in enumerate(types))
    return _model(graph).SerializeToString()


@_small_model
def quantization_annotations() -> bytes:
    graph = GraphProto(name="g", value_info=[_value("h", [])])
    note = graph.quantization_annotation.add(tensor_name="w")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    note.quant_parameter_tensor_names.add(key="ZERO_POINT_TENSOR", value="z")
    return _model(graph).SerializeToString()


@_small_model
def training_info() -> bytes:
    weight = numpy_helper.from_array(np.array([1], dtype=np.int32), "w")
    step = helper.make_graph([helper.make_node("Adam", ["w"], ["v"])], "step", [], [], [weight])
    start = helper.make_graph([], "start", [], [], [weight])
    model = _model()
    model.training_info.append(helper.make_training_info(step, [("w", "v")], start, [("w", "w0")]))
    return model.SerializeToString()


@_small_model
def device_configurations() -> bytes:
    node = helper.make_node("Add", ["a", "b"], ["c"])
    placed = node.device_configurations.add(configuration_id="cfg", pipeline_stage=1)
    spec = placed.sharding_spec.add(tensor_name="a", device=[0, -1])
    spec.index_to_device_group_map.add(key=-1, value=[0, 1])
    spec.sharded_dim.add(axis=0).simple_sharding.add(dim_value=8, num_shards=2)
    spec.sharded_dim[0].simple_sharding.add(dim_param="N", num_shards=4)
    model = _model(GraphProto(name="g", node=[node]))
    model.configuration.add(name="cfg", num_devices=2, device=["gpu0", "gpu1"])
    return model.SerializeToString()


@_small_model
def metadata_everywhere() -> bytes:
    graph = helper.make_graph([helper.make_node("Op", [], [])], "g", [_value("x")], [])
    model = _model(graph)
    for place in (model, graph, graph.node[0], graph.input[0]):
        place.metadata_props.add(key="k", value="é\n\0")
        place.metadata_props.add(key="k", value="again")
    model.graph.CopyFrom(graph)
    return model.SerializeToString()


@_small_model
def attributes_of_every_type() -> bytes:
    tensor = TensorProto(dims=[], data_type=1, raw_data=b"\0\0\x80\x3f")
    values = [1.5, -7, b"s", tensor, [1.0, float("inf")], [1, -1], [b"a", b""], [tensor]]
    attributes = [helper.make_attribute(f"a{i}", one) for i, one in enumerate(values)]
    shape = helper.make_tensor_type_proto(1, [1])
    attributes.append(helper.make_attribute("tp", shape))
    attributes.append(helper.make_attribute("tps", [shape], attr_type=AttributeProto.TYPE_PROTOS))
    node = helper.make_node("Op", [], [])
    node.attribute.extend(attributes)
    return _model(GraphProto(node=[node])).SerializeToString()


@_small_model
def unknown_fields() -> bytes:
    negative = wire.scalar(999, -1)
    unknown = (
        negative + wire.tag(998, wire.FIXED32) + b"abcd" + wire.tag(997, wire.FIXED64)
        + b"12345678" + wire.blob(996, b"xyz") + wire.scalar((1 << 29) - 1, 1)
        + wire.scalar(19500, 2)
    )  # fmt: skip
    wrong_type = wire.blob(1, b"\x08") + wire.scalar(2, 65) + wire.scalar(7, 1)
    tensor = wire.scalar(1, 2) + negative + wire.scalar(14, 7) + wire.scalar(14, 1)
    attribute = wire.blob(1, b"a") + wire.scalar(20, 99) + wire.scalar(2, 1)
    node = wire.blob(5, attribute) + unknown
    graph = wire.blob(GRAPH_NODE, node) + unknown + wire.blob(GRAPH_INITIALIZER, tensor)
    return wire.scalar(1, 8) + wrong_type + wire.blob(MODEL_GRAPH, graph) + unknown


@_small_model
def groups() -> bytes:
    inner = wire.group(1000, wire.scalar(1, 5) + wire.group(3, wire.blob(2, b"abc")))
    wrong_type = wire.group(MODEL_GRAPH, wire.blob(2, b"name"))
    tensor = wire.scalar(1, 1) + inner + wire.group(9) + wire.scalar(2, 1)
    graph = inner + wire.blob(GRAPH_INITIALIZER, tensor) + wire.group(1, inner)
    return wrong_type + wire.blob(MODEL_GRAPH, graph) + inner + wire.scalar(1, 8)


@_small_model
def merged_messages() -> bytes:
    first = wire.blob(GRAPH_NAME, b"a") + wire.blob(GRAPH_INITIALIZER, wire.blob(8, b"x"))
    second = wire.blob(GRAPH_INITIALIZER, wire.blob(8, b"y")) + wire.blob(GRAPH_NAME, b"b")
    tensors = [wire.scalar(1, 2) + wire.blob(9, b"aaaa"), wire.scalar(1, 3) + wire.blob(9, b"")]
    attribute = wire.blob(1, b"t") + b"".join(wire.blob(5, one) for one in tensors)
    sparse_values = b"".join(wire.blob(1, one) for one in tensors)
    third = wire.blob(GRAPH_NODE, wire.blob(5, attribute)) + wire.blob(15, sparse_values)
    return b"".join(wire.blob(MODEL_GRAPH, one) for one in (first, second, b"", third))


@_small_model
def overlong_varints() -> bytes:
    tensor = (
        wire.tag(1, wire.VARINT, 5) + wire.varint(2, 10) + wire.tag(2, wire.VARINT, 2)
        + wire.varint((1 << 32) + 1) + wire.tag(14, wire.VARINT) + wire.varint(1, 9)
        + wire.blob(9, b"\x01\x02", 5) + wire.blob(7, wire.varint(1, 4) + b"\x80" * 9 + b"\x7f")
    )  # fmt: skip
    graph = wire.blob(GRAPH_INITIALIZER, tensor, 3)
    opset = wire.blob(8, wire.scalar(2, 3), 2)
    return wire.scalar(1, -1) + opset + wire.blob(MODEL_GRAPH, graph, 5)


@_small_model
def strings_of_any_bytes() -> bytes:
    texts = [b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80", b"a\0b", "￿é".encode(), b'"\\\n\t', b""]
    node = b"".join(wire.blob(1, text) for text in texts) + wire.blob(3, texts[0])
    graph = wire.blob(GRAPH_NODE, node) + wire.blob(GRAPH_NAME, texts[1]) + wire.blob(10, texts[2])
    return wire.blob(2, texts[0]) + wire.blob(3, texts[3]) + wire.blob(MODEL_GRAPH, graph)


SMALL_MODELS: dict[str, bytes] = {name: build() for name, build in _BUILDERS.items()}
