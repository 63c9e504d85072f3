"""`Model.stats`: the statistics of every type, against NumPy in extended precision."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper
from support.models.sample import floats, model_of
from support.oracles.stats import assert_stats, wide
from support.tensors.stored import (
    NUMERIC,
    Array,
    bits_of,
    code_type,
    dtype_of,
    in_buffer,
    random_codes,
    stored,
    values_of,
)

import onnxmap
from onnxmap import _core

FLOATS = ["FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE"]
LANES = 8
AT_ONCE = 4096  # elements that are summed at a time


@pytest.fixture(params=_core.kernel_paths())
def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """Use one set of kernels for the length of a test."""
    before = _core.kernels_in_use()
    _core.use_kernels(request.param)
    yield request.param
    _core.use_kernels(before)


def stats_of(type_name: str, codes: Array, offset: int = 0, **options: Any) -> onnxmap.TensorStats:
    buffer, _ = in_buffer(type_name, codes.shape, stored(type_name, codes), offset)
    return onnxmap.loads(buffer).stats(**options)["t"]


def codes_of(type_name: str, values: Array) -> Array:
    return values.astype(dtype_of(type_name)).view(code_type(type_name))


def check(type_name: str, codes: Array, offset: int = 0) -> onnxmap.TensorStats:
    found = stats_of(type_name, codes, offset)
    assert_stats(found, values_of(type_name, codes))
    return found


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("type_name", NUMERIC)
def test_random_bits_of_every_length(type_name: str) -> None:
    """Random bits are NaN, infinite, subnormal and as large as possible, too."""
    for count in [*range(40), 1000, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE + 5]:
        check(type_name, random_codes(type_name, count))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("type_name", NUMERIC)
def test_every_position_of_the_stored_bytes(type_name: str) -> None:
    for offset in range(16):
        check(type_name, random_codes(type_name, 77, offset), offset)


@pytest.mark.parametrize("type_name", [name for name in NUMERIC if bits_of(name) <= 16])
def test_every_code(type_name: str) -> None:
    check(type_name, np.arange(1 << bits_of(type_name), dtype=code_type(type_name)))


@pytest.mark.parametrize("type_name", NUMERIC)
def test_more_than_a_block(type_name: str) -> None:
    """A block has about 1 MiB of stored bytes."""
    count = (5 << 18) * 8 // bits_of(type_name) + 77
    check(type_name, random_codes(type_name, count, 3), 5)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("type_name", FLOATS)
def test_numbers_like_weights(type_name: str) -> None:
    rng = np.random.default_rng(5)
    for count in (1, 7, 100, 20_001):
        check(type_name, codes_of(type_name, rng.normal(0, 0.02, count)))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("type_name", FLOATS)
@pytest.mark.parametrize("mean", [1.0, -3.0, 1000.0])
def test_numbers_far_from_zero(type_name: str, mean: float) -> None:
    """The squares of the numbers are much larger than those of the distances from the mean."""
    values = np.random.default_rng(6).normal(mean, abs(mean) / 100, 10_001)
    check(type_name, codes_of(type_name, values))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("size", [1e-320, 1e-300, 1e-160, 1e-130, 1e130, 1e160, 1e300, 1.7e308])
def test_squares_that_no_double_can_hold(size: float) -> None:
    values = np.random.default_rng(7).uniform(-1, 1, 10_001) * size
    found = check("DOUBLE", codes_of("DOUBLE", values))
    assert found.std is not None
    assert math.isfinite(found.std)
    assert found.std > 0


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("type_name", FLOATS)
def test_one_number_many_times(type_name: str) -> None:
    """Its deviation is exactly 0, and its mean is exactly the number."""
    for number in (0.1, -3.7, 1e4):
        codes = codes_of(type_name, np.full(9001, number))
        found = stats_of(type_name, codes)
        value = float(values_of(type_name, codes[:1]).astype(np.float64)[0])
        assert (found.min, found.max, found.mean, found.std) == (value, value, value, 0.0)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("type_name", FLOATS)
@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, 0.0, -0.0])
def test_an_odd_value_in_every_lane(type_name: str, odd: float) -> None:
    for count in (1, LANES, 2 * LANES + 3):
        for at in range(count):
            values = np.arange(1.0, count + 1)
            values[at] = odd
            check(type_name, codes_of(type_name, values))


@pytest.mark.parametrize("type_name", FLOATS)
def test_nothing_finite(type_name: str) -> None:
    values = np.array([math.nan, math.inf, -math.inf] * 7)
    found = check(type_name, codes_of(type_name, values))
    assert (found.nans, found.infinities, found.finite) == (7, 14, 0)


def test_extremes_of_long_integers() -> None:
    """A double cannot hold them."""
    for type_name in ("INT64", "UINT64"):
        info = np.iinfo(type_name.lower())
        values = np.array([info.min, info.max, info.max - 1, 3], type_name.lower())
        found = check(type_name, values.view(np.uint64))
        assert (found.min, found.max) == (info.min, info.max)
        inner = check(type_name, values[2:].view(np.uint64))
        assert (inner.min, inner.max) == (3, info.max - 1)


def test_complex_numbers_may_be_nan_and_infinite_at_once() -> None:
    values = np.array([complex(math.nan, math.inf), 3 + 4j, 0j, complex(-0.0, -0.0), 1j])
    for type_name in ("COMPLEX64", "COMPLEX128"):
        array = values.astype(type_name.lower())
        initializer = numpy_helper.from_array(array, "t")
        found = onnxmap.loads(model_of([initializer]).SerializeToString()).stats()["t"]
        assert_stats(found, array)
        assert (found.nans, found.infinities, found.finite, found.zeros) == (1, 1, 4, 2)
        assert found.mean == 0.75 + 1.25j


def test_any_byte_but_zero_is_true() -> None:
    codes = np.array([0, 1, 2, 255, 0], np.uint8)
    buffer, _ = in_buffer("BOOL", codes.shape, codes)
    found = onnxmap.loads(buffer).stats()["t"]
    assert (found.min, found.max, found.mean, found.zeros) == (0, 1, 0.6, 2)


@pytest.mark.parametrize("type_name", [*FLOATS, "INT32", "UINT16", "INT64", "COMPLEX64", "INT4"])
def test_all_sets_of_kernels_agree_bit_for_bit(type_name: str) -> None:
    before = _core.kernels_in_use()
    samples = [random_codes(type_name, count, 9) for count in (5, 1001, 70_003)]
    if type_name in FLOATS:
        values = np.random.default_rng(8).normal(2, 0.1, 70_003)
        samples.append(codes_of(type_name, values))
    seen = []
    try:
        for name in _core.kernel_paths():
            _core.use_kernels(name)
            seen.append([stats_of(type_name, codes) for codes in samples])
    finally:
        _core.use_kernels(before)
    assert all(one == seen[0] for one in seen)


class TestTotal:
    def test_all_values_together(self) -> None:
        rng = np.random.default_rng(2)
        arrays = {
            "a": rng.normal(3, 2, (40, 50)).astype(np.float32),
            "b": rng.integers(-9, 9, 1001).astype(np.int8),
            "c": np.array([math.nan, math.inf, -math.inf, 0.0, 5.0], np.float16),
            "d": np.zeros((0, 3), np.float64),
            "e": np.array([True, False]),
            "f": np.array(2**63 + 1, np.uint64),
        }
        tensors = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
        model = onnxmap.loads(model_of(tensors).SerializeToString())
        stats = model.stats()
        assert list(stats) == list(arrays)
        for name, array in arrays.items():
            assert_stats(stats[name], array)
        values = np.concatenate([wide(array) for array in arrays.values()])
        kept = values[np.isfinite(values)]
        total = stats.total
        assert (total.dtype, total.shape) == (None, None)
        assert (total.count, total.finite, total.nans) == (values.size, kept.size, 1)
        assert (total.infinities, total.zeros) == (2, np.count_nonzero(values == 0))
        assert (total.min, total.max) == (-9, 2**63 + 1)
        assert total.mean == pytest.approx(float(kept.mean()), rel=1e-12)
        assert total.std == pytest.approx(float(kept.std()), rel=1e-12)
        few = model.stats(["c", "b"])
        assert list(few) == ["c", "b"]
        assert few.total.count == 1006
        assert (few.total.min, few.total.max) == (-9, 8)
        assert type(few.total.max) is int

    def test_a_complex_tensor(self) -> None:
        tensors = [
            numpy_helper.from_array(np.complex64([1 + 1j, 3 - 1j]), "c"),
            numpy_helper.from_array(np.float32([2, 2]), "r"),
        ]
        total = onnxmap.loads(model_of(tensors).SerializeToString()).stats().total
        assert (total.min, total.max, total.mean, total.std) == (None, None, 2 + 0j, 1.0)

    def test_nothing(self) -> None:
        stats = onnxmap.loads(model_of([]).SerializeToString()).stats()
        assert len(stats) == 0
        assert (stats.total.count, stats.total.min, stats.total.mean) == (0, None, None)
        assert stats.total.zero_share == 0.0


class TestObjects:
    @pytest.fixture
    def stats(self) -> Any:
        text = helper.make_tensor("text", 8, [2], [b"a", b"b"])
        values = numpy_helper.from_array(np.float32([[0, 1], [math.nan, 3]]), "w")
        other = numpy_helper.from_array(np.int64(7), "\x1b" * 100)
        return onnxmap.loads(model_of([text, values, other]).SerializeToString()).stats()

    def test_strings_are_left_out(self, stats: onnxmap.ModelStats) -> None:
        assert list(stats) == ["w", "\x1b" * 100]
        assert "text" not in stats

    def test_shares(self, stats: onnxmap.ModelStats) -> None:
        found = stats["w"]
        assert (found.zero_share, found.nans, found.infinities) == (0.25, 1, 0)

    def test_they_are_frozen(self, stats: onnxmap.ModelStats) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            stats["w"].min = 1  # type: ignore[misc]
        assert hash(stats["w"]) == hash(dataclasses.replace(stats["w"]))

    def test_texts(self, stats: onnxmap.ModelStats) -> None:
        assert repr(stats["w"]) == (
            "<onnxmap.TensorStats of FLOAT [2, 2]: "
            "min 0, max 3, mean 1.33333, std 1.24722, 1 NaN, 0 infinite>"
        )
        assert repr(stats).startswith("<onnxmap.ModelStats of 2 tensors: min 0, max 7, ")
        lines = str(stats).splitlines()
        assert [line.split()[0] for line in lines] == ["name", "w", r"\x1b" * 57 + "...", "total"]
        assert lines[1].split() == (
            ["w", "FLOAT", "[2,", "2]", "0", "3", "1.33333", "1.24722", "25.00", "%", "1", "0"]
        )
        assert str(stats).replace("\n", "").isprintable()
        assert len(set(map(len, lines))) == 1
        assert str(stats["w"]).splitlines()[0].split()[0] == "type"
        html = stats._repr_html_()
        assert html.count("<tr>") == 3
        assert "\x1b" not in html

    def test_many_tensors(self) -> None:
        tensors = [floats(str(i), 1, start=i) for i in range(70)]
        stats = onnxmap.loads(model_of(tensors).SerializeToString()).stats()
        lines = str(stats).splitlines()
        assert len(lines) == 1 + 50 + 1 + 1
        assert lines[-2] == "... 20 more"
        assert lines[-1].split()[:3] == ["total", "0", "69"]
