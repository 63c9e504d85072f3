"""Arguments of `arrays` and `stream`: windows, threads, progress. Errors come before any read."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from support.models.many_tensors import (
    is_float_run,
    spans,
    threads_left,
    threads_of_process,
    write_floats,
)
from support.models.sample import external, floats, model_of, write
from support.processes.file_watch import FileWatch

import onnxmap
from onnxmap._base.arguments import parse_size

MIB = 1 << 20


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("64MiB", 64 * MIB), ("1.5GB", 1_500_000_000), ("1.5 gib", 3 << 29), (" 4096 ", 4096),
        ("7b", 7),
        ("2KB", 2000), ("2kib", 2048), ("1TiB", 1 << 40), ("1tb", 10**12), (12, 12),
        (np.int32(9), 9),
        ("0.1kB", 100), ("123456789.001GB", 123_456_789_001_000_000), ("0", 0), (-3, -3),
    ],
)  # fmt: skip
def test_sizes(text: int | str, nbytes: int) -> None:
    assert parse_size(text) == nbytes


@pytest.mark.parametrize(
    "text",
    ["", "MiB", "1.5.5GB", "-1MiB", "1,5GB", "1e6", "64 M", "0x10", "inf", "1 GiBs", "\uff11"],
)
def test_texts_that_are_not_a_size(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        parse_size(text)


@pytest.fixture
def model(tmp_path: Path) -> onnxmap.Model:
    write_floats(tmp_path / "model.onnx", [40_000] * 20)
    return onnxmap.load(tmp_path / "model.onnx")


@pytest.mark.parametrize("window", [0, -1, "0", "0.0001kB", "-1MiB", "1 PiB", ""])
def test_bad_windows(model: onnxmap.Model, window: int | str) -> None:
    with pytest.raises(ValueError, match=r"window must be positive|a size is written like"):
        model.stream(window=window)


@pytest.mark.parametrize("window", [None, 1.5, b"1MiB", [1]])
def test_windows_of_another_type(model: onnxmap.Model, window: Any) -> None:
    with pytest.raises(TypeError):
        model.stream(window=window)


@pytest.mark.parametrize("window", [1, "1B", 1 << 62, 1 << 70, "9" * 30 + "GiB", "9" * 400 + ".5"])
def test_windows_of_any_size(model: onnxmap.Model, window: int | str) -> None:
    assert all(is_float_run(*one) for one in model.stream(window=window, copy=True))


def test_threads(model: onnxmap.Model) -> None:
    for read in (model.arrays, model.stream):
        for bad in (0, -1, 1025, 1 << 70):
            with pytest.raises(ValueError, match="threads must be from 1 to 1024"):
                read(threads=bad)
        for bad in (1.5, "2"):
            with pytest.raises(TypeError):
                read(threads=bad)
    assert len(model.arrays(threads=1024)) == 20
    assert len(list(model.stream(threads=np.int64(3), copy=True))) == 20


class TestProgress:
    TOTAL = 20 * 160_000

    def test_the_progress_of_arrays(self, model: onnxmap.Model) -> None:
        calls: list[tuple[int, int]] = []
        model.arrays(progress=lambda *numbers: calls.append(numbers))
        self.check(calls)

    @pytest.mark.parametrize("copy", [False, True])
    def test_the_progress_of_a_stream(self, model: onnxmap.Model, copy: bool) -> None:
        calls: list[tuple[int, int]] = []
        with model.stream(copy=copy, progress=lambda *numbers: calls.append(numbers)) as stream:
            assert calls == []
            assert len(list(stream)) == 20
            assert list(stream) == []
        self.check(calls)

    def check(self, calls: list[tuple[int, int]]) -> None:
        done = [number for number, _ in calls]
        assert (done[0], done[-1]) == (0, self.TOTAL)
        assert done == sorted(set(done))
        assert {total for _, total in calls} == {self.TOTAL}

    def test_a_stream_that_was_left_is_not_done(self, model: onnxmap.Model) -> None:
        calls: list[int] = []
        stream = model.stream(progress=lambda done, total: calls.append(done))
        next(stream)
        stream.close()
        assert list(stream) == []
        assert calls == [0]

    def test_a_stream_that_is_closed_before_it_begins_reports_nothing(
        self, model: onnxmap.Model
    ) -> None:
        calls: list[int] = []
        stream = model.stream(progress=lambda done, total: calls.append(done))
        stream.close()
        assert list(stream) == []
        assert calls == []

    def test_the_callable_gets_the_sums_of_the_core(
        self, model: onnxmap.Model, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Bulk:
            nbytes = 100

            def arrays(self, threads: int, tell: Any) -> dict[str, Any]:
                for done in (10, 30, 30, 60):
                    tell(done)
                return {}

        monkeypatch.setattr("onnxmap._show.progress.SECONDS_BETWEEN", 0)
        monkeypatch.setattr("onnxmap._core.plan_bulk", lambda *_, **__: Bulk())
        calls: list[tuple[int, int]] = []
        model.arrays(progress=lambda *numbers: calls.append(numbers))
        assert calls == [(0, 100), (10, 100), (30, 100), (60, 100), (100, 100)]

    def test_an_error_of_the_callable_ends_the_work(self, model: onnxmap.Model) -> None:
        def fail(done: int, total: int) -> None:
            raise ZeroDivisionError

        before = threads_of_process()
        with pytest.raises(ZeroDivisionError):
            model.arrays(progress=fail)
        stream = model.stream(copy=True, progress=fail)
        with pytest.raises(ZeroDivisionError):
            next(stream)
        assert list(stream) == []
        assert not threads_left(before)
        assert len(model.arrays()) == 20

    @pytest.mark.parametrize("wrong", [None, 1, "yes"])
    def test_neither_bool_nor_callable(self, model: onnxmap.Model, wrong: Any) -> None:
        for read in (model.arrays, model.stream):
            with pytest.raises(TypeError, match="progress"):
                read(progress=wrong)


def bad_ones() -> dict[str, tuple[TensorProto, str]]:
    """Faults that show before values are read, with the codes of their errors."""
    place = {"location": "no such file", "offset": "0", "length": "4"}
    return {
        "short raw_data": (TensorProto(dims=[2], data_type=1, raw_data=b"1234"),
        "tensor.data_size"),
        "no type": (TensorProto(dims=[2], raw_data=b"1234"), "tensor.dtype"),
        "negative": (TensorProto(dims=[-2], data_type=1, raw_data=b""), "tensor.negative_dim"),
        "no file": (external("", [1], place), "ext.missing"),
        "past the end": (next(spans([("", 399, 2)], "0.bin")), "ext.bounds"),
    }  # fmt: skip


@pytest.mark.parametrize("name", bad_ones())
def test_a_bad_tensor_is_reported_before_anything_is_read(name: str, tmp_path: Path) -> None:
    write_floats(tmp_path / "model.onnx", [100], data_files=1)
    bad, code = bad_ones()[name]
    bad.name = "the bad one"
    good = next(spans([("good", 0, 400)], "0.bin"))
    path = write(model_of([good, floats("inline", 3), bad]), tmp_path / "model.onnx")
    for io in ("mmap", "read"):
        model = onnxmap.load(path, io=io)
        watch = FileWatch([tmp_path / "0.bin"])
        for read in (model.arrays, model.stream):
            with pytest.raises(ValueError, match=bad.name) as caught:
                read()
            assert getattr(caught.value, "code", None) == code
            assert getattr(caught.value, "tensor", None) == bad.name
        watch.close()
        assert model.arrays(["good"])["good"].size == 400


@pytest.mark.parametrize("copy", [False, True])
def test_faults_that_only_reading_shows_are_raised_then(copy: bool) -> None:
    wrong = TensorProto(name="wrong", dims=[2], data_type=2, int32_data=[1, 300])
    tensors = [floats("a", 3), floats("b", 3), wrong, floats("c", 3)]
    model = onnxmap.loads(model_of(tensors).SerializeToString())
    with pytest.raises(onnxmap.TensorError, match="wrong") as caught:
        model.arrays()
    assert caught.value.code == "tensor.value_range"
    before = threads_of_process()
    stream = model.stream(copy=copy)
    with pytest.raises(onnxmap.TensorError, match="wrong"):
        for _ in stream:
            pass
    assert list(stream) == []
    assert not threads_left(before)


@pytest.mark.parametrize("copy", [False, True])
def test_each_overlooked_fault_is_reported_once(copy: bool) -> None:
    """One fault shows when values are located, the other when a thread decodes them."""
    long = TensorProto(name="long", dims=[2], data_type=22, raw_data=b"\x21\x43\x65")
    odd = TensorProto(name="odd", dims=[2], data_type=2, int32_data=[1, 300])
    data = model_of([long, floats("a", 3), odd]).SerializeToString()
    for read in ("arrays", "stream"):
        model = onnxmap.loads(data, lenient=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            arrays = model.arrays() if read == "arrays" else dict(model.stream(copy=copy))
        assert [one.category for one in caught] == [onnxmap.TensorWarning] * 2
        assert sorted(str(one.message).split("'")[1] for one in caught) == ["long", "odd"]
        assert arrays["long"].tolist() == [1, 2]
        assert arrays["odd"].tolist() == [1, 44]


def test_progress_counts_the_bytes_of_the_results(tmp_path: Path) -> None:
    """Even if NumPy converts them to more bytes than were read."""
    path = write(model_of([floats(f"t{i}", 1000) for i in range(5)]), tmp_path / "model.onnx")
    told: list[tuple[int, int]] = []
    sizes = [
        array.nbytes
        for _, array in onnxmap.load(path).stream(
            dtype=np.float64, progress=lambda done, total: told.append((done, total))
        )
    ]
    assert told[0] == (0, sum(sizes)) == (0, 5 * 8000)
    assert told[-1] == (sum(sizes), sum(sizes))
