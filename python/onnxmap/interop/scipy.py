"""Sparse tensors as SciPy's. The core checks them and their indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from onnxmap._base.extras import extra

with extra("scipy"):
    from scipy.sparse import coo_array

if TYPE_CHECKING:
    from onnxmap import _core


def to_scipy(sparse: _core.SparseTensor) -> Any:
    """See `SparseTensor.to_scipy`."""
    shape = sparse.shape
    if not shape:
        raise ValueError("SciPy has no sparse arrays without dimensions; use to_dense()")
    nbytes = sparse.nnz * len(shape) * 8  # every dimension has a column of indices
    sparse._check_dense(f"{nbytes} bytes for its indices", nbytes, "limits=Limits(dense_bytes=...)")
    coordinates = np.unravel_index(sparse._positions(), shape)
    return coo_array((sparse.values.numpy(), coordinates), shape=shape)
