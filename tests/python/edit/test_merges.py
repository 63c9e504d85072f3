"""Messages that are merged are, for protobuf, what it makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from onnx import FunctionProto
from support import wire_bytes as wire

import onnxmap

# since_version and status were fields of IR version 7. Today's onnx.proto does not know them.
RETIRED = wire.scalar(2, 1) + wire.scalar(3, 1)
UNKNOWN = wire.blob(99, b"unknown")
GIVEN = wire.blob(1, b"f") + UNKNOWN + RETIRED + UNKNOWN

MERGES: dict[str, Callable[[Any, Any], object]] = {
    "MergeFrom": lambda message, other: message.MergeFrom(other),
    "MergeFromString": lambda message, other: message.MergeFromString(other.SerializeToString()),
    "CopyFrom": lambda message, other: message.CopyFrom(other),
    "ParseFromString": lambda message, other: message.ParseFromString(other.SerializeToString()),
}


@pytest.mark.parametrize("merge", MERGES)
def test_retired_fields_are_unknown_ones(merge: str) -> None:
    """They once replaced those that were there, or changed places with other unknown fields."""
    expected = FunctionProto.FromString(GIVEN)
    message = onnxmap.loads_proto(GIVEN, "FunctionProto")
    for _ in range(2):
        MERGES[merge](expected, FunctionProto.FromString(GIVEN))
        MERGES[merge](message, onnxmap.loads_proto(GIVEN, "FunctionProto"))
        found = FunctionProto.FromString(message.SerializeToString())
        assert found.SerializeToString() == expected.SerializeToString()
