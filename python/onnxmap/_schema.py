"""The package's schema of onnx.proto, looked up by name; asked of the core once."""

from __future__ import annotations

from functools import cache
from typing import Any

from onnxmap import _core

# A field's declaration: "name", "number", "label", "type", "type_name" and more.
Row = dict[str, Any]


@cache
def _schema() -> dict[str, Any]:
    return _core.schema()


@cache
def message_rows(message: str) -> dict[str, Row]:
    """The declarations of a message's fields by name, such as those of "TensorProto.Segment"."""
    return {row["name"]: row for row in _schema()["messages"][message]}


@cache
def enum_names(enum: str) -> dict[int, str]:
    """The names of an enum's numbers, such as those of "TensorProto.DataType"."""
    return {number: name for name, number in _schema()["enums"][enum].items()}


def is_repeated(row: Row) -> bool:
    """Whether the field holds a list."""
    return bool(row["label"] == "repeated")


def type_name(number: int) -> str:
    """The name of a tensor's element type; a number that is none of ONNX's stays a number."""
    return enum_names("TensorProto.DataType").get(number, f"type {number}")
