"""Messages as values: equality, hashes, JSON, bytes and types, compared with protobuf's."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
from typing import Any

import onnx
import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from onnx import AttributeProto, NodeProto, TensorProto, helper
from support.models.sample import floats, model_of
from support.models.small import SMALL_MODELS

import onnxmap
from onnxmap.types import message_type


def view(message: Any) -> onnxmap.ProtoView:
    return onnxmap.loads_proto(message.SerializeToString(), type(message).__name__)


def test_two_handles_of_one_message() -> None:
    model = onnxmap.loads(next(iter(SMALL_MODELS.values())))
    assert model.graph == model.graph
    assert hash(model.graph) == hash(model.graph)
    assert model.proto.graph == model.graph.proto
    for first, second in zip(model.graph.nodes, model.graph.nodes, strict=True):
        assert first == second
        assert hash(first) == hash(second)
        assert first != first.name


VARIANTS: list[Any] = [
    NodeProto(),
    NodeProto(name=""),
    NodeProto(name="a"),
    NodeProto(name="b"),
    NodeProto(name="a", input=["x"]),
    NodeProto(name="a", input=["x", ""]),
    NodeProto(name="a", input=["", "x"]),
    NodeProto(name="a", attribute=[helper.make_attribute("k", 1)]),
    NodeProto(name="a", attribute=[helper.make_attribute("k", 2)]),
    NodeProto(name="a", attribute=[helper.make_attribute("k", 1.0)]),
    AttributeProto(f=0.0),
    AttributeProto(f=-0.0),
    AttributeProto(f=math.nan),
    AttributeProto(floats=[1.0, math.nan]),
    AttributeProto(floats=[1.0, -0.0]),
    AttributeProto(floats=[1.0, 0.0]),
    AttributeProto(ints=[1, -1]),
    AttributeProto(ints=[1, -1, 0]),
    TensorProto(dims=[2], raw_data=b"ab"),
    TensorProto(dims=[2], raw_data=b"ac"),
    TensorProto(dims=[1, 1], raw_data=b"ab"),
    TensorProto(int64_data=[1 << 40, 3]),
    TensorProto(double_data=[0.5, math.inf]),
    TensorProto(string_data=[b"", b"x"]),
    TensorProto(segment=TensorProto.Segment(begin=1)),
    TensorProto(segment=TensorProto.Segment()),
]


def test_equality_is_protobuf_s() -> None:
    views = [view(message) for message in VARIANTS]
    again = [view(message) for message in VARIANTS]
    for i, j in itertools.product(range(len(VARIANTS)), repeat=2):
        expected = VARIANTS[i] == VARIANTS[j] if i != j else VARIANTS[i] == copy.copy(VARIANTS[i])
        if type(VARIANTS[i]) is not type(VARIANTS[j]):
            expected = False
        assert (views[i] == again[j]) == expected, (VARIANTS[i], VARIANTS[j])
        if expected:
            assert hash(views[i]) == hash(again[j])


def test_the_form_of_storage_does_not_matter() -> None:
    packed = onnxmap.loads_proto(b"\x42\x02\x01\x02" + b"\x0a\x01k", "AttributeProto")
    single = onnxmap.loads_proto(b"\x0a\x01k" + b"\x40\x01" + b"\x40\x82\x00", "AttributeProto")
    assert packed == single
    assert hash(packed) == hash(single)
    replaced = onnxmap.loads_proto(
        b"\x0a\x01z" + b"\x0a\x01k" + b"\x42\x02\x01\x02", "AttributeProto"
    )
    assert replaced == packed
    parts = onnxmap.loads_proto(b"\x2a\x02\x08\x01\x2a\x02\x10\x07", "AttributeProto")
    whole = onnxmap.loads_proto(b"\x2a\x04\x10\x07\x08\x01", "AttributeProto")
    assert parts == whole


def test_unknown_fields_count() -> None:
    known = onnxmap.loads_proto(b"\x0a\x01k", "AttributeProto")
    more = onnxmap.loads_proto(b"\x0a\x01k\xf8\x7f\x01", "AttributeProto")
    same = onnxmap.loads_proto(b"\xf8\x7f\x01\x0a\x01k", "AttributeProto")
    other = onnxmap.loads_proto(b"\x0a\x01k\xf8\x7f\x02", "AttributeProto")
    assert known != more
    assert more == same
    assert more != other


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_payloads_of_files_are_compared(tmp_path: Any, io: Any) -> None:
    one = floats("w", 300_000)
    two = floats("w", 300_000)
    two.raw_data = two.raw_data[:-1] + b"?"
    paths = []
    for i, tensor in enumerate((one, one, two)):
        paths.append(tmp_path / f"{i}.onnx")
        paths[-1].write_bytes(model_of([tensor]).SerializeToString())
    graphs = [onnxmap.load(path, io=io).graph for path in paths]
    assert graphs[0] == graphs[1]
    assert graphs[0] != graphs[2]
    assert graphs[0].initializers["w"] != graphs[2].initializers["w"]


def has_json(data: bytes) -> bool:
    """Whether protobuf writes the model as JSON. It cannot write text that is not UTF-8."""
    try:
        return "b'\\\\" not in json_format.MessageToJson(onnx.ModelProto.FromString(data))
    except UnicodeDecodeError:
        return False


@pytest.mark.parametrize("name", [name for name, data in SMALL_MODELS.items() if has_json(data)])
def test_json_is_protobuf_s(name: str) -> None:
    message = onnx.ModelProto.FromString(SMALL_MODELS[name])
    ours = onnxmap.loads_proto(SMALL_MODELS[name], "ModelProto")
    expected = json_format.MessageToJson(message)
    assert ours.to_json() == expected
    assert ours.to_dict() == json_format.MessageToDict(message)
    assert ours.to_dict(preserving_proto_field_name=True) == json_format.MessageToDict(
        message, preserving_proto_field_name=True
    )
    assert json.loads(ours.to_json(indent=None)) == ours.to_dict()


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_bytes_are_the_message(name: str) -> None:
    ours = onnxmap.loads_proto(SMALL_MODELS[name], "ModelProto")
    assert ours.SerializeToString() == SMALL_MODELS[name]
    assert ours.ByteSize() == len(SMALL_MODELS[name])
    message = onnx.ModelProto.FromString(SMALL_MODELS[name])
    assert onnx.GraphProto.FromString(ours.graph.SerializeToString()) == message.graph
    for mine, theirs in zip(ours.graph.node, message.graph.node, strict=True):
        assert NodeProto.FromString(mine.SerializeToString()) == theirs


def test_types_of_messages_list_their_fields() -> None:
    kinds = {
        number: name.removeprefix("TYPE_").lower()
        for name, number in vars(FieldDescriptor).items()
        if name.startswith("TYPE_")
    }
    for message in (onnx.ModelProto(), NodeProto(), TensorProto(), onnx.TypeProto()):
        mine, theirs = message_type(message.DESCRIPTOR.name), message.DESCRIPTOR
        assert mine.name == theirs.name
        expected = sorted(theirs.fields, key=lambda field: field.number)
        assert [(f.name, f.number, f.type) for f in mine.fields] == [
            (f.name, f.number, kinds[f.type]) for f in expected
        ]
        for field in mine.fields:
            other = theirs.fields_by_name[field.name]
            declared = other.message_type or other.enum_type
            assert field.type_name.rpartition(".")[2] == (declared.name if declared else "")
            assert field.is_repeated == other.is_repeated
            assert field.oneof == (other.containing_oneof.name if other.containing_oneof else "")
        assert set(mine.fields_by_name) == set(theirs.fields_by_name)
        assert set(mine.fields_by_number) == set(theirs.fields_by_number)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_messages_are_copied_with_their_content(copied: Any) -> None:
    model = onnxmap.loads(next(iter(SMALL_MODELS.values())))
    graph = model.graph
    for thing in (graph, model.proto, graph.proto, *graph.nodes, *graph.inputs, *model.functions):
        other = copied(thing)
        assert type(other) is type(thing)
        assert other == thing


def test_a_model_is_pickled_as_a_reference(tmp_path: Any) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of([floats("w", 100_000)]).SerializeToString())
    with onnxmap.load(path, io="read", lenient=True) as model:
        pickled = pickle.dumps(model)
    assert len(pickled) < 2_000
    other = pickle.loads(pickled)
    assert (other.path, other.io) == (str(path), "read")
    assert other.initializers["w"].numpy()[99_999] == 99_999
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    path.rename(moved / "model.onnx")
    with pytest.raises(FileNotFoundError):
        pickle.loads(pickled)
    with onnxmap.relocate(moved):
        assert pickle.loads(pickled).path == str(moved / "model.onnx")
    data = bytearray((moved / "model.onnx").read_bytes())
    data[200:210] = bytes(10)
    path.write_bytes(data)
    with pytest.raises(onnxmap.FileChangedError, match="pickle the model again"):
        pickle.loads(pickled)


def test_a_model_of_bytes_is_pickled_with_them() -> None:
    model = onnxmap.loads(model_of([floats("w", 3)]).SerializeToString(), lenient=True)
    other = copy.deepcopy(model)
    assert other.path is None
    assert other.initializers["w"].numpy().tolist() == [0, 1, 2]


def test_repeated_keys_are_not_lost_silently() -> None:
    made = model_of([])
    for key, value in (("a", "1"), ("b", "2"), ("a", "3")):
        made.metadata_props.add(key=key, value=value)
    node = made.graph.node.add(op_type="Op")
    for number in (1, 2):
        node.attribute.append(helper.make_attribute("k", number))
    model = onnxmap.loads(made.SerializeToString())
    with pytest.warns(
        onnxmap.RepeatedKeyWarning, match="metadata_props: 'a' occurs more than once"
    ):
        assert dict(model.metadata_props) == {"a": "3", "b": "2"}
    with pytest.warns(onnxmap.RepeatedKeyWarning, match=r"'k' .*\.proto\.attribute has all"):
        assert model.graph.nodes[0].attributes["k"].value == 2
    assert [entry.value for entry in model.proto.metadata_props] == ["1", "2", "3"]


def test_equal_messages_of_other_size_have_the_same_hash() -> None:
    short = NodeProto(op_type="Op", input=["x"], doc_string="x").SerializeToString()
    replaced = NodeProto(doc_string="y" * 40_000).SerializeToString()
    one, other = (onnxmap.loads_proto(data, "NodeProto") for data in (short, replaced + short))
    assert one == other
    assert hash(one) == hash(other)
