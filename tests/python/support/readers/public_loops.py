"""Every loop that a user can write over a model, one for each public member of each class.

The members are taken from the classes, so a new property is tried without being listed here.
"""

from __future__ import annotations

import contextlib
import copy
import enum
import functools
import inspect
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import onnxmap

Objects = dict[type, list[Any]]
Loop = Callable[[Any], Any]

# The errors of a refusal; no other error is caught.
REFUSALS = (
    onnxmap.OnnxMapError, OSError, TypeError, ValueError, BufferError, IndexError, KeyError,
    AttributeError,
)  # fmt: skip

# How to call the members that need an argument.
_WITH_ARGUMENTS: dict[str, Loop] = {
    "ProtoView.FromString": lambda view: view.FromString(view.SerializeToString()),
    "ProtoView.HasField": lambda view: [view.HasField(f.name) for f, _ in view.ListFields()],
    "ProtoView.SerializeToString": lambda view: view.SerializeToString(deterministic=True),
    "ProtoView.WhichOneof": lambda view: view.WhichOneof("value"),
    "ProtoView.write_text": lambda view: view.write_text(lambda _: None),
    "ProtoView.write_json": lambda view: view.write_json(lambda _: None),
    "MessageList.count": lambda them: them.count(None),
    "MessageList.index": lambda them: them.index(None),
    "ValueList.count": lambda them: them.count(None),
    "ValueList.index": lambda them: them.index(None),
    "UnknownFieldList.count": lambda them: them.count(None),
    "UnknownFieldList.index": lambda them: them.index(None),
    "Tensor.tofile": lambda tensor: tensor.tofile(_Nowhere()),
    **{
        f"{body}.{name}": lambda graph, name=name: getattr(graph, name)("x")
        for body in ("Graph", "Function")
        for name in ("producer", "consumers", "uses", "value")
    },
    **{
        f"{kind}.get": lambda them: [them.get(name) for name in them]
        for kind in ("Initializers", "SparseInitializers")
    },
}

_LIST_EDITS = "MergeFrom append clear extend insert pop remove reverse sort"
# Members that do not read a model, each with the reason.
NOT_TRIED = {
    "Model.close": "ends the walk",
    "Model.torch": "the tests do not require torch",
    "Model.session": "onnxruntime reads the model, and may end the process",
    "Model.infer_shapes": "the package onnx reads the model, and may end the process",
    "Model.convert_version": "the package onnx reads the model, and may end the process",
    "Model.to_ir": "onnx_ir reads the model",
    "Model.to_proto": "protobuf reads the model",
    "Tensor.torch": "the tests do not require torch",
    "SparseTensor.to_scipy": "the tests do not require SciPy",
    "Model.to_dask": "the tests do not require Dask",
    "Tensor.to_ir": "the tests do not require onnx_ir",
    "Model.save": "writes files",
    "Model.report": "writes a file",
    "Model.extract_weights": "writes files",
    **dict.fromkeys(
        [
            f"{kind}.{name}"
            for kind, names in {
                "Graph": "add_output add_prefix bypass insert_after insert_before remove_output "
                "rename replace replace_uses",
                "Function": "bypass insert_after insert_before replace replace_uses",
                "Initializers": "clear pop popitem rename replace setdefault update",
                "SparseInitializers": "clear pop popitem setdefault update",
                "MessageList": f"add {_LIST_EDITS}",
                "ValueList": _LIST_EDITS,
                "ProtoView": "Clear ClearField CopyFrom DiscardUnknownFields MergeFrom "
                "MergeFromString ParseFromString SetInParent",
                "Model": "assign_names dedupe drop_initializer_inputs extract inline_functions "
                "lift_constants lower_initializers prune raise_ir rebase revert set_dims sort "
                "strip",
            }.items()
            for name in names.split()
        ],
        "edits the model: edit/ tries it",
    ),
}

_OPERATORS: dict[str, Loop] = {
    "repr": repr,
    "str": str,
    "pickle": lambda one: pickle.dumps(one, 5),
    "copy": copy.copy,
    "len": len,
    "dir": dir,
    "fields": lambda one: [getattr(one, name) for name in dir(one)] if _is_view(one) else None,
    "iterate": list,
    # Not on a tensor: to get one element of decoded values, all are decoded.
    "items by index": lambda one: None if _is_tensor(one) else [one[i] for i in range(len(one))],
    "items by key": lambda one: [one[key] for key in one] if isinstance(one, Mapping) else None,
    "contains": lambda one: [key in one for key in one] if isinstance(one, Mapping) else None,
    "memoryview": memoryview,
    "__array__": lambda one: one.__array__(),
}


def _is_view(one: Any) -> bool:
    return isinstance(one, onnxmap.ProtoView)


def _is_tensor(one: Any) -> bool:
    return isinstance(one, onnxmap.Tensor)


class _Nowhere:
    def write(self, data: bytes) -> int:
        return len(data)


def public_classes() -> list[type]:
    """The classes of the objects in a model."""
    named = [getattr(onnxmap, name) for name in onnxmap.__all__]
    classes = [one for one in named if inspect.isclass(one)]
    return [one for one in classes if not issubclass(one, (Exception, enum.Enum, onnxmap.Limits))]


def loops_of(kind: type) -> Iterator[tuple[str, Loop]]:
    """Name of each public member of a class, and the function that reads it from an object."""
    for name in dir(kind):
        full = f"{kind.__name__}.{name}"
        if (name.startswith("_") and name != "_repr_html_") or full in NOT_TRIED:
            continue
        member = inspect.getattr_static(kind, name)
        if full in _WITH_ARGUMENTS:
            yield full, _WITH_ARGUMENTS[full]
        elif isinstance(member, staticmethod | classmethod):
            continue
        elif callable(member):
            yield full, lambda one, name=name: getattr(one, name)()
        else:
            yield full, lambda one, name=name: getattr(one, name)
    for name, operator in _OPERATORS.items():
        yield f"{kind.__name__}: {name}", operator


def outcome(loop: Loop, one: Any) -> Any:
    """Read one object as a whole; return its value, or the text of the refusal."""
    try:
        value = loop(one)
        return list(value) if isinstance(value, Iterator) else value
    except REFUSALS as error:
        return str(error)


def objects_of(model: onnxmap.Model) -> Objects:
    """Every object that properties of a model lead to. An object occurs once for each way to it."""
    known = tuple(public_classes())
    found: Objects = {}
    waiting: list[Any] = [model, *_proto_views(model.proto)]
    with contextlib.suppress(onnxmap.OnnxMapError):
        waiting.extend(tensor for _, tensor in model.tensors())
    while waiting:
        one = waiting.pop()
        found.setdefault(type(one), []).append(one)
        if _is_view(one):
            waiting.append(one.unknown_fields)
            continue
        for name in _properties(type(one)):
            with contextlib.suppress(*REFUSALS):
                waiting.extend(_handed_out(getattr(one, name), known))
    return found


@functools.cache
def _properties(kind: type) -> list[str]:
    return [
        name
        for name in dir(kind)
        if inspect.isdatadescriptor(inspect.getattr_static(kind, name)) and name != "proto"
        and not name.startswith("_")
    ]  # fmt: skip


def _handed_out(value: Any, known: tuple[type, ...]) -> Iterable[Any]:
    if isinstance(value, Mapping):
        if isinstance(value, known):
            yield value
            yield from value.all() if hasattr(value, "all") else ()
        else:
            yield from (one for one in value.values() if isinstance(one, known))
    elif isinstance(value, onnxmap.MessageList | list):
        if isinstance(value, known):
            yield value
        yield from (one for one in value if isinstance(one, known))
    elif isinstance(value, known):
        yield value


def _proto_views(view: onnxmap.ProtoView) -> Iterator[onnxmap.ProtoView]:
    yield view
    for _, value in view.ListFields():
        for one in value if isinstance(value, onnxmap.MessageList) else [value]:
            if _is_view(one):
                yield from _proto_views(one)
