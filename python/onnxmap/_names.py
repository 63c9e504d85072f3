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
# difflib takes some 20 us a name. Of longer lists, it looks at the names with the most in common
# with the wrong one at both ends.
_MOST_COMPARED = 500


def unknown_name(what: str, name: object, names: Iterable[str]) -> UnknownNameError:
    """Return the error for a name that nothing in `names` has.

    Args:
        what: what the names are names of, like "tensor".
        name: the wrong name.
        names: the names that exist.
    """
    near = nearest(name, names) if isinstance(name, str) else []
    shown = escape(repr(name)[:_LONGEST])
    message = f"no {what} is named {shown}"
    if near:
        message += (
            "; did you mean " + " or ".join(repr(escape(each[:_LONGEST])) for each in near) + "?"
        )
    return UnknownNameError(message, code="name.unknown", name=name, nearest=tuple(near))


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that are most like `name`, the nearest first; none if none is like it."""
    candidates = list(names)
    if len(candidates) > _MOST_COMPARED:
        candidates = heapq.nlargest(
            _MOST_COMPARED, candidates, key=lambda each: _in_common(name, each)
        )
    return difflib.get_close_matches(name[:_LONGEST], candidates, _MOST_SUGGESTED)


def _in_common(a: str, b: str) -> int:
    """The number of characters that two names have in common at both ends."""
    head = _equal_at_the_start(a, b)
    return head + _equal_at_the_start(a[head:][::-1], b[head:][::-1])


def _equal_at_the_start(a: str, b: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


# Where the property of a field is not the field's name in the plural.
_PROPERTIES = {
    "ModelProto.configuration": "device_configurations",
    "TensorProto.data_location": "is_external",
    "TensorProto.data_type": "dtype",
    "TensorProto.dims": "shape",
    "TensorProto.external_data": "external",
    "TensorProto.segment": "proto.segment",
}
# The fields that hold the values of a tensor or attribute.
_VALUES = {"TensorProto": "numpy()", "AttributeProto": "value"}


def missing_attribute(cls: type, message: str, name: str) -> AttributeError:
    """Return the error for a name that an object of the message `message` lacks.

    If it is the name of a field of onnx.proto, the error says how the class gives the field.
    """
    text = f"{cls.__name__} has no attribute {escape(name[:_LONGEST])!r}"
    if name in message_rows(message):
        use = _PROPERTIES.get(f"{message}.{name}")
        if use is None and hasattr(cls, f"{name}s"):
            use = f"{name}s"
        if use is None:
            use = _VALUES.get(message, f"proto.{name}")
        return AttributeError(f"{text}; use .{use}")
    public = [each for each in dir(cls) if not each.startswith("_")]
    near = nearest(name, public)
    return AttributeError(f"{text}; did you mean .{near[0]}?" if near else text)
