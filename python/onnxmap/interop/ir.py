"""Tensors for onnx_ir."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxmap._enums import DataType
from onnxmap._extras import extra

with extra("ir"):
    import onnx_ir

if TYPE_CHECKING:
    import numpy as np

    from onnxmap import _core


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
        return self.raw.tobytes()

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
