"""New attributes, whose types follow from their values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from onnxmap import _core
from onnxmap._base.enums import AttributeType
from onnxmap._base.new_message import Message
from onnxmap._base.schema import message_rows
from onnxmap._make.tensor_values import tensor_of, text_bytes
from onnxmap._make.type_values import class_of, type_message

_FLOAT, _INT, _STRING = AttributeType.FLOAT, AttributeType.INT, AttributeType.STRING
_TENSOR, _TYPE = AttributeType.TENSOR, AttributeType.TYPE_PROTO
_FIELDS = {AttributeType(number): field for number, field in _core.attribute_fields().items()}
_LISTS = {  # the types of lists, by the types of their elements
    kind: AttributeType[f"{kind.name}S"] for kind in _FIELDS if not kind.name.endswith("S")
}
_ELEMENTS = {kind: single for single, kind in _LISTS.items()}
_MESSAGES = {
    row["type_name"]: kind
    for kind in _LISTS
    if (row := message_rows("AttributeProto")[_FIELDS[kind]])["type"] == "message"
}
_OF_LISTS = "iufUSO"  # kinds of arrays in one dimension that are lists, as onnx.helper takes them


def attribute_of(name: str, value: Any, owner: Any, before: AttributeType | int = 0) -> Message:
    """Return a new AttributeProto of a value, or a copy of an attribute under this name.

    Args:
        name: its name.
        value: as for `make_attribute`, or an Attribute or AttributeProto.
        owner: the message that it is for: external data stay external if they are in its folder.
        before: the type of the attribute that it replaces, or 0. An empty list gets this type.
    """
    message_type = None if isinstance(value, int | float | str) else _core.message_type_of(value)
    if message_type == "AttributeProto":
        made = _core.new_beside(owner, message_type)
        _core.copy_into(made, value)
        made.name = name
        return made
    wanted = before if _is_empty_list(value) else 0
    return new_attribute(name, value, wanted, owner if message_type else None)


def entry_of(mapping: _core.AttributeMapping, name: str, value: Any) -> Message:
    """Return a new AttributeProto for a key of a mapping."""
    owner, before = mapping._message, 0
    if _is_empty_list(value):
        is_function = owner.message_type == "FunctionProto"
        for each in owner.attribute_proto if is_function else owner.attribute:
            before = each.type if each.name == name else before
    return _entry(name, value, owner, before)


def set_entries(message: _core.Node | _core.Function, field: str, given: Any) -> None:
    """Replace all attributes of a message."""
    proto = message.proto
    if not isinstance(given, _core.AttributeMapping):
        try:
            entries = dict(given)
        except (TypeError, ValueError) as error:
            told = "None; {} removes all" if given is None else type(given).__name__
            example = "{'axis': 1}"
            raise TypeError(
                f"{field}: expected a mapping, such as {example}, not {told}"
            ) from error
        given = {name: _entry(name, value, proto) for name, value in entries.items()}
    _core.set_property(proto, field, given)


def _entry(name: Any, value: Any, owner: Any, before: AttributeType | int = 0) -> Message:
    if not isinstance(name, str):
        raise TypeError(f"a key is a str, not {type(name).__name__}")
    if value is None:
        raise TypeError(f"the value of {name!r} cannot be None; `del` removes an entry")
    return attribute_of(name, value, owner, before)


def _is_empty_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes) and not len(value)


def new_attribute(
    name: str, value: Any, wanted: AttributeType | int = 0, beside: Any = None
) -> Message:
    """Return a new AttributeProto of a value that is no attribute.

    Args:
        name: its name.
        value: as for `make_attribute`.
        wanted: its type, or 0.
        beside: a message with the folder of its external data, or None.

    Raises:
        TypeError: the value has no type of ONNX, or another one than `wanted`.
        ValueError: a list is empty, or of different types.
    """
    if name is None:
        raise TypeError("name: expected a str, not None")
    kind = _single_type(value, is_element=False)
    if wanted == _TENSOR and isinstance(value, np.ndarray):
        kind = _TENSOR
    if kind is not None:
        stored = _stored(kind, value)
    elif isinstance(value, Iterable):
        kind, stored = _list(name, list(value), wanted)
    else:
        raise TypeError(
            f"attribute {name!r}: a value of type {type(value).__name__} has no type of ONNX"
        )
    if wanted not in (0, kind):
        wanted_name = AttributeType(wanted).name
        raise TypeError(f"attribute {name!r}: a value of type {kind.name} is not {wanted_name}")
    fields = {"name": name, _FIELDS[kind]: stored, "type": int(kind)}
    if beside is None:
        return _core.new("AttributeProto", **fields)
    return _core.new_beside(beside, "AttributeProto", **fields)


def _single_type(value: Any, *, is_element: bool) -> AttributeType | None:
    """The type of a value that is not a list; None for anything else."""
    if isinstance(value, int):
        return _INT
    if isinstance(value, float):
        return _FLOAT
    if isinstance(value, str | bytes):
        return _STRING
    if isinstance(value, np.ndarray):
        is_list = not is_element and value.ndim == 1 and value.dtype.kind in _OF_LISTS
        return None if is_list else _TENSOR
    if isinstance(value, Integral | np.bool_):
        return _INT
    if isinstance(value, Real):
        return _FLOAT
    return _TYPE if class_of(value) else _MESSAGES.get(_core.message_type_of(value))


def _list(name: str, values: list[Any], wanted: AttributeType | int) -> tuple[AttributeType, Any]:
    """The type of a list, and its elements for the field. Integers among floats are floats."""
    found = {_single_type(each, is_element=True) for each in values}
    kind = AttributeType(wanted) if wanted else _list_type(name, found)
    single = _ELEMENTS.get(kind)
    if single is None:
        raise TypeError(f"attribute {name!r}: a list cannot be of type {kind.name}")
    if not found <= ({_FLOAT, _INT} if single == _FLOAT else {single}):
        raise TypeError(f"the elements of the list are not of type {single.name}")
    return kind, [_stored(single, each) for each in values]


def _list_type(name: str, found: set[AttributeType | None]) -> AttributeType:
    if not found:
        raise ValueError(
            f"attribute {name!r}: an empty list has no type; use "
            "onnxmap.make_attribute(name, [], attr_type=...)"
        )
    if found == {_FLOAT, _INT}:
        return _LISTS[_FLOAT]
    single = found.pop() if len(found) == 1 else None
    if single is None:
        raise ValueError(f"attribute {name!r}: the elements of a list must have one type of ONNX")
    return _LISTS[single]


def _stored(kind: AttributeType, value: Any) -> Any:
    """The value for its field."""
    if kind == _INT:
        return int(value)
    if kind == _FLOAT:
        return float(value)
    if kind == _STRING:
        return text_bytes(value)
    if kind == _TENSOR and not _core.message_type_of(value):
        return tensor_of(value, copy=True)
    return type_message(value) if kind == _TYPE else value
