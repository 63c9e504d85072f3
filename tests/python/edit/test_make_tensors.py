"""`make_tensor` stores values of every element type as `onnx.helper.make_tensor` does."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from support.oracles.made_messages import assert_same, form, ours
from support.oracles.tensor_encoder import ELEMENT_TYPES
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

import onnxmap

EXAMPLES = 5_000 if LONG else 500 if EXHAUSTIVE else 15 if SANITIZED else 100


def values_of(name: str) -> st.SearchStrategy[list[Any]]:
    """Lists of values for an element type, some of them out of its range."""
    if name == "STRING":
        return st.lists(st.one_of(st.text(max_size=5), st.binary(max_size=5)), max_size=6)
    if name == "BOOL":
        return st.lists(st.booleans(), max_size=6)
    if name.startswith("COMPLEX"):
        return st.lists(st.complex_numbers(allow_nan=False, width=64), max_size=6)
    if "INT" in name:
        bits = ELEMENT_TYPES[name].bits
        low, high = (-(1 << bits - 1), 1 << bits - 1) if name[0] == "I" else (0, 1 << bits)
        inside = st.integers(low, high - 1)
        return st.lists(inside if bits < 8 else st.one_of(inside, st.just(high)), max_size=6)
    # FLOAT6 and FLOAT4 have no infinity, and ml_dtypes converts it in silence.
    return st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=6)


@st.composite
def tensors(draw: st.DrawFn) -> tuple[str, list[Any]]:
    name = draw(st.sampled_from(sorted(ELEMENT_TYPES)))
    return name, draw(values_of(name))


def array_of(name: str, values: list[Any]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(values, ELEMENT_TYPES[name].dtype)


SETTINGS = settings(
    max_examples=EXAMPLES, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@SETTINGS
@given(tensors())
def test_make_tensor_of_lists(drawn: tuple[str, list[Any]]) -> None:
    name, values = drawn
    number = ELEMENT_TYPES[name].number
    with np.errstate(all="ignore"):
        assert_tensor(number, [len(values)], values)
        assert_tensor(number, [2, 2], values)


def assert_tensor(number: int, dims: list[int], values: Any, raw: bool = False) -> None:
    if number == TensorProto.STRING and any(
        (text.encode() if isinstance(text, str) else text).endswith(b"\0") for text in values
    ):
        return  # onnx.helper loses zeros at the end of a text
    if number == TensorProto.STRING and len({type(text) for text in values}) > 1:
        return  # and takes bytes beside texts for their representation
    assert_same("make_tensor", "t", number, dims, values, raw=raw)


@SETTINGS
@given(tensors())
def test_make_tensor_of_arrays(drawn: tuple[str, list[Any]]) -> None:
    name, values = drawn
    number = ELEMENT_TYPES[name].number
    try:
        array = array_of(name, values)
    except OverflowError:
        return
    if name == "FLOAT8E8M0":
        array = np.maximum(array, array.dtype.type(2.0**-126))  # onnx.helper doubles the smallest
    if name.startswith("FLOAT8"):
        array = array[np.isfinite(array.astype(np.float32))]  # it has no infinity, either
    assert_tensor(number, [len(array)], array)
    if name != "STRING":
        assert_tensor(number, [len(array)], array, raw=True)
        assert_tensor(number, [len(array) + 24], array, raw=True)
        stored = numpy_helper.from_array(array)
        assert_tensor(number, [len(array)], stored.raw_data, raw=True)
        tensor = onnxmap.loads_tensor(stored.SerializeToString())
        expected = helper.make_tensor("t", number, [len(array)], array, raw=True)
        assert form(ours("make_tensor")("t", number, [len(array)], tensor, raw=True)) == form(
            expected
        )
        made = ours("make_tensor")("t", name, [len(array)], tensor)
        assert form(made) == form(helper.make_tensor("t", number, [len(array)], array))


def made_of(array: np.ndarray) -> Any:
    """The tensor that an attribute gets for an array."""
    return onnxmap.make_attribute("a", array, attr_type=onnxmap.AttributeType.TENSOR).t


@pytest.mark.parametrize("name", sorted(set(ELEMENT_TYPES) - {"STRING"}))
def test_tensors_of_arrays(name: str) -> None:
    rng = np.random.default_rng(0)
    for shape in [(), (0,), (5,), (3, 7), (2, 3, 4)]:
        array = rng.integers(0, 2, shape).astype(ELEMENT_TYPES[name].dtype)
        assert form(made_of(array)) == form(numpy_helper.from_array(array))
        turned = np.asarray(array.T, order="K")
        expected = numpy_helper.from_array(np.ascontiguousarray(turned).reshape(turned.shape))
        assert form(made_of(turned)) == form(expected)


def test_tensors_of_arrays_in_the_other_byte_order() -> None:
    array = np.arange(3, dtype=">i4")
    expected = numpy_helper.from_array(array.astype("<i4"))
    assert form(made_of(array)) == form(expected)


WRONG_TENSORS: dict[str, tuple[Any, ...]] = {
    "too few": (TensorProto.FLOAT, [3], [1.0, 2.0]),
    "too many": (TensorProto.FLOAT, [], [1.0, 2.0]),
    "raw texts": (TensorProto.STRING, [1], b"a", True),
    "raw list": (TensorProto.FLOAT, [1], [1.0], True),
    "raw text": (TensorProto.UINT8, [1], "a", True),
    "too few bytes": (TensorProto.FLOAT, [2], b"abcd", True),
    "too many bytes": (TensorProto.INT4, [2], b"ab", True),
    "out of range": (TensorProto.UINT8, [1], [256]),
    "wrong text": (TensorProto.FLOAT, [1], ["a"]),
    "scalar of a vector": (TensorProto.FLOAT, [1], 1.0),
    "nested": (TensorProto.FLOAT, [2, 2], [[1, 2], [3, 4]]),
    "scalar": (TensorProto.INT64, [], [5]),
    "texts": (TensorProto.STRING, [2, 1], [["a"], ["b"]]),
    "raw int4 in bytes": (TensorProto.INT4, [3], np.array([-1, 2, -8], np.int8), True),
    "raw int2 in bytes": (TensorProto.INT2, [2], np.array([-1, 1], np.int8), True),
    "empty texts": (TensorProto.STRING, [0], []),
    "large float8": (TensorProto.FLOAT8E4M3FN, [3], [1e9, -1e9, float("nan")]),
    "float8 of integers": (TensorProto.FLOAT8E5M2, [2], [3, 1 << 40]),
    "powers of two": (TensorProto.FLOAT8E8M0, [6], [0, 1.0, 1.5, 3e38, float("inf"), -4.0]),
}


@pytest.mark.parametrize("case", WRONG_TENSORS)
def test_make_tensor_cases(case: str) -> None:
    with np.errstate(all="ignore"):
        assert_same("make_tensor", "t", *WRONG_TENSORS[case])


def test_tensors_of_infinities_and_texts_that_onnx_helper_changes() -> None:
    kind = ml_dtypes.float8_e5m2
    made = ours("make_tensor")("t", "FLOAT8E5M2", [1], np.array([np.inf], kind))
    assert list(made.int32_data) == [0x7C]
    made = ours("make_tensor")(
        "t", "FLOAT8E8M0", [1], np.zeros(1, np.uint8).view("V1").view(ml_dtypes.float8_e8m0fnu)
    )
    assert list(made.int32_data) == [0]
    made = ours("make_tensor")("t", "STRING", [3], ["a\0", b"b\0", "\udcff"])
    assert list(made.string_data) == [b"a\0", b"b\0", b"\xff"]
