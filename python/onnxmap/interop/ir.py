"""Tensors for onnx_ir, and models from it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from onnxmap._base.enums import DataType
from onnxmap._base.extras import extra
from onnxmap._base.paths import absolute_path

with extra("ir"):
    import onnx_ir

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from onnxmap import _core
    from onnxmap.interop.without_weights import Tokens

# While it is set, MappedTensors give a token instead of their values.
_tokens: ContextVar[Tokens | None] = ContextVar("onnxmap.tokens", default=None)


@contextmanager
def giving(tokens: Tokens) -> Iterator[None]:
    """Let MappedTensors give tokens instead of their values, in this block and this thread."""
    before = _tokens.set(tokens)
    try:
        yield
    finally:
        _tokens.reset(before)


def to_ir(tensor: _core.Tensor) -> Any:
    """See `Tensor.to_ir`."""
    if tensor.dtype == DataType.STRING:
        texts = tensor.numpy(copy=True)
        flat = texts.reshape(-1)
        for i, text in enumerate(flat):  # NumPy's arrays of bytes would lose trailing zeros
            flat[i] = text.encode() if isinstance(text, str) else text
        return onnx_ir.StringTensor(
            texts,
            shape=onnx_ir.Shape(tensor.shape),
            name=tensor.name,
            doc_string=tensor.doc_string or None,
            metadata_props=dict(tensor.metadata_props),
        )
    return MappedTensor(tensor)


def proto_of(model: onnx_ir.Model) -> Any:
    """Return an onnx_ir model as a ModelProto. External tensors stay external."""
    return onnx_ir.to_proto(model)


def folder_of(model: onnx_ir.Model) -> bytes | None:
    """Return the folder of a model's external tensors; None if it has none.

    Raises:
        ValueError: they are in different folders.
    """
    tensors = (tensor for graph in model.graphs() for tensor in _tensors_of(graph))
    external = (tensor for tensor in tensors if isinstance(tensor, onnx_ir.ExternalTensor))
    folders = {absolute_path(os.fsencode(tensor.base_dir)) for tensor in external}
    if len(folders) > 1:
        shown = ", ".join(repr(os.fsdecode(one)) for one in sorted(folders))
        text = f"the external tensors of the onnx_ir model are in different folders: {shown}"
        raise ValueError(f"{text}; save it with onnx_ir.save first")
    return folders.pop() if folders else None


def _tensors_of(graph: Any) -> Iterator[Any]:
    """The tensors of a graph, without those of its subgraphs."""
    for value in graph.initializers.values():
        yield value.const_value
    for node in graph:
        for attribute in node.attributes.values():
            if attribute.is_ref():
                continue
            if attribute.type == onnx_ir.AttributeType.TENSOR:
                yield attribute.value
            elif attribute.type == onnx_ir.AttributeType.TENSORS:
                yield from attribute.value


class MappedTensor:
    """An onnx_ir tensor whose values are those of an onnxmap.Tensor, without a copy.

    It satisfies `onnx_ir.TensorProtocol`. You can change its name, documentation and metadata. The
    underlying tensor, `raw`, does not change.
    """

    def __init__(self, tensor: _core.Tensor) -> None:
        self.raw = tensor
        self.name: str | None = tensor.name
        self.doc_string: str | None = tensor.doc_string or None
        self.dtype = onnx_ir.DataType(int(tensor.dtype))
        self.shape = onnx_ir.Shape(tensor.shape, frozen=True)
        self.metadata_props: dict[str, str] = dict(tensor.metadata_props)
        self.meta: dict[str, Any] = {}

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.raw.size

    @property
    def nbytes(self) -> int:
        """The size of the values in the layout of raw_data, in bytes."""
        return (self.raw.size * self.raw.dtype.bits + 7) // 8

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the values as `onnxmap.Tensor.numpy()` does: a read-only view if possible."""
        return self.raw.numpy()

    def tobytes(self) -> bytes:
        """Return the values in the layout of raw_data."""
        tokens = _tokens.get()
        return self.raw.tobytes() if tokens is None else tokens.bytes_for(self.raw)

    def tofile(self, file: Any) -> None:
        """Write what `tobytes()` returns to a file, without a copy if possible."""
        self.raw.tofile(file)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.raw.__array__(dtype, copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self.raw.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.raw.__dlpack_device__()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r})"
