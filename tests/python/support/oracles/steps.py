"""Runs a program of statements on protobuf's messages and on onnxmap's, and compares each step.

A step is a statement of the program. Its outcome is the value of an expression, or the exception
that it raises. `new` makes a message, `parse` reads one from bytes, and `wrong` is where the
statements of protobuf's two libraries meet: a value of another type.
"""

from __future__ import annotations

import ast
import copy
import math
import pickle
from collections.abc import Callable, Collection, Iterator
from typing import Any

from google.protobuf.message import DecodeError, Message

import onnxmap
from support import wire_bytes
from support.edits.values import text_bytes
from support.oracles.canonical import message_class, short_name

# A program may only depend on which of these an exception is.
_FAMILIES = (AttributeError, IndexError, KeyError, TypeError, UnicodeError, ValueError)


def outcomes(program: str, names: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """Each statement with its outcome. Names that statements assign are seen by later ones."""
    names = {"copy": copy, "inf": math.inf, "nan": math.nan, "pickle": pickle} | names
    names |= {"wire": wire_bytes}
    for statement in ast.parse(program).body:
        text = ast.unparse(statement)
        try:
            if isinstance(statement, ast.Expr):
                yield text, plain(eval(text, names))
            else:
                exec(text, names)  # noqa: S102 -- the statements are our own
                yield text, None
        except Exception as error:  # noqa: BLE001 -- both sides must raise the same
            yield text, family(error)


def family(error: Exception) -> str:
    """What a caller catches an exception as."""
    if isinstance(error, DecodeError | onnxmap.ParseError | onnxmap.LimitError):
        return "DecodeError"
    return next((one.__name__ for one in _FAMILIES if isinstance(error, one)), repr(error))


def plain(value: Any) -> object:
    """A value as the other side would give it as well."""
    if isinstance(value, Message):
        data = value.SerializeToString(deterministic=True)
        return short_name(value.DESCRIPTOR), data
    if isinstance(value, onnxmap.ProtoView):
        data = message_class(value.message_type).FromString(value.SerializeToString())
        return value.message_type, data.SerializeToString(deterministic=True)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value.hex()
    if isinstance(value, str):
        return text_bytes(value)
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, Collection) and not isinstance(value, bytes):
        return [plain(each) for each in value]
    return value


def _official() -> dict[str, Any]:
    def new(name: str, /, **fields: Any) -> Message:
        return message_class(name)(**fields)

    def parse(name: str, data: bytes) -> Message:
        return message_class(name).FromString(data)

    return {"new": new, "parse": parse}


def _ours() -> dict[str, Any]:
    def parse(name: str, data: bytes) -> onnxmap.ProtoView:
        return onnxmap.loads_proto(data, name)

    return {"new": onnxmap.new, "parse": parse}


def disagreements(
    program: str, official: Callable[[], dict[str, Any]] = _official
) -> list[tuple[str, object, object]]:
    """The steps whose outcomes differ, with that of protobuf and that of onnxmap."""
    both = zip(outcomes(program, official()), outcomes(program, _ours()), strict=True)
    return [(text, wanted, found) for (text, wanted), (_, found) in both if wanted != found]
