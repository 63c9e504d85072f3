"""Models."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NoReturn

from onnxmap import _core, _page_cache
from onnxmap._assignments import set_or_explain
from onnxmap._display import describe, describe_html
from onnxmap._file_forms import BINARY
from onnxmap._model_checking import ModelChecking
from onnxmap._model_exchange import ModelExchange
from onnxmap._model_fields import ModelFields
from onnxmap._model_saving import ModelSaving
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    import numpy as np

    from onnxmap._bulk import FloatType, TensorStream
    from onnxmap._file_forms import FileForm
    from onnxmap._graph import Graph, Initializers
    from onnxmap._page_cache import Residency
    from onnxmap._progress import ProgressArgument
    from onnxmap._stats import ModelStats


class Model(ModelFields, ModelSaving, ModelExchange, ModelChecking):
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
        options: Mapping[str, Any],
        form: FileForm = BINARY,
    ) -> None:
        self._document: _core.Document | None = document
        self._graph: Graph | None = None  # until it is asked for
        self._path = None if path is None else os.fsdecode(path)
        self._form = form  # of the file
        self._options = options  # the arguments of `load`, to open the model again

    def _open(self) -> _core.Document:
        if self._document is None:
            raise ValueError("the model is closed")
        return self._document

    def close(self) -> None:
        """Drop the model's reference to its file. Arrays that exist stay valid."""
        self._document = None
        self._graph = None

    def __enter__(self) -> Model:  # noqa: PYI034 -- typing.Self is Python 3.11's
        self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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
    def graph(self) -> Graph:
        """The graph."""
        document = self._open()
        if self._graph is None or self._graph.is_removed:  # another one may be in its place
            self._graph = _core.wrap(document.proto.graph)
        return self._graph

    @property
    def initializers(self) -> Initializers:
        """The graph's initializers."""
        return self.graph.initializers

    @property
    def nbytes(self) -> int:
        """The stored size of all initializers, in bytes."""
        return self.graph._core.total_nbytes()

    @property
    def external_files(self) -> list[str]:
        """The paths of the external files, each once, in the order of first use."""
        files: dict[str, None] = {}
        for _, tensor in self.tensors():
            try:
                file = tensor.file if tensor.is_external else None
            except OnnxMapError:  # only this tensor is wrong; reading it raises the error
                continue
            if file is not None:
                files[file] = None
        return list(files)

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
            progress: True draws a bar; a callable gets `(bytes_done, bytes_total)`.

        Raises:
            KeyError: there is no initializer of a name.
            TensorError: an initializer cannot be read.
            ExternalDataError: an external file cannot be read.
            FileChangedError: a file changed before the call or during it.
            LimitError: too many tensors name the same bytes of a file (`limit.overlap`).
            ValueError: `dtype` is not a floating-point type of ONNX; or the model is closed.
            TypeError: `dtype` is not a type.
        """
        from onnxmap._bulk import read_arrays

        return read_arrays(self.initializers, names, dtype, threads, progress)

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
        exceptions. A loop holds a new array until it gets the next, so two arrays are in memory,
        even if they are larger than `window`. A model behind a URL adds 16 requests of up to 8 MiB.

        The stream drops from the page cache only what it brought there itself. It does that only
        for files that you own, because Linux does not report residency for others. An array that
        you keep stays valid: if a page of a view is used again, the system reads it again.

        Args:
            names: as for `views`.
            window: bytes, or a text like "256MiB".
            threads: the number of threads that read if arrays are new. By default, the number of
                processors that the process may use.
            dtype: as for `arrays`.
            copy: give new, writable arrays instead of read-only views.
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
        from onnxmap._bulk import TensorStream

        return TensorStream(self.initializers, names, window, threads, dtype, copy, progress)

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
            progress: True draws a bar; a callable gets `(bytes_done, bytes_total)`.

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
        from onnxmap._stats import read_stats

        return read_stats(self.initializers, names, threads, progress)

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
        _page_cache.prefetch(self.initializers, names)

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
        _page_cache.evict(self.initializers, names)

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
        return _page_cache.residency(self.initializers, names)

    def verify(self, progress: ProgressArgument = False) -> dict[str, str]:
        """Compare the external files with the SHA-1 that tensors declare for them.

        All bytes of these files are read. If there are several failures, the failure of the first
        file is raised.

        Args:
            progress: True draws a bar; a callable gets `(bytes_done, bytes_total)`.

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
        from onnxmap._checksums import verify_tensors

        return verify_tensors((tensor for _, tensor in self.tensors()), progress)

    if not TYPE_CHECKING:  # a type checker reports a wrong name by itself
        __setattr__ = set_or_explain

        def __getattr__(self, name: str) -> NoReturn:
            from onnxmap._graph import Graph
            from onnxmap._names import missing_attribute

            raise missing_attribute(Model, "ModelProto", name, Graph)

    def __repr__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        return describe_html(self)
