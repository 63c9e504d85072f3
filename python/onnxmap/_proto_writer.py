"""A writer of small protobuf messages that needs no protobuf library.

The caller uses the names of onnx.proto, and the package's own schema gives the field numbers and
types: `encode("NodeProto", op_type="MatMul", input=["x", "w"], output=["y"])`.
"""

from __future__ import annotations

from typing import Any

from onnxmap import _core
from onnxmap._schema import Row, is_repeated, message_rows

# The `data_location` of a tensor whose values are in an external file.
EXTERNAL = _core.enum_values("TensorProto.DataLocation")["EXTERNAL"]

VARINT, LENGTH_DELIMITED = 0, 2
_VARINT_TYPES = frozenset({"int32", "int64", "uint64", "enum"})


def varint(number: int) -> bytes:
    """Return `number` in groups of seven bits, the lowest first; a negative one takes ten bytes."""
    number &= 0xFFFF_FFFF_FFFF_FFFF
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def encode(message: str, **fields: Any) -> bytes:
    """Return the bytes of one message.

    A repeated field takes a list. A nested message is passed as its encoded bytes.

    Source: protobuf.dev/programming-guides/encoding.
    """
    rows = message_rows(message)
    written = bytearray()
    for name, value in fields.items():
        row = rows[name]
        for item in value if is_repeated(row) else (value,):
            written += _field(row, item)
    return bytes(written)


def _field(row: Row, value: Any) -> bytes:
    if row["type"] in _VARINT_TYPES:
        return varint(row["number"] << 3 | VARINT) + varint(value)
    payload = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    tag = varint(row["number"] << 3 | LENGTH_DELIMITED)
    return b"".join((tag, varint(len(payload)), payload))
