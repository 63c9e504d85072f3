"""What a model gives to other libraries, and edits that they make."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import dask.array
    import onnx
    import onnx_ir
    import onnxruntime
    import torch

    from onnxmap import _core
    from onnxmap._graph import Graph, Initializers
    from onnxmap.interop.dask import ChunksArgument


class ModelExchange(ABC):
    """What a model gives to other libraries."""

    __slots__ = ()

    @abstractmethod
    def _open(self) -> _core.Document:
        """The document; an error if the model is closed."""

    @property
    @abstractmethod
    def graph(self) -> Graph:
        """The graph."""

    @property
    @abstractmethod
    def initializers(self) -> Initializers:
        """The initializers of the graph."""

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
        from onnxmap.interop.torch import to_torch_tensors

        return to_torch_tensors(self.initializers, names, device, dtype)

    def session(
        self,
        providers: Sequence[str | tuple[str, dict[str, Any]]] | None = None,
        sess_options: onnxruntime.SessionOptions | None = None,
        provider_options: Sequence[dict[str, Any]] | None = None,
        prepack: bool = True,
        outputs: Iterable[str] | None = None,
        **kwargs: Any,
    ) -> onnxruntime.InferenceSession:
        """Return a session of onnxruntime for the model as it is now, edits included.

        onnxruntime maps the weights from the files that hold them, in the model or beside it,
        however large they are. They need no memory of the process's own until they are changed or
        prepacked, and processes share their pages. Tensors of less than 64 KiB are copied. So is
        what no local file holds: new values, values of buffers, of remote models, and of files that
        were deleted or replaced. They go into a temporary file that is deleted before this call
        returns.

        The model may be closed, and its files replaced or deleted, while the session lives. If a
        mapped file is truncated, the next touch of the lost pages ends the process.

        Args:
            providers: as for `onnxruntime.InferenceSession`.
            sess_options: as for `onnxruntime.InferenceSession`. They are copied, and stay as they
                are; operators of `register_custom_ops_library` are not copied.
            provider_options: as for `onnxruntime.InferenceSession`.
            prepack: let onnxruntime copy weights into the layout of its kernels, which costs time
                and memory now and makes runs with small batches faster. False: it uses the pages of
                the files.
            outputs: names of inner values of the graph that become outputs, too, after the
                model's own.
            **kwargs: passed to `onnxruntime.InferenceSession`.

        Raises:
            UnknownNameError: there is no value of a name in `outputs`.
            ValueError: `sess_options` asks for an optimized model, and names no data file for it.
            SessionError: onnxruntime refuses the model (`session.refused`), or it is too large
                without its weights (`session.too_large`).
            TensorError, ExternalDataError: weights cannot be read, or must not be
                (`ext.unsafe_path`).
            FileChangedError: a file changed since it was loaded, or is replaced meanwhile.
            ImportError: onnxruntime is not installed.
        """
        from onnxmap.interop.ort import open_session

        return open_session(
            self._open(), self.graph, providers, sess_options, provider_options, prepack, outputs,
            kwargs,
        )  # fmt: skip

    def to_dask(
        self,
        names: Sequence[str] | str | None = None,
        chunks: ChunksArgument = "auto",
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
        from onnxmap.interop.dask import to_dask

        return to_dask(self.initializers, names, chunks)

    def to_proto(self, weights: Literal["copy", "reference", "none"] = "copy") -> onnx.ModelProto:
        """Return the model as it is now, edits included, as a ModelProto of protobuf.

        A tensor is large if it has at least 1 KiB, or 64 KiB if its elements are INT32 or INT64:
        shape inference reads integers. Smaller tensors are always copied.

        Args:
            weights: what becomes of the values of large tensors. "copy": the message is that of
                `dumps`. "reference": values that a file has as they are become external data with
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
        from onnxmap.interop.proto_models import to_proto

        return to_proto(self._open(), weights)

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
        from onnxmap.interop.ir_models import to_ir_model

        return to_ir_model(self._open())

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
        from onnxmap.interop.official import infer_shapes

        infer_shapes(self._open(), check_type, strict_mode, data_prop)

    def convert_version(self, target_version: int) -> None:
        """Convert the nodes to another version of ONNX's operators, as `onnx.version_converter`.

        It works on the structure, as `infer_shapes` does, and is an edit, too. What the converter
        of onnx forgets, stays: functions, documentation, metadata of graphs and tensors.

        Args:
            target_version: the version of the operator set of the domain `""`.

        Raises:
            RuntimeError: onnx cannot convert a node.
            ImportError: onnx is not installed.
        """
        from onnxmap.interop.official import convert_version

        convert_version(self._open(), target_version)
