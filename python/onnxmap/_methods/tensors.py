"""Methods of tensors: how they reach other libraries and other processes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxmap._base.later import import_module
from onnxmap._show.shown import Tabled

if TYPE_CHECKING:
    from typing import Self

    import onnx_ir
    import torch as _torch
    from _typeshed import SupportsWrite
    from scipy.sparse import coo_array

    from onnxmap import _core
    from onnxmap._base.enums import DataType
    from onnxmap._base.paths import Path
    from onnxmap.types import ExternalData

_READ_ONLY = (
    "a Tensor is read-only; change array = tensor.numpy(writable=True), then assign it: "
    "initializers[name] = array"
)


class Tensor(Tabled):
    """What a Tensor of `_core` gets."""

    if TYPE_CHECKING:

        @property
        def _external(self) -> tuple[str, int, int | None, str | None] | None: ...
        def _view_at(self, key: Any) -> Any: ...

    def __getitem__(self, key: Any) -> Any:
        """Return `numpy()[key]`, and read only the bytes of that part if possible."""
        found = self._view_at(key)
        if found is not None:
            return found
        return import_module("onnxmap._read.tensor_parts").part_of(self, key)

    if not TYPE_CHECKING:  # a type checker reports these by itself

        def __setitem__(self, key: Any, value: Any) -> None:
            raise TypeError(_READ_ONLY)

        def __delitem__(self, key: Any) -> None:
            raise TypeError(_READ_ONLY)

    def __bool__(self) -> bool:
        raise ValueError("a Tensor has no truth value; test its numpy() array")

    @property
    def external(self) -> ExternalData | None:
        """The location, offset, length and checksum that the model gives, or None."""
        found = self._external
        return None if found is None else import_module("onnxmap.types").ExternalData(*found)

    def verify(self) -> bool:
        """Compare the external file with its declared SHA-1; return False if none is declared.

        Reads the whole external file, or nothing if the model declares no checksum for it.

        Raises:
            ChecksumError: the file and the checksum differ.
            ExternalDataError: the declared checksum is not a SHA-1, or the file cannot be opened.
            FileChangedError: the file has changed since it was opened.

        Source: onnx.proto, TensorProto.external_data.
        """
        return import_module("onnxmap._read.checksums").verify_tensor(self)

    def tofile(self, file: Path | SupportsWrite[bytes]) -> None:
        """Write the bytes of tobytes() to a path, or to an object with a write() method."""
        import_module("onnxmap._write.tensor_bytes").write_values(self, file)

    def torch(self) -> _torch.Tensor:
        """Return a torch tensor that may be written to.

        It uses copy-on-write pages of the file, or a copy if the values are decoded or in a
        caller's buffer. Integers of 2 and 4 bits become int8 and uint8.

        Raises:
            TypeError: torch has no such type.
        """
        return import_module("onnxmap.interop.torch").to_torch(self)

    def to_ir(self) -> onnx_ir.TensorProtocol:
        """Return the tensor as an onnx_ir tensor. Only strings are copied."""
        return import_module("onnxmap.interop.ir").to_ir(self)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __reduce__(self) -> Any:
        """Support pickle.

        If the values are bytes of a file, the pickle refers to them: it has the file's path, the
        range, and enough to notice that the file changed. Otherwise it carries the values.
        """
        return import_module("onnxmap._read.pickled_tensors").reduce_tensor(self)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class SparseTensor(Tabled):
    """What a SparseTensor of `_core` gets."""

    if TYPE_CHECKING:

        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def values(self) -> _core.Tensor: ...
        def _check_structure(self) -> None: ...
        def _check_dense(
            self, what: str, nbytes: int, remedy: str, max_bytes: int | None = None
        ) -> None: ...
        def _positions(self) -> np.ndarray[Any, Any]: ...

    @property
    def dtype(self) -> DataType:
        """The element type of the values as a DataType."""
        return self.values.dtype

    def to_dense(self, *, max_bytes: int | None = None) -> np.ndarray[Any, Any]:
        """Return the dense tensor as a new, writable array.

        All other elements are zeros, or empty strings for STRING.

        Args:
            max_bytes: the most bytes that the array may have; by default `Limits(dense_bytes=...)`
                of the load.

        Raises:
            LimitError: `limit.dense_bytes`: the array would be larger.
            TensorError: `tensor.sparse_*`: the values, indices and shape do not agree.
        """
        self._check_structure()  # first: the type may be none
        shape, dtype = self.shape, self.dtype.numpy()
        nbytes = prod(shape) * dtype.itemsize
        remedy = "to_dense(max_bytes=...) or limits=Limits(dense_bytes=...)"
        self._check_dense(f"{nbytes} bytes when dense", nbytes, remedy, max_bytes)
        positions = self._positions()
        # NumPy must not read a file that may be truncated, so this is a copy.
        stored = self.values.numpy(copy=True)
        dense = np.full(shape, "", dtype) if dtype.kind == "O" else np.zeros(shape, dtype)
        dense.reshape(-1)[positions] = stored
        return dense

    def to_scipy(self) -> coo_array:
        """Return the sparse tensor as a `scipy.sparse.coo_array`.

        The indices are copied, the values only if needed.

        Raises:
            TensorError: as for `to_dense`.
            ValueError: SciPy has no arrays of this type or number of dimensions.
        """
        return import_module("onnxmap.interop.scipy").to_scipy(self)
