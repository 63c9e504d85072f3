"""`dtype=` of `arrays` and `stream` gives the bits of `Tensor.numpy(dtype=)`, for all pairs."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.oracles.tensor_encoder import ELEMENT_TYPES
from support.oracles.tensors import assert_same_array
from support.tensors.stored import in_buffer, random_codes, stored

import onnxmap

FLOATS = [name for name in ELEMENT_TYPES if "FLOAT" in name or name == "DOUBLE"]
OTHERS = [name for name in ELEMENT_TYPES if name not in FLOATS and name != "STRING"]
COUNT = 300_001  # more elements than one piece of a conversion has


def model_of(type_name: str, count: int = COUNT) -> onnxmap.Model:
    data = stored(type_name, random_codes(type_name, count))
    return onnxmap.loads(in_buffer(type_name, [count], data, offset=1)[0])


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize("type_name", FLOATS)
def test_every_floating_type_to_each(type_name: str) -> None:
    model = model_of(type_name)
    for to in FLOATS:
        dtype = getattr(onnxmap.DataType, to)
        expected = model.initializers["t"].numpy(dtype=dtype)
        arrays = model.arrays(dtype=dtype)
        assert_same_array(arrays["t"], expected)
        assert arrays["t"].flags.writeable
        assert arrays["t"].ctypes.data % 64 == 0
        for copy in (False, True):
            ((name, array),) = model.stream(dtype=dtype, copy=copy)
            assert name == "t"
            assert_same_array(array, expected)
            assert array.flags.writeable == copy


@pytest.mark.parametrize("type_name", OTHERS)
def test_others_stay_as_they_are(type_name: str) -> None:
    model = model_of(type_name, 1001)
    expected = model.initializers["t"].numpy()
    for dtype in (np.float16, np.float64):
        assert_same_array(model.arrays(dtype=dtype)["t"], expected)
        ((_, array),) = model.stream(dtype=dtype)
        assert_same_array(array, expected)


@pytest.mark.parametrize(
    "dtype",
    ["float32", "f4", np.float32, np.dtype("<f4"), onnxmap.DataType.FLOAT, "=f4", np.single],
)
def test_a_type_can_be_written_in_several_ways(dtype: Any) -> None:
    model = model_of("FLOAT16", 9)
    assert model.arrays(dtype=dtype)["t"].dtype == np.float32
    assert next(model.stream(dtype=dtype))[1].dtype == np.float32


def test_types_of_ml_dtypes_by_name() -> None:
    model = model_of("FLOAT", 9)
    assert model.arrays(dtype="bfloat16")["t"].dtype == ml_dtypes.bfloat16
    assert model.arrays(dtype="float8_e5m2")["t"].dtype == ml_dtypes.float8_e5m2


@pytest.mark.parametrize(
    ("dtype", "error"),
    [
        ("int32", ValueError), (np.bool_, ValueError), ("complex64", ValueError),
        (object, ValueError), (np.longdouble, ValueError), (">f4", ValueError), ("S4", ValueError),
        (onnxmap.DataType.INT4, ValueError), (onnxmap.DataType.STRING, ValueError),
        ([("a", "f4")], ValueError), ("no type", TypeError), (3.5, TypeError),
    ],
)  # fmt: skip
def test_bad_types(dtype: Any, error: type[Exception]) -> None:
    model = model_of("FLOAT", 9)
    for read in (model.arrays, model.stream):
        with pytest.raises(error):
            read(dtype=dtype)


def test_numbers_that_are_too_large_warn_as_numpy_does() -> None:
    """Like `Tensor.numpy`, a conversion by a kernel does not warn."""
    buffer, _ = in_buffer("DOUBLE", [2], np.float64([1e300, -1e300]).tobytes())
    double = onnxmap.loads(buffer)
    buffer, _ = in_buffer("FLOAT", [2], np.float32([1e30, -1e30]).tobytes())
    single = onnxmap.loads(buffer)
    for model, to, count in ((double, np.float32, 1), (single, np.float16, 0)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            array = model.arrays(dtype=to)["t"]
        assert np.isinf(array).all()
        assert len(caught) == count
        with warnings.catch_warnings(record=True) as by_numpy:
            warnings.simplefilter("always")
            model.initializers["t"].numpy(dtype=to)
        assert [str(one.message) for one in caught] == [str(one.message) for one in by_numpy]
