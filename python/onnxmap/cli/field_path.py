"""Finds the field of a message that a path like `graph.node[3].attribute["value"].t` names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from onnxmap import ProtoView
from onnxmap._base.text import nearest, suggestion
from onnxmap.cli.exit_status import UsageError
from onnxmap.types import FieldType, message_type

# One step: a field's name, and perhaps a number or a name in brackets, both as in JSON.
_STEP = re.compile(r'\.([A-Za-z_][A-Za-z0-9_]*)(?:\[(-?[0-9]+|"(?:[^"\\]|\\.)*")\])?(?=\.|$)')

# The field that ["…"] is compared with, for messages whose key is not `name`.
_KEY_FIELDS = {
    "OperatorSetIdProto": "domain",
    "StringStringEntryProto": "key",
    "TensorAnnotation": "tensor_name",
}


@dataclass(frozen=True)
class Found:
    """A value of a message. `field` declares it, and is None for the whole message.

    `parent` is the message that has the field, and `index` the position in the field's list.
    """

    value: Any
    field: FieldType | None = None
    is_list: bool = False
    parent: ProtoView | None = None
    index: int | None = None

    @property
    def is_message(self) -> bool:
        """Whether the value is a message."""
        return not self.is_list and (self.field is None or self.field.type == "message")


def follow(message: ProtoView, path: str) -> Found:
    """Return the value that `path` names in `message`; an empty path names the message itself.

    Raises:
        UsageError: the path is malformed, or names something that does not exist.
    """
    found, walked = Found(message), ""
    for step, name, index in _steps(path):
        found = _field(found, name, walked or message.message_type)
        if index is not None:
            found = _element(found, index, f"{walked}.{name}".lstrip("."))
        walked = f"{walked}.{step}".lstrip(".")
    return found


def _steps(path: str) -> Iterator[tuple[str, str, int | str | None]]:
    """The steps of the path: the text, the name of the field, and what the brackets hold."""
    rest = f".{path}" if path else ""
    while step := _STEP.match(rest):
        try:
            index = json.loads(step[2]) if step[2] else None
        except ValueError:  # as in ["\\q"] or [007]
            break
        yield step[0][1:], step[1], index
        rest = rest[step.end() :]
    if rest:
        raise UsageError(
            f"cannot read '{rest[1:] or rest}' as a field: write a path like graph.node[3].name; "
            """a name, graph.node["name"], needs single quotes around the path in a shell"""
        )


def _field(found: Found, name: str, here: str) -> Found:
    if found.is_list:
        raise UsageError(f"{here} is a list of {len(found.value)}: say which, like {here}[0]")
    if not found.is_message:
        raise UsageError(f"{here} is a plain value and has no field '{name}'")
    message = message_type(found.value.message_type)
    fields = message.fields_by_name
    if name not in fields:
        near = suggestion(nearest(name, fields)) or "."
        known = ", ".join(fields)
        raise UsageError(f"{message.name} has no field '{name}'{near} Its fields are {known}")
    field = fields[name]
    if not field.is_repeated and not found.value.HasField(name):
        raise UsageError(f"{here} has no {name}: the field is not set")
    return Found(getattr(found.value, name), field, field.is_repeated, found.value)


def _element(found: Found, index: int | str, walked: str) -> Found:
    if not found.is_list:
        raise UsageError(f"{walked} is not a list: leave out [{json.dumps(index)}]")
    if isinstance(index, str):
        return Found(_named(found, index, walked), found.field)
    try:
        position = range(len(found.value))[index]
        return Found(found.value[index], found.field, parent=found.parent, index=position)
    except IndexError:
        count = len(found.value)
        raise UsageError(f"{walked} has a length of {count}: there is no [{index}]") from None


def _named(found: Found, name: str, walked: str) -> Any:
    assert found.field is not None  # a list is always a field
    key = _KEY_FIELDS.get(found.field.type_name, "name")
    if not all(hasattr(element, key) for element in found.value):
        raise UsageError(f"the elements of {walked} have no names: use a number")
    elements = {getattr(each, key): each for each in reversed(found.value)}  # the first one counts
    if name not in elements:
        near = suggestion(nearest(name, elements))
        raise UsageError(f"{walked} has no element with the {key} '{name}'{near}")
    return elements[name]
