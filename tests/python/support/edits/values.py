"""Values for random edits, as Python expressions that mean the same to protobuf and to onnxmap."""

from __future__ import annotations

import random
import struct

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from support.oracles.canonical import short_name

TYPES = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_FLOAT: "float",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_ENUM: "enum",
    FieldDescriptor.TYPE_MESSAGE: "message",
}
SINGULAR = ("string", "bytes", "int64", "int32", "float", "enum")
IN_LISTS = ("string", "bytes", "int64", "int32", "uint64", "float", "double")

_TEXTS = ["''", "'x'", "'w'", "'a\\x00b'", "'é\\uffff'", "'\\U0001f600'", "b'bytes'", "'n' * 200"]
_BYTES = ["b''", "b'\\xff\\x00'", "b'abcd'", "bytes(range(256))", "b'z' * 300"]
_SIGNED = {64: [0, 1, -1, 300, 2**63 - 1, -(2**63)], 32: [0, 7, -1, 2**31 - 1, -(2**31)]}
_FLOATS = [
    "0.0", "-0.0", "1.5", "0.1", "7", "True", "float('inf')", "-float('inf')", "1e300", "1e-45",
    "double(0x7ff8000020000000)", "double(0xfff8123460000000)", "float('nan')",
]  # fmt: skip


def double(bits: int) -> float:
    """The double of these bits: a NaN with a payload, for instance."""
    return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])


def text_bytes(text: str | bytes) -> bytes:
    """The bytes of a text. If they are not UTF-8, protobuf gives bytes, and onnxmap surrogates."""
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


def type_of(field: FieldDescriptor) -> str:
    return TYPES[field.type]


def value(field: FieldDescriptor, rng: random.Random) -> str:
    """An expression for a value that the field takes."""
    kind = type_of(field)
    if kind == "string":
        return rng.choice(_TEXTS)
    if kind == "bytes":
        return rng.choice(_BYTES)
    if kind == "enum":
        chosen = rng.choice(field.enum_type.values)
        return rng.choice([str(chosen.number), repr(chosen.name)])
    if kind in ("float", "double"):
        return rng.choice(_FLOATS)
    if kind == "uint64":
        return str(rng.choice([0, 5, 2**63, 2**64 - 1]))
    return str(rng.choice([*_SIGNED[int(kind[3:])], rng.randrange(200)]))


# What fits no field of a type. For a number too large for a float, the class is OverflowError.
_WRONG: dict[str, list[str]] = {
    "string": ["5", "None", "[]", "b'\\xff'", "bytearray(b'a')", "object()"],
    "bytes": ["'text'", "5", "None", "bytearray(b'a')", "memoryview(b'a')"],
    "int64": ["'1'", "1.0", "None", "True", "2**63", "-2**63 - 1", "[1]"],
    "int32": ["'1'", "1.5", "None", "False", "2**31", "-2**31 - 1", "2**80"],
    "uint64": ["'1'", "1.0", "None", "True", "2**64", "-1"],
    "float": ["'1'", "None", "[1.0]", "10**400"],
    "double": ["'1'", "None", "b'1'", "10**400"],
    "enum": ["'NO_SUCH_NAME'", "1000", "-1", "None", "1.0", "True", "2**40"],
}


def wrong_values(field: FieldDescriptor) -> list[str]:
    """Expressions for values that the field refuses."""
    return _WRONG[type_of(field)]


def new_message(message: Descriptor, rng: random.Random) -> str:
    """An expression for a new message, like "new('NodeProto', name='x')"."""
    return f"new({short_name(message)!r}, {keywords(message, rng)})"


def keywords(message: Descriptor, rng: random.Random) -> str:
    """Keyword arguments for fields of a message, like "name='x', i=3"."""
    chosen = rng.sample(list(message.fields), k=min(3, len(message.fields)))
    written, members = [], set()
    for inner in chosen:
        oneof = inner.containing_oneof
        if oneof is not None and oneof.name in members:
            continue
        members.add(oneof.name if oneof is not None else "")
        members.discard("")
        if inner.message_type is not None:
            argument = rng.choice(["[{}]", "[]"]) if inner.is_repeated else "{}"
        elif inner.is_repeated:
            argument = f"[{value(inner, rng)}, {value(inner, rng)}]"
        else:
            argument = value(inner, rng)
        written.append(f"{inner.name}={argument}")
    return ", ".join(written)
