"""Models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar

from onnxmap import _core, _read
from onnxmap._base.file_forms import BINARY
from onnxmap._base.later import import_module
from onnxmap._methods import surgery
from onnxmap._read.page_cache import Residency
from onnxmap._show.completion import let_ipython_complete
from onnxmap._show.shown import Tabled
from onnxmap.errors import EditError, OnnxMapError

if TYPE_CHECKING:
    from typing import BinaryIO

    import dask.array
    import numpy as np
    import onnx
    import onnx_ir
    import onnxruntime
    import torch

    from onnxmap._base.file_forms import FileForm
    from onnxmap._base.options import Options
    from onnxmap._base.paths import Path
    from onnxmap._core import Graph, Initializers
    from onnxmap._files.weight_files import RebaseReport
    from onnxmap._read.bulk_arrays import FloatType, TensorStream
    from onnxmap._read.checks import CheckReport
    from onnxmap._read.checksums import DataFile
    from onnxmap._read.stats import ModelStats
    from onnxmap._show.progress import ProgressArgument
    from onnxmap._show.reports import DimReport, PruneReport
    from onnxmap._write.options import ExternalData, NewTypes, SaveReport
    from onnxmap.interop.dask import ChunksArgument

Got_co = TypeVar("Got_co", covariant=True)
Given_contra = TypeVar("Given_contra", contravariant=True)


def _official() -> Any:
    return import_module("onnxmap.interop.official")  # needs onnx


class _Field(Generic[Got_co, Given_contra]):
    """A property for a field of the ModelProto, in the form in which Node and Graph have theirs."""

    def __init__(self, field: str, doc: str) -> None:
        self._field = field
        self.__doc__ = doc

    def __get__(self, model: Model | None, owner: type) -> Got_co:
        # The class itself has the descriptor, whose documentation is the property's.
        return self if model is None else _core.property_value(model.proto, self._field)  # type: ignore[return-value]

    def __set__(self, model: Model, value: Given_contra) -> None:
        _core.set_property(model.proto, self._field, value)

    def __delete__(self, model: Model) -> None:
        raise AttributeError(f".proto.ClearField({self._field!r}) removes the value")


def _weight_files() -> Any:
    return import_module("onnxmap._files.weight_files")


class Model:
    """A loaded model, made by `onnxmap.load` and `onnxmap.loads`.

    The model keeps the mapping of its file alive, and so does every array that is a view of it.
    `close()`, or leaving a `with` block, drops only the model's own reference.

    A Model is equal to itself only. Compare the `proto` of two models to compare their content.
    """

    __slots__ = ("_document", "_form", "_graph", "_options", "_path")

    def __init__(
        self,
        document: _core.Document,
        path: bytes | None,
        options: Options,
        form: FileForm = BINARY,
    ) -> None:
        self._document: _core.Document | None = document
        self._graph: Graph | None = None  # until it is asked for
        self._path = None if path is None else os.fsdecode(path)
        self._form = form  # of the file
        self._options = options  # to open the model again
        let_ipython_complete(Model)  # IPython may have been imported since onnxmap was

    def _open(self) -> _core.Document:
        document = self._document  # another thread may close the model
        if document is None:
            raise ValueError("the model is closed")
        return document

    def _with(self, document: _core.Document) -> Model:
        """A new model that opens external data as this one does."""
        root = os.fsdecode(document.external_root) or None
        return Model(document, None, replace(self._options, external_root=root))

    def close(self) -> None:
        """Drop the model's reference to its file. Arrays that exist stay valid."""
        self._document = None
        self._graph = None

    def __enter__(self) -> Model:  # noqa: PYI034 -- typing.Self is Python 3.11's
        self._open()
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    @property
    def proto(self) -> _core.ProtoView:
        """The source message, with the exact names of onnx.proto."""
        return self._open().proto

    @property
    def path(self) -> str | None:
        """The path that was loaded; None if the model is in a buffer."""
        self._open()
        return self._path

    @property
    def io(self) -> str:
        """How the model is read: "mmap", "read", "buffer" or "remote"."""
        return self._open().io

    @property
    def format(self) -> FileForm:
        """The form of the file, as for `save`: "protobuf", "textproto" or "json"."""
        self._open()
        return self._form

    ir_version = _Field[int, int]("ir_version", "The version of the ONNX format (IR version).")
    opset_imports = _Field[_core.OpsetMapping, Mapping[str, int]](
        "opset_import",
        """The versions of the operator sets by domain.

        If the file imports a domain more than once, the highest version counts. "" and "ai.onnx"
        are one domain: each finds the entry, whose key is as the file spells it.
        """,
    )
    producer_name = _Field[str, str]("producer_name", "The name of the tool that made the model.")
    producer_version = _Field[str, str]("producer_version", "The version of that tool.")
    domain = _Field[str, str]("domain", "The domain of the model, in reverse DNS order.")
    model_version = _Field[int, int]("model_version", "The version of the model itself.")
    doc_string = _Field[str, str]("doc_string", "The documentation of the model, in Markdown.")
    metadata_props = _Field[_core.StringMapping, Mapping[str, str]](
        "metadata_props",
        """The metadata of the model: strings by key.

        If a key is repeated, its last value counts, and you get a RepeatedKeyWarning.
        """,
    )
    functions = _Field["_core.MessageList[_core.Function]", Iterable[Any]](
        "functions", "The functions that the model defines, a sequence of Function."
    )
    training_info = _Field["_core.MessageList[_core.TrainingInfo]", Iterable[Any]](
        "training_info", "A sequence of TrainingInfo."
    )
    device_configurations = _Field["_core.MessageList[_core.DeviceConfiguration]", Iterable[Any]](
        "configuration", "A sequence of DeviceConfiguration."
    )

    @property
    def state_variables(self) -> list[str]:
        """The names of the initializers that training changes, each once.

        They are the keys of each `initialization_binding` and `update_binding` of `training_info`.
        An initializer of this name is in the graph, or in the `algorithm` of the training
        information.
        """
        return _core.state_variables(self.proto)

    @property
    def graph(self) -> Graph:
        """The graph."""
        document, graph = self._open(), self._graph
        if graph is None or graph.is_removed:  # another one may be in its place
            self._graph = graph = _core.wrap(document.proto.graph)
        return graph

    @property
    def initializers(self) -> Initializers:
        """The graph's initializers."""
        return self.graph.initializers

    @property
    def nbytes(self) -> int:
        """The stored size of all initializers, in bytes."""
        return self.initializers._stored_nbytes

    @property
    def num_parameters(self) -> int:
        """The number of elements of all initializers and Constant nodes, from their shapes.

        Those of subgraphs and functions count, and those of training information do not. An element
        of 2 or 4 bits is one. Of a sparse tensor, the stored values count. A tensor whose shape is
        invalid counts as 0. No values are read.
        """
        return self._open().num_parameters()

    @property
    def external_files(self) -> list[str]:
        """The paths of the external files, each once, in the order of first use."""
        files: dict[str, None] = {}
        for _, tensor in self.tensors():
            with suppress(OnnxMapError):  # only this tensor is wrong; reading it raises the error
                if tensor.is_external and tensor.file is not None:
                    files[tensor.file] = None
        return list(files)

    def data_files(self) -> list[DataFile]:
        """Return the data files of all tensors, each once, and why one cannot be opened.

        See `onnxmap.verify_files`, which compares them with their checksums.
        """
        return _read.checksums.data_files(
            (tensor for _, tensor in self.tensors()), declared_only=False
        )

    def tensors(self) -> list[tuple[str, _core.Tensor]]:
        """Return every tensor anywhere in the model, with its path.

        Returns:
            Pairs like `('graph.node[3].attribute["value"].t', tensor)`.
        """
        return self._open().tensors()

    def all_nodes(self) -> list[tuple[str, _core.Node]]:
        """Return every node anywhere in the model, with its path.

        The nodes of a subgraph follow the node that holds it. Those of functions and of training
        information follow those of the graph.

        Returns:
            Pairs like `('graph.node[3].attribute["body"].g.node[0]', node)`.
        """
        return self._open().nodes()

    def views(self, names: Sequence[str] | str | None = None) -> dict[str, np.ndarray[Any, Any]]:
        """Return the initializers as read-only arrays by name.

        An array is a view of the file if the stored bytes allow it. Otherwise it is decoded; see
        `Tensor.numpy`.

        Args:
            names: a list of names, or a string. A string is a name if an initializer has that name,
                otherwise a glob. By default, all named initializers.

        Raises:
            KeyError: there is no initializer of a name.
            TensorError: an initializer cannot be read.
            ExternalDataError: an external file cannot be read.
        """
        return self.initializers.views(names)

    def arrays(
        self,
        names: Sequence[str] | str | None = None,
        dtype: FloatType = None,
        threads: int | None = None,
        progress: ProgressArgument = False,
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Return the initializers as new arrays by name, read in parallel.

        The arrays are writable and aligned to 64 bytes. They share no memory with the file. Arrays
        of less than 4 MiB share blocks of memory with each other, so one that is kept alive keeps
        up to 16 MiB. Reading needs no other memory, except to convert segments or typed fields of
        one tensor at a time. Ctrl-C stops it at once.

        Args:
            names: as for `views`.
            dtype: a floating-point type of NumPy or ml_dtypes, a DataType, or the name of one. All
                floating-point tensors are converted to it, as by NumPy's `astype`. Other tensors
                stay unchanged.
            threads: the number of threads that read. By default, the number of processors that the
                process may use.
            progress: True draws a bar with tqdm; a callable gets `(bytes_done, bytes_total)`.

        Raises:
            KeyError: there is no initializer of a name.
            TensorError: an initializer cannot be read.
            ExternalDataError: an external file cannot be read.
            FileChangedError: a file changed before the call or during it.
            LimitError: too many tensors name the same bytes of a file (`limit.overlap`).
            ValueError: `dtype` is not a floating-point type of ONNX; or the model is closed.
            TypeError: `dtype` is not a type.
        """
        bulk = _core.plan_bulk(self.initializers, names, dtype, copies=True, release_pages=False)
        return _read.bulk_arrays.read_arrays(bulk, threads, progress)

    def stream(
        self,
        names: Sequence[str] | str | None = None,
        window: int | str = "256MiB",
        threads: int | None = None,
        dtype: FloatType = None,
        copy: bool = False,
        progress: ProgressArgument = False,
    ) -> TensorStream:
        """Return an iterator over the initializers, in stored order, that needs bounded memory.

        A background thread reads ahead of the loop, and drops the pages behind it. Resident memory
        grows by at most `window` and the current tensor, whatever the size of the model, with two
        exceptions. The loop variable keeps the previous new array alive, so two arrays can be in
        memory, even if they are larger than `window`. A model behind a URL adds 16 requests of up
        to 8 MiB.

        The stream drops from the page cache only what it brought there itself. It does that only
        for files that you own, because Linux does not report residency for others. An array that
        you keep stays valid: if a page of a view is used again, the system reads it again.

        Args:
            names: as for `views`.
            window: a number of bytes, or a string like "256MiB".
            threads: the number of threads that read if arrays are new. By default, the number of
                processors that the process may use.
            dtype: as for `arrays`.
            copy: return new, writable arrays instead of read-only views.
            progress: as for `arrays`.

        Returns:
            An iterator of `(name, array)`. An array is a read-only view if the stored bytes allow
            it, otherwise a new array. The background work stops when the loop is left, at
            `close()`, and at the end of a `with` block.

        Raises:
            FileChangedError: a file changed; also raised by the iterator.
            The other errors of `arrays`. They are raised before the first tensor if they can be
            known then.

        Example:
            >>> for name, array in model.stream(window="64MiB"):  # doctest: +SKIP
            ...     print(name, array.mean())
        """
        bulk = _core.plan_bulk(
            self.initializers, names, dtype, copies=bool(copy), release_pages=True
        )
        return _read.bulk_arrays.TensorStream(bulk, window, threads, progress)

    def stats(
        self,
        names: Sequence[str] | str | None = None,
        threads: int | None = None,
        progress: ProgressArgument = False,
    ) -> ModelStats:
        """Return minimum, maximum, mean, deviation and counts of the values of initializers.

        Every value is read once, in parallel and in bounded memory: some MiB for each thread,
        whatever the size of the model. A tensor that is stored in typed fields or segments is
        decoded as a whole. The result does not depend on the number of threads. Ctrl-C stops the
        work at once.

        Tensors of strings are left out.

        Args:
            names: as for `views`.
            threads: the number of threads that read and sum. By default, the number of processors
                that the process may use.
            progress: True draws a bar with tqdm; a callable gets `(bytes_done, bytes_total)`.

        Returns:
            TensorStats by name. `total` is about all values together.

        Raises:
            KeyError, TensorError, ExternalDataError, FileChangedError, LimitError: as for `arrays`.
            ValueError: the model is closed.

        Example:
            >>> stats = model.stats()  # doctest: +SKIP
            >>> [name for name, found in stats.items() if found.nans]  # doctest: +SKIP
            []
        """
        plan = _core.plan_stats(self.initializers, names)
        return _read.stats.read_stats(plan, threads, progress)

    def report(self, path: Path, other: Model | None = None) -> None:
        """Write a page about the model: one HTML file, which works offline.

        It shows the interface, versions, operators, sizes of weights by name, histograms of the
        largest weights, what `check` found, and data files. Tables of the tensors and the nodes
        sort, filter and lead to each other. The page reads only a sample of the values of the
        largest weights; if they are in a field such as `int64_data`, it decodes all of that. Names
        and strings of the model run nothing in the page.

        Needs the extra `report` (`pip install 'onnxmap[report]'`).

        Args:
            path: the file to write. A file that is there is replaced.
            other: another model. The page then begins with what `onnxmap.diff` finds, which reads
                all values, and has the sizes and histograms of both.

        Raises:
            ModuleNotFoundError: a package of the extra is missing.
            ValueError: a model is closed.
            SaveError: `path` is a file of one of the models (`save.own_data`).
            OSError: the system cannot write the file.

        Example:
            >>> model.report("report.html")  # doctest: +SKIP
        """
        import_module("onnxmap.report.page").write_report(self, path, other)  # needs jinja2

    def prefetch(self, names: Sequence[str] | str | None = None) -> None:
        """Ask the system to bring the bytes of initializers into memory before they are used.

        The call does not wait for the bytes. If there are many, the requests alone take as long as
        reading; Ctrl-C stops them. Bytes that are in memory already, like those of a buffer, cost
        next to nothing. If memory is short, the system drops pages again.

        Args:
            names: as for `views`.

        Raises:
            KeyError: there is no initializer of a name.
            TensorError: an initializer is stored wrongly, as far as can be seen without its values.
            ExternalDataError: an external file cannot be read.
            FileChangedError: a file is no longer the one that was loaded.
        """
        self.initializers._prefetch(names)

    def evict(self, names: Sequence[str] | str | None = None) -> None:
        """Drop the bytes of initializers from the page cache.

        Arrays stay valid: if a page is used again, the system reads it again. The system keeps some
        pages in memory: pages that are not on disk yet, pages that another process has mapped, and
        files on a tmpfs. It also keeps a large page (up to 2 MiB) at each end if the page holds
        other bytes too. Buffers are not affected.

        Args:
            names: as for `views`.

        Raises:
            KeyError, TensorError, ExternalDataError, FileChangedError: as for `prefetch`.
        """
        self.initializers._evict(names)

    def residency(self, names: Sequence[str] | str | None = None) -> Residency:
        """Return how many stored bytes of initializers are in memory now, without reading them.

        Linux reports residency only if you own the file or may write to it. For other files all
        bytes count as resident. The bytes of a buffer are resident, those behind a URL are not.

        Args:
            names: as for `views`.

        Returns:
            By name, the resident bytes and all bytes of a tensor. `resident`, `total` and `share`
            are those of all tensors together. If the values are in a typed field, the bytes of the
            whole TensorProto count.

        Raises:
            KeyError, TensorError, ExternalDataError, FileChangedError: as for `prefetch`.
            OSError: the system does not report residency.
        """
        return Residency(self.initializers._residency(names))

    def verify(self, progress: ProgressArgument = False) -> dict[str, str]:
        """Compare the external files with the SHA-1 that tensors declare for them.

        All bytes of these files are read. If there are several failures, the failure of the first
        file is raised.

        Args:
            progress: True draws a bar with tqdm; a callable gets `(bytes_done, bytes_total)`.

        Returns:
            The digest of each file for which a checksum is declared, by path. An empty dict if
            no checksum is declared.

        Raises:
            ChecksumError: the SHA-1 of a file is not the declared one (`ext.checksum`).
            ExternalDataError: a declared checksum is not a SHA-1 (`ext.checksum_form`), or a file
                cannot be opened.
            FileChangedError: a file changed while it was read.
            OSError: a file cannot be read.
        """
        return _read.checksums.verify_tensors((tensor for _, tensor in self.tensors()), progress)

    @property
    def edited(self) -> bool:
        """Whether the model was edited since it was loaded, or since `revert()`.

        It stays True if a later edit restores the old value.
        """
        return self._open().edited

    def revert(self) -> None:
        """Undo all edits since the model was loaded.

        Messages that were added since count as removed: they can still be read, but not written to.
        """
        self._open().revert()

    def extract(self, inputs: Iterable[str], outputs: Iterable[str]) -> Model:
        """Return the part of the model between these values as a model of its own.

        It computes the outputs from the inputs: it has the nodes between them, and what these nodes
        use, such as initializers, functions and imports. Everything else about the model is
        copied, except its training information. The weights are referred to, not copied: the file
        must stay as it is until the new model is saved. If the model does not say which type or
        rank an input or output has, the package onnx infers it from the structure, if it is there.

        Args:
            inputs: the names of its inputs, in their order: values of the main graph. An
                initializer may be one, and stays its default. In a model of IR version 3,
                initializers stay inputs.
            outputs: the names of its outputs.

        Returns:
            A model that consists of edits: `revert()` leaves nothing of it.

        Raises:
            UnknownNameError: the main graph has no value of a name; the error lists such names.
            TypeError: names are one str, not a list of them.
            ValueError: the outputs need an input of the model that is not given; a name is given
                twice; or a subgraph has a value of its own with the name of an input.
            EditError: nothing tells which type and rank a value has (`edit.untyped`).
            ParseError: `model.duplicate_name`: several nodes make one value.
        """
        for names in (inputs, outputs):
            if isinstance(names, str):
                raise TypeError(f"extract takes lists of names, not a str: [{names[:99]!r}]")
        document, ends = self._open(), (list(inputs), list(outputs))
        try:
            return self._with(_core.extract(document, *ends))
        except EditError as error:
            if error.code != "edit.untyped":
                raise
        with suppress(ImportError):
            document = _official().with_types(document)
        return self._with(_core.extract(document, *ends))

    def set_dims(
        self,
        dims: Mapping[str, int | str | None] | None = None,
        inputs: Mapping[str, Sequence[int | str | None]] | None = None,
        constants: bool = False,
    ) -> DimReport:
        """Give dimensions other names or numbers, in all types that the model stores.

        Args:
            dims: numbers or new names of dimensions by their names, as `graph.dimension_params` has
                them: `{"batch": 1}`; None makes them unknown. Each is replaced in inputs, outputs
                and value infos, those of subgraphs and functions included. Expressions of such a
                name become unknown.
            inputs: new shapes of inputs: `{"x": ["N", 3, None, None]}`. If a dimension was a name,
                the name or number that is given replaces it everywhere; None replaces it only in
                this input. If it was a number, stored shapes that depend on the input are out of
                date: their value infos are removed, also in called functions and in training that
                uses them, and numbers in the shapes of outputs and of inputs of subgraphs become
                unknown. `infer_shapes()` finds them again.
            constants: rewrite the constants that hold an old number as a size, if it is likely what
                they must hold: the numbers of sizes, and the batch of the initial states of
                LSTM, GRU and RNN. A constant that something else uses stays, and the node gets an
                initializer of its own.

        Placeholders that exporters write for unknown sizes are no names: `?`, `-1`, `None`, `unk__`
        with digits. As a new dimension, each is as None, and so is -1.

        Returns:
            The value infos that were removed, the places of dense constants that still hold an old
            number, and the places that were rewritten. A place is an input of a node that takes
            sizes or an initial state, or of one that makes these from constants. The node depends
            on the input, or is in a subgraph or function that does. A size that a function takes
            as an input is not among them.

        Raises:
            UnknownNameError: no dimension has that name, or no input.
            ValueError: a dimension would get two values, is negative or empty; an input has
                another rank, or none that is known; or its default has another shape.
            LimitError: `limit.text_bytes`: the places of constants are too long together.
        """
        found = _core.set_dims(self._open(), dims, inputs, constants)
        return import_module("onnxmap._make.size_constants").dim_report(*found, self.ir_version)

    def prune(self) -> PruneReport:
        """Remove what no output needs, in subgraphs, functions and training, too.

        That means nodes, initializers, value infos, annotations, functions and imports. Inputs
        stay, with the initializers that are their defaults; outputs stay, and so does the import of
        the default domain. In a function that has a graph as the default of an attribute, only the
        nodes outside of subgraphs go: that graph may use the others.

        Returns:
            What was removed.

        Raises:
            ParseError: `model.duplicate_name`: several nodes make one value.
        """
        return import_module("onnxmap._show.reports").PruneReport(*_core.prune(self._open()))

    def sort(self) -> None:
        """Put each node after the nodes whose values it or its subgraphs use, in every graph.

        Nodes that are in such an order already keep it.

        Raises:
            ParseError: `model.cycle`: there is no such order; `.path` is a node that needs itself.
                `model.duplicate_name`: several nodes make one value.
            ValueError: nodes are in another order in a function that has a graph as the default of
                an attribute, or in a subgraph of it.
        """
        _core.sort(self._open())

    def inline_functions(self, names: Iterable[str] | None = None) -> list[str]:
        """Replace calls of functions by the nodes of their bodies, and remove these functions.

        It does so in all graphs, in training and in the functions that stay. Values and nodes of a
        body keep their names if these are unused, and get a number otherwise: `x_2`. Attributes of
        the call or their defaults take the places of references; one that refers to an attribute of
        a function that stays is kept. Nodes also get the metadata of the call, value infos come
        along, and so do the imports of the functions.

        Args:
            names: which functions: their names, or `domain::name`, with `:overload` if they have
                one. By default, all.

        Returns:
            The functions that were removed, as `domain::name`.

        Raises:
            UnknownNameError: the model has no function of a name.
            TypeError: `names` is one str, not a list of them.
            ValueError: a function imports another version of a domain than what calls it; two
                functions are the same one; a call has more inputs or outputs than its function, or
                passes a graph that has calls; a function does not make a value that it returns, or
                makes one with the name of an input; has a graph as the default of an attribute; or
                has a default for an attribute that a function that stays gives it, perhaps without
                a value.
            ParseError: `model.cycle`: a function calls itself, perhaps through others.
            LimitError: `limit.overlap`: the bodies would take more than `Limits(overlap=...)` times
                the size of the model (256 MiB always fit). `limit.depth`: functions call each other
                too deeply, or the nodes would be nested too deeply.
        """
        if isinstance(names, str):
            raise TypeError(f"inline_functions takes a list of names, not a str: [{names[:99]!r}]")
        return _core.inline_functions(self._open(), None if names is None else list(names))

    def dedupe(self) -> list[tuple[str, str]]:
        """Replace initializers that are equal in type, shape and bits by the first of them.

        Each graph is handled by itself. Inputs, outputs, the variables of training, and tensors
        that a graph or subgraph annotates stay, and no other tensor is replaced by them. Graphs in
        a function whose attribute has a graph as its default are left as they are. Only tensors
        that may be equal are read.

        Returns:
            For each removed initializer: its name, and the name of the one that replaces it. Graphs
            may use the same names, so a pair may occur several times.

        Raises:
            FileChangedError: a file changed before the call or during it.
        """
        return _core.dedupe(self._open())

    def strip(
        self, doc_strings: bool = True, metadata: bool = False, value_infos: bool = False
    ) -> None:
        """Remove documentation, metadata or stored types: no result depends on them.

        Args:
            doc_strings: the documentation.
            metadata: `metadata_props`.
            value_infos: the types of inner values of graphs and functions.
        """
        _core.strip(self._open(), doc_strings, metadata, value_infos)

    def lift_constants(self, min_bytes: int = 0) -> list[str]:
        """Turn the tensors and numbers of Constant nodes into initializers of their graphs.

        These Constant nodes stay:
        - those that make an output of their graph;
        - those of a function, which has no initializers (its subgraphs have);
        - those whose value is a string, several strings, or sparse;
        - those whose name a subgraph also has, as it would then be seen there twice.

        Args:
            min_bytes: smaller tensors stay.

        Returns:
            The names of the new initializers: those of the values.

        Raises:
            ValueError: `min_bytes` is negative; or in a model of IR version 3 or earlier,
                initializers must be inputs.
        """
        return _core.lift_constants(self._open(), min_bytes)

    def lower_initializers(self) -> list[str]:
        """Turn initializers into Constant nodes, which come first in their graphs.

        These initializers stay: defaults of inputs, variables of training, sparse tensors, segments
        and tensors whose name another one has. Weights are referred to, not copied.

        Returns:
            The names of the values.

        Raises:
            ValueError: the model imports no operators of ONNX, of which Constant is one.
        """
        return surgery.lower_initializers(self)

    def drop_initializer_inputs(self) -> list[str]:
        """Remove the inputs that have a default: these initializers can no longer be overridden.

        Initializers must be inputs before IR version 4, so an earlier model becomes one of it.

        Returns:
            The names of the inputs.
        """
        return surgery.drop_initializer_inputs(self)

    def assign_names(self) -> list[str]:
        """Give nodes without a name one, and those whose name another node of the graph has.

        The names are new in the whole model: the operator, or the name before, with a number.

        Returns:
            The new names, in the order of the nodes.
        """
        return surgery.assign_names(self)

    def raise_ir(self, version: int) -> None:
        """Give the model a later IR version, with what that version requires.

        Args:
            version: one up to the last of `onnxmap.Version`.

        Raises:
            ValueError: the model has a later version, or version 1, whose attributes have no types;
                or there is no such version.
        """
        surgery.raise_ir(self, version)

    def save(
        self,
        path: Path | BinaryIO,
        external_data: ExternalData = None,
        *,
        size_threshold_bytes: int = 1024,
        alignment: int | None = None,
        attributes: bool = False,
        checksum: bool = False,
        max_shard_size_bytes: int | None = None,
        dedupe: bool = False,
        dtype: NewTypes = None,
        allow_loss: bool = False,
        allow_over_2gib: bool = False,
        format: FileForm | None = None,
        overwrite: bool = True,
        replace_read_only: bool = False,
        follow_symlinks: bool = False,
        sync: bool = True,
        progress: ProgressArgument = False,
    ) -> SaveReport:
        """Write the model, edits included; see `onnxmap.save`."""
        return import_module("onnxmap._files.save").save(
            self,
            path,
            external_data,
            size_threshold_bytes=size_threshold_bytes,
            alignment=alignment,
            attributes=attributes,
            checksum=checksum,
            max_shard_size_bytes=max_shard_size_bytes,
            dedupe=dedupe,
            dtype=dtype,
            allow_loss=allow_loss,
            allow_over_2gib=allow_over_2gib,
            format=format,
            overwrite=overwrite,
            replace_read_only=replace_read_only,
            follow_symlinks=follow_symlinks,
            sync=sync,
            progress=progress,
        )

    def extract_weights(
        self,
        path: Path,
        names: Sequence[str] | str | None = None,
        dtype: NewTypes = None,
        *,
        allow_loss: bool = False,
        overwrite: bool = True,
        replace_read_only: bool = False,
        sync: bool = True,
        progress: ProgressArgument = False,
    ) -> SaveReport:
        """Write initializers of the main graph to a file of weights, from file to file.

        Args:
            path: the path of the file, whose extension says what it is: `.safetensors` (see
                `onnxmap.save_safetensors`), `.npz` (an uncompressed archive that `numpy.load`
                reads), or `.npy` (one array).
            names: as for `views`.
            dtype: the types of floating-point tensors, as for `save`. Names stay.
            allow_loss: as for `save`.
            overwrite: as for `save`.
            replace_read_only: as for `save`.
            sync: as for `save`.
            progress: as for `save`.

        Raises:
            ValueError: the path has another extension.
            KeyError: there is no initializer of a name, or none that matches.
            SaveError: values do not fit `dtype` (`save.loss`). The file cannot hold some tensors,
                which the error names (`save.not_carried`). NumPy reads bfloat16, float8 and smaller
                types back as bytes. There are no initializers, and the weights are in Constant
                nodes (`save.no_weights`).
            The other errors of `save`.
        """
        return _weight_files().extract_weights(
            self, path, names,
            dtype=dtype, allow_loss=allow_loss, overwrite=overwrite,
            replace_read_only=replace_read_only, sync=sync, progress=progress,
        )  # fmt: skip

    def rebase(
        self,
        other: Model | Mapping[str, Any],
        strict: bool = True,
        keys: Mapping[str, str] | Callable[[str], str] | None = None,
    ) -> RebaseReport:
        """Give the initializers of the main graph the values of another model, by name.

        It is an edit, which `revert()` takes back. No value is copied: the other files and arrays
        must stay as they are until the model is saved.

        Args:
            other: a Model, such as one of `load_safetensors` or `load_npz`; or arrays by name.
            strict: require a new value for every initializer, and an initializer for every value.
            keys: how to rename values of the other model: new names by patterns with at most one
                `*` (`{"transformer.*": "model.*"}`; the first pattern that fits counts), or a
                function. Names that no pattern fits stay.

        Returns:
            What was matched, is missing, and was not used.

        Raises:
            EditError: a value has another type or shape, or `strict` is not met (`edit.weights`).
                The model is as it was.
            ValueError: two names become the same.
        """
        return _weight_files().rebase(self, other, strict, keys)

    def unused_bytes(self) -> dict[str, int]:
        """Return, by the path of each external file, the bytes that no tensor of the model uses.

        Padding between tensors does not count.

        Raises:
            ExternalDataError: an external file cannot be opened.
        """
        return _core.unused_bytes(self._open())

    def torch(
        self,
        names: Sequence[str] | str | None = None,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> dict[str, torch.Tensor]:
        """Return the initializers as torch tensors by name, ready for `load_state_dict`.

        On the CPU they are on copy-on-write pages: nothing is copied until it is written to, and
        the file never changes. See `Tensor.torch` for the types that NumPy lacks.

        Exporters rename and fold weights, so names and shapes may not be those of the torch module.

        Args:
            names: as for `views`.
            device: where the tensors go, as for `torch.Tensor.to`. By default, the CPU.
            dtype: a floating-point type of torch. All floating-point tensors are converted to it.

        Raises:
            KeyError: there is no initializer of a name.
            TypeError: `dtype` is no floating-point type of torch, or torch has no type for the
                elements of an initializer.
            TensorError: an initializer cannot be read.
            ExternalDataError: an external file cannot be read.
            ImportError: torch is not installed.
        """
        interop = import_module("onnxmap.interop.torch")
        return interop.to_torch_tensors(self.initializers, names, device, dtype)

    def session(
        self,
        providers: Sequence[str | tuple[str, dict[str, Any]]] | None = None,
        sess_options: Any = None,
        provider_options: Sequence[dict[str, Any]] | None = None,
        prepack: bool = True,
        outputs: Iterable[str] | None = None,
        **kwargs: Any,
    ) -> onnxruntime.InferenceSession:
        """Return a session of onnxruntime for the model as it is now, edits included.

        onnxruntime maps the weights from the files that hold them, in the model or beside it,
        however large they are. They need no memory of the process's own until they are changed or
        prepacked, and processes share their pages. Tensors of less than 64 KiB are copied. So are
        values that no local file holds: new ones, those of buffers, of remote models, and of files
        that were deleted or replaced. They go into a temporary file that is deleted before this
        call returns.

        The model may be closed, and its files replaced or deleted, while the session lives. If a
        mapped file is truncated, the next touch of the lost pages kills the process.

        Args:
            providers: as for `onnxruntime.InferenceSession`.
            sess_options: `onnxruntime.SessionOptions`, or None. They are copied, and stay as they
                are; operators of `register_custom_ops_library` are not copied. If they have data
                files in memory, onnxruntime copies all weights.
            provider_options: as for `onnxruntime.InferenceSession`.
            prepack: let onnxruntime copy weights into the layout of its kernels, which costs time
                and memory now and makes runs with small batches faster. False: it uses the pages of
                the files.
            outputs: names of inner values of the graph that become outputs, too, after the
                model's own.
            **kwargs: passed to `onnxruntime.InferenceSession`.

        Raises:
            UnknownNameError: there is no value of a name in `outputs`.
            ValueError: `sess_options` asks for an optimized model in ONNX's format, and names no
                data file for its weights.
            SessionError: onnxruntime refuses the model (`session.refused`), or it is too large
                without its weights (`session.too_large`).
            TensorError, ExternalDataError: weights cannot be read, or must not be
                (`ext.unsafe_path`).
            FileChangedError: a file changed since it was loaded, or is replaced meanwhile.
            ImportError: onnxruntime is not installed.
        """
        interop = import_module("onnxmap.interop.ort")
        kwargs |= {"providers": providers, "provider_options": provider_options}
        return interop.open_session(self, sess_options, prepack, outputs, **kwargs)

    def to_dask(
        self, names: Sequence[str] | str | None = None, chunks: ChunksArgument = "auto"
    ) -> dict[str, dask.array.Array]:
        """Return the initializers as Dask arrays by name. The workers read the chunks themselves.

        A task holds a reference to the file, of a few hundred bytes. The process that runs the task
        reads its chunk, by `pread` into a new array, so no weight goes through the scheduler. Every
        worker needs the file under the same path, and opens it once per process. This call reads no
        values. The names of the arrays depend on the state of the file.

        Some tensors have no values that can be read from a file as they are: strings, empty
        tensors, tensors in segments, and tensors in typed fields (except floats that are packed in
        `float_data`). Their values go into the tasks, in one chunk that is then split. The same
        holds for all tensors of a model in a buffer.

        Args:
            names: as for `views`.
            chunks: as for `dask.array.from_array`. If it is a size like "64MiB", a chunk is one
                range of the file: rows of the first dimensions, as many as fit in that size.
                "auto" is the size in Dask's `array.chunk-size`.

        Returns:
            Arrays with the shape and NumPy type of `Tensor.numpy()`. If the file changed after this
            call, computing an array raises FileChangedError in the worker.

        Raises:
            KeyError: there is no initializer of a name.
            TensorError: an initializer cannot be read.
            ExternalDataError: an external file cannot be opened.
        """
        return import_module("onnxmap.interop.dask").to_dask(self.initializers, names, chunks)

    def to_proto(self, weights: Literal["copy", "reference", "none"] = "copy") -> onnx.ModelProto:
        """Return the model as it is now, edits included, as a ModelProto of protobuf.

        A tensor is large if it has at least 1 KiB, or 64 KiB if its elements are INT32 or INT64:
        shape inference reads integers. Smaller tensors are always copied.

        Args:
            weights: what becomes of the values of large tensors. "copy": the message is that of
                `dumps`. "reference": values that a file stores verbatim become external data with
                the absolute path of that file, or its URL, and are not read. Others are copied:
                arrays that were assigned, buffers, texts, segments, and integers in typed fields.
                "none": they are left out; names, types and shapes stay.

        Returns:
            An `onnx.ModelProto`, or without the package onnx a message with the same fields. It
            shares nothing with the model. `onnxmap.from_proto` is the way back.

        Raises:
            ValueError: `weights` has another value.
            ExternalDataError: "reference", and an external file cannot be found.
            SaveError: "copy", and the model has more than 2 GiB (`save.too_large`).
            ImportError: protobuf is not installed.
        """
        return import_module("onnxmap.interop.proto_models").to_proto(self._open(), weights)

    def to_ir(self) -> onnx_ir.Model:
        """Return the model as it is now as an `onnx_ir.Model`, whose tensors read the mapping.

        No values of 4096 bytes or more are read, except texts. Each tensor, at any depth and in
        attributes, has the class of `Tensor.to_ir()`, and reads the values when onnx_ir asks for
        them. onnx_ir has no sparse initializers, training information and segments.

        Returns:
            A model of its own: changes of it do not change this one, which may be closed.
            `onnxmap.from_ir` is the way back.

        Raises:
            onnx_ir.serde.SerdeError: onnx_ir cannot represent the model.
            ImportError: onnx_ir is not installed.
        """
        return import_module("onnxmap.interop.ir_models").to_ir_model(self._open())

    def infer_shapes(
        self, check_type: bool = False, strict_mode: bool = False, data_prop: bool = False
    ) -> None:
        """Infer the shapes of inner values, as `onnx.shape_inference.infer_shapes` does.

        It works on the structure, without the values of large tensors, so the model may have any
        size. The shapes are added as an edit: `revert()` undoes it, with all other edits. Messages
        that do not change keep their bytes.

        Args:
            check_type: check the types of inputs and outputs.
            strict_mode: raise an error if the shapes of a node cannot be inferred.
            data_prop: follow the values of small integer tensors.

        Raises:
            onnx.shape_inference.InferenceError: onnx found an error.
            ImportError: onnx is not installed.
        """
        _official().infer_shapes(self._open(), check_type, strict_mode, data_prop)

    def convert_version(self, target_version: int) -> None:
        """Convert the nodes to another version of ONNX's operators, as `onnx.version_converter`.

        It works on the structure, as `infer_shapes` does, and is an edit, too. It also adds the
        shapes that onnx's converter infers. What the converter drops is kept: functions, sparse
        initializers, documentation, metadata of graphs and tensors.

        Args:
            target_version: the version of the operator set of the domain `""`.

        Raises:
            RuntimeError: onnx cannot convert a node.
            ValueError: a function has a node that is another operator in that version, and onnx
                does not convert functions: call `inline_functions()` before; or onnx.checker
                accepts the model, but refuses what onnx's converter makes of it.
            ImportError: onnx is not installed.
        """
        _official().convert_version(self._open(), target_version)

    def check(
        self,
        *,
        values: bool = False,
        strict: bool = False,
        operators: bool = True,
        full: bool = False,
        select: Iterable[str] | str | None = None,
        ignore: Iterable[str] | str | None = None,
    ) -> CheckReport:
        """Check the model, edits included, against the rules of the ONNX specification.

        It takes milliseconds, whatever the size of the weights: only the structure is read, and
        the typed fields of tensors of at most 64 KiB. External files are opened, but not read. The
        page "rules" of the documentation explains each rule, with an example that breaks it.

        Args:
            values: also check what only the values of tensors show: whether bytes of BOOL are 0 or
                1, strings are UTF-8, values fit their type, unused bits are zero, and indices of
                sparse tensors ascend.
            strict: also give advice that many good models do not follow, such as that names are
                identifiers of C.
            operators: compare nodes with the signatures of their operators, which onnxmap knows
                without the package onnx, and follow the types of values through the graph.
            full: also ask `onnx.checker`, which infers the type and the shape of each value, with
                the large weights left out. It stops at the first fault. Needs the extra
                `onnxmap[onnx]`.
            select: the names of the rules to look for, such as `["node.*", "value.cycle"]`. Then
                `strict` has no effect. By default, all rules.
            ignore: the names of rules to leave out.

        Returns:
            The findings, at most 1 000 of each rule. `report.ok` is True if none is an error.

        Raises:
            ValueError: no rule has one of the names, `select` names `onnx.checker` alone without
                `full`, or the model is closed.
            FileChangedError: the file of the model changed since it was loaded.
            OSError: a file cannot be opened, and not for a reason that a rule names.
        """
        checks, document = _read.checks, self._open()
        chosen = checks.chosen_rules(strict, select, ignore, operators=operators, full=full)
        folder = os.fsdecode(document.external_root)
        report = checks.check_message(document.proto, chosen, values=values, folder=folder)
        if not full or checks.OFFICIAL.name not in chosen:
            return report
        fault = _official().official_fault(document)
        return report if fault is None else checks.with_official_fault(report, fault)

    if not TYPE_CHECKING:  # a type checker reports a wrong name by itself

        def __setattr__(self, name: str, value: object) -> None:
            try:
                object.__setattr__(self, name, value)
            except AttributeError:
                # For another name, this raises the error of reading it, which says what to use.
                if isinstance(getattr(Model, name, None) or getattr(self, name), _Field):
                    raise
                wrong_values = import_module("onnxmap._show.wrong_values")
                raise wrong_values.read_only("Model", name) from None

        def __getattr__(self, name: str) -> NoReturn:
            unknown_names = import_module("onnxmap._show.unknown_names")
            raise unknown_names.missing_attribute(Model, "ModelProto", name, _core.Graph)

    __repr__ = Tabled.__repr__
    _repr_html_ = Tabled._repr_html_


def merge(
    a: Model,
    b: Model,
    connect: Mapping[str, str | Iterable[str]] | None = None,
    prefix: str | None = None,
    share: Iterable[str] = (),
) -> Model:
    """Return a model that runs `a`, then `b`, with the weights of both by reference.

    Its inputs and outputs are those of both, `a`'s first, without the connected ones. Everything
    else about the model is `a`'s; what only `b` has, such as functions, imports and metadata, comes
    along. Without a prefix, an initializer that both have under one name, with the same contents,
    comes once. The files of both must stay as they are until the model is saved.

    Args:
        a: a model.
        b: another one.
        connect: `{output of a: input of b}`, or a list of inputs. `b` takes the output of `a` where
            it took that input, and both go from the lists of outputs and inputs. A default of the
            input goes as well.
        prefix: what to put before the names of `b`'s values and nodes, those of subgraphs included,
            and of all its functions if `a` has another one of the same name. Names of dimensions
            stay: one that both models have is one dimension.
        share: names of inputs that both models have, and that are one; `a`'s stays, with its
            default.

    Returns:
        A model that is edited: `revert()` leaves nothing of it.

    Raises:
        UnknownNameError: there is no such output or input.
        TypeError: an argument is of another type.
        ValueError: the models contradict each other. Both have a value or node of one name: give a
            prefix, or share the input. They have different functions of one name: give a prefix.
            They import two versions of a domain: call `convert_version` on one before. They have
            different metadata or device configurations of one name, or one has a function with the
            name of an operator the other uses. An output has another type than the input it is
            connected to, or another rank or other numbers in its shape. `b` has training
            information, or that of `a` assigns a connected output.

    Example:
        >>> both = onnxmap.merge(encoder, decoder, {"hidden": "states"}, prefix="decoder/")
        ... # doctest: +SKIP
    """
    for given, kind, takes in (
        (a, Model, "merge takes Models"),
        (b, Model, "merge takes Models"),
        (connect, Mapping | None, "connect is a dict {output of a: input of b}"),
        (prefix, str | None, "prefix is a str"),
        (share, Iterable, "share is a list of names"),
    ):
        if not isinstance(given, kind):
            raise TypeError(f"{takes}, not {type(given).__name__}")
    pairs = [
        (output, each)
        for output, inputs in (connect or {}).items()
        for each in (
            [inputs] if isinstance(inputs, str) or not isinstance(inputs, Iterable) else inputs
        )
    ]
    shared = [share] if isinstance(share, str) else list(share)
    made = _core.merge(a._open(), b._open(), pairs, prefix or "", shared)
    return a._with(made)
