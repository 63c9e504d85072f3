"""Random calls of the whole public interface, in a process of its own: `python api_fuzz.py --help`.

Nothing is listed by hand. The calls begin with the names in `onnxmap.__all__`; what they return is called next,
by the members of its class, public ones and those of Python's protocols. So a new function, class or property is
called as soon as something leads to it.

Every call is a line of Python. A sequence of calls depends on its seed alone, and stands in the journal before it
runs, so that a crash leaves it behind as a script.
"""

from __future__ import annotations

import argparse
import array
import contextlib
import copy
import ctypes
import faulthandler
import gc
import inspect
import io
import itertools
import json
import keyword
import operator
import os
import pickle
import random
import re
import shutil
import sys
import tempfile
import threading
import time
import traceback
import warnings
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence, ValuesView
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import api_fuzz_values as values
import numpy as np
from api_fuzz_values import FITTING, JUNK, Hostile, JunkError
from small_models import SMALL_MODELS

import onnxmap

# What a call may raise. JunkError is raised by the arguments; StopIteration by next().
ALLOWED = (
    onnxmap.OnnxMapError, TypeError, ValueError, KeyError, IndexError, AttributeError, OSError,
    BufferError, OverflowError, StopIteration, ZeroDivisionError, pickle.PicklingError, JunkError,
)  # fmt: skip
# What it may raise only if the line says why.
ALLOWED_IF = {
    UnicodeEncodeError: "ud800|udcff|Hostile|BYTES|PATHS|URLS",
    MemoryError: r"2\*\*|10\*\*|range\(10|large",
    ImportError: r"\.torch\(",
    SystemError: r"released\(\)",  # iter() of such a memoryview is one in Python itself
}
NEVER = (UnicodeDecodeError, UnboundLocalError, FloatingPointError)

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
}
# Known faults that somebody mends elsewhere, by what is not called until then.
KNOWN = {
    "pickle 0 and 1": "bound classes abort",
    "__new__": "bound classes without a value end the process",
}
# What else they raise until then: the class of an error, a line that raises it, and why.
KNOWN_ERRORS = [
    (
        UnicodeDecodeError,
        r"(HasField|WhichOneof|__getattr__)\(",
        "a name of bytes that are not UTF-8",
    ),
    (RuntimeError, r"ud800|udcff", "Tensor.__array__ of a surrogate"),
]

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
MOST_VALUES = 40
STEPS = 60  # of a sequence
MOST_TOURED = 2  # objects of a class, from one beginning of the tour; of lists more
HANGS_AFTER = 120.0  # seconds of one sequence


class Failure(Exception):
    """A call did what no call may do."""


class Session:
    """One sequence of calls, and the names that its lines know."""

    def __init__(self, files: Files, seed: str) -> None:
        self.files = files
        self.random = random.Random(seed)
        self.buffer = bytearray(files.bytes["large"])
        self.lines: list[str] = []
        self.errors: Counter[str] = Counter()
        self._count = itertools.count()
        self._made: list[str] = []
        self._changes = itertools.count()
        self.names: dict[str, Any] = {
            **{name: getattr(values, name) for name in dir(values) if not name.startswith("_")},
            "onnxmap": onnxmap, "np": np, "io": io, "os": os, "gc": gc, "copy": copy, "pickle": pickle,
            "operator": operator, "array": array, "ctypes": ctypes, "Path": Path, "Fraction": Fraction,
            "Decimal": Decimal, "weakref": weakref, "itertools": itertools, "contextlib": contextlib,
            "PATHS": files.paths, "URLS": files.urls, "BYTES": {**files.bytes, "large": self.buffer},
            "FOLDER": str(files.folder), "OTHER": str(files.folder / "data_set"), "OUT": "out.bin",
            "MAPPED": files.mapped, "MODEL": None, "names_of": _names_of, "in_threads": in_threads,
            "again": again, "some": some, "entered": entered, "with_members": with_members,
        }  # fmt: skip
        Hostile.deeds = {
            "close": self._close, "read": self._read, "clear": self._clear, "mutate": self._mutate,
        }  # fmt: skip

    def held(self) -> list[str]:
        """Names of the values that calls have returned."""
        return [name for name in self._made if name in self.names]

    # What hostile objects do in the middle of a call.

    def _models(self) -> list[Any]:
        return [value for value in list(self.names.values()) if isinstance(value, onnxmap.Model)]

    def _close(self) -> None:
        for model in self._models()[:1]:
            model.close()

    def _read(self) -> None:
        for model in self._models()[:2]:
            with contextlib.suppress(*ALLOWED):
                str(model.proto)
                model.views()
                model.initializers["w"].numpy()

    def _clear(self) -> None:
        for name in self.held():
            self.names.pop(name, None)
        gc.collect()

    def _mutate(self) -> None:
        values.mutated(self.buffer, self._changes)

    # Running.

    def run(self, line: str) -> None:
        """Runs a line, which may raise what is allowed."""
        self.lines.append(line)
        self.files.journal.add(line)
        try:
            try:
                exec(compile(line, "<fuzz>", "exec"), self.names)  # noqa: S102 -- our own line
            except BaseException as error:  # noqa: BLE001 -- it is judged
                self.judge(line, error)
                self.errors[type(error).__name__] += 1
        finally:
            sys.last_value = None  # type: ignore[assignment]

    def judge(self, line: str, error: BaseException) -> None:
        """Raises Failure if a call may not end in that error."""
        if isinstance(error, NameError) and re.match(r"name 'v\d+' is not", str(error)):
            return  # a hostile object has cleared it away
        if isinstance(error, RecursionError) and any("endless()" in made for made in self.lines):
            return  # something was made to hold itself
        if any(isinstance(error, kind) and re.search(at, line) for kind, at, _ in KNOWN_ERRORS):
            return
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
            if not error.code or not message.isprintable() or len(message) > 5000:
                raise Failure(line) from error
        if isinstance(error, ZeroDivisionError) and "1 / 0" not in line:
            raise Failure(line) from error

    def forget(self) -> None:
        """Lets go of everything."""
        self.names.clear()
        Hostile.deeds = {}

    def tour(self, calls: Counter[str]) -> None:
        """Calls every member of some objects of every class that anything leads to."""
        for name in sorted(SMALL_MODELS):
            self._tour_from(f"onnxmap.loads(SMALL_MODELS[{name!r}])", calls)
        for name in ("model", "large", "external"):
            self._tour_from(f"onnxmap.load(PATHS[{name!r}])", calls)
        for name in onnxmap.__all__:
            function = getattr(onnxmap, name)
            if callable(function):
                calls[f"onnxmap.{name}"] += 1
                needed = [one for one, is_needed, _ in parameters(function) if is_needed]
                fitting = ", ".join(FITTING.get(one, ["'w'"])[0] for one in needed)
                self._tour_from(f"onnxmap.{name}({fitting})", calls)

    def _tour_from(self, line: str, calls: Counter[str]) -> None:
        faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
        toured: Counter[str] = Counter()
        lines = deque([line])
        while lines:
            name = f"v{next(self._count)}"
            self.run(f"{name} = {lines.popleft()}")
            value = self.names.get(name)
            kind = type(value).__name__
            most = MOST_TOURED * (10 if isinstance(value, Sequence) else 1)
            if not is_ours(value) or toured[kind] >= most:
                self.names.pop(name, None)
                continue
            if isinstance(value, Sequence) and len(value):
                elements = range(min(len(value), 6))
                lines += [f"some(itertools.islice({name}, {i}, None))" for i in elements]
            elif isinstance(value, Sequence):
                continue
            toured[kind] += 1
            # What ends a thing comes last.
            for member in sorted(
                members(value), key=lambda one: ("close" in one or "exit" in one, one)
            ):
                calls[f"{kind}.{member}"] += 1
                found = getattr(type(value), member, None)
                if found is None:
                    with contextlib.suppress(*ALLOWED):
                        found = getattr(value, member)
                lines.append(f"some({name}.{member})")
                if callable(found) and not isinstance(found, type):
                    needed = [one for one, is_needed, _ in parameters(found) if is_needed]
                    fitting = ", ".join(FITTING.get(one, ["'w'"])[0] for one in needed)
                    lines[-1] = f"some({name}.{member}({fitting}))"
        self._clear()

    # Making lines.

    def step(self, calls: Counter[str]) -> None:
        """Makes a line, and runs it."""
        name = f"v{next(self._count)}"
        line = self._line(name, calls)
        self.run(line)
        self._made = [*self.held(), name]
        value = self.names.get(name)
        if isinstance(value, onnxmap.Model):
            self.names["MODEL"] = value
        mine = self.held()
        for held in mine:  # some closed models stay, and go on refusing
            if is_closed(self.names.get(held)) and self.random.random() < 0.5:
                self.names.pop(held, None)
        mine = self.held()
        if value is None or isinstance(value, (bool, int, float, str)):
            self.names.pop(name, None)
        if len(mine) > MOST_VALUES:
            self.names.pop(self.random.choice(mine), None)

    def _line(self, name: str, calls: Counter[str]) -> str:
        choose = self.random
        held = self.held()
        ours = [found for found in held if is_ours(self.names[found])]
        dice = choose.random()
        if dice < 0.02 and held:
            return f"del {choose.choice(held)}"
        if dice < 0.03:
            return "gc.collect()"
        if not held:
            if choose.random() < 0.3:
                return (
                    f"{name} = onnxmap.loads(SMALL_MODELS[{choose.choice(sorted(SMALL_MODELS))!r}])"
                )
            way = choose.choice(["load(PATHS[{!r}]", "load(URLS[{!r}]", "loads(BYTES[{!r}]"])
            file = choose.choice(["model", "large", "external", "small"])
            return f"{name} = onnxmap.{way.format(file)}, lenient={choose.random() < 0.3})"
        if dice < 0.10 or not ours:
            public = [entry for entry in onnxmap.__all__ if callable(getattr(onnxmap, entry))]
            loads = [entry for entry in public if entry.startswith("load")]
            entry = self._least(loads if choose.random() < 0.6 else public, "onnxmap", calls)
            return f"{name} = onnxmap.{entry}({self._arguments(getattr(onnxmap, entry))})"
        # Every class comes up alike, however many objects of it there are.
        kinds: dict[str, list[str]] = {}
        for found in ours:
            kinds.setdefault(type(self.names[found]).__name__, []).append(found)
        subject = choose.choice(kinds[choose.choice(sorted(kinds))])
        if choose.random() < 0.4:
            subject = ours[-1]  # which leads to what is deep inside
        value = self.names[subject]
        if choose.random() < 0.3 and hasattr(type(value), "__len__"):
            return f"{name} = some(itertools.islice({subject}, {choose.randrange(30)}, None))"
        if choose.random() < 0.12 or not members(value):
            expression = self._protocol(subject)
        else:
            expression = self._member(subject, value, calls)
        if choose.random() < 0.03:
            expression = f"in_threads(lambda: {expression})"
        return f"{name} = {expression}"

    def _least(self, names: list[str], owner: str, calls: Counter[str]) -> str:
        """One of them, and every third time the one that was called least."""
        if self.random.random() < 0.3:
            found = min(names, key=lambda name: calls[f"{owner}.{name}"])
        else:
            found = self.random.choice(names)
        calls[f"{owner}.{found}"] += 1
        return found

    def _member(self, subject: str, value: Any, calls: Counter[str]) -> str:
        names = members(value)
        member = self._least(names, type(value).__name__, calls)
        function = getattr(type(value), member, None)
        if function is None or isinstance(function, type):
            with contextlib.suppress(Exception):  # the line will raise it again
                function = getattr(value, member)
        if callable(function):
            return f"some({subject}.{member}({self._arguments(function)}))"
        return f"some({subject}.{member})"

    def _protocol(self, subject: str) -> str:
        junk = self._junk
        protocol = self.random.choice([3, 4, 5] if "pickle 0 and 1" in KNOWN else range(6))
        forms: list[Callable[[], str]] = [
            lambda: f"len({subject})", lambda: f"list(itertools.islice(iter({subject}), 5))", lambda: f"next({subject})",
            lambda: f"{subject}[{junk()}]", lambda: f"({junk()}) in {subject}", lambda: f"{subject} == ({junk()})", lambda: f"{subject} < ({junk()})",
            lambda: f"hash({subject})", lambda: f"repr({subject})", lambda: f"str({subject})", lambda: f"format({subject}, {junk()})",
            lambda: f"bytes({subject})", lambda: f"memoryview({subject})", lambda: f"np.asarray({subject}, {junk()})", lambda: f"np.array({subject})",
            lambda: f"copy.copy({subject})", lambda: f"copy.deepcopy({subject})", lambda: f"again({subject}, {protocol})",
            lambda: f"int({subject})", lambda: f"float({subject})", lambda: f"bool({subject})", lambda: f"operator.index({subject})",
            lambda: f"dir({subject})", lambda: f"vars({subject})", lambda: f"getattr({subject}, {junk()})", lambda: f"setattr({subject}, {junk()}, {junk()})",
            lambda: f"setattr({subject}, {self._name_in(subject)!r}, {junk()})",
            lambda: f"delattr({subject}, {self._name_in(subject)!r})", lambda: f"operator.setitem({subject}, {junk()}, {junk()})",
            lambda: f"operator.delitem({subject}, {junk()})", lambda: f"list(reversed({subject}))", lambda: f"weakref.ref({subject})",
            lambda: f"type({subject})({junk()})", lambda: f"type({subject})()", lambda: f"entered({subject})", lambda: f"dict({subject})",
            lambda: f"{subject} + ({junk()})", lambda: f"-{subject}", lambda: f"{subject}({junk()})", lambda: f"isinstance({subject}, {junk()})",
            lambda: f"np.frombuffer({subject}, 'u1')", lambda: f"io.BytesIO().write({subject})", lambda: f"memoryview({subject}).cast('B').release()",
            lambda: f"max({subject}, {junk()})", lambda: f"sorted({subject})", lambda: f"{subject} @ ({junk()})", lambda: f"[*{subject}][:9]",
            lambda: f"with_members(type({subject}), {junk()})",
        ]  # fmt: skip
        if "__new__" not in KNOWN:
            forms.append(lambda: f"type({subject}).__new__(type({subject}))")
        return self.random.choice(forms)()

    def _name_in(self, subject: str) -> str:
        return self.random.choice(members(self.names[subject]) or ["name"])

    def _junk(self) -> str:
        dice = self.random.random()
        held = self.held()
        if dice < 0.15 and held:
            return self.random.choice(held)
        return self.random.choice(JUNK)

    def _arguments(self, function: Any) -> str:
        """Arguments for a call: most fit, some do not, some are too many or too few."""
        choose = self.random
        if choose.random() < 0.04:
            return ", ".join(self._junk() for _ in range(choose.randrange(4)))
        shown: list[str] = []
        by_name = False
        for name, needed, only_by_name in parameters(function):
            if not needed and choose.random() < 0.55:
                by_name = True
                continue
            fitting = FITTING.get(name)
            fits = fitting and choose.random() < 0.75
            text = choose.choice(fitting) if fits and fitting else self._junk()
            by_name = by_name or only_by_name
            shown.append(f"{name}={text}" if by_name else text)
        return ", ".join(shown)


def is_ours(value: object) -> bool:
    """Whether it is an object whose class is onnxmap's."""
    kind = type(value)
    module = str(getattr(kind, "__module__", ""))
    return module.partition(".")[0] == "onnxmap" and not isinstance(value, type)


def is_closed(value: object) -> bool:
    """Whether it is a closed model, which refuses everything."""
    return isinstance(value, onnxmap.Model) and getattr(value, "_document", None) is None


def members(value: object) -> list[str]:
    """Names of what can be read or called of it, by its class or by itself."""
    names = set(members_of(type(value)))
    with contextlib.suppress(Exception):
        names |= {name for name in dir(value) if _is_called(name)}
    return sorted(names)


def members_of(cls: type) -> list[str]:
    """Names that a class has."""
    return sorted(filter(_is_called, dir(cls)))


def _is_called(name: str) -> bool:
    if name in LEFT_OUT or not (name.isascii() and name.isidentifier()):
        return False
    return name not in PLAIN and (not name.startswith("_") or _is_protocol(name))


def _is_protocol(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name != "__new__"


def parameters(function: Any) -> list[tuple[str, bool, bool]]:
    """Name of each parameter, whether it is needed, and whether it is given by name."""
    try:
        found = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return _parameters_of_doc(str(getattr(function, "__doc__", "") or ""))
    kinds = inspect.Parameter
    return [
        (one.name, one.default is kinds.empty, one.kind is kinds.KEYWORD_ONLY)
        for one in found
        if one.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD) and one.name != "self"
    ]


def _parameters_of_doc(doc: str) -> list[tuple[str, bool, bool]]:
    """Those of a function of pybind11, which stand in the first line of its docstring."""
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


# What the lines call.


def some(value: Any, depth: int = 5) -> Any:
    """The value, or one of those that it holds: only what it holds may be an object of ours."""
    if isinstance(value, itertools.islice):
        value = next(value)
    if isinstance(value, ValuesView):
        value = list(value)
    if isinstance(value, Mapping) and value and not is_ours(value):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and value and depth and not hasattr(value, "_fields"):
        return some(value[len(value) // 2], depth - 1)
    return value


def again(value: Any, protocol: int) -> Any:
    """What a pickle of it comes back as."""
    return pickle.loads(pickle.dumps(value, protocol))


def entered(value: Any) -> Any:
    """What a `with` block of it gives, after the block."""
    with value as found:
        return found


def with_members(cls: type, value: Any) -> Any:
    """An object of a class of the caller's, below one of ours."""
    return type("Below", (cls,), {"name": property(lambda _: value)})(value)


def in_threads(call: Callable[[], Any]) -> Any:
    """Three threads do the same; one of their errors is raised."""
    answers: list[Any] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # noqa: BLE001 -- it is raised below
            raised.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    raised.sort(key=lambda error: isinstance(error, ALLOWED))  # the worst comes first
    for error in raised:
        raise error
    return answers[0]


def _names_of(model: Any) -> Any:
    return None if model is None else model.initializers.names()[:3]


class Journal:
    """The lines of the sequence that runs, in a file, for whoever looks after a crash."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)

    def begin(self, head: str) -> None:
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{head}\n".encode(), 0)
        os.lseek(self._file, 0, os.SEEK_END)

    def add(self, line: str) -> None:
        os.write(self._file, line.encode("utf-8", "backslashreplace") + b"\n")


class Files:
    """What the sequences read, in a folder of its own; nothing else may be written but `out`."""

    def __init__(self, scratch: Path, journal: Path) -> None:
        import fsspec

        self.folder = scratch / "models"
        self.folder.mkdir(parents=True)
        (scratch / "cwd").mkdir()
        os.chdir(scratch / "cwd")
        self.scratch = scratch
        self.paths = values.write_files(self.folder)
        self.bytes = {
            name: Path(path).read_bytes()
            for name, path in self.paths.items()
            if Path(path).is_file()
        }
        self.mapped = values.map_file(self.paths["large"])
        memory = fsspec.filesystem("memory")
        self.urls = {"folder": "memory://fuzz"}
        for path in self.folder.iterdir():
            if path.is_file():
                memory.pipe_file(f"/fuzz/{path.name}", path.read_bytes())
                self.urls[path.stem] = f"memory://fuzz/{path.name}"
        self.journal = Journal(journal)
        self._state = self._files()

    def _files(self) -> dict[str, bytes]:
        return {
            str(path): path.read_bytes() for path in self.scratch.rglob("*")
            if path.is_file() and path.parent.name != "cwd"
        }  # fmt: skip

    def check(self) -> None:
        """Raises Failure if a file of the models is another by now, or there is a new one."""
        if self._files() != self._state:
            raise Failure("a file was written")


def resources() -> dict[str, int]:
    """What the process holds: descriptors, mappings of files, threads."""
    gc.collect()
    descriptors = list(Path("/proc/self/fd").iterdir())
    maps = Path("/proc/self/maps").read_text().splitlines()
    return {
        "descriptors": len(descriptors),
        "mappings": sum("/models/" in line for line in maps),
        "threads": threading.active_count(),
    }


MOST_GROWTH = {"descriptors": 34, "mappings": 0, "threads": 1}  # 32 descriptors are pooled


@contextlib.contextmanager
def quiet() -> Iterator[list[BaseException]]:
    """Collects what is raised where nobody can catch it."""
    raised: list[BaseException] = []

    def note(error: Any) -> None:
        value = error.exc_value
        if value is not None and not isinstance(value, JunkError):
            raised.append(value)

    before = sys.unraisablehook, threading.excepthook
    sys.unraisablehook = threading.excepthook = note
    try:
        yield raised
    finally:
        sys.unraisablehook, threading.excepthook = before


class Run:
    """Many sequences, one after another."""

    def __init__(self, files: Files, seed: str, *, is_tour: bool = False) -> None:
        self.files, self.seed, self.is_tour = files, seed, is_tour
        self.calls: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.kinds: set[str] = set()
        self.lines = 0
        self._held: dict[str, int] | None = None

    def sequence(self, number: int, lines: list[str] | None = None) -> None:
        """One sequence: of its seed, or of these lines."""
        session = Session(self.files, f"{self.seed}:{number}")
        self.files.journal.begin(f"# seed {self.seed}, sequence {number}")
        faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
        try:
            with quiet() as raised:
                if lines is not None:
                    for line in lines:
                        session.run(line)
                elif self.is_tour:
                    session.tour(self.calls)
                else:
                    calls: Counter[str] = Counter()
                    for _ in range(STEPS):
                        session.step(calls)
                    self.calls += calls
                self.kinds |= {
                    type(value).__name__ for value in session.names.values() if is_ours(value)
                }
                session.forget()
                if number % 50 == 0 or self._held is None or lines is not None:
                    self._check_leaks(number)
            if raised:
                raise Failure("raised where nobody can catch it") from raised[0]
        finally:
            faulthandler.cancel_dump_traceback_later()
            self.lines += len(session.lines)
            self.errors += session.errors

    def _check_leaks(self, number: int) -> None:
        self.files.check()
        for left in (self.files.scratch / "cwd").iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        held = resources()
        if held["mappings"] > 1 or (self._held and held["threads"] > self._held["threads"]):
            time.sleep(0.5)  # a thread of the background may be about to end
            held = resources()
        if self._held is None:
            self._held = held
            gc.freeze()  # what was imported; looking at it again would take most of the time
            return
        for kind, most in MOST_GROWTH.items():
            if held[kind] > self._held[kind] + most:
                raise Failure(f"{kind}: {held[kind]}, {self._held[kind]} at the beginning")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0, help="number of the first sequence")
    parser.add_argument("--sequences", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=1e9, help="end after that time")
    parser.add_argument("--journal", type=Path, default=None)
    parser.add_argument("--replay", type=Path, help="a journal: run its lines instead")
    parser.add_argument("--tour", action="store_true", help="call every member of every class")
    parser.add_argument("--go-on", action="store_true", help="after a failure, too")
    return parser.parse_args()


def main() -> int:
    """Prints a JSON object: what ran, what was called, and the failure if there is one."""
    given = parse()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    from onnxmap import remote_requests

    remote_requests.PAUSES = (0.0, 0.0, 0.0)
    replayed = None if given.replay is None else given.replay.read_text().splitlines()[1:]
    journal = given.journal.absolute() if given.journal is not None else Path(os.devnull)
    begun = time.monotonic()
    status = 0
    with tempfile.TemporaryDirectory(prefix="api_fuzz") as scratch:
        run = Run(Files(Path(scratch), journal), given.seed, is_tour=given.tour)
        for number in range(given.first, given.first + given.sequences):
            if time.monotonic() - begun > given.seconds:
                break
            try:
                run.sequence(number, replayed)
            except Failure as failure:
                sys.stderr.write(f"seed {given.seed}, sequence {number}\n")
                traceback.print_exception(failure)
                status = 1
                if not given.go_on:
                    break
            if replayed is not None or given.tour:
                break
        os.chdir("/")
    facts = {
        "lines": run.lines, "seconds": round(time.monotonic() - begun, 1), "errors": run.errors,
        "classes": sorted(run.kinds), "calls": run.calls,
    }  # fmt: skip
    sys.stdout.write(f"{json.dumps(facts)}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
