"""A canonical form of a message, made in the same way from protobuf (the oracle) and onnxmap.

If two messages have the same canonical form, no reader can tell them apart. It has each present
field with its value (floats by their bits, strings by their bytes), and the unknown fields in
order.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import onnx
import onnx.onnx_data_pb2
import onnx.onnx_operators_ml_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

import onnxmap

FILES = (onnx.onnx_ml_pb2, onnx.onnx_operators_ml_pb2, onnx.onnx_data_pb2)
START_GROUP = 3

Canonical = tuple[Any, ...]
Convert = Callable[[Any], Any]


def all_descriptors() -> dict[str, Descriptor]:
    """Every message of the three official .proto files, also nested ones, by its full name."""
    found: dict[str, Descriptor] = {}

    def add(descriptor: Descriptor, prefix: str) -> None:
        found[prefix + descriptor.name] = descriptor
        for inner in descriptor.nested_types:
            add(inner, f"{prefix}{descriptor.name}.")

    for file in FILES:
        for descriptor in file.DESCRIPTOR.message_types_by_name.values():
            add(descriptor, "")
    return found


DESCRIPTORS = all_descriptors()


@cache
def message_class(name: str) -> type[Message]:
    """The protobuf class of a message, like `message_class("TypeProto.Tensor")`."""
    outer, *inner = name.split(".")
    found: Any = next(getattr(file, outer) for file in FILES if hasattr(file, outer))
    for part in inner:
        found = getattr(found, part)
    return found


def short_name(descriptor: Descriptor) -> str:
    return str(descriptor.full_name.removeprefix("onnx."))


def _text(value: str | bytes) -> bytes:
    # For a string that is not UTF-8, protobuf gives `bytes`, onnxmap `str` with surrogate escapes.
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")


def _bits(value: float) -> bytes:
    return struct.pack("<d", value)


def _converter(field: FieldDescriptor) -> Convert:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        name = short_name(field.message_type)
        return lambda value: canonical(value, name)
    if field.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        return _bits
    if field.type == FieldDescriptor.TYPE_STRING:
        return _text
    return bytes if field.type == FieldDescriptor.TYPE_BYTES else int


@cache
def _plan(name: str) -> dict[int, tuple[str, bool, Convert]]:
    fields = DESCRIPTORS[name].fields
    return {field.number: (field.name, field.is_repeated, _converter(field)) for field in fields}


def canonical(message: Any, name: str) -> Canonical:
    """The canonical form of `message`, a protobuf message or `onnxmap.ProtoView` of type `name`."""
    plan = _plan(name)
    known = []
    for field, value in message.ListFields():
        field_name, repeated, convert = plan[field.number]
        known.append((field_name, [convert(one) for one in value] if repeated else convert(value)))
    return name, known, unknown_fields(message)


def unknown_fields(message: Any) -> list[Canonical]:
    if isinstance(message, onnxmap.ProtoView):
        return _unknown_forms(message.unknown_fields)
    return _unknown_forms(UnknownFieldSet(message))


def _unknown_forms(fields: Iterable[Any]) -> list[Canonical]:
    return [
        (
            field.field_number,
            field.wire_type,
            _unknown_forms(field.data) if field.wire_type == START_GROUP else field.data,
        )
        for field in fields
    ]


def parse(data: bytes, name: str = "ModelProto") -> Message | None:
    """Protobuf's message for `data`; None if it refuses."""
    try:
        return message_class(name).FromString(data)
    except DecodeError:
        return None


def code_of(data: bytes, message: str = "ModelProto") -> str | None:
    """The error code for `data`; None if it is accepted."""
    try:
        onnxmap.loads_proto(data, message)
    except (onnxmap.ParseError, onnxmap.LimitError) as error:
        return error.code
    return None


def assert_equal_everywhere(view: Any, message: Message, name: str) -> None:
    """Assert equality of fields, presence, defaults and oneofs, for all declared fields, deeply."""
    assert view.message_type == name
    assert canonical(view, name) == canonical(message, name)
    _assert_same_presence(view, message, name)


def _assert_same_presence(view: Any, message: Any, name: str) -> None:
    descriptor = DESCRIPTORS[name]
    for oneof in descriptor.oneofs:
        assert view.WhichOneof(oneof.name) == message.WhichOneof(oneof.name), (name, oneof.name)
    for field in descriptor.fields:
        ours, theirs = getattr(view, field.name), getattr(message, field.name)
        if field.is_repeated:
            assert len(ours) == len(theirs), (name, field.name)
            if field.message_type is not None:
                inner = short_name(field.message_type)
                for one, other in zip(ours, theirs, strict=True):
                    _assert_same_presence(one, other, inner)
            continue
        present = message.HasField(field.name)
        assert view.HasField(field.name) == present, (name, field.name)
        if field.message_type is not None:
            if present:
                _assert_same_presence(ours, theirs, short_name(field.message_type))
            else:
                assert ours.ListFields() == [], (name, field.name)
        elif not present:
            assert ours == theirs, (name, field.name)
            assert type(ours) is type(theirs), (name, field.name)
