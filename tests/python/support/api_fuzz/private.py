"""Wrong arguments for every callable of the extension: `python -m support.api_fuzz.private`.

Nothing is listed by hand: the functions of `onnxmap._core`, and the methods, the operators and the
parts of the properties of its classes. A child process calls each, so a crash names its callable.
The `self` of a method is an argument like any other.
"""

from __future__ import annotations

import array
import ctypes
import io
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import onnxmap
from onnxmap import _core
from support.api_fuzz import values
from support.api_fuzz.rules import ALLOWED
from support.models.small import SMALL_MODELS

_MESSAGES = [name for name in _core.schema()["messages"] if "." not in name]
PATIENCE = 120  # seconds of one child
_MOST_MEMORY = 8 << 30
_ALLOWED = (*ALLOWED, UnicodeError, MemoryError, ImportError)
_NAMES = {
    **vars(values), "onnxmap": onnxmap, "np": np, "io": io, "array": array, "ctypes": ctypes,
    "Path": Path, "Fraction": Fraction, "Decimal": Decimal,
}  # fmt: skip
# pybind11 says this of a conversion inside a function that the arguments have reached.
_UNCLEAR = re.compile(r"[Uu]nable to cast|C\+\+ type|return_value_policy")


def callables() -> dict[str, Callable[..., object]]:
    """Every callable of the extension by its name."""
    found: dict[str, Callable[..., object]] = {}
    for name, value in vars(_core).items():
        if isinstance(value, type):
            found |= {f"{name}.{member}": call for member, call in _members(value)}
        elif callable(value) and not name.startswith("__"):
            found[name] = value
    return found


def _members(cls: type) -> Iterator[tuple[str, Callable[..., object]]]:
    for name, value in vars(cls).items():
        if isinstance(value, property):
            parts = {"get": value.fget, "set": value.fset}
            yield from ((f"{name}.{part}", call) for part, call in parts.items() if call)
        elif type(value).__name__ == "getset_descriptor":
            yield f"{name}.get", value.__get__
            yield f"{name}.set", value.__set__
        elif callable(value) and type(value).__name__ != "function":  # those are Python's own
            yield name, value


def _fitting() -> dict[str, Any]:
    """An argument for the types that signatures name."""
    model = onnxmap.loads(SMALL_MODELS["subgraphs"])
    weighted = onnxmap.from_arrays({"w": np.zeros(4, np.float32)})
    graph, weights = model.graph, weighted.initializers
    bulk = _core.plan_bulk(weights, None, None, copies=True, release_pages=False)
    made = [
        model._open(), graph, graph.nodes, graph.nodes[0], graph.nodes[0].attributes, weights,
        weights["w"], bulk, _core.plan_stats(weights, None), graph.initializers,
        _core.folders_beneath(sync=False),
    ]  # fmt: skip
    fitting = {type(value).__name__: value for value in made}
    return {
        **fitting, "ProtoView": graph.proto, "bytes": b"w", "str": "w", "bool": True, "list": [],
        "dict": {}, "object": None, "SupportsInt": 1, "SupportsFloat": 1.0, "Sequence": [b"w"],
        "Mapping": {"w": "w"}, **_BY_NAME,
    }  # fmt: skip


# What fits a parameter that takes an object of Python.
_BY_NAME = {
    "options": onnxmap.loads(SMALL_MODELS["subgraphs"])._options, "message": "NodeProto",
    "message_type": "NodeProto", "external_root": b"", "parse": len,
    "view": onnxmap.new("NodeProto"),
}  # fmt: skip
_TYPE = re.compile(r"(\w+): (?:[a-z_]+\.)*(?:Annotated\[)?(?:[a-z_]+\.)*(\w+)")


def _right_for(call: Callable[..., object], fitting: dict[str, Any]) -> list[Any]:
    """An argument for each parameter of the signature, by its name or its type."""
    line = (call.__doc__ or "").partition("\n")[0].partition(" -> ")[0]
    named = _TYPE.findall(line) or [("", "object")] * (1 + line.count(","))
    return [fitting.get(name, fitting.get(kind)) for name, kind in named]


def arguments_for(call: Callable[..., object], fitting: dict[str, Any]) -> Iterator[list[Any]]:
    """About 130 lists of arguments, of the right number where the signature says it.

    Each has one wrong argument, or only wrong ones.
    """
    right = _right_for(call, fitting)
    yield right
    for position in range(len(right)):
        for wrong in (None, *fitting.values(), *map(onnxmap.new, _MESSAGES)):
            yield [*right[:position], wrong, *right[position + 1 :]]
    for count in range(10):
        yield [None] * count
    drawn = random.Random(getattr(call, "__name__", ""))
    for text in values.JUNK:
        position = drawn.randrange(len(right))
        wrong = eval(text, _NAMES)
        yield [*right[:position], wrong, *right[position + 1 :]]


def fault_of(call: Callable[..., object], arguments: list[Any]) -> str | None:
    """What is wrong with the end of a call, or None."""
    try:
        call(*arguments)
    except _ALLOWED as error:
        return str(error)[:300] if _UNCLEAR.search(str(error)) else None
    except BaseException as error:  # noqa: BLE001 -- it is told
        # iter() of a memoryview that is released is an error in Python itself.
        return None if "itertools.islice" in str(error) else repr(error)[:300]
    return None


def _work(call: Callable[..., object], answer: int) -> None:
    """What a child does: each call's arguments are told before it, for a crash."""
    signal.alarm(PATIENCE)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    silent = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(2):
        os.dup2(silent, descriptor)
    calls, faults = 0, set()
    for arguments in arguments_for(call, _fitting()):
        calls += 1
        shown = [type(argument).__name__ for argument in arguments]
        os.pwrite(answer, json.dumps({"calls": calls, "last": shown}).encode() + b"\n" * 99, 0)
        fault = fault_of(call, arguments)
        if fault is not None:
            faults.add(f"({', '.join(shown)}): {fault}")
    os.ftruncate(answer, 0)
    os.pwrite(answer, json.dumps({"calls": calls, "faults": sorted(faults)[:5]}).encode(), 0)


def in_child(call: Callable[..., object]) -> tuple[int, list[str]]:
    """How many calls a child made, and what was wrong with them."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as answer:
        child = os.fork()
        if child == 0:
            try:
                os.chdir(folder)
                _work(call, answer.fileno())
            except BaseException:  # noqa: BLE001 -- it must not go on as the parent
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        answer.seek(0)
        told = json.loads(answer.read().partition(b"\n")[0] or b"{}")
    if status != 0 or "faults" not in told:
        return told.get("calls", 0), [f"ended with {status} at {told.get('last')}"]
    return told["calls"], told["faults"]


def main() -> None:
    """Prints a JSON object: how many calls were made, and the faults by callable.

    With an argument N, takes every N-th callable.
    """
    warnings.simplefilter("ignore")
    step = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    made, faults = 0, {}
    chosen = dict(list(callables().items())[::step])
    for name, call in chosen.items():
        calls, found = in_child(call)
        made += calls
        if found:
            faults[name] = found
    sys.stdout.write(f"{json.dumps({'callables': len(chosen), 'calls': made, 'faults': faults})}\n")


if __name__ == "__main__":
    main()
