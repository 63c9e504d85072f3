"""`Tensor.histogram`: counts and edges against NumPy, memory, time, and what it refuses."""

from __future__ import annotations

import math
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from support.faults.cutting import kept_cutting
from support.models.many_tensors import (
    PLACES,
    Folder,
    threads_left,
    threads_of_process,
)
from support.models.sample import external, floats, model_of, write
from support.processes.subprocesses import facts_from
from support.processes.work import takes_minutes
from support.run_options import EXHAUSTIVE, SANITIZED
from support.tensors.stored import (
    NUMERIC,
    Array,
    bits_of,
    code_type,
    dtype_of,
    in_buffer,
    random_codes,
    stored,
)

import onnxmap

MIB = 1 << 20
REAL = [name for name in NUMERIC if not name.startswith("COMPLEX")]
FLOATS = ["FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE"]
TINY = 5e-324


def tensor_of(type_name: str, codes: Array, offset: int = 0) -> onnxmap.Tensor:
    buffer, _ = in_buffer(type_name, codes.shape, stored(type_name, codes), offset)
    return onnxmap.loads(buffer).initializers["t"]


def doubles(values: Any) -> onnxmap.Tensor:
    array = np.array(values, np.float64)
    return tensor_of("DOUBLE", array.view(np.uint64))


def wide(values: Array) -> Array:
    with np.errstate(invalid="ignore"):
        narrow = np.float32 if values.dtype.itemsize < 4 else np.float64
        return values.astype(narrow).astype(np.float64)


def expected_counts(values: Array, edges: Array) -> Array:
    """Of values as float64. NumPy sorts NaN to the end, so that it is in no bin."""
    return np.histogram(values[~np.isnan(values)], edges)[0]


def expected_edges(values: Array, count: int) -> Array:
    finite = values[np.isfinite(values)]
    return np.histogram_bin_edges(finite, count)


def check(tensor: onnxmap.Tensor, bins: Any = 10) -> tuple[Array, Array]:
    """The counts are NumPy's for the same edges; equal bins have NumPy's edges, too."""
    counts, edges = tensor.histogram(bins)
    assert (counts.dtype, edges.dtype) == (np.int64, np.float64)
    assert counts.shape == (edges.size - 1,)
    with np.errstate(invalid="ignore"):
        values = wide(tensor.numpy())
    np.testing.assert_array_equal(counts, expected_counts(values, edges))
    if not isinstance(bins, int):
        np.testing.assert_array_equal(edges, bins)
        return counts, edges
    assert counts.sum() == np.isfinite(values).sum()
    try:
        with np.errstate(over="raise"):
            numpys = expected_edges(values, bins)
    except (ValueError, FloatingPointError):  # NumPy makes no such bins
        return counts, edges
    np.testing.assert_array_equal(edges, numpys)
    return counts, edges


@pytest.mark.parametrize("type_name", REAL)
def test_random_bits_of_every_length(type_name: str) -> None:
    """Random bits are NaN, infinite, subnormal and as large as possible, too."""
    rng = np.random.default_rng(1)
    for i, count in enumerate([*range(20), 1000, 2047, 2048, 2049, 10_001]):
        tensor = tensor_of(type_name, random_codes(type_name, count), count % 16)
        every = (1, 2, 7, 100)
        for bins in every if EXHAUSTIVE else every[i % 4 : i % 4 + 1]:
            check(tensor, bins)
        finite = np.nan_to_num(wide(tensor.numpy()), posinf=5.0, neginf=-5.0)
        chosen = np.sort(rng.choice(finite, 9)) if count else np.arange(9.0)
        check(tensor, chosen)


@pytest.mark.parametrize("type_name", REAL)
def test_more_than_a_block(type_name: str) -> None:
    count = (5 << 18) * 8 // bits_of(type_name) + 77
    tensor = tensor_of(type_name, random_codes(type_name, count, 3), 5)
    check(tensor, 33)
    check(tensor, [-3.0, 0.0, 0.5, 1.0, 2.0])


@pytest.mark.parametrize("type_name", FLOATS)
def test_numbers_like_weights(type_name: str) -> None:
    values = np.random.default_rng(5).normal(0, 0.02, 200_003).astype(dtype_of(type_name))
    tensor = tensor_of(type_name, values.view(code_type(type_name)))
    for bins in (1, 3, 10, 64, 1000, 65_536):
        check(tensor, bins)


def test_any_shape() -> None:
    rng = np.random.default_rng(3)
    for shape in [(), (0,), (3, 0, 2), (1, 1, 1), (2, 3, 5, 7)]:
        values = rng.normal(size=shape).astype(np.float32)
        check(tensor_of("FLOAT", values.view(np.uint32)), 5)


def test_the_bins_are_ten_if_nothing_is_said() -> None:
    counts, edges = doubles(np.arange(20.0)).histogram()
    assert counts.tolist() == [2] * 10
    np.testing.assert_array_equal(edges, np.linspace(0, 19, 11))


@pytest.mark.parametrize(
    ("first", "last"),
    [(0.1, 0.7), (-1 / 3, 1 / 7), (1e300, 1.1e300), (-1e-310, 1e-310), (1e16, 1e16 + 64)],
)
def test_values_on_the_edges(first: float, last: float) -> None:
    """The edges themselves, and their neighbours on both sides."""
    for bins in (3, 10, 97):
        edges = np.linspace(first, last, bins + 1)
        beside = [np.nextafter(edges, -math.inf), np.nextafter(edges, math.inf)]
        values = np.clip(np.concatenate([edges, *beside]), first, last)
        check(doubles(values), bins)
        check(doubles(np.concatenate([edges, *beside])), edges)


@pytest.mark.parametrize(
    "values",
    [
        [-0.0, 0.0, 1.0], [-0.0], [TINY, -TINY, 0.0, 3 * TINY], [0.0, 11 * TINY],
        [-1.7e308, 1.7e308, 0.0, 1.0], [1.0, np.nextafter(1.0, 2)], [1e20] * 5, [3.0] * 4,
        [math.nan, math.inf, 1.0, -math.inf, 2.0], [math.nan] * 3, [math.inf], [],
    ],
)  # fmt: skip
def test_odd_values(values: list[float]) -> None:
    for bins in (1, 7, 10, 4096):
        counts, edges = check(doubles(values), bins)
        assert np.isfinite(edges).all()
        assert (edges[1:] >= edges[:-1]).all()
        assert counts.sum() == np.isfinite(np.array(values)).sum()


def test_one_number_and_none() -> None:
    counts, edges = doubles([3.0, 3.0, math.nan]).histogram(2)
    assert (counts.tolist(), edges.tolist()) == ([0, 2], [2.5, 3.0, 3.5])
    counts, edges = doubles([math.nan]).histogram(2)
    assert (counts.tolist(), edges.tolist()) == ([0, 0], [0.0, 0.5, 1.0])


def test_edges_that_users_give() -> None:
    tensor = doubles([-math.inf, -2, -1, 0, 1, 1, 2, math.inf, math.nan])
    assert check(tensor, [-math.inf, 0, math.inf])[0].tolist() == [3, 5]
    assert check(tensor, [1, 1, 1])[0].tolist() == [0, 2]
    assert check(tensor, (-1, 1, 1, 2))[0].tolist() == [2, 0, 3]
    assert check(tensor, np.array([0, 5], np.int8))[0].tolist() == [4]
    assert check(tensor, [-math.inf, -math.inf, -2])[0].tolist() == [0, 2]
    assert tensor.histogram(np.int64(3))[0].size == 3


def test_edges_are_copied() -> None:
    given = np.array([0.0, 1.0])
    counts, edges = doubles([0.5]).histogram(given)
    edges[0] = counts[0] = 7
    assert given.tolist() == [0.0, 1.0]


def test_long_integers_are_rounded_to_float64() -> None:
    values = np.array([2**53, 2**53 + 1, 2**53 + 2, -(2**63), 2**63 - 1])
    check(tensor_of("INT64", values.view(np.uint64)), 3)
    tensor = tensor_of("INT64", values.view(np.uint64))
    assert check(tensor, [2.0**53, 2.0**53 + 2, 2.0**53 + 4])[0].tolist() == [2, 1]


@pytest.mark.parametrize("place", PLACES)
def test_every_type_in_every_storage(every_type: Folder, place: str) -> None:
    initializers = every_type.open(place).initializers
    for name, array in every_type.expected.items():
        if array.dtype == object or array.dtype.kind == "c":
            with pytest.raises(TypeError, match="has no order"):
                initializers[name].histogram()
        else:
            check(initializers[name], 6)


def test_tensors_elsewhere() -> None:
    node = onnx.helper.make_node("Constant", [], ["c"], value=floats("", 100))
    message = model_of([])
    message.graph.node.append(node)
    model = onnxmap.loads(message.SerializeToString())
    check(model.graph.nodes[0].attributes["value"].value, 4)
    check(onnxmap.loads_tensor(floats("w", 33).SerializeToString()), 4)


def test_edits_count() -> None:
    model = onnxmap.loads(model_of([floats("w", 4)]).SerializeToString())
    model.initializers["w"] = np.float32([5, np.nan, 6, 6])
    assert check(model.initializers["w"], 2)[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("bins", "error", "words"),
    [
        (0, ValueError, "1 to 65536 bins, not 0"), (-3, ValueError, "not -3"),
        (65_537, ValueError, "not 65537"), (1 << 80, ValueError, "1 to 65536"),
        (range(65_538), ValueError, "not 65537"), ([], ValueError, "bins"),
        ([1.0], ValueError, "0"),
        ([1, 0], ValueError, "edge 1 is 0.0"), ([0, math.nan, 2], ValueError, "edge 1 is nan"),
        ([math.nan, 0], ValueError, "edge 0"), ([[0, 1]], ValueError, "flat"),
        (2.5, ValueError, "flat"), (np.array(3), ValueError, "flat"), ("auto", ValueError, "auto"),
        ([1j, 2], TypeError, "complex"),
    ],
)  # fmt: skip
def test_bins_that_are_refused(bins: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        doubles([1.0, 2.0]).histogram(bins)


def test_values_that_are_missing(tmp_path: Path) -> None:
    path = write(model_of([external("w", [4], {"location": "gone.bin"})]), tmp_path / "m.onnx")
    with pytest.raises(onnxmap.MissingDataError):
        onnxmap.load(path).initializers["w"].histogram()
    short = floats("w", 4)
    short.dims[0] = 1 << 40
    with pytest.raises(onnxmap.TensorError):
        onnxmap.loads(model_of([short]).SerializeToString()).initializers["w"].histogram()
    del short.float_data[:]
    short.ClearField("raw_data")
    short.float_data.extend([1.0, 2.0])
    with pytest.raises(onnxmap.TensorError, match="w"):
        onnxmap.loads(model_of([short]).SerializeToString()).initializers["w"].histogram()


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_a_file_that_is_cut_at_any_moment(io: str, tmp_path: Path) -> None:
    values = np.arange(MIB, dtype=np.float32)
    (tmp_path / "w.bin").write_bytes(values.tobytes())
    message = external("w", [MIB], {"location": "w.bin"})
    path = write(model_of([message]), tmp_path / "m.onnx")
    expected = np.histogram(values.astype(np.float64), 9)[0].tolist()
    seen = set()
    with kept_cutting(tmp_path / "w.bin", 20) as goes_on:
        while goes_on():
            try:
                found = onnxmap.load(path, io=io).initializers["w"].histogram(9)[0].tolist()
                seen.add("right" if found == expected else "wrong")
            except onnxmap.FileChangedError:
                seen.add("changed")
            except onnxmap.ExternalDataError:
                seen.add("short")
    assert seen <= {"right", "changed", "short"}
    assert seen & {"changed", "short"}


@pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")
@pytest.mark.parametrize("io", ["mmap", "read"])
def test_memory_is_bounded(io: str, tmp_path: Path) -> None:
    """64 MiB, in blocks of 1 MiB for each thread; with the most bins, 512 KiB more for each."""
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(64 * MIB)
    path = write(model_of([external("w", [16 * MIB], {"location": "w.bin"})]), tmp_path / "m.onnx")
    code = """
    import numpy as np
    import onnxmap
    onnxmap.from_arrays({"w": np.ones(100, np.float32)}).initializers["w"].histogram()
    tensor = onnxmap.load(sys.argv[1], io=sys.argv[2]).initializers["w"]
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = resident_kib()
    counts, _ = tensor.histogram(65_536)
    report(counted=int(counts.sum()), growth=peak_kib() - before)
    """
    facts = facts_from(code, str(path), io)
    assert facts["counted"] == 16 * MIB
    assert facts["growth"] < 20 * 1024


def test_time_does_not_depend_on_the_bins() -> None:
    """Not even if most bins are empty, because no double is between their edges."""
    near = np.array([1.0, np.nextafter(1.0, 2), np.nextafter(1.0, 2) + 2**-52])
    values = doubles(np.resize(near, 4_000_000))
    assert not takes_minutes(lambda: values.histogram(65_536))
    uneven = np.sort(np.random.default_rng(1).normal(size=65_537) ** 9)
    values = doubles(np.random.default_rng(2).normal(size=4_000_000))
    assert not takes_minutes(lambda: values.histogram(uneven))


class TestSamples:
    @pytest.mark.parametrize("type_name", ["FLOAT", "INT4", "FLOAT6E2M3", "BFLOAT16", "BOOL"])
    def test_runs_that_are_spread_evenly(self, type_name: str) -> None:
        count = 20 * (1 << 14) + 5
        tensor = tensor_of(type_name, random_codes(type_name, count), 3)
        values = wide(tensor.numpy())
        runs = [values[i : i + (1 << 14)] for i in range(0, count, 1 << 14)]
        for sample, chosen in [(1, [0]), (60_000, [0, 7, 14]), (100_000, [0, 3, 7, 10, 14, 17])]:
            few = np.concatenate([runs[i] for i in chosen])
            assert len(few) <= max(sample, 1 << 14)
            counts, edges = tensor.histogram(9, sample=sample)
            np.testing.assert_array_equal(counts, expected_counts(few, edges))
            finite = few[np.isfinite(few)]
            assert (edges[0], edges[-1]) == (finite.min(), finite.max())
        for sample in (count, count + 1, 1 << 60):
            assert tensor.histogram(9, sample=sample)[0].sum() == np.isfinite(values).sum()

    def test_it_has_a_value(self) -> None:
        with pytest.raises(ValueError, match="at least one"):
            doubles([1.0]).histogram(sample=0)
        assert doubles([]).histogram(sample=1)[0].sum() == 0


@pytest.fixture(scope="module")
def large() -> onnxmap.Tensor:
    return tensor_of("FLOAT", random_codes("FLOAT", 32 * MIB))


def test_other_threads_run_meanwhile(large: onnxmap.Tensor) -> None:
    ended = threading.Event()
    counted = 0
    worker = threading.Thread(target=lambda: (large.histogram(64), ended.set()))
    worker.start()
    while not ended.wait(0.001):
        counted += 1
    worker.join()
    assert counted >= 3


def test_interruption(tmp_path: Path) -> None:
    """A signal stops the work at once, and no thread goes on. The whole takes half an hour."""
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(1 << 40)
    path = write(model_of([external("w", [1 << 38], {"location": "w.bin"})]), tmp_path / "m.onnx")
    tensor = onnxmap.load(path).initializers["w"]
    before = threads_of_process()
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])

    def interrupted() -> None:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            tensor.histogram(np.linspace(-1, 1, 60_000))

    assert not takes_minutes(interrupted)
    timer.join()
    assert not threads_left(before)
