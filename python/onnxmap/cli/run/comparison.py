"""Compares the outputs of a run with those of test data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# The tolerances of onnx's own backend tests.
RELATIVE, ABSOLUTE = 1e-3, 1e-7
_EXACT = "OSUbiu"  # NumPy's kinds of texts, booleans and integers


def difference(found: Any, expected: Any) -> str | None:
    """Return what differs in a value, or None if it is as expected.

    Floating-point numbers may differ by the tolerances of onnx's backend tests. NaN equals NaN.
    """
    if isinstance(expected, dict):
        if not isinstance(found, dict) or found.keys() != expected.keys():
            return "other keys"
        return _first(list(found.values()), [expected[key] for key in found])
    if isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            return "another number of elements"
        return _first(found, expected)
    if expected is None or found is None:
        return None if found is expected else "a value where there should be none, or none"
    return _array_difference(np.asarray(found), np.asarray(expected))


def _first(found: Sequence[Any], expected: Sequence[Any]) -> str | None:
    pairs = zip(found, expected, strict=True)
    return next((text for pair in pairs if (text := difference(*pair)) is not None), None)


def _array_difference(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> str | None:
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    if found.dtype != expected.dtype:
        return f"type {found.dtype}, expected {expected.dtype}"
    if found.dtype.kind in _EXACT:
        wrong = int(np.count_nonzero(found != expected))
        return f"{wrong} of {found.size} elements" if wrong else None
    wide = np.complex128 if found.dtype.kind == "c" else np.float64
    ours, theirs = found.astype(wide), expected.astype(wide)
    wrong = int(np.count_nonzero(~np.isclose(ours, theirs, RELATIVE, ABSOLUTE, equal_nan=True)))
    if not wrong:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        largest = np.nanmax(np.abs(ours - theirs), initial=0)
    return f"{wrong} of {found.size} elements, by up to {largest:.3g}"
