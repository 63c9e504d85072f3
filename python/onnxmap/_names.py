"""The names that a glob means, and names that do not exist: errors that say which to use."""

from __future__ import annotations

import difflib
import heapq
from itertools import takewhile
from typing import TYPE_CHECKING

from onnxmap._schema import message_rows
from onnxmap._text import escape
from onnxmap.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_MOST_SUGGESTED = 3
_LONGEST = 200  # characters shown of a name
# difflib takes some 20 us for a usual name of 30 characters, and four times as long for names twice
# as long. Of longer lists, it looks at the names with the most in common with the wrong one at both
# ends.
_MOST_COMPARED, _USUAL = 500, 30
_LEAST = 0.6  # difflib's own default
_LEAST_OF_ATTRIBUTES = 0.75  # their names are short: "opset" is like "close" by 0.6
_LEAST_CONTAINED = 3  # shorter texts are parts of nearly any name


def names_meant(text: str, names: Collection[str]) -> list[str]:
    """Return `text` if it is one of the names, or cannot be a glob; else the names that it matches.

    A text without `*`, `?` and `[` that is none of the names is returned as well: looking it up
    raises the error.
    """
    if text in names or not any(c in text for c in "*?["):
        return [text]
    import fnmatch

    return [name for name in names if fnmatch.fnmatchcase(name, text)]


def unknown_name(
    what: str, name: object, names: Iterable[str], advice: str = ""
) -> UnknownNameError:
    """Return the error for a name that nothing in `names` has.

    Args:
        what: what the names are names of, like "tensor".
        name: the wrong name.
        names: the names that exist.
        advice: what the message says at its end; nothing if empty.
    """
    near = nearest(name, names) if isinstance(name, str) else []
    shown = escape(repr(name)[:_LONGEST])
    message = f"no {what} is named {shown}{suggestion(near)}"
    if advice:
        message += f" {advice}" if near else f". {advice}"
    return UnknownNameError(message, code="name.unknown", name=name, nearest=tuple(near))


def unknown_key(what: str, name: object, names: Iterable[str]) -> UnknownNameError:
    """Return the same error for a Python call that was given `name`, with the advice for it."""
    names = list(names)
    return unknown_name(what, name, names, _advice(what, name, names))


def _advice(what: str, name: object, names: Iterable[str]) -> str:
    if isinstance(name, int):
        return "Names are texts; list(initializers.all())[n] is the tensor at position n"
    if not isinstance(name, str):
        return _pass_the_name(name)
    if what != "tensor":
        return ""
    shown = escape(repr(name[:_LONGEST]))
    if any(character in name for character in "*?["):
        return f"A glob must be a string by itself, as in views({shown})"
    if len(_containing(name, names)) > 1:
        return f"views('*{shown[1:-1]}*') finds all that contain it"
    return ""


def _pass_the_name(thing: object) -> str:
    """What an error adds if an object of this package was given instead of its name."""
    is_ours = type(thing).__module__.startswith("onnxmap")
    return "Pass its name, x.name" if is_ours and hasattr(type(thing), "name") else ""


def _with_name(text: str, given: object) -> TypeError:
    advice = _pass_the_name(given)
    return TypeError(f"{text}. {advice}" if advice else text)


def not_a_name(given: object) -> TypeError:
    """Return the error for something that is no str, where the name of a value is taken."""
    return _with_name(f"the name of a value is a str, not {type(given).__name__}", given)


def wrong_index(index: object, has_names: bool) -> TypeError:
    """Return the error for an index of a list of messages that is no int, slice or name."""
    takes = "integers, slices or names" if has_names else "integers or slices"
    return _with_name(f"list indices must be {takes}, not {type(index).__name__}", index)


def suggestion(near: Iterable[str]) -> str:
    """Return what an error adds to suggest these names; nothing for no names."""
    shown = " or ".join(escape(repr(each[:_LONGEST])) for each in near)
    return f"; did you mean {shown}?" if shown else ""


def nearest(name: str, names: Iterable[str], least: float = _LEAST) -> list[str]:
    """Return the names that are most like `name`, the nearest first; none if none is like it.

    Names that contain it come first, the shortest of them before the others. `least` is how much
    the others must be like it: 1 is equal.
    """
    name = name[:_LONGEST]
    whole = {each[:_LONGEST]: each for each in names}
    containing = sorted(_containing(name, whole), key=len)[:_MOST_SUGGESTED]
    candidates = [each for each in whole if each not in containing]
    most = min(_MOST_COMPARED, _MOST_COMPARED * _USUAL**2 // max(len(name), 1) ** 2)
    if len(candidates) > most:
        candidates = heapq.nlargest(most, candidates, key=lambda each: _in_common(name, each))
    near = difflib.get_close_matches(name, candidates, _MOST_SUGGESTED, least)
    return [whole[each] for each in (containing + near)[:_MOST_SUGGESTED]]


def _containing(name: str, names: Iterable[str]) -> list[str]:
    return [each for each in names if name in each] if len(name) >= _LEAST_CONTAINED else []


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
# What else people try first, and what they mean.
_MEANT = {
    "Graph.edges": "producer(), .consumers() and .uses()",
    "Graph.weights": "initializers",
    "Model.edges": "graph.producer(), .graph.consumers() and .graph.uses()",
    "Model.opset": "opset_imports",
    "Model.opset_version": "opset_imports",
    "Model.opsets": "opset_imports",
    "Model.parameters": "initializers",
    "Model.state_dict": "torch()",
    "Model.weights": "initializers",
    "Node.op": "op_type",
    "Node.type": "op_type",
    "Tensor.array": "numpy()",
    "Tensor.to_numpy": "numpy()",
    "Tensor.values": "numpy()",
}
# The methods that give an array, whose attributes people try on the tensor itself.
_ARRAYS = {"Tensor": "numpy()", "SparseTensor": "to_dense()"}
_FUNCTIONS = {
    "from_file": "load",
    "load_model": "load",
    "load_weights": "load_arrays",
    "open": "load",
}


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
    if use is None and not name.startswith("_"):
        use = _meant(cls.__name__, name)
    if use is not None:
        return _advised(text, f"; use .{use}", name)
    near = _nearest_public(name, dir(cls))
    return _advised(text, f"; did you mean .{near[0]}?" if near else "", name)


def _advised(text: str, advice: str, name: str) -> AttributeError:
    """The error for a wrong attribute, with the advice, which may be empty.

    Python adds the name and the object to an error that has neither, and may then print a
    suggestion of its own. After advice, that would be a second one.
    """
    return AttributeError(text + advice, name=name) if advice else AttributeError(text)


def _meant(cls: str, name: str) -> str | None:
    """What to use instead of a name that another library, or the message, would have."""
    import numpy as np

    from onnxmap._core import ProtoView

    if f"{cls}.{name}" in _MEANT:
        return _MEANT[f"{cls}.{name}"]
    if cls in _ARRAYS and name == "numpy":
        return _ARRAYS[cls]
    if cls in _ARRAYS and hasattr(np.ndarray, name):
        called = "()" if callable(getattr(np.ndarray, name)) else ""
        return f"{_ARRAYS[cls]}.{name}{called}"
    return f"proto.{name}()" if hasattr(ProtoView, name) else None


def missing_function(name: str, names: Iterable[str]) -> AttributeError:
    """Return the error for a name that the package lacks."""
    text = f"module 'onnxmap' has no attribute {escape(repr(name[:_LONGEST]))}"
    near = [_FUNCTIONS[name]] if name in _FUNCTIONS else _nearest_public(name, names)
    return _advised(text, f"; did you mean onnxmap.{near[0]}?" if near else "", name)


def missing_field(message: str, name: str) -> AttributeError:
    """Return the error for a name that is no field of the message `message`."""
    text = f"{message} has no field {escape(repr(name[:_LONGEST]))}"
    return _advised(text, suggestion(_nearest_public(name, message_rows(message))), name)


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
    public = (each for each in names if not each.startswith("_"))
    return nearest(name, public, _LEAST_OF_ATTRIBUTES)[:1]
