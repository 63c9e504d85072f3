"""Sparse tensors as dense arrays and as SciPy arrays.

Source: onnx.proto, SparseTensorProto: values of shape [NNZ], indices of shape [NNZ] into the
flattened tensor or [NNZ, rank], in ascending order without duplicates.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from onnxmap._enums import DataType
from onnxmap.errors import LimitError, TensorError

if TYPE_CHECKING:
    from onnxmap import _core

_MOST_BYTES = 2**63 - 1  # of an array


def to_dense(sparse: _core.SparseTensor, max_bytes: int | None) -> np.ndarray[Any, Any]:
    """See `SparseTensor.to_dense`."""
    dtype = _dtype(sparse)
    shape = _shape(sparse, dtype.itemsize)
    most = sparse._dense_bytes if max_bytes is None else operator.index(max_bytes)
    nbytes = math.prod(shape) * dtype.itemsize
    remedy = "to_dense(max_bytes=...) or limits=Limits(dense_bytes=...)"
    _check_limit(sparse, f"{nbytes} bytes when dense", nbytes, most, remedy)
    positions = _linear(sparse, shape)
    # NumPy must not read a file that may be truncated, so this is a copy.
    values = sparse.values.numpy(copy=True)
    dense = np.full(shape, "", object) if dtype == object else np.zeros(shape, dtype)
    dense.reshape(-1)[positions] = values
    return dense


def to_scipy(sparse: _core.SparseTensor) -> Any:
    """See `SparseTensor.to_scipy`."""
    from scipy.sparse import coo_array

    shape = _shape(sparse, _dtype(sparse).itemsize)
    if not shape:
        raise ValueError("SciPy has no sparse arrays without dimensions; use to_dense()")
    nbytes = sparse.nnz * len(shape) * 8  # every dimension has a column of indices
    need = f"{nbytes} bytes for its indices"
    _check_limit(sparse, need, nbytes, sparse._dense_bytes, "limits=Limits(dense_bytes=...)")
    positions = _linear(sparse, shape)
    coordinates = np.unravel_index(positions, shape)
    return coo_array((sparse.values.numpy(), coordinates), shape=shape)


def _check_limit(
    sparse: _core.SparseTensor, need: str, nbytes: int, most: int, remedy: str
) -> None:
    if nbytes > most:
        raise LimitError(
            f"sparse tensor {sparse.name[:200]!r} needs {need}, but the limit is "
            f"{most}; raise it with {remedy}",
            code="limit.dense_bytes",
        )


def _shape(sparse: _core.SparseTensor, itemsize: int) -> tuple[int, ...]:
    shape = sparse.shape
    negative = [dim for dim in shape if dim < 0]
    if negative:
        _fail(sparse, "tensor.negative_dim", f"dimension {negative[0]} is negative")
    if math.prod(dim for dim in shape if dim) * itemsize > _MOST_BYTES:
        _fail(sparse, "tensor.sparse_overflow", "its shape has more than 2^63 elements or bytes")
    return shape


def _dtype(sparse: _core.SparseTensor) -> np.dtype[Any]:
    values = sparse.values
    if values.dtype == DataType.UNDEFINED:
        _fail(sparse, "tensor.dtype", "its values have no element type")
    dtype = values.dtype.numpy()
    if dtype != object and np.zeros((), dtype).astype(np.complex128) != 0:
        message = f"{values.dtype.name} cannot represent the zeros between its values"
        _fail(sparse, "tensor.sparse_dtype", message)
    return dtype


def _linear(sparse: _core.SparseTensor, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Positions of the values in the flattened tensor, checked: ascending, in range, none twice."""
    values, indices = sparse.values, sparse.indices
    if indices.dtype != DataType.INT64:
        _fail(sparse, "tensor.sparse_dtype", f"its indices are {indices.dtype!s}, not INT64")
    if values.ndim != 1:
        _fail(sparse, "tensor.sparse_rank", f"its values have {values.ndim} dimensions, not 1")
    form = indices.shape
    if len(form) not in (1, 2) or (len(form) == 2 and form[1] != len(shape)):
        _fail(
            sparse,
            "tensor.sparse_rank",
            f"its indices have shape {form}, neither [NNZ] nor [NNZ, {len(shape)}]",
        )
    if form[0] != values.shape[0]:
        _fail(sparse, "tensor.sparse_count", f"{values.shape[0]} values, but {form[0]} indices")
    table = indices.numpy(copy=True)  # a copy, as in to_dense()
    if table.ndim == 1:
        _check_range(sparse, table, math.prod(shape))
        positions = table
    else:
        positions = np.zeros(form[0], np.int64)
        for axis, dim in enumerate(shape):
            _check_range(sparse, table[:, axis], dim)
            positions *= dim
            positions += table[:, axis]
    steps = np.diff(positions)
    if (steps <= 0).any():
        entry = int(np.argmax(steps <= 0)) + 1
        here, before = table[entry].tolist(), table[entry - 1].tolist()
        if steps[entry - 1] == 0:
            _fail(sparse, "tensor.sparse_duplicate", f"entry {entry} repeats index {here}")
        message = f"entry {entry} has index {here}, but the entry before has {before}"
        _fail(sparse, "tensor.sparse_order", message)
    return positions


def _check_range(sparse: _core.SparseTensor, indices: np.ndarray[Any, Any], dim: int) -> None:
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= dim):
        bad = int(indices.min()) if int(indices.min()) < 0 else int(indices.max())
        _fail(sparse, "tensor.sparse_range", f"index {bad} is outside 0 to {dim - 1}")


def _fail(sparse: _core.SparseTensor, code: str, message: str) -> NoReturn:
    name = sparse.name or sparse._path
    raise TensorError(f"sparse tensor {name[:200]!r}: {message}", code=code, tensor=name)
