"""Graphs and their initializers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onnxmap._display import describe

if TYPE_CHECKING:
    import numpy as np

    from onnxmap import _core
    from onnxmap._enums import DataType


class Initializers(Mapping[str, "_core.Tensor"]):
    """The initializers of a graph by name, in file order.

    Keys are unique: a name that several initializers have is one key, and looking it up raises
    ParseError `model.duplicate_name`, unless they are the segments of one tensor; `all()` also
    yields each of those, and unnamed ones.
    """

    __slots__ = ("_core", "_names")

    def __init__(self, core: _core.Graph) -> None:
        self._core = core
        self._names = core.names(sparse=False)

    def __getitem__(self, name: str) -> _core.Tensor:
        return self._core.initializer(self._names.position(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names.list())

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def all(self) -> Iterator[_core.Tensor]:
        """Every initializer in file order, repeated and unnamed ones included."""
        return iter(self._core.field("initializer"))

    def names(self) -> list[str]:
        """Name of each initializer of `all()`, in one call."""
        return self._core.initializer_names()

    def shapes(self) -> list[tuple[int, ...]]:
        """Shape of each initializer of `all()`, in one call, as stored."""
        return self._core.initializer_shapes()

    def dtypes(self) -> list[DataType | int]:
        """DataType of each initializer of `all()`; an int where the number is none of ONNX's."""
        return self._core.initializer_dtypes()

    def nbytes(self) -> list[int]:
        """Bytes that each initializer of `all()` takes as it is stored."""
        return self._core.initializer_nbytes()

    def views(self, names: Sequence[str] | str | None = None) -> dict[str, np.ndarray[Any, Any]]:
        """Read-only arrays by name, in one call; see `Model.views`."""
        if names is None:
            return self._core.views()
        return self._core.views_at(self._chosen(names))

    def _chosen(self, names: Sequence[str] | str | None, frugal: bool = False) -> list[int]:
        """Positions of those that are named, each once; by default of all that have a name."""
        self._names.find(frugal)
        return list(dict.fromkeys(map(self._names.position, self._select(names))))

    def _select(self, names: Sequence[str] | str | None) -> Collection[str]:
        """All names by default; a string is that very name if it exists, else a glob."""
        if names is None:
            return self
        given: object = names
        if isinstance(given, bytes):
            raise TypeError("names are a str or a list of str, not bytes")
        if not isinstance(names, str):
            return names
        if names in self:
            return [names]
        import fnmatch

        return [name for name in self if fnmatch.fnmatchcase(name, names)]

    def __repr__(self) -> str:
        return f"<onnxmap.Initializers of {len(self)} tensors>"


class SparseInitializers(Mapping[str, "_core.SparseTensor"]):
    """The sparse initializers of a graph by the name of their values, in file order.

    Looking up a name that several have raises ParseError `model.duplicate_name`; `all()` yields
    each of those, and unnamed ones.
    """

    __slots__ = ("_core", "_names")

    def __init__(self, core: _core.Graph) -> None:
        self._core = core
        self._names = core.names(sparse=True)

    def __getitem__(self, name: str) -> _core.SparseTensor:
        return self._core.field("sparse_initializer")[self._names.position(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names.list())

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def all(self) -> Iterator[_core.SparseTensor]:
        """Every sparse initializer in file order, repeated and unnamed ones included."""
        return iter(self._core.field("sparse_initializer"))

    def __repr__(self) -> str:
        return f"<onnxmap.SparseInitializers of {len(self)} tensors>"


class Graph:
    """A graph: the model's own, or one that an attribute holds.

    Nodes are decoded when they are asked for; whole columns (`op_types()`, `node_inputs()` ...)
    come in one call, which is many times faster than a loop.
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
        """`op_type` of each node."""
        return self._core.op_types()

    def op_counts(self) -> dict[str, int]:
        """How often each `op_type` occurs, the commonest first."""
        return self._core.op_counts()

    def node_names(self) -> list[str]:
        """Name of each node."""
        return self._core.node_names()

    def node_inputs(self) -> list[list[str]]:
        """Input names of each node."""
        return self._core.node_inputs()

    def node_outputs(self) -> list[list[str]]:
        """Output names of each node."""
        return self._core.node_outputs()

    @property
    def proto(self) -> _core.ProtoView:
        """The source message under the exact names of onnx.proto."""
        return self._core.proto

    def __repr__(self) -> str:
        return describe(self)
