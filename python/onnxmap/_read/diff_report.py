"""What `onnxmap.diff` returns: the differences between two models."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from onnxmap._read.diff_text import lines, to_dict, told
from onnxmap._show.display import describe_html

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import EllipsisType

    from onnxmap._base.enums import DataType

    Scalar = int | float | str | bytes
    FieldValue = Scalar | tuple[Scalar | EllipsisType, ...] | None

Kind = Literal["added", "removed", "moved", "changed", "renamed"]


class _Placed:
    where_a: str | None
    where_b: str | None

    @property
    def where(self) -> str:
        """The path in the first model; in the second one if the first lacks it."""
        return self.where_a or self.where_b or ""


@dataclass(frozen=True)
class Change(_Placed):
    """A field, an entry or a message that differs.

    Attributes:
        kind: "added", "removed", "moved" or "changed".
        where_a: its path in the first model, such as `graph.doc_string`, or below the node,
            function, value or tensor that has this change, such as `attribute["axis"].i`. None if
            the first model lacks it.
        where_b: the same for the second model.
        a: its value in the first model; None if it is absent or a message. Texts that are no UTF-8
            have surrogate escapes. A list is a tuple; one of more than 1000 values ends with `...`
            after them.
        b: the same for the second model.
    """

    kind: Kind
    where_a: str | None
    where_b: str | None
    a: FieldValue = None
    b: FieldValue = None


@dataclass(frozen=True)
class _ElementDiff(_Placed):
    """What nodes, functions and values have in common.

    Attributes:
        name: its name in the first model; in the second one if the first lacks it.
        where_a: its path in the first model, such as `graph.node[3]`; None if the model lacks it.
        where_b: the same for the second model.
        moved: whether its place among the others has changed.
        changes: what changed in it.
    """

    name: str
    where_a: str | None
    where_b: str | None
    moved: bool = False
    changes: tuple[Change, ...] = ()

    @property
    def kind(self) -> Kind:
        """Return "added", "removed" or "changed"; "moved" if only its place has changed."""
        if self.where_a is None:
            return "added"
        if self.where_b is None:
            return "removed"
        return "changed" if self.changes else "moved"


@dataclass(frozen=True)
class ValueDiff(_ElementDiff):
    """An input or an output that differs."""


@dataclass(frozen=True)
class FunctionDiff(_ElementDiff):
    """A function that differs. Its nodes are in `changes`."""


@dataclass(frozen=True)
class NodeDiff(_ElementDiff):
    """A node of the main graph that differs. The nodes of its subgraphs are in `changes`.

    Attributes:
        op_type: its operator in the first model; in the second one if the first lacks it.
    """

    op_type: str = ""


@dataclass(frozen=True)
class TensorDiff(_Placed):
    """A tensor that differs: an initializer, or any other tensor that both models have.

    The values of tensors of different shapes are not compared, nor those of different types without
    `cast`.

    Attributes:
        kind: "added", "removed", "renamed" (only the name differs) or "changed".
        name: its name in the first model; in the second one if the first lacks it. It may be empty.
        name_b: its name in the second model; None if the model lacks it.
        where_a: its path in the first model; None if the model lacks it.
        where_b: the same for the second model.
        dtype_a: its type in the first model; None if the model lacks it. An int if ONNX has no such
            type.
        dtype_b: the same for the second model.
        shape_a: its shape in the first model; None if the model lacks it.
        shape_b: the same for the second model.
        changed: how many elements differ in their bits, or by more than the tolerance; texts as a
            whole. None if the values were not compared.
        changed_share: `changed` as a share of all elements, from 0.0 to 1.0.
        nan_changed: how many of the changed elements are NaN in one model only. They have no
            distance.
        max_abs: the largest `abs(a - b)`; an int, which is exact, for integers. None if no element
            has a distance.
        max_abs_at: the index of the first element that has it.
        max_rel: the largest `abs(a - b) / max(abs(a), abs(b))`. It is at most 2 for finite numbers,
            and infinite if one of the numbers is.
        max_rel_at: the index of the first element that has it.
        error: why the values could not be compared, for example because a file is missing.
        changes: other fields of an initializer that differ, such as `doc_string`.
    """

    kind: Kind
    name: str
    name_b: str | None
    where_a: str | None
    where_b: str | None
    dtype_a: DataType | int | None
    dtype_b: DataType | int | None
    shape_a: tuple[int, ...] | None
    shape_b: tuple[int, ...] | None
    changed: int | None = None
    changed_share: float | None = None
    nan_changed: int | None = None
    max_abs: int | float | None = None
    max_abs_at: tuple[int, ...] | None = None
    max_rel: float | None = None
    max_rel_at: tuple[int, ...] | None = None
    error: str | None = None
    changes: tuple[Change, ...] = ()


Each = TypeVar("Each", NodeDiff, FunctionDiff, ValueDiff, TensorDiff, Change)


class DiffList(tuple[Each, ...], Generic[Each]):
    """The differences of one kind of thing: a tuple, which also lists them by `kind`."""

    __slots__ = ()

    def _of_kind(self, kind: Kind) -> tuple[Each, ...]:
        return tuple(each for each in self if each.kind == kind)

    @property
    def added(self) -> tuple[Each, ...]:
        """Those that only the second model has."""
        return self._of_kind("added")

    @property
    def removed(self) -> tuple[Each, ...]:
        """Those that only the first model has."""
        return self._of_kind("removed")

    @property
    def changed(self) -> tuple[Each, ...]:
        """Those that both models have and that differ."""
        return self._of_kind("changed")

    @property
    def moved(self) -> tuple[Each, ...]:
        """Those that are at another place. They may have changed, too."""
        return tuple(each for each in self if each.kind == "moved" or getattr(each, "moved", False))

    @property
    def renamed(self) -> tuple[Each, ...]:
        """The tensors of equal type, shape and values that have another name."""
        return self._of_kind("renamed")


@dataclass(frozen=True)
class ModelDiff:
    """The differences between two models, made by `onnxmap.diff`.

    A ModelDiff has no truth value, since `if onnxmap.diff(a, b)` could mean either. Ask `same`.
    `str()` shows the first ten differences of each kind, and `to_dict()` has all of them.

    Attributes:
        metadata: versions, the producer, doc strings, `metadata_props`: those of the model and of
            its graph.
        opset_imports: the versions of operator sets.
        inputs: the inputs of the graph.
        outputs: the outputs of the graph.
        nodes: the nodes of the graph.
        functions: the functions, which are matched by domain, name and overload.
        tensors: initializers, and tensors anywhere else whose values differ.
        other: everything else: inner values, quantization annotations, training information,
            unknown fields, and so on.
        left_out: how many differences were found and are not listed: each change of a node counts.
            It is 0 unless a list would take many times the memory of the models' structure.
    """

    metadata: DiffList[Change] = field(default_factory=DiffList)
    opset_imports: DiffList[Change] = field(default_factory=DiffList)
    inputs: DiffList[ValueDiff] = field(default_factory=DiffList)
    outputs: DiffList[ValueDiff] = field(default_factory=DiffList)
    nodes: DiffList[NodeDiff] = field(default_factory=DiffList)
    functions: DiffList[FunctionDiff] = field(default_factory=DiffList)
    tensors: DiffList[TensorDiff] = field(default_factory=DiffList)
    other: DiffList[Change] = field(default_factory=DiffList)
    left_out: int = 0
    _headings = ("part", "difference")
    _repr_html_ = describe_html

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return self.left_out == 0 and not any(len(part) for part in self._parts().values())

    def _parts(self) -> dict[str, tuple[Any, ...]]:
        return {each.name: getattr(self, each.name) for each in fields(self)[:-1]}

    def __bool__(self) -> bool:
        """Raise TypeError: ask `same`."""
        raise TypeError("a ModelDiff has no truth value; ask `diff.same`")

    def __str__(self) -> str:
        """Return the differences as text, the first ten of each kind."""
        return told(self._parts(), self.left_out)

    def __repr__(self) -> str:
        parts = [(len(part), name) for name, part in self._parts().items() if len(part)]
        counts = [f"{n} {name.removesuffix('s' * (n == 1))}" for n, name in parts]
        return f"<onnxmap.ModelDiff: {', '.join(counts) or 'same'}>"

    def _rows(self) -> Iterator[tuple[str, str]]:
        parts = self._parts().items()
        return ((name, line.strip()) for name, part in parts for line in lines(part))

    def to_dict(self) -> dict[str, object]:
        """Return all differences as dicts, lists, texts and numbers, for JSON.

        Bytes are base64. Numbers that JSON lacks are the texts "NaN", "Infinity" and "-Infinity".
        Types are their names.
        """
        return {"same": self.same, **to_dict(self._parts()), "left_out": self.left_out}
