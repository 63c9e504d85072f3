"""Graphs and their initializers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from onnxmap._display import describe

if TYPE_CHECKING:
    import numpy as np

    from onnxmap import _core
    from onnxmap._enums import DataType


T_co = TypeVar("T_co", covariant=True)


def names_meant(text: str, names: Collection[str]) -> list[str]:
    """Return `text` if it is one of the names, else the names that it matches as a glob."""
    if text in names:
        return [text]
    import fnmatch

    return [name for name in names if fnmatch.fnmatchcase(name, text)]


class _ByName(Mapping[str, T_co]):
    """Tensors of a graph by name: keys are unique, and the core decides what a name stands for."""

    __slots__ = ("_core", "_names")

    def __init__(self, core: _core.Graph, names: _core.TensorNames) -> None:
        self._core = core
        self._names = names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names.names())

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __repr__(self) -> str:
        return f"<onnxmap.{type(self).__name__} of {len(self)} tensors>"


class Initializers(_ByName["_core.Tensor"]):
    """The initializers of a graph by name, in file order.

    Keys are unique. If several initializers have the same name, looking it up raises ParseError
    `model.duplicate_name`, unless they are the segments of one tensor. `all()` yields each of them,
    and the unnamed ones.
    """

    __slots__ = ()

    def __init__(self, core: _core.Graph) -> None:
        super().__init__(core, core.names(sparse=False))

    def __getitem__(self, name: str) -> _core.Tensor:
        return self._core.initializer(self._names.position(name))

    def all(self) -> Iterator[_core.Tensor]:
        """Every initializer in file order, repeated and unnamed ones included."""
        return iter(self._core.field("initializer"))

    def names(self) -> list[str]:
        """Return the name of each initializer of `all()`, in one call."""
        return self._core.initializer_names()

    def shapes(self) -> list[tuple[int, ...]]:
        """Return the stored shape of each initializer of `all()`, in one call."""
        return self._core.initializer_shapes()

    def dtypes(self) -> list[DataType | int]:
        """Return the DataType of each initializer of `all()`; an int if ONNX has no such type."""
        return self._core.initializer_dtypes()

    def nbytes(self) -> list[int]:
        """Return the stored size of each initializer of `all()`, in bytes."""
        return self._core.initializer_nbytes()

    def views(self, names: Sequence[str] | str | None = None) -> dict[str, np.ndarray[Any, Any]]:
        """Return the initializers as read-only arrays by name; see `Model.views`."""
        if names is None:
            return self._core.views()
        return self._core.views_at(self._chosen(names))

    def _chosen(self, names: Sequence[str] | str | None, frugal: bool = False) -> list[int]:
        """Positions of those that are named, each once; by default of all that have a name."""
        self._names.read(frugal)
        if names is None:
            return self._names.positions()
        return list(dict.fromkeys(map(self._names.position, self._select(names))))

    def _select(self, names: Sequence[str] | str | None) -> Collection[str]:
        """The chosen names: all by default; a string is a name if it exists, else a glob."""
        if names is None:
            return self
        given: object = names
        if isinstance(given, bytes):
            raise TypeError("names must be a str or a list of str, not bytes")
        if not isinstance(names, str):
            return names
        return names_meant(names, self)


class SparseInitializers(_ByName["_core.SparseTensor"]):
    """The sparse initializers of a graph by the name of their values, in file order.

    Looking up a repeated name raises ParseError `model.duplicate_name`. `all()` yields every sparse
    initializer, unnamed ones too.
    """

    __slots__ = ()

    def __init__(self, core: _core.Graph) -> None:
        super().__init__(core, core.names(sparse=True))

    def __getitem__(self, name: str) -> _core.SparseTensor:
        return self._core.field("sparse_initializer")[self._names.position(name)]

    def all(self) -> Iterator[_core.SparseTensor]:
        """Every sparse initializer in file order, repeated and unnamed ones included."""
        return iter(self._core.field("sparse_initializer"))


class Graph:
    """A graph: the model's own, or one that an attribute holds.

    A node is decoded when it is used. Whole columns (`op_types()`, `node_inputs()`...) come in one
    call, which is many times faster than a loop.
    """

    __slots__ = ("_core", "_initializers")

    def __init__(self, core: _core.Graph) -> None:
        self._core = core
        self._initializers = Initializers(core)

    def __eq__(self, other: object) -> bool:
        return self.proto == other.proto if isinstance(other, Graph) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.proto)

    @property
    def initializers(self) -> Initializers:
        """Tensors by name, in file order."""
        return self._initializers

    @property
    def name(self) -> str:
        """Name, or an empty string."""
        return self._core.field("name")

    @property
    def doc_string(self) -> str:
        """Documentation in Markdown."""
        return self._core.field("doc_string")

    @property
    def nodes(self) -> _core.MessageList[_core.Node]:
        """Sequence of Node, in topological order."""
        return self._core.field("node")

    @property
    def inputs(self) -> _core.MessageList[_core.ValueInfo]:
        """Sequence of ValueInfo."""
        return self._core.field("input")

    @property
    def outputs(self) -> _core.MessageList[_core.ValueInfo]:
        """Sequence of ValueInfo."""
        return self._core.field("output")

    @property
    def value_infos(self) -> _core.MessageList[_core.ValueInfo]:
        """Sequence of ValueInfo of the values between nodes."""
        return self._core.field("value_info")

    @property
    def sparse_initializers(self) -> SparseInitializers:
        """SparseTensor by the name of its values, in file order."""
        return SparseInitializers(self._core)

    @property
    def quantization_annotations(self) -> _core.MessageList[_core.QuantizationAnnotation]:
        """Sequence of QuantizationAnnotation."""
        return self._core.field("quantization_annotation")

    @property
    def metadata_props(self) -> Mapping[str, str]:
        """Named values."""
        return self._core.field("metadata_props")

    def op_types(self) -> list[str]:
        """Return the `op_type` of each node."""
        return self._core.op_types()

    def op_counts(self) -> dict[str, int]:
        """Return how often each `op_type` occurs, the most common first."""
        return self._core.op_counts()

    def node_names(self) -> list[str]:
        """Return the name of each node."""
        return self._core.node_names()

    def node_inputs(self) -> list[list[str]]:
        """Return the input names of each node."""
        return self._core.node_inputs()

    def node_outputs(self) -> list[list[str]]:
        """Return the output names of each node."""
        return self._core.node_outputs()

    @property
    def proto(self) -> _core.ProtoView:
        """The source message, with the exact names of onnx.proto."""
        return self._core.proto

    def __repr__(self) -> str:
        return describe(self)
