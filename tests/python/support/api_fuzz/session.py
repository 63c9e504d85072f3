"""Makes and runs the lines of one sequence of random calls. See `api_fuzz`."""

from __future__ import annotations

import array
import contextlib
import copy
import ctypes
import faulthandler
import gc
import io
import itertools
import operator
import os
import pickle
import random
import sys
import weakref
from collections import Counter, deque
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import onnxmap
from support.api_fuzz import values
from support.api_fuzz.calls import again, entered, in_threads, names_of, some, with_members
from support.api_fuzz.rules import ALLOWED, is_closed, is_ours, judge, members, parameters
from support.api_fuzz.values import FITTING, JUNK, Hostile, fitting_for
from support.models.small import SMALL_MODELS

MOST_VALUES = 40
STEPS = 60  # calls in a sequence
MOST_TOURED = 1  # objects of a class for each start of the tour; more of a list
HANGS_AFTER = 120.0  # seconds of one sequence


class Session:
    """One sequence of calls, and the names that its lines use."""

    def __init__(self, files: Any, seed: str) -> None:
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
            "onnxmap": onnxmap, "np": np, "io": io, "os": os, "gc": gc, "copy": copy,
            "pickle": pickle, "operator": operator, "array": array, "ctypes": ctypes, "Path": Path,
            "Fraction": Fraction, "Decimal": Decimal, "weakref": weakref, "itertools": itertools,
            "contextlib": contextlib, "PATHS": files.paths, "URLS": files.urls,
            "BYTES": {**files.bytes, "large": self.buffer}, "FOLDER": str(files.folder),
            "OTHER": str(files.folder / "data_set"), "OUT": "out.bin", "MAPPED": files.mapped,
            "MODEL": None, "names_of": names_of, "in_threads": in_threads, "again": again,
            "some": some, "entered": entered, "with_members": with_members,
        }  # fmt: skip
        Hostile.deeds = {
            "close": self._close, "read": self._read, "clear": self._clear, "mutate": self._mutate,
        }  # fmt: skip

    def held(self) -> list[str]:
        """The names of the values that calls returned."""
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

    # Running lines.

    def run(self, line: str) -> None:
        """Runs a line. It may raise what the rules allow."""
        self.lines.append(line)
        self.files.journal.add(line)
        try:
            try:
                exec(compile(line, "<fuzz>", "exec"), self.names)  # noqa: S102 -- our own line
            except BaseException as error:  # noqa: BLE001 -- it is judged
                judge(line, error, self.lines)
                self.errors[type(error).__name__] += 1
        finally:
            sys.last_value = None  # type: ignore[assignment]

    def forget(self) -> None:
        """Drops all objects."""
        self.names.clear()
        Hostile.deeds = {}

    def tour(self, calls: Counter[str]) -> None:
        """Call every member of some objects of every class that can be reached."""
        for name in sorted(SMALL_MODELS):
            self._tour_from(f"onnxmap.loads(SMALL_MODELS[{name!r}])", calls)
        for name in ("model", "large", "external"):
            self._tour_from(f"onnxmap.load(PATHS[{name!r}])", calls)
        self._tour_from("onnxmap.load_operator_set(PATHS['operators'])", calls)
        for name in onnxmap.__all__:
            function = getattr(onnxmap, name)
            if callable(function):
                calls[f"onnxmap.{name}"] += 1
                needed = [one for one, is_needed, _ in parameters(function) if is_needed]
                fitting = ", ".join(fitting_for(name, one)[0] for one in needed)
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
            # Members that close the object are called last.
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
                    fitting = ", ".join(fitting_for(member, one)[0] for one in needed)
                    lines[-1] = f"some({name}.{member}({fitting}))"
        self._clear()
        gc.freeze()  # toured objects stay, and so do modules that the calls imported: skip both

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
        for held in mine:  # keep some closed models, which must still refuse
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
        # Every class is equally likely, whatever the number of its objects.
        kinds: dict[str, list[str]] = {}
        for found in ours:
            kinds.setdefault(type(self.names[found]).__name__, []).append(found)
        subject = choose.choice(kinds[choose.choice(sorted(kinds))])
        if choose.random() < 0.4:
            subject = ours[-1]  # the last one is the most deeply nested
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
        """One of the members. Every third time, it is the one that was called least."""
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
        protocol = self.random.randrange(6)
        forms: list[Callable[[], str]] = [
            lambda: f"len({subject})", lambda: f"list(itertools.islice(iter({subject}), 5))",
            lambda: f"next({subject})", lambda: f"{subject}[{junk()}]",
            lambda: f"({junk()}) in {subject}", lambda: f"{subject} == ({junk()})",
            lambda: f"{subject} < ({junk()})", lambda: f"hash({subject})",
            lambda: f"repr({subject})", lambda: f"str({subject})",
            lambda: f"format({subject}, {junk()})", lambda: f"bytes({subject})",
            lambda: f"memoryview({subject})", lambda: f"np.asarray({subject}, {junk()})",
            lambda: f"np.array({subject})", lambda: f"copy.copy({subject})",
            lambda: f"copy.deepcopy({subject})", lambda: f"again({subject}, {protocol})",
            lambda: f"int({subject})", lambda: f"float({subject})", lambda: f"bool({subject})",
            lambda: f"operator.index({subject})", lambda: f"dir({subject})",
            lambda: f"vars({subject})", lambda: f"getattr({subject}, {junk()})",
            lambda: f"setattr({subject}, {junk()}, {junk()})",
            lambda: f"setattr({subject}, {self._name_in(subject)!r}, {junk()})",
            lambda: f"delattr({subject}, {self._name_in(subject)!r})",
            lambda: f"operator.setitem({subject}, {junk()}, {junk()})",
            lambda: f"operator.delitem({subject}, {junk()})", lambda: f"list(reversed({subject}))",
            lambda: f"weakref.ref({subject})", lambda: f"type({subject})({junk()})",
            lambda: f"type({subject})()", lambda: f"entered({subject})", lambda: f"dict({subject})",
            lambda: f"{subject} + ({junk()})", lambda: f"-{subject}",
            lambda: f"{subject}({junk()})", lambda: f"isinstance({subject}, {junk()})",
            lambda: f"np.frombuffer({subject}, 'u1')", lambda: f"io.BytesIO().write({subject})",
            lambda: f"memoryview({subject}).cast('B').release()",
            lambda: f"max({subject}, {junk()})", lambda: f"sorted({subject})",
            lambda: f"{subject} @ ({junk()})", lambda: f"[*{subject}][:9]",
            lambda: f"with_members(type({subject}), {junk()})",
            lambda: f"type({subject}).__new__(type({subject}))",
        ]  # fmt: skip
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
        """Arguments for a call. Most fit; some are wrong, too many or too few."""
        choose = self.random
        if choose.random() < 0.04:
            return ", ".join(self._junk() for _ in range(choose.randrange(4)))
        shown: list[str] = []
        by_name = False
        for name, needed, only_by_name in parameters(function):
            if not needed and choose.random() < 0.55:
                by_name = True
                continue
            fitting = fitting_for(getattr(function, "__name__", ""), name)
            fits = name in FITTING and choose.random() < 0.75
            text = choose.choice(fitting) if fits else self._junk()
            by_name = by_name or only_by_name
            shown.append(f"{name}={text}" if by_name else text)
        return ", ".join(shown)
