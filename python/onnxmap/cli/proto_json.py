"""Protobuf's JSON of a message, with the field names of onnx.proto. Long payloads are cut.

Uncut, it is the text that `google.protobuf.json_format` writes with
`preserving_proto_field_name=True`, and reads.

Source: protobuf.dev/programming-guides/json.
"""

from __future__ import annotations

import base64
import ctypes
import math
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from onnxmap._schema import Row, enum_names, is_repeated, message_rows

if TYPE_CHECKING:
    from onnxmap import ProtoView

# A float32 has at least 6 exact digits. 9 digits always tell it from its neighbours.
_FEWEST_DIGITS, _MOST_DIGITS = 6, 9


def message_json(view: ProtoView, longest: int) -> dict[str, Any]:
    """Return the fields of a message. Payloads longer than `longest` are cut.

    `longest` counts bytes, characters or numbers.
    """
    rows = message_rows(view.message_type)
    return {
        field.name: field_json(rows[field.name], value, longest, is_repeated(rows[field.name]))
        for field, value in view.ListFields()
    }


def field_json(row: Row, value: Any, longest: int, is_list: bool) -> Any:
    """Return the value of a field, or one element of a repeated field."""
    if not is_list:
        return _single(row, value, longest)
    values: Sequence[Any] = value
    if row["type"] == "message" or len(values) <= longest:
        return [_single(row, item, longest) for item in values]
    return _cut(len(values), [_single(row, item, longest) for item in islice(values, longest)])


def _single(row: Row, value: Any, longest: int) -> Any:
    match row["type"]:
        case "message":
            return message_json(value, longest)
        case "bytes":
            first = base64.b64encode(value[:longest]).decode()
            return first if len(value) <= longest else _cut(len(value), first)
        case "string":
            return value if len(value) <= longest else _cut(len(value), value[:longest])
        case "enum":
            return enum_names(row["type_name"]).get(value, value)
        case "float" | "double":
            return _real(value, single=row["type"] == "float")
        case "int32":
            return value
        case _:
            # Many readers take a JSON number for a double, so protobuf writes 64 bits as a string.
            return str(value)


def _cut(length: int, first: Any) -> dict[str, Any]:
    return {"cut": True, "length": length, "first": first}


def _real(value: float, *, single: bool) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return shortest_single(value) if single else value


def shortest_single(value: float) -> float:
    """Return the number with the fewest digits that equals `value` as a float32."""
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS):
        short = float(f"{value:.{digits}g}")
        if ctypes.c_float(short).value == value:
            return short
    return float(f"{value:.{_MOST_DIGITS}g}")
