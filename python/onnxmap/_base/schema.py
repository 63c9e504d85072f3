"""The package's schema of onnx.proto by name. The core is asked for it once."""

from __future__ import annotations

from functools import cache
from typing import Any

from onnxmap import _core

# A field's declaration: "name", "number", "label", "type", "type_name" and more.
Row = dict[str, Any]


@cache
def schema() -> dict[str, Any]:
    """Return the rows of all messages, and the values of all enums, by their names."""
    return _core.schema()


@cache
def message_rows(message: str) -> dict[str, Row]:
    """Return the declarations of a message's fields by name, like "TensorProto.Segment"."""
    return {row["name"]: row for row in schema()["messages"][message]}


@cache
def enum_names(enum: str) -> dict[int, str]:
    """Return the names of an enum by number, like "TensorProto.DataType"."""
    return {number: name for name, number in schema()["enums"][enum].items()}


def is_repeated(row: Row) -> bool:
    """Return whether the field holds a list."""
    return bool(row["label"] == "repeated")


def type_name(number: int) -> str:
    """Return the name of a tensor's element type, or "type N" if ONNX has no type of number N."""
    return enum_names("TensorProto.DataType").get(number, f"type {number}")
