"""Models and operator sets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._display import describe, describe_html
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    import dask.array
    import numpy as np

    from onnxmap._bulk import FloatType, TensorStream
    from onnxmap._graph import Graph, Initializers
    from onnxmap._page_cache import Residency
    from onnxmap._progress import ProgressArgument
    from onnxmap.interop.dask import ChunksArgument


class Model:
    """A loaded model. Made by `onnxmap.load` and `onnxmap.loads`.

    It holds the mapping of its file, and so does every array it hands out: `close()`, or leaving
    a `with` block, drops only the model's own hold.
    """

    __slots__ = ("_document", "_graph", "_path")

    def __init__(self, document: _core.Document, path: bytes | None) -> None:
        self._document: _core.Document | None = document
        self._graph: Graph | None = _core.friendly(document.proto, "graph")
        self._path = None if path is None else os.fsdecode(path)

    def _open(self) -> _core.Document:
        if self._document is None:
            raise ValueError("the model is closed")
        return self._document

    def close(self) -> None:
        """Drops the model's hold on its file. Arrays that were handed out stay valid."""
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
        """The source message under the exact names of onnx.proto."""
        return self._open().proto

    @property
    def path(self) -> str | None:
        """Path that was loaded; None for a buffer."""
        self._open()
        return self._path

    @property
    def io(self) -> str:
        """How the file is read: "mmap", "read", "buffer" or "remote"."""
        return self._open().io

    @property
    def graph(self) -> Graph:
        """The graph."""
        if self._graph is None:
            raise ValueError("the model is closed")
        return self._graph

    @property
    def initializers(self) -> Initializers:
        """The graph's initializers."""
        return self.graph.initializers

    @property
    def nbytes(self) -> int:
        """Bytes of all initializers, as they are stored."""
        return self.graph._core.total_nbytes()

    @property
    def ir_version(self) -> int:
        """Version of the format."""
        return self.proto.ir_version

    @property
    def opset_imports(self) -> Mapping[str, int]:
        """Operator set versions by domain."""
        return _core.opset_imports(self.proto)

    @property
    def producer_name(self) -> str:
        """Name of the tool that made the model."""
        return self.proto.producer_name

    @property
    def producer_version(self) -> str:
        """Version of that tool."""
        return self.proto.producer_version

    @property
    def domain(self) -> str:
        """Domain of the model, in reverse DNS order."""
        return self.proto.domain

    @property
    def model_version(self) -> int:
        """Version of the model itself."""
        return self.proto.model_version

    @property
    def doc_string(self) -> str:
        """Documentation in Markdown."""
        return self.proto.doc_string

    @property
    def metadata_props(self) -> Mapping[str, str]:
        """Named values; of a repeated key the last one counts."""
        return _core.metadata_props(self.proto)

    @property
    def functions(self) -> _core.MessageList[_core.Function]:
        """Sequence of Function that the model defines."""
        return _core.friendly(self.proto, "functions")

    @property
    def training_info(self) -> _core.MessageList[_core.TrainingInfo]:
        """Sequence of TrainingInfo."""
        return _core.friendly(self.proto, "training_info")

    @property
    def device_configurations(self) -> _core.MessageList[_core.DeviceConfiguration]:
        """Sequence of DeviceConfiguration."""
        return _core.friendly(self.proto, "configuration")

    @property
    def external_files(self) -> list[str]:
        """Paths of the files that hold external data, each once, in the order of first use."""
        files: dict[str, None] = {}
        for _, tensor in self.tensors():
            try:
                file = tensor.file if tensor.is_external else None
            except OnnxMapError:  # of this tensor alone: reading it says what is wrong
                continue
            if file is not None:
                files[file] = None
        return list(files)

    def tensors(self) -> list[tuple[str, _core.Tensor]]:
        """Every tensor anywhere in the model, with where it is.

        Returns:
            Pairs like `('graph.node[3].attribute["value"].t', tensor)`.
        """
        return self._open().tensors()

    def views(self, names: Sequence[str] | str | None = None) -> dict[str, np.ndarray[Any, Any]]:
        """Initializers as read-only arrays by name, made in one call.

        Views of the file wherever the bytes allow it, otherwise decoded; see `Tensor.numpy`.

        Args:
            names: a list of names, or a string: that very name if it exists, else a glob; all
                named initializers by default.

        Raises:
            KeyError: there is no such initializer.
            TensorError: one of them cannot be read.
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
        """Initializers as fresh arrays by name: writable, aligned to 64 bytes, read in parallel.

        They share nothing with the file. Arrays of less than 4 MiB share memory with their
        neighbours: one that is kept keeps up to 16 MiB. Reading needs no memory besides, but for
        segments and typed fields that are converted, one at a time.

        Args:
            names: as for `views`.
            dtype: floating-point type (of NumPy, ml_dtypes, or a DataType) that all floating-point
                tensors become, with the meaning of NumPy's `astype`; others stay as they are.
            threads: that read at a time; by default as many as the process may use processors.
            progress: True draws a bar; a callable gets `(bytes_done, bytes_total)`.

        Raises:
            KeyError: there is no such initializer.
            TensorError: one of them cannot be read.
            ExternalDataError: an external file cannot be read.
            FileChangedError: a file changed, before or meanwhile.
            LimitError: they name the same bytes of a file again and again (`limit.overlap`).
            ValueError: `dtype` is no floating-point type of ONNX; the model is closed.
            TypeError: `dtype` is no type.

        Ctrl-C ends it at once.
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
        """Initializers one after another, in the order in which they are stored, in bounded memory.

        Read ahead in the background, and given back behind the reader: what is resident grows by
        no more than `window` and the tensor at hand, whatever the size of the model. (A loop holds a
        fresh array until it has got the next one: where arrays are larger than `window`, by two of
        them. Of a model behind a URL, 16 requests of up to 8 MiB come on top.) What was in the page
        cache before stays there, what the stream brought there is dropped again, where the file is
        the caller's: of files of others Linux does not tell. An array that is kept stays valid: pages of a view come back when they are
        touched.

        Args:
            names: as for `views`.
            window: bytes, or a text like "256MiB".
            threads: that read at a time where arrays are fresh; by default as many as the process
                may use processors.
            dtype: as for `arrays`.
            copy: fresh, writable arrays instead of read-only views.
            progress: as for `arrays`.

        Returns:
            An iterator of `(name, array)`: read-only views wherever the bytes allow it, otherwise
            fresh arrays. Leaving the loop stops the work in the background; so does `close()`, and
            the end of a `with` block.

        Raises:
            FileChangedError: while it is iterated: a file has changed.
            What `arrays` raises; before the first tensor, where it can be known.

        Example:
            >>> for name, array in model.stream(window="64MiB"):  # doctest: +SKIP
            ...     print(name, array.mean())
        """
        from onnxmap._bulk import TensorStream

        return TensorStream(self.initializers, names, window, threads, dtype, copy, progress)

    def prefetch(self, names: Sequence[str] | str | None = None) -> None:
        """Asks the system to bring the bytes of initializers into memory, before they are touched.

        Does not wait for them, but takes as long as reading where much is asked for; Ctrl-C ends
        it. Bytes that are in memory already, like those of a buffer, cost next to nothing. What has
        no room is dropped again.

        Args:
            names: as in `views`.

        Raises:
            KeyError: there is no such initializer.
            TensorError: one of them is stored wrongly, as far as that shows without its values.
            ExternalDataError: an external file cannot be read.
            FileChangedError: a file is not the one any more that was loaded.
        """
        from onnxmap._page_cache import prefetch

        prefetch(self.initializers, names)

    def evict(self, names: Sequence[str] | str | None = None) -> None:
        """Gives the bytes of initializers back to the system, which forgets the copies in memory.

        Arrays stay valid: what is touched again is read again. The system keeps some: pages that
        are not on disk yet or that others have mapped, what it holds in one piece with bytes that
        were not chosen (up to 2 MiB at each end), all of a file on a tmpfs. Buffers stay as they
        are.

        Args:
            names: as in `views`.

        Raises:
            KeyError, TensorError, ExternalDataError, FileChangedError: as `prefetch`.
        """
        from onnxmap._page_cache import evict

        evict(self.initializers, names)

    def residency(self, names: Sequence[str] | str | None = None) -> Residency:
        """How many stored bytes of initializers are in memory now. Their values are not touched.

        Linux tells this to the owner of a file and to those who may write to it; for others all
        bytes are in memory. Those of a buffer are, those behind a URL are not.

        Args:
            names: as in `views`.

        Returns:
            For each name the bytes in memory and in all; `resident`, `total` and `share` for all
            of them together. Of values in a typed field, the bytes are those of their message.

        Raises:
            KeyError, TensorError, ExternalDataError, FileChangedError: as `prefetch`.
            OSError: the system does not tell.
        """
        from onnxmap._page_cache import residency

        return residency(self.initializers, names)

    def to_dask(
        self,
        names: Sequence[str] | str | None = None,
        chunks: ChunksArgument = "auto",
    ) -> dict[str, dask.array.Array]:
        """Initializers as Dask arrays by name, whose chunks are read where they are computed.

        A task carries a reference to the file, a few hundred bytes, and the process that runs it
        reads its chunk, by `pread` into a new array: no weight goes through the scheduler. So
        every worker needs the file, under the same path; it is opened once per process. Nothing
        is read here, and the names of the arrays depend on the state of the file.

        Carried in the task instead, in one chunk that is then split, is what no file holds as it
        is: strings, values in typed fields but a packed run of floats, tensors in segments, empty
        ones, and all of a model from a buffer.

        Args:
            names: a list of names, or a string: that very name if it exists, else a glob; all
                named initializers by default.
            chunks: as in `dask.array.from_array`. With "auto", or a size like "64MiB", a chunk is
                rows of the first dimensions, one range of the file, as large as may be but not
                larger than that; "auto" is Dask's `array.chunk-size`.

        Returns:
            Arrays with the shape and NumPy type of `Tensor.numpy()`. Computing one raises
            FileChangedError, in the worker, where the file has changed since.

        Raises:
            KeyError: there is no such initializer.
            TensorError: one of them cannot be read.
            ExternalDataError: an external file cannot be opened.
        """
        from onnxmap.interop.dask import to_dask

        return to_dask(self.initializers, names, chunks)

    def verify(self, progress: ProgressArgument = False) -> dict[str, str]:
        """Compares external files with the SHA-1 that tensors declare for them; reads them whole.

        Args:
            progress: True draws a bar; a callable gets `(bytes_done, bytes_total)`.

        Returns:
            The digest of each file for which a checksum is declared, by its path. Empty where none
            is: then nothing was compared.

        Raises:
            ChecksumError: a file has another SHA-1 than is declared (`ext.checksum`).
            ExternalDataError: what is declared is no SHA-1 (`ext.checksum_form`), or the file cannot
                be opened.
            FileChangedError: a file changed meanwhile.
            OSError: it cannot be read. Of several failures, that of the first file is raised.
        """
        from onnxmap._checksums import verify_tensors

        return verify_tensors((tensor for _, tensor in self.tensors()), progress)

    def __repr__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        return describe_html(self)


class OperatorSet:
    """A set of operators: an OperatorSetProto."""

    __slots__ = ("proto",)

    def __init__(self, proto: _core.ProtoView) -> None:
        self.proto = proto

    @property
    def operators(self) -> _core.MessageList[_core.Operator]:
        """The operators of the set."""
        return _core.friendly(self.proto, "operator")

    def __getattr__(self, name: str) -> Any:
        # The fields of OperatorSetProto. `proto` gets here if __init__ was never called.
        if name.startswith("_") or name == "proto":
            raise AttributeError(name)
        return _core.friendly(self.proto, name)

    def __dir__(self) -> list[str]:
        return [*dir(type(self)), *dir(self.proto)]

    def __repr__(self) -> str:
        return describe(self)
