"""Runs a program of edits on protobuf, the oracle, and on another side, and compares the two.

A program is a list of Python statements about `model`, `other` (a second model), and the handles
that earlier statements took. Each side has its own two models. Both must give the same results,
raise the same exceptions, and have the same two models in the end, unknown fields included.

`OracleSide` is protobuf, and `OnnxmapSide` what is tested.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from google.protobuf.message import DecodeError, Message

import onnxmap
from support.edits.models import edited_model
from support.edits.values import double, text_bytes
from support.oracles.canonical import message_class

KEEPING = frozenset(
    {"keep a message", "keep a list", "keep a popped message"}
)  # kinds that take handles
REMOVED = "write to a removed message"
MOST_HELD = 10  # handles of a program


@dataclass(frozen=True)
class Edit:
    """One statement, and the name of its kind."""

    kind: str
    text: str


@dataclass(frozen=True)
class Program:
    """Edits of two models, named as in `edits.models`."""

    model: str
    other: str
    edits: tuple[Edit, ...]

    def __str__(self) -> str:
        lines = [f"{edit.text}  # {edit.kind}" for edit in self.edits]
        return "\n".join([f"# model = {self.model!r}, other = {self.other!r}", *lines])


class Side(Protocol):
    """Two models, and how to make and compare messages like theirs."""

    model: Any
    other: Any

    def new(self, name: str, /, **fields: Any) -> Any: ...
    def form(self, message: Any) -> bytes: ...
    def run(self, edit: Edit, names: dict[str, Any]) -> None: ...


class OracleSide:
    """Protobuf's own messages."""

    def __init__(self, program: Program) -> None:
        self.model: Any = message_class("ModelProto").FromString(edited_model(program.model))
        self.other: Any = message_class("ModelProto").FromString(edited_model(program.other))

    def new(self, name: str, /, **fields: Any) -> Any:
        return message_class(name)(**fields)

    def form(self, message: Any) -> bytes:
        """Known fields by number, then unknown ones: equal bytes mean equal messages."""
        return bytes(message.SerializeToString(deterministic=True))

    def run(self, edit: Edit, names: dict[str, Any]) -> None:
        # To clear a message ends the absent messages in it that somebody holds. If there are more,
        # protobuf may overlook some the first time.
        if found := re.fullmatch(r"(?:result = )?(.*)\.(?:Clear|ParseFromString)\(.*\)", edit.text):
            for _ in range(MOST_HELD):
                exec(f"{found[1]}.Clear()", names)  # noqa: S102 -- the statements are our own
        exec(edit.text, names)  # noqa: S102


class OnnxmapSide:
    """The messages of two models of onnxmap."""

    def __init__(self, program: Program) -> None:
        self.models = [onnxmap.loads(edited_model(name)) for name in (program.model, program.other)]
        self.model, self.other = (model.proto for model in self.models)

    def new(self, name: str, /, **fields: Any) -> Any:
        return onnxmap.new(name, **fields)

    def form(self, message: Any) -> bytes:
        data = message.SerializeToString()
        parsed = message_class(message.message_type).FromString(data)
        return bytes(parsed.SerializeToString(deterministic=True))

    def run(self, edit: Edit, names: dict[str, Any]) -> None:
        exec(edit.text, names)  # noqa: S102 -- the statements are our own


class Outcome(NamedTuple):
    """What a statement did: "done" or an exception's name, and what it assigned to `result`."""

    what: str
    result: object = None


class Step(NamedTuple):
    """How a handle was reached: the field of a message, or an element of a list (no name)."""

    owner: Any
    name: str | None
    found: Any


def steps_to(expression: ast.expr, names: dict[str, Any]) -> list[Step]:
    """The steps from `model` or a handle to what an expression names."""
    if isinstance(expression, ast.Name):
        return list(names["_steps"].get(expression.id, []))
    if isinstance(expression, ast.Call):  # the result of pop(), which is in no list
        return [Step((), None, eval(ast.unparse(expression), names))]
    assert isinstance(expression, ast.Attribute | ast.Subscript)
    before = steps_to(expression.value, names)
    owner = before[-1].found if before else eval(ast.unparse(expression.value), names)
    found = eval(ast.unparse(expression), names)
    name = expression.attr if isinstance(expression, ast.Attribute) else None
    return [*before, Step(owner, name, found)]


def is_attached(steps: Iterable[Step]) -> bool:
    """Whether a handle is still a part of its model. Protobuf keeps one object for each message."""
    return all(
        any(one is step.found for one in step.owner)
        if step.name is None
        else getattr(step.owner, step.name) is step.found
        for step in steps
    )


@dataclass
class Run:
    """The state of one side: the names that statements see."""

    side: Side
    is_oracle: bool
    names: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        side = self.side
        self.names = {"model": side.model, "other": side.other, "new": side.new}
        self.names |= {"double": double, "text_bytes": text_bytes, "_steps": {}}

    def handles(self) -> Iterator[tuple[str, bool]]:
        """The handles that still belong to a model. True: a list. Only of the oracle."""
        for name, steps in self.names["_steps"].items():
            if is_attached(steps):
                yield name, not isinstance(steps[-1].found, Message)

    def state(self) -> tuple[bytes, bytes]:
        return self.side.form(self.side.model), self.side.form(self.side.other)

    def removed_target(self, edit: Edit) -> str | None:
        """Return "message" or "list" if the statement works on a handle that no model has now."""
        steps = self.names["_steps"].get(_target(ast.parse(edit.text).body[0]))
        if steps is None or is_attached(steps):
            return None
        return "message" if isinstance(steps[-1].found, Message) else "list"

    def is_empty_slice(self, edit: Edit) -> bool:
        """Whether the statement changes an empty slice, for which upb corrupts its memory.

        Random programs have none, but a program may have some after edits before it were left out.
        """
        statement = ast.parse(edit.text).body[0]
        if not isinstance(statement, ast.Assign | ast.Delete):
            return False
        target = statement.targets[0]
        if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Slice):
            return False
        try:
            return not eval(ast.unparse(target), self.names)
        except (AttributeError, IndexError, NameError):
            return False  # the statement itself will raise it

    def execute(self, edit: Edit) -> Outcome:
        """Execute the statement."""
        self.names["result"] = None
        tree = ast.parse(edit.text).body[0]
        try:
            if self.is_oracle and edit.kind in KEEPING and isinstance(tree, ast.Assign):
                assert isinstance(tree.targets[0], ast.Name)
                name, steps = tree.targets[0].id, steps_to(tree.value, self.names)
                self.names[name], self.names["_steps"][name] = steps[-1].found, steps
            else:
                self.side.run(edit, self.names)
        except Exception as error:  # noqa: BLE001 -- both sides must raise the same
            return Outcome(exception_name(error))
        return Outcome("done", self._plain(self.names["result"]))

    def _plain(self, result: Any) -> object:
        if isinstance(result, list | tuple):
            return [self._plain(one) for one in result]
        if isinstance(result, str):
            return text_bytes(result)
        if isinstance(result, float):
            return "nan" if math.isnan(result) else result.hex()
        return self.side.form(result) if hasattr(result, "ListFields") else result


def executed(
    program: Program, after_each: Callable[[OnnxmapSide, Edit], None] | None = None
) -> OnnxmapSide:
    """Execute a program, without the edits whose target no model of protobuf has any longer."""
    ours, oracle = OnnxmapSide(program), Run(OracleSide(program), is_oracle=True)
    run = Run(ours, is_oracle=False)
    for edit in program.edits:
        if oracle.removed_target(edit) is None:
            oracle.execute(edit)
            run.execute(edit)
            if after_each is not None:
                after_each(ours, edit)
    return ours


def exception_name(error: Exception) -> str:
    """The class of an exception; "DecodeError" for what either library says of wrong bytes."""
    if isinstance(error, DecodeError | onnxmap.ParseError | onnxmap.LimitError):
        return "DecodeError"
    return type(error).__name__


def _target(statement: ast.stmt) -> str:
    """The name at the root of what a statement changes or looks at."""
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
        node: ast.AST = statement.value if isinstance(target, ast.Name) else target
    elif isinstance(statement, ast.Delete):
        node = statement.targets[0]
    else:
        assert isinstance(statement, ast.Expr)
        node = statement.value
    while not isinstance(node, ast.Name):
        node = next(ast.iter_child_nodes(node))
    return node.id


def difference(program: Program, make: Callable[[Program], Side], each_step: bool = False) -> str:
    """How the side that `make` gives differs from protobuf; empty if it does not.

    With `each_step`, the models are compared after each statement, which shows the first wrong one.
    """
    oracle = Run(OracleSide(program), is_oracle=True)
    ours = Run(make(program), is_oracle=False)
    for number, edit in enumerate(program.edits):
        where = f"edit {number}: {edit.text}"
        if oracle.is_empty_slice(edit):
            continue
        removed = oracle.removed_target(edit)
        if removed is not None:
            # Protobuf writes to what is removed. A list alone has no rule of its own.
            if edit.kind == REMOVED and removed == "message":
                found = ours.execute(edit)
                if found.what not in ("EditError", "ValueError"):
                    return f"{where}\nthe message was removed, yet there was no EditError: {found}"
            continue
        before = oracle.state()
        expected = oracle.execute(edit)
        if expected.what != "done" and oracle.state() != before:
            return ""  # protobuf stopped half-way: the two need not agree from here on
        if expected.what == "UnicodeDecodeError":
            return ""  # onnxmap reads text that is not UTF-8
        found = ours.execute(edit)
        if found != expected:
            return f"{where}\nexpected {expected}\nfound {found}"
        if each_step and ours.state() != oracle.state():
            return f"{where}\nthe models differ after it"
    for name in oracle.names["_steps"]:
        if isinstance(oracle.names[name], Message):
            if name not in ours.names:
                return f"the handle {name} is missing"
            theirs, its = oracle.side.form(oracle.names[name]), ours.side.form(ours.names[name])
            if theirs != its:
                return f"the handle {name} shows another message: {its!r}, not {theirs!r}"
    for name, theirs, its in zip(("model", "other"), oracle.state(), ours.state(), strict=True):
        if theirs != its:
            return f"{name} differs in the end: {its!r}, not {theirs!r}"
    return ""


def shrunk(program: Program, fails: Callable[[Program], bool]) -> Program:
    """A program with fewer edits that still fails: none of them can be left out."""
    edits = list(program.edits)
    size = max(len(edits) // 2, 1)
    while True:
        at = 0
        while at < len(edits):
            fewer = edits[:at] + edits[at + size :]
            if fails(Program(program.model, program.other, tuple(fewer))):
                edits = fewer
            else:
                at += size
        if size == 1:
            return Program(program.model, program.other, tuple(edits))
        size //= 2
