"""Wire forms made by code: wire types, field numbers, lengths, 32-bit values, trailing bytes."""

from __future__ import annotations

import pytest
from support import wire_bytes as wire
from support.oracles.canonical import canonical, code_of, message_class, parse

import onnxmap

GRAPH, UNKNOWN = 7, 999


@pytest.mark.parametrize("value", range(4))
@pytest.mark.parametrize("wire_type", [6, 7])
@pytest.mark.parametrize("number", range(4))
def test_wire_types_6_and_7(number: int, wire_type: int, value: int) -> None:
    data = bytes([number << 3 | wire_type, value])
    assert parse(data) is None
    assert code_of(data) == "wire.wire_type"


@pytest.mark.parametrize("wire_type", [0, 1, 2, 5])
@pytest.mark.parametrize("message", ["ModelProto", "GraphProto", "TensorProto", "TypeProto.Tensor"])
def test_field_number_zero(message: str, wire_type: int) -> None:
    data = bytes([wire_type]) + b"\x00" * 8
    assert parse(data, message) is None
    assert code_of(data, message) == "wire.field_number"


@pytest.mark.parametrize("wire_type", range(8))
def test_field_number_zero_in_an_unknown_group(wire_type: int) -> None:
    """The documented deviation: upb accepts some of these, and keeps the invalid fields."""
    inner = bytes([wire_type]) + b"\x00" * 8
    data = wire.tag(UNKNOWN, wire.START_GROUP) + inner + wire.tag(UNKNOWN, wire.END_GROUP)
    with pytest.raises(onnxmap.ParseError) as caught:
        onnxmap.loads_proto(data, "ModelProto")
    expected = "wire.wire_type" if wire_type > 5 else "wire.field_number"
    if wire_type in (wire.START_GROUP, wire.END_GROUP):
        assert caught.value.code.startswith("wire.")
    else:
        assert caught.value.code == expected
    assert caught.value.offset == 2


KNOWN_LENGTH_FIELDS = {"message": GRAPH, "string": 2, "unknown": UNKNOWN}


@pytest.mark.parametrize("field", KNOWN_LENGTH_FIELDS)
@pytest.mark.parametrize(
    ("length", "code"),
    [
        (wire.varint(4), "wire.length_overrun"),
        (wire.varint((1 << 31) - 1), "wire.length_overrun"),
        (wire.varint(1 << 31), "wire.length_overrun"),
        (wire.varint((1 << 32) + 3), "wire.length_overrun"),
        (wire.varint((1 << 35) - 1), "wire.length_overrun"),
        (wire.varint(1 << 35), "wire.length_overrun"),
        (wire.varint((1 << 63) - 1), "wire.length_overrun"),
        (wire.varint(1 << 63), "wire.length_too_large"),
        (wire.varint((1 << 64) - 1), "wire.length_too_large"),
        (wire.varint(3, 6), "wire.length_too_long"),
        (wire.varint(3, 10), "wire.length_too_long"),
        (wire.varint((1 << 35) - 1, 7), "wire.length_too_long"),
        (b"\x80" * 10 + b"\x00", "wire.varint_too_long"),
        (b"\x80", "wire.truncated"),
    ],
)
def test_lengths(field: str, length: bytes, code: str) -> None:
    payload = b"" if code == "wire.truncated" else b"\x08\x01\x08"
    head = wire.tag(KNOWN_LENGTH_FIELDS[field], wire.LENGTH)
    data = head + length + payload
    assert parse(data) is None
    with pytest.raises(onnxmap.ParseError) as caught:
        onnxmap.loads_proto(data, "ModelProto")
    assert (caught.value.code, caught.value.offset) == (code, 0)


@pytest.mark.parametrize("field", KNOWN_LENGTH_FIELDS)
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
def test_overlong_lengths_that_are_read(field: str, width: int) -> None:
    data = wire.blob(KNOWN_LENGTH_FIELDS[field], b"\x08\x01", width) + wire.scalar(1, 8)
    message = message_class("ModelProto").FromString(data)
    view = onnxmap.loads_proto(data, "ModelProto")
    assert canonical(view, "ModelProto") == canonical(message, "ModelProto")


INT32_VALUES = {
    0: 0, 1: 1, 1 << 31: -(1 << 31), (1 << 32) + 1: 1, (1 << 33) - 1: -1, (1 << 63) - 1: -1,
    (1 << 63) + 1: 1, (1 << 64) - 1: -1, 0xFFFF_FFFF: -1, 0x7FFF_FFFF: (1 << 31) - 1,
}  # fmt: skip


@pytest.mark.parametrize(("written", "value"), INT32_VALUES.items())
def test_int32_takes_the_low_32_bits(written: int, value: int) -> None:
    data = wire.scalar(2, written) + wire.blob(5, wire.varint(written) + wire.varint(written, 10))
    view = onnxmap.loads_proto(data, "TensorProto")
    assert view.data_type == value
    assert list(view.int32_data) == [value, value]
    message = message_class("TensorProto").FromString(data)
    assert canonical(view, "TensorProto") == canonical(message, "TensorProto")


@pytest.mark.parametrize("zeros", [1, 2, 7, 16, 4096])
def test_zero_bytes_after_the_last_field_are_explained(zeros: int) -> None:
    good = wire.blob(GRAPH, wire.blob(2, b"g"))
    with pytest.raises(onnxmap.ParseError) as caught:
        onnxmap.loads(good + b"\0" * zeros)
    assert (caught.value.code, caught.value.offset) == ("wire.field_number", len(good))
    assert f"zero bytes after offset {len(good)}" in str(caught.value)
    assert "incomplete download" in str(caught.value)


def test_a_second_graph_after_a_zero_tag_or_end_group_is_not_skipped() -> None:
    good = wire.blob(GRAPH, wire.blob(2, b"g"))
    assert code_of(good + b"\0" + good) == "wire.field_number"
    assert code_of(good + wire.tag(1, wire.END_GROUP) + good) == "wire.end_group"
