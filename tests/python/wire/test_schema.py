"""The schema agrees, row by row and in both directions, with the official descriptors."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from google.protobuf.descriptor import FieldDescriptor
from support.oracles.canonical import DESCRIPTORS, FILES, short_name

import onnxmap
from onnxmap import _core

TYPE_NAMES = {
    getattr(FieldDescriptor, f"TYPE_{name.upper()}"): name
    for name in [
        "double",
        "float",
        "int64",
        "uint64",
        "int32",
        "string",
        "message",
        "bytes",
        "enum",
    ]
}
# Rows of older IR versions, which onnx.proto now reserves. Old files still have them.
RETIRED = {("FunctionProto", "since_version", 2), ("FunctionProto", "status", 3)}


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return _core.schema()


def _official_row(field: FieldDescriptor) -> dict[str, Any]:
    kind = field.message_type or field.enum_type
    return {
        "number": field.number,
        "name": field.name,
        "label": "repeated" if field.is_repeated else "optional",
        "type": TYPE_NAMES[field.type],
        "type_name": short_name(kind) if kind else "",
        "default": field.default_value if field.has_default_value else None,
        "oneof": field.containing_oneof.name if field.containing_oneof else "",
        "packed": field.is_packed,
        "retired": False,
    }


def test_same_messages(schema: dict[str, Any]) -> None:
    assert set(schema["messages"]) == set(DESCRIPTORS)
    assert len(DESCRIPTORS) == 33


@pytest.mark.parametrize("name", sorted(DESCRIPTORS))
def test_same_fields(schema: dict[str, Any], name: str) -> None:
    ours = {row["number"]: row for row in schema["messages"][name] if not row["retired"]}
    official = {field.number: _official_row(field) for field in DESCRIPTORS[name].fields}
    assert ours == official


def test_no_field_number_twice(schema: dict[str, Any]) -> None:
    for name, rows in schema["messages"].items():
        numbers = [row["number"] for row in rows]
        assert len(set(numbers)) == len(numbers), name
        assert len({row["name"] for row in rows}) == len(rows), name


def test_retired_fields_are_exactly_the_listed_ones(schema: dict[str, Any]) -> None:
    retired = {
        (name, row["name"], row["number"])
        for name, rows in schema["messages"].items()
        for row in rows
        if row["retired"]
    }
    assert retired == RETIRED
    for message, field, number in RETIRED:
        assert field not in DESCRIPTORS[message].fields_by_name
        assert number not in DESCRIPTORS[message].fields_by_number


def _official_enums() -> dict[str, dict[str, int]]:
    found = [enum for file in FILES for enum in file.DESCRIPTOR.enum_types_by_name.values()]
    found += [enum for message in DESCRIPTORS.values() for enum in message.enum_types]
    return {short_name(enum): {v.name: v.number for v in enum.values} for enum in found}


def test_same_enums(schema: dict[str, Any]) -> None:
    official = _official_enums()
    assert len(official) == 7
    assert schema["enums"] == official


def test_every_enum_field_names_a_declared_enum(schema: dict[str, Any]) -> None:
    for name, rows in schema["messages"].items():
        for row in rows:
            known = {"enum": schema["enums"], "message": schema["messages"]}.get(row["type"])
            if known is None:
                assert row["type_name"] == "", (name, row)
            else:
                assert row["type_name"] in known, (name, row)


def test_data_type_has_the_official_names_and_numbers() -> None:
    ours = {member.name: int(member) for member in onnxmap.DataType}
    assert ours == dict(onnx.TensorProto.DataType.items())


def test_schema_reaches_ir_version_14() -> None:
    assert _core.schema()["enums"]["Version"]["IR_VERSION"] == onnx.IR_VERSION == 14
