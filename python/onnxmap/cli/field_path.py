"""Finds the field of a message that a path like `graph.node[3].attribute["value"].t` names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onnxmap._names import nearest, suggestion
from onnxmap._schema import Row, is_repeated, message_rows
from onnxmap.cli.outcome import UsageError

if TYPE_CHECKING:
    from onnxmap import ProtoView

# One step: a field's name, and perhaps a number or a name in brackets.
_STEP = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)(?:\[(?:(-?\d+)|("(?:[^"\\]|\\.)*"))\])?')

# The field that ["…"] is compared with, for messages whose key is not `name`.
_KEY_FIELDS = {
    "OperatorSetIdProto": "domain",
    "StringStringEntryProto": "key",
    "TensorAnnotation": "tensor_name",
}


@dataclass(frozen=True)
class Found:
    """A value of a message. `row` declares its field; it is None for the whole message."""

    value: Any
    row: Row | None = None
    is_list: bool = False

    @property
    def is_message(self) -> bool:
        """Whether the value is a message."""
        return not self.is_list and (self.row is None or self.row["type"] == "message")


def follow(message: ProtoView, path: str) -> Found:
    """Return the value that `path` names in `message`; an empty path names the message itself.

    Raises:
        UsageError: the path is malformed, or names something that does not exist.
    """
    found = Found(message)
    walked = ""
    for step, name, index in _steps(path):
        found = _field(found, name, walked or message.message_type)
        if index is not None:
            found = _element(found, index, f"{walked}.{name}".lstrip("."))
        walked = f"{walked}.{step}".lstrip(".")
    return found


def _steps(path: str) -> Iterator[tuple[str, str, int | str | None]]:
    """The steps of the path: the text, the name of the field, and what the brackets hold."""
    position = 0
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            raise UsageError(
                f"cannot read '{path[position:]}' as a field: write a path like graph.node[3].name"
            )
        name, number, quoted = step.groups()
        yield step.group(), name, _unquoted(quoted) if quoted else number and int(number)
        position = step.end()
        if position == len(path):
            return
        if path[position] == "[":
            raise UsageError(
                f"cannot read '{path[position:]}': in brackets is a number, [3], or a name in "
                'quotes, ["name"], which the shell needs in single quotes'
            )
        if path[position] != ".":
            raise UsageError(
                f"cannot read '{path[position:]}' after a field: write a dot and a field"
            )
        position += 1
        if position == len(path):
            raise UsageError("the path ends with a dot: leave it out, or write a field after it")


def _unquoted(quoted: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError as error:
        raise UsageError(f"cannot read {quoted} as a quoted name: {error}") from None


def _field(found: Found, name: str, here: str) -> Found:
    if found.is_list:
        raise UsageError(
            f"{here} is a list of {len(found.value)}: say which element, like {here}[0]"
        )
    if not found.is_message:
        raise UsageError(f"{here} is a plain value and has no field '{name}'")
    message_type = found.value.message_type
    rows = message_rows(message_type)
    if name not in rows:
        near = suggestion(nearest(name, rows)) or "."
        fields = ", ".join(rows)
        raise UsageError(f"{message_type} has no field '{name}'{near} Its fields are {fields}")
    row = rows[name]
    if not is_repeated(row) and not found.value.HasField(name):
        raise UsageError(f"{here} has no {name}: the field is not set")
    return Found(getattr(found.value, name), row, is_repeated(row))


def _element(found: Found, index: int | str, walked: str) -> Found:
    if not found.is_list:
        raise UsageError(f"{walked} is not a list: leave out [{json.dumps(index)}]")
    if isinstance(index, str):
        return Found(_named(found, index, walked), found.row)
    try:
        return Found(found.value[index], found.row)
    except IndexError:
        raise UsageError(
            f"{walked} has a length of {len(found.value)}, so [{index}] does not exist"
        ) from None


def _named(found: Found, name: str, walked: str) -> Any:
    assert found.row is not None  # a list is always a field
    element_type = found.row["type_name"]
    key = _KEY_FIELDS.get(element_type, "name")
    if found.row["type"] != "message" or key not in message_rows(element_type):
        raise UsageError(f"the elements of {walked} have no names: use a number")
    names = []
    for element in found.value:
        names.append(getattr(element, key))
        if names[-1] == name:
            return element
    near = suggestion(nearest(name, names))
    raise UsageError(f"{walked} has no element with the {key} '{name}'{near}")
