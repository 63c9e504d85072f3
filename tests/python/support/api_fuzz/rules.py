"""The members that random calls of `api_fuzz` use, their parameters, and the allowed errors."""

from __future__ import annotations

import contextlib
import inspect
import keyword
import pickle
import re
from collections.abc import Iterator
from typing import Any

import onnxmap
from support.api_fuzz.values import JunkError

# What any call may raise. The arguments raise JunkError, and next() raises StopIteration.
ALLOWED = (
    onnxmap.OnnxMapError, TypeError, ValueError, KeyError, IndexError, AttributeError, OSError,
    BufferError, OverflowError, StopIteration, ZeroDivisionError, pickle.PicklingError, JunkError,
)  # fmt: skip
# What it may raise only if the line says why.
ALLOWED_IF = {
    UnicodeDecodeError: r"b'[^']*\\xff",  # a string field takes bytes, as in protobuf
    UnicodeEncodeError: "ud800|udcff|Hostile|BYTES|PATHS|URLS",
    MemoryError: r"2\*\*|10\*\*|range\(10|large",
    ImportError: r"\.torch\(",
    SystemError: r"released\(\)",  # iter() of such a memoryview is one in Python itself
}
NEVER = (UnboundLocalError, FloatingPointError)

# Members that are not called, each with its reason.
LEFT_OUT = {
    "__class__": "assigning it is as unsafe as ctypes, for every class of pybind11",
    "__del__": "the interpreter calls it",
    "__init_subclass__": "Python's own",
    "__subclasshook__": "Python's own",
    "__getattribute__": "getattr calls it",
    "__setattr__": "setattr calls it",
    "__delattr__": "delattr calls it",
    "__reduce_ex__": "pickle calls it, in `again`",
    "__getstate__": "pickle calls it",
    "__setstate__": "pickle calls it",
    "__deepcopy__": "copy.deepcopy calls it",
    "session": "onnxruntime is not made for random models: it may end the process",
    "infer_shapes": "neither is the package onnx",
    "convert_version": "neither is the package onnx",
}

LEFT_OUT_OF_MODELS = {"to_ir": "onnx_ir has errors of its own for random models"}

PLAIN = {
    *dir(object),
    *dir(OSError),
    *dir(Iterator),
    "__dict__",
    "__weakref__",
    "__annotations__",
    "__parameters__",
    "__orig_bases__",
    "__slotnames__",
    "__reversed__",
} - {"__iter__", "__next__"}


class Failure(Exception):
    """Raised if a call did something that no call may do."""


def is_ours(value: object) -> bool:
    """Whether the class of an object is onnxmap's."""
    kind = type(value)
    module = str(getattr(kind, "__module__", ""))
    return module.partition(".")[0] == "onnxmap" and not isinstance(value, type)


def is_closed(value: object) -> bool:
    """Whether this is a closed model, which refuses everything."""
    return isinstance(value, onnxmap.Model) and getattr(value, "_document", None) is None


def members(value: object) -> list[str]:
    """The names of the members that can be read or called, of the object and its class."""
    names = set(members_of(type(value)))
    with contextlib.suppress(Exception):
        names |= {name for name in dir(value) if _is_called(name)}
    return sorted(names - _left_out_of(type(value)))


def members_of(cls: type) -> list[str]:
    """The names in a class."""
    return sorted(set(filter(_is_called, dir(cls))) - _left_out_of(cls))


def _left_out_of(cls: type) -> set[str]:
    return set(LEFT_OUT_OF_MODELS) if issubclass(cls, onnxmap.Model) else set()


def _is_called(name: str) -> bool:
    if name in LEFT_OUT or not (name.isascii() and name.isidentifier()):
        return False
    return name not in PLAIN and (not name.startswith("_") or _is_protocol(name))


def _is_protocol(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name != "__new__"


def parameters(function: Any) -> list[tuple[str, bool, bool]]:
    """The name of each parameter, whether it is required, and whether it is given by name."""
    try:
        found = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return _parameters_of_doc(str(getattr(function, "__doc__", "") or ""))
    except JunkError:  # an object of the fuzzer, which a dataclass holds
        return []
    kinds = inspect.Parameter
    return [
        (one.name, one.default is kinds.empty, one.kind is kinds.KEYWORD_ONLY)
        for one in found
        if one.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD) and one.name != "self"
    ]


def _parameters_of_doc(doc: str) -> list[tuple[str, bool, bool]]:
    """The parameters of a function of pybind11, from the first line of its docstring."""
    found = re.match(r"\w+\((.*)\) -> ", doc.partition("\n")[0])
    if found is None:
        return [("arg0", True, False)] if doc.startswith("__") else []
    names: list[tuple[str, bool, bool]] = []
    only_by_name = False
    for part in re.split(r", (?=\*|\w+:)", found[1]):
        name = part.partition(":")[0].strip()
        if name == "*":
            only_by_name = True
        elif name.isidentifier() and not keyword.iskeyword(name) and name != "self":
            names.append((name, "=" not in part, only_by_name))
    return names


def judge(line: str, error: BaseException, before: list[str]) -> None:
    """Raises Failure if a call may not end in that error."""
    if isinstance(error, NameError) and re.match(r"name 'v\d+' is not", str(error)):
        return  # a hostile object has removed the class
    if isinstance(error, RecursionError) and any("endless()" in made for made in before):
        return  # an object was made to contain itself
    if isinstance(error, NEVER):
        raise Failure(line) from error
    for kind, reason in ALLOWED_IF.items():
        if isinstance(error, kind):
            if re.search(reason, line):
                return
            raise Failure(line) from error
    if not isinstance(error, ALLOWED):
        raise Failure(line) from error
    if isinstance(error, onnxmap.OnnxMapError):
        message = str(error)
        report = isinstance(error, onnxmap.CheckError)  # which has lines, and may be long
        lines = message.split("\n") if report else [message]
        if not error.code or any(not each.isprintable() or len(each) > 5000 for each in lines):
            raise Failure(line) from error
    # A function that divides by zero may have been kept as the attribute of an object.
    if isinstance(error, ZeroDivisionError) and not any(
        "1 / 0" in made for made in [*before, line]
    ):
        raise Failure(line) from error
