"""`.proto` has protobuf's own surface for reading, with exactly the names of onnx.proto."""

from __future__ import annotations

import math

import onnx
import pytest
from google.protobuf.descriptor import FieldDescriptor
from onnx import TensorProto
from support import wire_bytes as wire
from support.models.small import SMALL_MODELS
from support.oracles.canonical import DESCRIPTORS, assert_equal_everywhere, message_class

import onnxmap


def view_of(data: bytes, name: str = "ModelProto") -> onnxmap.ProtoView:
    return onnxmap.loads_proto(data, name)


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_small_models_everywhere(name: str) -> None:
    message = message_class("ModelProto").FromString(SMALL_MODELS[name])
    assert_equal_everywhere(view_of(SMALL_MODELS[name]), message, "ModelProto")


@pytest.mark.parametrize("name", sorted(DESCRIPTORS))
def test_defaults_of_an_empty_message(name: str) -> None:
    view, message = view_of(b"", name), message_class(name)()
    assert_equal_everywhere(view, message, name)
    assert str(view) == ""
    assert view.ListFields() == []
    assert view.message_type == name


SCALARS = {
    FieldDescriptor.TYPE_STRING: "text é",
    FieldDescriptor.TYPE_BYTES: b"\0\xff",
    FieldDescriptor.TYPE_FLOAT: 0.1,
    FieldDescriptor.TYPE_DOUBLE: 0.1,
    FieldDescriptor.TYPE_UINT64: (1 << 64) - 1,
    FieldDescriptor.TYPE_INT64: -(1 << 63),
    FieldDescriptor.TYPE_INT32: -(1 << 31),
}


def fill(message: onnx.ModelProto, depth: int) -> None:
    """Set all fields of `message` and its messages, down to `depth`. Of a oneof, set the last."""
    for field in message.DESCRIPTOR.fields:
        if field.message_type is not None:
            if depth:
                inner = getattr(message, field.name)
                fill(inner.add() if field.is_repeated else inner, depth - 1)
            continue
        value = SCALARS.get(field.type)
        if field.enum_type is not None:
            value = field.enum_type.values[-1].number
        if field.is_repeated:
            getattr(message, field.name).extend([value, value])
        else:
            setattr(message, field.name, value)


@pytest.mark.parametrize("name", sorted(DESCRIPTORS))
def test_every_field_set(name: str) -> None:
    message = message_class(name)()
    fill(message, 3)
    view = view_of(message.SerializeToString(), name)
    assert_equal_everywhere(view, message, name)
    assert str(view) == str(message)


def test_strings_are_str_and_bytes_are_bytes() -> None:
    data = wire.blob(8, b"\xff\xfe") + wire.blob(9, b"\xff") + wire.blob(6, b"a\0")
    view = view_of(data, "TensorProto")
    assert view.name == "\udcff\udcfe"
    assert view.raw_data == b"\xff"
    assert type(view.raw_data) is bytes
    assert list(view.string_data) == [b"a\0"]
    assert type(view.string_data[0]) is bytes
    assert hash(view.name)


def test_unknown_names_are_attribute_errors() -> None:
    view = view_of(SMALL_MODELS["plain_nodes"])
    for name in ("no_such_field", "graphs", "Initialize"):
        with pytest.raises(AttributeError, match=name):
            getattr(view, name)
    with pytest.raises(ValueError, match="no_such_field"):
        view.HasField("no_such_field")
    with pytest.raises(ValueError, match="no_such_oneof"):
        view.WhichOneof("no_such_oneof")
    with pytest.raises(ValueError, match="opset_import"):  # repeated: presence has no meaning
        view.HasField("opset_import")


def test_what_protobuf_does_not_assign() -> None:
    """Other edits are tested in edit/."""
    view = view_of(SMALL_MODELS["plain_nodes"])
    before = view.SerializeToString()
    with pytest.raises(AttributeError, match="ClearField"):
        del view.ir_version
    with pytest.raises(AttributeError, match="anything"):
        view.anything = 1
    with pytest.raises(AttributeError, match="CopyFrom"):
        view.graph = view.graph
    with pytest.raises(AttributeError, match="change its list"):
        view.opset_import = []
    with pytest.raises(TypeError, match="CopyFrom"):
        view.opset_import[0] = view.opset_import[0]
    with pytest.raises(TypeError, match="expected an OperatorSetIdProto, not int"):
        view.opset_import.append(1)
    assert view.SerializeToString() == before


def test_absent_messages_are_empty_views() -> None:
    view = view_of(b"")
    assert view.graph.node == [] or len(view.graph.node) == 0
    assert view.graph.name == ""
    assert not view.HasField("graph")
    assert view.graph.message_type == "GraphProto"


def test_repeated_scalars_behave_as_lists() -> None:
    view = view_of(TensorProto(dims=[2, 3, 4]).SerializeToString(), "TensorProto")
    dims = view.dims
    assert dims == [2, 3, 4]
    assert dims != [2, 3]
    assert list(dims) == [2, 3, 4]
    assert (len(dims), dims[0], dims[-1]) == (3, 2, 4)
    assert dims[1:] == [3, 4]
    assert list(dims[::-1]) == [4, 3, 2]
    assert 3 in dims
    assert 9 not in dims
    for index in (3, -4):
        with pytest.raises(IndexError):
            dims[index]
    assert view.float_data == []
    assert not view.float_data


def test_repeated_messages_are_sequences() -> None:
    view = view_of(SMALL_MODELS["raw_initializers"])
    tensors = view.graph.initializer
    assert [t.name for t in tensors] == ["w", "b", "t"]
    assert (tensors[0].name, tensors[-1].name) == ("w", "t")
    assert [t.name for t in tensors[::2]] == ["w", "t"]
    assert [t.name for t in reversed(tensors)] == ["t", "b", "w"]
    with pytest.raises(IndexError):
        tensors[3]


def test_list_fields_gives_field_and_value_by_number() -> None:
    fields = view_of(SMALL_MODELS["plain_nodes"]).ListFields()
    message = message_class("ModelProto").FromString(SMALL_MODELS["plain_nodes"])
    expected = [(field.name, field.number) for field, _ in message.ListFields()]
    assert [(field.name, field.number) for field, _ in fields] == expected
    assert fields[0][1] == 10


def test_explicit_defaults_are_present() -> None:
    view = view_of(wire.scalar(1, 0) + wire.blob(2, b""))
    assert view.HasField("ir_version")
    assert view.HasField("producer_name")
    assert not view.HasField("domain")
    assert (view.ir_version, view.producer_name) == (0, "")


def test_which_oneof() -> None:
    first, second = view_of(SMALL_MODELS["oneof_types"]).graph.input
    assert first.type.WhichOneof("value") == "sequence_type"
    assert not first.type.HasField("tensor_type")
    assert second.type.WhichOneof("value") == "tensor_type"
    dims = second.type.tensor_type.shape.dim
    assert [dim.WhichOneof("value") for dim in dims] == ["dim_param", None, "dim_value"]
    assert view_of(b"", "TypeProto").WhichOneof("value") is None


def test_unknown_fields() -> None:
    data = (
        wire.scalar(999, -1) + wire.tag(998, wire.FIXED32) + b"\xff\xff\xff\xff" + wire.scalar(1, 3)
        + wire.tag(997, wire.FIXED64) + b"\0" * 7 + b"\x80" + wire.blob(996, b"xyz")
        + wire.group(995, wire.scalar(1, 5) + wire.group(2))
    )  # fmt: skip
    fields = view_of(data).unknown_fields
    assert [(f.field_number, f.wire_type) for f in fields] == [
        (999, 0), (998, 5), (997, 1), (996, 2), (995, 3),
    ]  # fmt: skip
    assert fields[0].data == (1 << 64) - 1
    assert fields[1].data == (1 << 32) - 1
    assert fields[2].data == 1 << 63
    assert fields[3].data == b"xyz"
    inner = fields[4].data
    assert [(f.field_number, f.wire_type, f.data) for f in inner[:1]] == [(1, 0, 5)]
    assert (inner[1].field_number, list(inner[1].data)) == (2, [])


def test_unknown_enum_values_are_unknown_fields() -> None:
    view = view_of(wire.scalar(14, 7) + wire.scalar(14, 1) + wire.scalar(14, 9), "TensorProto")
    assert view.data_location == 1
    assert [(f.field_number, f.data) for f in view.unknown_fields] == [(14, 7), (14, 9)]


TEXTS = {
    "floats": TensorProto(
        float_data=[0.1, 1e-45, 3.4028235e38, -0.0, math.inf, -math.inf, math.nan, 16777216.0, 1e10]
    ),
    "doubles": TensorProto(
        double_data=[0.1, 5e-324, 1.7976931348623157e308, 1e16, 123456789.0, 1e22]
    ),
    "bytes": TensorProto(raw_data=bytes(range(256)), string_data=[b"\x00" + b"1", b"'\"\\"]),
    "escapes": TensorProto(name="\t\r\n\x7f\"'\\ é ￿ 😀", doc_string="\x01" + "7"),
    "enum": TensorProto(data_location=TensorProto.EXTERNAL, data_type=99),
    "integers": TensorProto(dims=[-1, 0, (1 << 63) - 1], uint64_data=[(1 << 64) - 1]),
    "nested": onnx.ModelProto.FromString(SMALL_MODELS["subgraphs"]),
    "empty messages": onnx.ModelProto(graph=onnx.GraphProto(), opset_import=[{}, {}]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_form(name: str) -> None:
    message = TEXTS[name]
    assert str(view_of(message.SerializeToString(), message.DESCRIPTOR.name)) == str(message)


@pytest.mark.parametrize(
    "raw", [b"\xff\xfe", b"a\xc3", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80\xff", b"\xc3\xa9"]
)
def test_text_form_of_strings_that_are_not_utf_8(raw: bytes) -> None:
    data = wire.blob(8, raw) + wire.blob(12, raw + b"7")
    assert str(view_of(data, "TensorProto")) == str(TensorProto.FromString(data))


def test_repr_is_one_line() -> None:
    text = repr(view_of(SMALL_MODELS["plain_nodes"]))
    assert "\n" not in text
    assert "ModelProto" in text


def test_proto_of_every_friendly_object() -> None:
    model = onnxmap.loads(SMALL_MODELS["functions"])
    message = onnx.ModelProto.FromString(SMALL_MODELS["functions"])
    assert str(model.proto) == str(message)
    assert str(model.graph.proto) == str(message.graph)
    assert str(model.functions[0].proto) == str(message.functions[0])
    assert str(model.functions[0].nodes[0].proto) == str(message.functions[0].node[0])
    plain = onnxmap.loads(SMALL_MODELS["raw_initializers"])
    tensor = onnx.ModelProto.FromString(SMALL_MODELS["raw_initializers"]).graph.initializer[0]
    assert str(plain.initializers["w"].proto) == str(tensor)
