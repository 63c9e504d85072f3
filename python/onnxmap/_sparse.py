"""Sparse tensors as dense arrays and as SciPy arrays. The core checks them and their indices."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxmap._extras import extra
from onnxmap.errors import LimitError

if TYPE_CHECKING:
    from onnxmap import _core


def to_dense(sparse: _core.SparseTensor, max_bytes: int | None) -> np.ndarray[Any, Any]:
    """See `SparseTensor.to_dense`."""
    sparse._check_structure()
    shape, dtype = sparse.shape, sparse.values.dtype.numpy()
    most = sparse._dense_bytes if max_bytes is None else operator.index(max_bytes)
    nbytes = math.prod(shape) * dtype.itemsize
    remedy = "to_dense(max_bytes=...) or limits=Limits(dense_bytes=...)"
    _check_limit(sparse, f"{nbytes} bytes when dense", nbytes, most, remedy)
    positions = sparse._positions()
    # NumPy must not read a file that may be truncated, so this is a copy.
    values = sparse.values.numpy(copy=True)
    dense = np.full(shape, "", object) if dtype == object else np.zeros(shape, dtype)
    dense.reshape(-1)[positions] = values
    return dense


def to_scipy(sparse: _core.SparseTensor) -> Any:
    """See `SparseTensor.to_scipy`."""
    with extra("scipy"):
        from scipy.sparse import coo_array

    sparse._check_structure()
    shape = sparse.shape
    if not shape:
        raise ValueError("SciPy has no sparse arrays without dimensions; use to_dense()")
    nbytes = sparse.nnz * len(shape) * 8  # every dimension has a column of indices
    need = f"{nbytes} bytes for its indices"
    _check_limit(sparse, need, nbytes, sparse._dense_bytes, "limits=Limits(dense_bytes=...)")
    coordinates = np.unravel_index(sparse._positions(), shape)
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
