"""Messages of google.protobuf, made from the package's own schema, and the texts that it parses.

The classes live in descriptor pools of their own, so that they and those of `onnx` do not collide.
"""

from __future__ import annotations

import ctypes
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._base.extras import extra
from onnxmap._base.schema import Row, message_rows
from onnxmap.errors import LimitError, ParseError, printable

with extra("proto"):
    from google.protobuf import (
        descriptor_pb2,
        descriptor_pool,
        json_format,
        message_factory,
        text_format,
    )
    from google.protobuf.message import EncodeError

if TYPE_CHECKING:
    from onnxmap._base.file_forms import FileForm

_PACKAGE = "onnx"
_FILE = "onnxmap.proto"
_MOST_MESSAGES = 101  # a message, and 100 levels within it: the library's limit for its encoding
_LONGEST = 500  # characters shown of what the library says
# Where the library's JSON parser says that the fault is.
_REPEATED = re.compile(r"(Failed to (parse \w+ field|load JSON): )+")
_PLACE = re.compile(r'\bat "?[A-Z]\w*\.([\w.\[\]]+)')
_TOO_LARGE = "Float value too"  # large, or small
_NO_FLOAT = 2.0**128 - 2.0**103  # from here on, a number is rounded to an infinite float32
_CHARACTER = re.compile(r"\(char (\d+)\)")
# The field of an element type and a name as its value; or a string or a comment, which stays.
_NAMED_TYPE = re.compile(
    r"""(?P<field>\b(?:data|elem|key)_type\s*:\s*)(?P<name>[A-Z]\w*)"""
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|#.*"""
)
_TYPES = _core.enum_values("TensorProto.DataType")


def message_class(name: str, *, texts_as_bytes: bool = False) -> Any:
    """Return the class of a message, like "NodeProto" or "TensorProto.Segment".

    Args:
        name: the type of the message.
        texts_as_bytes: fields of type string take bytes instead, which need not be UTF-8. The
            encoding of the message is the same.
    """
    found = _pool(texts_as_bytes).FindMessageTypeByName(f"{_PACKAGE}.{name}")
    return message_factory.GetMessageClass(found)


@cache
def _pool(texts_as_bytes: bool) -> descriptor_pool.DescriptorPool:
    schema = _core.schema()
    file = descriptor_pb2.FileDescriptorProto(name=_FILE, package=_PACKAGE, syntax="proto2")
    messages: dict[str, descriptor_pb2.DescriptorProto] = {}
    for name, rows in sorted(schema["messages"].items()):  # the outer ones first
        outer, _, last = name.rpartition(".")
        places = messages[outer].nested_type if outer else file.message_type
        messages[name] = places.add(name=last)
        _add_fields(messages[name], rows, texts_as_bytes)
    for name, numbers in schema["enums"].items():
        outer, _, last = name.rpartition(".")
        place = messages[outer] if outer else file
        values = [{"name": value, "number": number} for value, number in numbers.items()]
        place.enum_type.add(name=last, value=values)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _add_fields(
    message: descriptor_pb2.DescriptorProto, rows: list[Row], texts_as_bytes: bool
) -> None:
    oneofs: dict[str, int] = {}
    for row in rows:
        if row["retired"]:
            continue  # onnx.proto reserves its number
        kind = "bytes" if texts_as_bytes and row["type"] == "string" else row["type"]
        field = message.field.add(
            name=row["name"], number=row["number"], type=f"TYPE_{kind.upper()}",
            label=f"LABEL_{row['label'].upper()}",
        )  # fmt: skip
        if row["type_name"]:
            field.type_name = f".{_PACKAGE}.{row['type_name']}"
        if row["packed"]:
            field.options.packed = True
        if row["oneof"]:
            field.oneof_index = oneofs.setdefault(row["oneof"], len(oneofs))
    for oneof in oneofs:
        message.oneof_decl.add(name=oneof)


def bytes_of_form(form: FileForm, given: Any, name: str) -> bytes:
    """See `parsed_text`."""
    try:
        return _bytes_of_json(given, name) if form == "json" else _bytes_of_text(given, name)
    except (EncodeError, RecursionError):
        raise LimitError("messages are nested more than 100 deep", code="limit.depth") from None


def _numbered(found: re.Match[str]) -> str:
    """The field with the number of its type, which is as long, so that errors name its place."""
    number = _TYPES.get(found["name"]) if found["name"] else None
    return found[0] if number is None else found["field"] + str(number).ljust(len(found["name"]))


def _bytes_of_text(text: str, name: str) -> bytes:
    text = _NAMED_TYPE.sub(_numbered, text)  # in onnx.proto, these fields are plain numbers
    message = message_class(name, texts_as_bytes=True)()
    try:
        return _core.parse_text(text, name, lambda known: text_format.Parse(known, message))
    except text_format.ParseError as error:
        line, column = error.GetLine(), error.GetColumn()
        if line is None or column is None:
            raise _error("text format", str(error), None) from None
        reason = str(error).removeprefix(f"{line}:{column} : ")
        before = [*text.split("\n")[: line - 1], text.split("\n")[line - 1][: column - 1]]
        shown = f"line {line}, column {column}: {reason}"
        raise _error("text format", shown, "\n".join(before)) from None


def _bytes_of_json(given: str | Mapping[str, Any], name: str) -> bytes:
    try:
        try:
            return _parsed_json(given, name)
        except json_format.ParseError as error:
            if _TOO_LARGE not in str(error):
                raise
        # The library writes the largest float32 with fewer digits, and then finds it too large.
        values = json.loads(given) if isinstance(given, str) else given
        return _parsed_json(_with_single_floats(values, name), name)
    except json_format.ParseError as error:
        reason = _REPEATED.sub("", str(error))
        if "recursion depth" in reason or "Stack overflow" in reason:
            raise RecursionError from None
        place, character = _PLACE.search(reason), _CHARACTER.search(reason)
        before = given[: int(character[1])] if character and isinstance(given, str) else None
        path = "" if place is None else place[1].rstrip(".")
        raise _error("JSON", reason, before, path) from None


def _parsed_json(given: str | Mapping[str, Any], name: str) -> bytes:
    message = message_class(name)()
    if isinstance(given, str):
        json_format.Parse(given, message, max_recursion_depth=_MOST_MESSAGES)
    else:
        json_format.ParseDict(dict(given), message, max_recursion_depth=_MOST_MESSAGES)
    return bytes(message.SerializeToString())


def _with_single_floats(values: Any, name: str) -> Any:
    """The JSON of a message, with the numbers in fields of type float rounded to float32."""
    if not isinstance(values, Mapping):
        return values  # the library says what is wrong
    rows = {key: row for row in message_rows(name).values() for key in _keys(row)}
    return {key: _single_floats(value, rows.get(key)) for key, value in values.items()}


def _keys(row: Row) -> tuple[str, str]:
    """The two keys of a field in JSON, like "op_type" and "opType"."""
    first, *others = row["name"].split("_")
    return row["name"], first + "".join(each[:1].upper() + each[1:] for each in others)


def _single_floats(value: Any, row: Row | None) -> Any:
    if row is None:
        return value
    if isinstance(value, list):
        return [_single_floats(one, row) for one in value]
    if row["type"] == "message":
        return _with_single_floats(value, row["type_name"])
    if row["type"] == "float" and isinstance(value, float) and abs(value) < _NO_FLOAT:
        return ctypes.c_float(value).value
    return value


def _error(form: str, reason: str, before: str | None, path: str = "") -> ParseError:
    """The error for a text. `before` is the part of the text before the fault."""
    shown = printable(" ".join(reason.split()).rstrip("."))[:_LONGEST]
    offset = None if before is None else len(before.encode("utf-8", "surrogatepass"))
    text = f"this is not a message in protobuf's {form}: {shown}"
    return ParseError(text, code="model.text", offset=offset, path=path)
