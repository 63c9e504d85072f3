"""Names that do not exist: errors that say which name to use instead."""

from __future__ import annotations

import difflib
import heapq
from itertools import takewhile
from typing import TYPE_CHECKING

from onnxmap._schema import message_rows
from onnxmap._text import escape
from onnxmap.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_SUGGESTED = 3
_LONGEST = 200  # characters shown of a name
# difflib takes some 20 us for a usual name of 30 characters, and four times as long for names twice
# as long. Of longer lists, it looks at the names with the most in common with the wrong one at both
# ends.
_MOST_COMPARED, _USUAL = 500, 30


def unknown_name(what: str, name: object, names: Iterable[str]) -> UnknownNameError:
    """Return the error for a name that nothing in `names` has.

    Args:
        what: what the names are names of, like "tensor".
        name: the wrong name.
        names: the names that exist.
    """
    near = nearest(name, names) if isinstance(name, str) else []
    shown = escape(repr(name)[:_LONGEST])
    message = f"no {what} is named {shown}{suggestion(near)}"
    return UnknownNameError(message, code="name.unknown", name=name, nearest=tuple(near))


def suggestion(near: Iterable[str]) -> str:
    """Return what an error adds to suggest these names; nothing for no names."""
    shown = " or ".join(escape(repr(each[:_LONGEST])) for each in near)
    return f"; did you mean {shown}?" if shown else ""


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that are most like `name`, the nearest first; none if none is like it."""
    name = name[:_LONGEST]
    whole = {each[:_LONGEST]: each for each in names}
    candidates = list(whole)
    most = min(_MOST_COMPARED, _MOST_COMPARED * _USUAL**2 // max(len(name), 1) ** 2)
    if len(candidates) > most:
        candidates = heapq.nlargest(most, candidates, key=lambda each: _in_common(name, each))
    near = difflib.get_close_matches(name, candidates, _MOST_SUGGESTED)
    return [whole[each] for each in near]


def _in_common(a: str, b: str) -> int:
    """The number of characters that two names have in common at both ends."""
    head = _equal_at_the_start(a, b)
    return head + _equal_at_the_start(a[head:][::-1], b[head:][::-1])


def _equal_at_the_start(a: str, b: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


# Where the property of a field is not the field's name in the plural.
_PROPERTIES = {
    "ModelProto.configuration": "device_configurations",
    "SparseTensorProto.dims": "shape",
    "TensorProto.data_location": "is_external",
    "TensorProto.data_type": "dtype",
    "TensorProto.dims": "shape",
    "TensorProto.external_data": "external",
    "TensorProto.segment": "proto.segment",
}
# The fields that hold the values of a tensor or attribute.
_VALUES = {"TensorProto": "numpy()", "AttributeProto": "value"}


def missing_attribute(
    cls: type, message: str, name: str, graph: type | None = None
) -> AttributeError:
    """Return the error for a name that an object of the message `message` lacks.

    If it is the name of a field of onnx.proto, the error says how the class gives the field.

    Args:
        cls: the class of the object.
        message: the type of its message, like NodeProto.
        name: the wrong name.
        graph: the class of the object's `graph`, if it has one, which may have the name.
    """
    text = f"{cls.__name__} has no attribute {escape(repr(name[:_LONGEST]))}"
    use = _property_of(cls, message, name)
    if use is None and graph is not None:
        use = _property_of_its_graph(cls, graph, name)
    if use is None and name in message_rows(message):
        use = _VALUES.get(message, f"proto.{name}")
    if use is not None:
        return AttributeError(f"{text}; use .{use}")
    near = _nearest_public(name, dir(cls))
    return AttributeError(f"{text}; did you mean .{near[0]}?" if near else text)


def missing_field(message: str, name: str) -> AttributeError:
    """Return the error for a name that is no field of the message `message`."""
    text = f"{message} has no field {escape(repr(name[:_LONGEST]))}"
    return AttributeError(text + suggestion(_nearest_public(name, message_rows(message))))


def _property_of(cls: type, message: str, field: str) -> str | None:
    """The property of a class that gives a field of its message."""
    if field not in message_rows(message):
        return None
    found = _PROPERTIES.get(f"{message}.{field}")
    return f"{field}s" if found is None and hasattr(cls, f"{field}s") else found


def _property_of_its_graph(cls: type, graph: type, name: str) -> str | None:
    found = name if hasattr(graph, name) else _property_of(graph, "GraphProto", name)
    if found is None or hasattr(cls, found):
        return found
    return f"graph.{found}"


def _nearest_public(name: str, names: Iterable[str]) -> list[str]:
    """The name that is most like `name`. None for a private name: Python itself looks for those."""
    if name.startswith("_"):
        return []
    return nearest(name, (each for each in names if not each.startswith("_")))[:1]
