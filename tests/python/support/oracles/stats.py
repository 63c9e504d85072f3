"""What `Model.stats` must find, computed with NumPy in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np

import onnxmap

Array = np.ndarray[Any, Any]

# Relative to the mean size of the values, and to the deviation.
MEAN_TOLERANCE, DEVIATION_TOLERANCE = 1e-13, 1e-12


def wide(array: Array) -> Array:
    """The same values in extended precision, flat."""
    flat = array.reshape(-1)
    if flat.dtype.kind == "c":
        return flat.astype(np.clongdouble)
    # ml_dtypes casts its types only to float32.
    if flat.dtype.kind not in "biuf" or flat.dtype.itemsize < 2:
        flat = flat.astype(np.float32)
    return flat.astype(np.longdouble)


def assert_stats(found: onnxmap.TensorStats, array: Array) -> None:
    """The statistics are those of the values of this array."""
    with np.errstate(all="ignore"):
        values = wide(array)
        kept = values[np.isfinite(values)]
        assert found.shape == array.shape
        assert found.dtype is not None
        assert found.dtype.numpy() == array.dtype
        counts = (found.count, found.finite, found.zeros, found.nans, found.infinities)
        assert counts == (
            values.size,
            kept.size,
            np.count_nonzero(values == 0),
            np.count_nonzero(np.isnan(values)),
            np.count_nonzero(np.isinf(values)),
        )
        if kept.size == 0:
            assert (found.min, found.max, found.mean, found.std) == (None,) * 4
            return
        assert_extremes(found, array, kept)
        assert_moments(found, kept)


def assert_extremes(found: onnxmap.TensorStats, array: Array, kept: Array) -> None:
    if array.dtype.kind == "c":
        assert (found.min, found.max) == (None, None)
        return
    name = array.dtype.name
    is_whole = array.dtype.kind in "biu" or name.startswith(("int", "uint"))
    kind = int if is_whole else float
    assert (type(found.min), type(found.max)) == (kind, kind)
    assert (found.min, found.max) == (kind(kept.min()), kind(kept.max()))
    assert repr(found.min) != "-0.0"
    assert repr(found.max) != "-0.0"


def assert_moments(found: onnxmap.TensorStats, kept: Array) -> None:
    """Mean and deviation. The sizes are scaled, so that no square is too large or too small."""
    assert found.mean is not None
    assert found.std is not None
    assert type(found.mean) is (complex if kept.dtype.kind == "c" else float)
    largest = np.abs(kept).max()
    scale = largest if largest > 0 else np.longdouble(1)
    scaled = kept / scale
    mean = scaled.mean()
    deviation = np.sqrt((np.abs(scaled - mean) ** 2).mean())
    size = np.abs(scaled).mean()
    unit = np.longdouble(5e-324) / scale  # the distance of the least doubles, to which both round
    assert abs(found.mean / scale - mean) <= MEAN_TOLERANCE * size + unit
    # The deviation of values that are far from zero cannot be more exact than their mean.
    tolerance = DEVIATION_TOLERANCE * deviation + 1e-15 * size
    assert abs(found.std / scale - deviation) <= tolerance + unit
