"""Doubles in types of 16 bits and fewer, beside exact fractions: they are rounded once."""

from __future__ import annotations

import bisect
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.run_options import EXHAUSTIVE

import onnxmap

SAVED = ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
OTHERS = ("float16", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn")


def positive_values(dtype: np.dtype[Any]) -> list[Fraction]:
    """All finite values from zero on, by their codes."""
    codes = np.arange(1 << 8 * dtype.itemsize - 1).astype(f"u{dtype.itemsize}").view(dtype)
    numbers = [float(each) for each in codes]
    values = [Fraction(each) for each in numbers if math.isfinite(each) and each >= 0]
    return sorted(set(values))


def doubles_for(values: list[Fraction]) -> list[float]:
    """The values, the ties between them, and doubles that as float32 would be one of these."""
    step = 1 if EXHAUSTIVE else len(values) // 1500 + 1
    found = [5e-324, 1e-300]
    for low, high in zip(values[::step], values[1::step], strict=False):
        for exact in (low, (low + high) / 2):
            near = float(exact)
            found += [near, math.nextafter(near, 0), math.nextafter(near, math.inf)]
            found += [near * (1 + 2.0**-30), near * (1 - 2.0**-30)]
    found += np.random.default_rng(1).uniform(0, float(values[-1]), 2000).tolist()
    return [each for each in found if each <= values[-1]]


def nearest(number: float, values: list[Fraction]) -> float:
    """The nearest value; of two, the one with the even code."""
    exact = Fraction(number)
    above = bisect.bisect_left(values, exact)
    if values[above] == exact:
        return float(exact)
    below = above - 1
    to_low, to_high = exact - values[below], values[above] - exact
    if to_low != to_high:
        return float(values[below] if to_low < to_high else values[above])
    return float(values[below if below % 2 == 0 else above])


@pytest.mark.parametrize("name", [*SAVED, *OTHERS])
def test_a_double_is_rounded_once(name: str, tmp_path: Path) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
    values = positive_values(dtype)
    numbers = doubles_for(values)
    expected = [nearest(each, values) for each in numbers]
    array = np.array([numbers, [-each for each in numbers]])
    tensor = onnxmap.from_arrays({"w": array}).initializers["w"]
    filled = np.empty(array.shape, dtype)
    tensor.numpy(out=filled)
    replaced = onnxmap.from_arrays({"w": np.zeros(array.shape, dtype)})
    replaced.initializers.replace("w", array)
    model = onnxmap.from_arrays({"w": array})
    (streamed,) = dict(model.stream(dtype=dtype)).values()
    single = [tensor.numpy(dtype), filled, replaced.initializers["w"].numpy()]
    for made in (*single, streamed, model.arrays(dtype=dtype)["w"]):
        assert made.dtype == dtype
        assert made[0].astype(float).tolist() == expected
        assert made[1].astype(float).tolist() == [-each for each in expected]
    if name in SAVED:
        onnxmap.save_safetensors(
            onnxmap.from_arrays({"w": array}), tmp_path / "w.safetensors", dtype=name, sync=False
        )
        saved = onnxmap.load_safetensors(tmp_path / "w.safetensors").initializers["w"].numpy()
        assert np.array_equal(saved.view(np.uint8), tensor.numpy(dtype).view(np.uint8))


def test_special_doubles_are_those_of_ml_dtypes() -> None:
    array = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e300])
    tensor = onnxmap.from_arrays({"w": array, "one": np.float64(1.5)}).initializers
    for name in (*SAVED, *OTHERS):
        dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
        with np.errstate(all="ignore"):
            made, theirs = tensor["w"].numpy(dtype), array.astype(dtype)
        np.testing.assert_array_equal(made.astype(float), theirs.astype(float))
        assert np.array_equal(np.signbit(made.astype(float)), np.signbit(theirs.astype(float)))
        assert tensor["one"].numpy(dtype).shape == ()
        assert tensor["one"].numpy(dtype) == 1.5
