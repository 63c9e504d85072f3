"""Messages with every field set, from the official descriptors: a seed for each message type."""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from support import wire_bytes as wire


def full_message(descriptor: Descriptor, depth: int) -> bytes:
    """Each field once, repeated fields twice. Messages deeper than `depth` are empty."""
    return b"".join(
        _field(described, depth) * (2 if described.is_repeated else 1)
        for described in descriptor.fields
    )


def _field(described: FieldDescriptor, depth: int) -> bytes:
    number = described.number
    if described.type == FieldDescriptor.TYPE_MESSAGE:
        return wire.blob(number, full_message(described.message_type, depth - 1) if depth else b"")
    if described.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
        return wire.blob(number, described.name.encode()[:4])
    if described.type == FieldDescriptor.TYPE_FLOAT:
        wire_type, value = wire.FIXED32, b"\x00\x00\x80\x3f"
    elif described.type == FieldDescriptor.TYPE_DOUBLE:
        wire_type, value = wire.FIXED64, b"\x00" * 6 + b"\xf0\x3f"
    else:
        wire_type, value = wire.VARINT, wire.varint(1)
    return wire.blob(number, value) if described.is_packed else wire.tag(number, wire_type) + value
