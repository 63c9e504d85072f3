"""Graphs and their initializers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

from onnxmap._assignments import set_or_explain
from onnxmap._display import describe, describe_html
from onnxmap._text import counted

if TYPE_CHECKING:
    import numpy as np

    from onnxmap import _core
    from onnxmap._core import StringMapping
    from onnxmap._enums import DataType

T_co = TypeVar("T_co", covariant=True)


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

    def get(self, key: str, default: Any = None) -> Any:
        """Return the tensor of this name, or `default`.

        It costs as little as `in`: the error of `[]` suggests names, which takes a millisecond.
        """
        return self[key] if key in self._names else default

    def _ipython_key_completions_(self) -> list[str]:
        return self._names.names()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"cannot copy or pickle onnxmap.{type(self).__name__}; pickle the Model, or dict(...) "
            "of it, which has the tensors by name"
        )

    def __repr__(self) -> str:
        return f"<onnxmap.{type(self).__name__} of {counted(len(self), 'tensor')}>"

    def _repr_html_(self) -> str:
        return describe_html(self)


class Initializers(_ByName["_core.Tensor"], MutableMapping[str, "_core.Tensor"]):
    """The initializers of a graph by name, in file order.

    Assigning an array, a Tensor, a TensorProto or a torch tensor replaces the tensor; a new name
    goes to the end. Arrays of 4096 bytes or more are not copied: keep them unchanged until a save.

    Keys are unique. If several initializers have the same name, looking it up raises ParseError
    `model.duplicate_name`, unless they are the segments of one tensor. `all()` yields each of them,
    and the unnamed ones.
    """

    __slots__ = ()

    def __init__(self, core: _core.Graph) -> None:
        super().__init__(core, core.names(sparse=False))

    def __getitem__(self, name: str) -> _core.Tensor:
        return self._core.initializer(self._names.position(name))

    def __setitem__(self, name: str, values: Any) -> None:
        from onnxmap._weights import assign

        assign(self._core, self._names, name, values)

    def __delitem__(self, name: str) -> None:
        user = self._core.first_user(name) if name in self._names else None
        if user is not None:
            raise ValueError(f"initializer {name!r} is used by {describe(user)}")
        from onnxmap._weights import remove

        remove(self._core, self._names, name)

    def setdefault(self, name: str, values: Any = None) -> _core.Tensor:
        """Return the initializer of a name; if there is none, add one with these values first."""
        if name not in self:
            self[name] = values
        return self[name]

    def rename(self, old: str | Mapping[str, str], new: str | None = None) -> None:
        """Rename an initializer, with everything that refers to it.

        That is: inputs of nodes and their sharding specs, inputs, outputs and value_infos of the
        graph, annotations, and subgraphs that have no value of their own of that name; of the main
        graph, training algorithms and bindings, too.

        Args:
            old: the name; or the new names of many initializers by their old ones, which takes
                little more time than one.
            new: the new name.

        Raises:
            KeyError: there is no initializer of the old name.
            ValueError: the new name is taken, in the graph or by a value of a subgraph, or the
                graph uses a value of the new name from outside.
        """
        if isinstance(old, str) and new is None:
            raise TypeError("rename() needs the new name")
        if not isinstance(old, (str, Mapping)):
            raise TypeError(f"expected a name or a mapping of names, not {type(old).__name__}")
        self._core.rename_initializers({old: new} if isinstance(old, str) else dict(old))

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
        from onnxmap._names import names_meant

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


class Use(NamedTuple):
    """One place where a value is used."""

    user: _core.Node | Graph
    """The Node that has the value as an input, or the Graph that has it as an output."""
    position: int
    """The position in `user.inputs` or `user.outputs`."""


class Graph:
    """A graph: the model's own, or one that an attribute holds.

    Properties are what the file has; methods search, or make a new list. A node is decoded when it
    is used. Whole columns (`op_types()`, `node_inputs()`...) come in one
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
    def is_removed(self) -> bool:
        """Whether the graph was removed from its model: it can be read, and not written to."""
        return self._core.is_removed

    @property
    def initializers(self) -> Initializers:
        """Tensors by name, in file order."""
        return self._initializers

    @property
    def name(self) -> str:
        """Name, or an empty string."""
        return self._core.field("name")

    @name.setter
    def name(self, value: str) -> None:
        self._core.set_field("name", value)

    @property
    def doc_string(self) -> str:
        """Documentation in Markdown."""
        return self._core.field("doc_string")

    @doc_string.setter
    def doc_string(self, value: str) -> None:
        self._core.set_field("doc_string", value)

    @property
    def nodes(self) -> _core.MessageList[_core.Node]:
        """Sequence of Node, in topological order."""
        return self._core.field("node")

    @nodes.setter
    def nodes(self, value: Iterable[_core.Node | _core.ProtoView]) -> None:
        self._core.set_field("node", value)

    @property
    def inputs(self) -> _core.MessageList[_core.ValueInfo]:
        """Sequence of ValueInfo."""
        return self._core.field("input")

    @inputs.setter
    def inputs(self, value: Iterable[_core.ValueInfo | _core.ProtoView]) -> None:
        self._core.set_field("input", value)

    @property
    def outputs(self) -> _core.MessageList[_core.ValueInfo]:
        """Sequence of ValueInfo."""
        return self._core.field("output")

    @outputs.setter
    def outputs(self, value: Iterable[_core.ValueInfo | _core.ProtoView]) -> None:
        self._core.set_field("output", value)

    @property
    def value_infos(self) -> _core.MessageList[_core.ValueInfo]:
        """Sequence of ValueInfo of the values between nodes."""
        return self._core.field("value_info")

    @value_infos.setter
    def value_infos(self, value: Iterable[_core.ValueInfo | _core.ProtoView]) -> None:
        self._core.set_field("value_info", value)

    @property
    def sparse_initializers(self) -> SparseInitializers:
        """SparseTensor by the name of its values, in file order."""
        return SparseInitializers(self._core)

    @property
    def quantization_annotations(self) -> _core.MessageList[_core.QuantizationAnnotation]:
        """Sequence of QuantizationAnnotation."""
        return self._core.field("quantization_annotation")

    @quantization_annotations.setter
    def quantization_annotations(
        self, value: Iterable[_core.QuantizationAnnotation | _core.ProtoView]
    ) -> None:
        self._core.set_field("quantization_annotation", value)

    @property
    def metadata_props(self) -> StringMapping:
        """Named values, as for Model."""
        return self._core.field("metadata_props")

    @metadata_props.setter
    def metadata_props(self, value: Mapping[str, str]) -> None:
        self._core.set_field("metadata_props", value)

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

    def producer(self, value: str) -> _core.Node | None:
        """Return the node whose outputs include `value`, or None.

        A value without a producer is an input, an initializer, or no value of this graph at all.

        The first call of this method, `consumers` or `uses` reads all nodes. Later calls look a
        name up; after an edit they read the nodes that were edited.

        Raises:
            ParseError: `model.duplicate_name`: several nodes have an output of this name.
        """
        return self._core.producer(value)

    def consumers(self, value: str) -> list[_core.Node]:
        """Return the nodes that have `value` among their inputs, in order, each once.

        A value without consumers may also be no value of this graph at all. Nodes in subgraphs are
        included. Outputs of graphs are not nodes; `uses` has them too.
        """
        return self._core.consumers(value)

    def uses(self, value: str) -> list[Use]:
        """Return the places where `value` is used, in order.

        A `Use` is a pair: a Node and a position among its inputs, or a Graph and a position among
        its outputs. Uses in subgraphs follow those of the node that holds the subgraph. A subgraph
        that has a value of the same name uses its own.
        """
        return self._core.uses(value)

    def value(self, name: str) -> _core.ValueInfo | None:
        """Return the ValueInfo of an input, an output or a value between nodes; None without one.

        Raises:
            ParseError: `model.duplicate_name`: several of them have this name.
        """
        return self._core.value(name)

    def topological_order(self) -> list[_core.Node]:
        """Return the nodes in an order in which each follows the nodes whose outputs it uses.

        The uses of its subgraphs count as well. Nodes that are already in such an order keep it.

        Raises:
            ParseError: `model.cycle`: there is no such order. `model.duplicate_name`: several nodes
                have an output of the same name.
        """
        return self._core.topological_order()

    @property
    def required_inputs(self) -> list[_core.ValueInfo]:
        """The inputs that a caller must give: those without an initializer of their name."""
        return self._core.inputs(with_default=False)

    @property
    def overridable_inputs(self) -> list[_core.ValueInfo]:
        """The inputs that a caller may give: an initializer of their name is their default."""
        return self._core.inputs(with_default=True)

    @property
    def dimension_params(self) -> list[str]:
        """The names of dimensions in the types of values, each once, in the order of first use."""
        return self._core.dimension_params()

    @property
    def proto(self) -> _core.ProtoView:
        """The source message, with the exact names of onnx.proto."""
        return self._core.proto

    if not TYPE_CHECKING:  # a type checker reports a wrong name by itself
        __setattr__ = set_or_explain

        def __getattr__(self, name: str) -> NoReturn:
            from onnxmap._names import missing_attribute

            raise missing_attribute(Graph, "GraphProto", name)

    def __repr__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        return describe_html(self)
