"""Names that do not exist: errors that say which to use."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxmap import _core
from onnxmap._base.schema import message_rows
from onnxmap._base.text import containing, nearest, suggestion
from onnxmap.errors import UnknownNameError, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LONGEST = 200  # characters shown of a name
_LEAST_OF_ATTRIBUTES = 0.75  # their names are short: "opset" is like "close" by 0.6


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
    shown = printable(repr(name)[:_LONGEST])
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
    shown = printable(repr(name[:_LONGEST]))
    if any(character in name for character in "*?["):
        return f"A glob must be a string by itself, as in views({shown})"
    if len(containing(name, names)) > 1:
        return f"views('*{shown[1:-1]}*') finds all that contain it"
    return ""


def _pass_the_name(thing: object, before: str = "") -> str:
    """What an error adds if an object of this package was given instead of its name."""
    is_ours = type(thing).__module__.startswith("onnxmap")
    return f"{before}Pass its name, x.name" if is_ours and hasattr(type(thing), "name") else ""


def wrong_index(index: object, has_names: bool) -> TypeError:
    """Return the error for an index of a list of messages that is no int, slice or name."""
    takes = "integers, slices or names" if has_names else "integers or slices"
    return _wrong_type(f"list indices must be {takes}", index)


def _wrong_type(text: str, given: object) -> TypeError:
    return TypeError(f"{text}, not {type(given).__name__}{_pass_the_name(given, '. ')}")


def wrong_name(kind: str, *arguments: Any) -> Exception:
    """Return the error for a name that the core was given: of an attribute, a field, a key ..."""
    makers: dict[str, Callable[..., Exception]] = {
        "attribute": missing_attribute, "field": missing_field, "index": wrong_index,
        "key": unknown_key, "value": partial(_wrong_type, "the name of a value is a str"),
    }  # fmt: skip
    return makers[kind](*arguments)


# What to use instead of a name, where no rule of `_instead` finds it: fields of the message, and
# what people know from other libraries.
_INSTEAD = {
    "Graph.edges": "producer(), .consumers() and .uses()", "Graph.toposort": "topological_order()",
    "Graph.weights": "initializers", "Model.check_model": "check()", "Model.cleanup": "prune()",
    "Model.configuration": "device_configurations",
    "Model.edges": "graph.producer(), .graph.consumers() and .graph.uses()",
    "Model.export": "save(path)", "Model.load_state_dict": "rebase(other)",
    "Model.named_parameters": "initializers", "Model.opset": "opset_imports",
    "Model.opset_version": "opset_imports", "Model.opsets": "opset_imports",
    "Model.parameters": "initializers", "Model.plot": "report(path), or Netron",
    "Model.predict": "session().run()", "Model.run": "session().run()",
    "Model.save_model": "save(path)", "Model.state_dict": "torch()",
    "Model.summary": "report(path)", "Model.toposort": "sort()",
    "Model.visualize": "report(path), or Netron", "Model.weights": "initializers",
    "Node.attr": "attributes", "Node.attrs": "attributes", "Node.op": "op_type",
    "Node.type": "op_type", "SparseTensor.dims": "shape", "SparseTensor.numpy": "to_dense()",
    "Tensor.array": "numpy()", "Tensor.data_location": "is_external", "Tensor.data_type": "dtype",
    "Tensor.dims": "shape", "Tensor.external_data": "external", "Tensor.numel": "size",
    "Tensor.to_numpy": "numpy()", "Tensor.values": "numpy()", "onnxmap.check_model": "Model.check",
    "onnxmap.from_file": "load", "onnxmap.load_file": "load_safetensors",
    "onnxmap.load_model": "load", "onnxmap.load_model_from_string": "loads",
    "onnxmap.load_weights": "load_arrays", "onnxmap.open": "load",
    "onnxmap.save_file": "save_safetensors", "onnxmap.save_model": "save",
}  # fmt: skip
# What gives the values that the other fields of these messages hold.
_VALUES = {"TensorProto": "numpy()", "AttributeProto": "value"}
# The methods that give an array, whose attributes people try on the tensor itself.
_ARRAYS = {"Tensor": "numpy()", "SparseTensor": "to_dense()"}


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
    use = None if name.startswith("_") else _instead(cls, message, name, graph)
    advice = "" if use is None else f"; use .{use}"
    return _missing(f"{cls.__name__} has no attribute", name, dir(cls), ".{}", advice)


def missing_function(name: str, names: Iterable[str]) -> AttributeError:
    """Return the error for a name that the package lacks."""
    known = _INSTEAD.get(f"onnxmap.{name}")
    advice = "" if known is None else f"; did you mean onnxmap.{known}?"
    return _missing("module 'onnxmap' has no attribute", name, names, "onnxmap.{}", advice)


def missing_field(message: str, name: str) -> AttributeError:
    """Return the error for a name that is no field of the message `message`."""
    return _missing(f"{message} has no field", name, message_rows(message), "'{}'")


def _missing(
    text: str, name: str, names: Iterable[str], shown: str, advice: str = ""
) -> AttributeError:
    """The error for a wrong attribute. Without advice, it suggests the nearest of the names."""
    text = f"{text} {printable(repr(name[:_LONGEST]))}"
    if not advice and not name.startswith("_"):  # Python itself looks for such names
        public = (each for each in names if not each.startswith("_"))
        for near in nearest(name, public, _LEAST_OF_ATTRIBUTES)[:1]:
            advice = f"; did you mean {shown.format(near)}?"
    # Python adds the name and the object to an error that has neither, and may then print a
    # suggestion of its own. After advice, that would be a second one.
    return AttributeError(text + advice, name=name) if advice else AttributeError(text)


def _instead(cls: type, message: str, name: str, graph: type | None) -> str | None:
    """What to use instead of the name of a field, or a name that another class has."""
    kind, several = cls.__name__, f"{name}s"
    if f"{kind}.{name}" in _INSTEAD:
        return _INSTEAD[f"{kind}.{name}"]
    is_field = name in message_rows(message)
    if is_field and hasattr(cls, several):
        return several
    for found in (name, several):
        if graph is not None and hasattr(graph, found):
            return found if hasattr(cls, found) else f"graph.{found}"
    if is_field:
        return _VALUES.get(message, f"proto.{name}")
    if kind in _ARRAYS and hasattr(np.ndarray, name):
        called = "()" if callable(getattr(np.ndarray, name)) else ""
        return f"{_ARRAYS[kind]}.{name}{called}"
    return f"proto.{name}()" if hasattr(_core.ProtoView, name) else None
