"""Protobuf's JSON of a message: the text that `google.protobuf.json_format` writes and reads.

Source: protobuf.dev/programming-guides/json.
"""

from __future__ import annotations

import base64
import ctypes
import json
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from onnxmap._schema import Row, enum_names, is_repeated, message_rows
from onnxmap.errors import LimitError

if TYPE_CHECKING:
    from onnxmap._core import ProtoView

# A float32 has at least 6 exact digits. 9 digits always tell it from its neighbours.
_FEWEST_DIGITS, _MOST_DIGITS = 6, 9
_ITEM_BYTES = 64  # of a number or short text in a list


@dataclass(frozen=True)
class Form:
    """How a message is written.

    Attributes:
        proto_names: use the field names of onnx.proto. Protobuf's default is lowerCamelCase.
        longest: longer payloads are cut. Counts bytes, characters or numbers.
        room: bounds the memory of the result; None for no bound.
    """

    proto_names: bool
    longest: int = sys.maxsize
    room: Room | None = None

    def take(self, nbytes: int) -> None:
        """Count memory of the result."""
        if self.room is not None:
            self.room.take(nbytes)


class Room:
    """Counts about how many bytes a result takes, up to `Limits(text_bytes=)`."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def take(self, nbytes: int) -> None:
        """Take some of the bytes that are left."""
        self._left -= nbytes
        if self._left < 0:
            raise LimitError(
                f"its JSON takes more than {self._most} bytes; raise the limit with "
                "limits=Limits(text_bytes=...)",
                code="limit.text_bytes",
            )


def to_dict(view: ProtoView, preserving_proto_field_name: bool) -> dict[str, Any]:
    """See `ProtoView.to_dict`."""
    _, _, _, limits = view._reading()
    room = Room(limits["text_bytes"])
    return message_json(view, Form(preserving_proto_field_name, room=room))


def to_json(view: ProtoView, indent: int | None, preserving_proto_field_name: bool) -> str:
    """See `ProtoView.to_json`."""
    return json.dumps(to_dict(view, preserving_proto_field_name), indent=indent)


def message_json(view: ProtoView, form: Form) -> dict[str, Any]:
    """Return the fields of a message."""
    rows = message_rows(view.message_type)
    return {
        (field.name if form.proto_names else lower_camel(field.name)): field_json(
            rows[field.name], value, form, is_repeated(rows[field.name])
        )
        for field, value in view.ListFields()
    }


def field_json(row: Row, value: Any, form: Form, is_list: bool) -> Any:
    """Return the value of a field, or one element of a repeated field."""
    if not is_list:
        return _single(row, value, form)
    values: Sequence[Any] = value
    form.take(_ITEM_BYTES * min(len(values), form.longest))
    if row["type"] == "message" or len(values) <= form.longest:
        return [_single(row, item, form) for item in values]
    first = [_single(row, item, form) for item in islice(values, form.longest)]
    return _cut(len(values), first)


def _single(row: Row, value: Any, form: Form) -> Any:
    longest = form.longest
    match row["type"]:
        case "message":
            return message_json(value, form)
        case "bytes":
            form.take(2 * min(len(value), longest))
            first = base64.b64encode(value[:longest]).decode()
            return first if len(value) <= longest else _cut(len(value), first)
        case "string":
            form.take(min(len(value), longest))
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


@cache
def lower_camel(name: str) -> str:
    """Return the name of a field in JSON, like "opType" for "op_type"."""
    return re.sub("_(.)", lambda found: found[1].upper(), name)


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
