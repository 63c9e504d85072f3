"""Protobuf's JSON of a message, with onnx.proto's field names and long payloads cut.

Uncut it is what `google.protobuf.json_format` gives with `preserving_proto_field_name=True`, and reads.

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

# Digits that a float32 can need to be told from its neighbours, and that it always has.
_FEWEST_DIGITS, _MOST_DIGITS = 6, 9


def message_json(view: ProtoView, longest: int) -> dict[str, Any]:
    """A message's fields; payloads of more than `longest` bytes, characters or numbers are cut."""
    rows = message_rows(view.message_type)
    return {
        field.name: field_json(rows[field.name], value, longest, is_repeated(rows[field.name]))
        for field, value in view.ListFields()
    }


def field_json(row: Row, value: Any, longest: int, is_list: bool) -> Any:
    """A field's value, or one element of a repeated field's."""
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
            # JSON's numbers are doubles to many readers: protobuf writes 64-bit ones as strings.
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
    """The number with the fewest digits that a float32 reads back as `value`."""
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS):
        short = float(f"{value:.{digits}g}")
        if ctypes.c_float(short).value == value:
            return short
    return float(f"{value:.{_MOST_DIGITS}g}")
