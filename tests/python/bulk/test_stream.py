"""`Model.stream` gives every tensor once, in stored order, as a view or a new array."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import numpy as np
import pytest
from support.models.many_tensors import (
    PLACES,
    Folder,
    is_float_run,
    spans,
    threads_left,
    threads_of_process,
    write_floats,
)
from support.models.sample import floats, model_of, write
from support.oracles.tensors import assert_same_array
from support.tensors.places import file_of

import onnxmap

MIB = 1 << 20
WINDOWS = [1, 4096, 100_000, MIB, "64MiB"]
SIZES = {  # in elements of 4 bytes; only some fit into a window of a MiB
    "small": [1000] * 300,
    "large": [500_000] * 4,
    "small ones before a large one": [1000, 1000, 1_000_000],
    "small ones after a large one": [1_000_000, 1000, 1000, 1000],
    "growing": [1 << i for i in range(20)],
    "falling": [1 << i for i in reversed(range(20))],
    "by turns": [10, 300_000, 20, 20, 300_000, 300_000, 0, 0, 10, 300_000],
    "empty": [0] * 20,
}


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_every_type_in_every_storage(every_type: Folder, place: str, copy: bool) -> None:
    model = every_type.open(place)
    kept = dict(model.stream(window=50_000, copy=copy))
    assert sorted(kept) == sorted(every_type.expected)
    model.close()
    for name, expected in every_type.expected.items():
        assert_same_array(kept[name], expected)
        assert kept[name].flags.writeable == copy
        if copy and expected.dtype != object and expected.size:
            assert kept[name].ctypes.data % 64 == 0
            assert file_of(kept[name].ctypes.data).endswith((".onnx", ".bin")) is False


def test_arrays_are_views_of_the_file_if_possible(every_type: Folder) -> None:
    model = every_type.open("mmap")
    views = model.views()
    for name, array in model.stream(window=50_000):
        if array.dtype == object or not array.size:
            continue
        in_file = file_of(array.ctypes.data).endswith((".onnx", ".bin"))
        assert in_file == file_of(views[name].ctypes.data).endswith((".onnx", ".bin")), name
        assert in_file == (array.ctypes.data == views[name].ctypes.data), name


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("sizes", SIZES)
def test_every_window_and_size(sizes: str, window: int | str, copy: bool, tmp_path: Path) -> None:
    """The stream does not hang, leaves no tensor out, and gives the values in stored order."""
    for data_files in (0, 2):
        order = write_floats(tmp_path / "model.onnx", SIZES[sizes], data_files)
        model = onnxmap.load(tmp_path / "model.onnx")
        found = []
        for name, array in model.stream(window=window, copy=copy):
            assert array.shape == (SIZES[sizes][int(name)],)
            assert is_float_run(name, array)
            found.append(name)
        assert found == order


@pytest.mark.parametrize("threads", [1, 3])
def test_views_and_new_arrays_alternate(threads: int) -> None:
    """Typed fields are decoded; raw_data is viewed."""
    tensors = []
    for i in range(60):
        tensor = floats(str(i), [10, 200_000, 7, 30_000][i % 4], start=i)
        if i % 3:
            tensor.float_data.extend(np.frombuffer(tensor.raw_data, np.float32))
            tensor.ClearField("raw_data")
            tensor.data_type = 14 if len(tensor.float_data) % 2 == 0 else 1
            tensor.dims[0] //= 2 if tensor.data_type == 14 else 1
        tensors.append(tensor)
    model = onnxmap.loads(model_of(tensors).SerializeToString())
    found = []
    for name, array in model.stream(window=MIB, threads=threads):
        assert is_float_run(name, array.view(np.float32))
        found.append(name)
    assert found == [str(i) for i in range(60)]


def test_tensors_come_in_stored_order(tmp_path: Path) -> None:
    """Files come in the order of first use, tensors by offset, equal offsets as in the model."""
    (tmp_path / "b.bin").write_bytes(bytes(100))
    (tmp_path / "a.bin").write_bytes(bytes(100))
    tensors = [
        *spans([("b50", 50, 10)], "b.bin"), *spans([("a9", 9, 1)], "a.bin"), floats("inline", 3),
        *spans([("b0 all", 0, 100), ("b0", 0, 5)], "b.bin"), *spans([("a8", 8, 2)], "a.bin"),
        *spans([("b0 all again", 0, 100), ("b49", 49, 2)], "b.bin"), floats("inline later", 3),
    ]  # fmt: skip
    model = onnxmap.load(write(model_of(tensors), tmp_path / "model.onnx"))
    order = [
        "b0 all", "b0", "b0 all again", "b49", "b50", "a8", "a9", "inline", "inline later",
    ]  # fmt: skip
    for copy in (False, True):
        assert [name for name, _ in model.stream(copy=copy)] == order
    assert [name for name, _ in model.stream(["a9", "inline", "b49", "b0", "a8", "b0"])] == [
        "a8", "a9", "inline", "b0", "b49",
    ]  # fmt: skip


class TestTheEnd:
    @pytest.fixture
    def model(self, tmp_path: Path) -> onnxmap.Model:
        write_floats(tmp_path / "model.onnx", [50_000] * 40)
        return onnxmap.load(tmp_path / "model.onnx")

    @pytest.mark.parametrize("copy", [False, True])
    def test_an_exhausted_stream_stays_exhausted(self, model: onnxmap.Model, copy: bool) -> None:
        stream = model.stream(window=MIB, copy=copy)
        assert len(list(stream)) == 40
        for _ in range(3):
            with pytest.raises(StopIteration):
                next(stream)
        stream.close()
        assert list(stream) == []

    @pytest.mark.parametrize("copy", [False, True])
    @pytest.mark.parametrize("taken", [0, 1, 5])
    def test_closing_stops_the_work(self, model: onnxmap.Model, copy: bool, taken: int) -> None:
        before = threads_of_process()
        stream = model.stream(window=MIB, copy=copy)
        kept = [next(stream) for _ in range(taken)]
        assert len(threads_of_process() - before) <= taken
        stream.close()
        assert not threads_left(before)
        stream.close()
        with pytest.raises(StopIteration):
            next(stream)
        assert all(is_float_run(*one) for one in kept)

    def test_leaving_a_with_block(self, model: onnxmap.Model) -> None:
        before = threads_of_process()
        with model.stream(window=MIB, copy=True) as stream:
            name, array = next(stream)
        assert not threads_left(before)
        assert is_float_run(name, array)
        stream = model.stream(window=MIB, copy=True)
        with pytest.raises(ZeroDivisionError), stream:
            raise ZeroDivisionError(next(stream)[0])
        assert list(stream) == []
        assert not threads_left(before)

    def test_dropping_the_last_reference(self, model: onnxmap.Model) -> None:
        before = threads_of_process()
        for i, _ in enumerate(model.stream(window=MIB, copy=True)):
            if i == 3:
                assert len(threads_of_process()) > len(before)
                break
        gc.collect()
        assert not threads_left(before)

    def test_nothing_begins_before_the_first_tensor(self, model: onnxmap.Model) -> None:
        before = threads_of_process()
        stream = model.stream()
        assert iter(stream) is stream
        assert not threads_left(before)

    def test_views_outlive_the_stream_and_the_model(self, model: onnxmap.Model) -> None:
        kept = [(name, array) for name, array in model.stream(window=MIB)]
        model.close()
        del model
        gc.collect()
        assert len(kept) == 40
        for name, array in kept:
            assert is_float_run(name, array)
            assert not array.flags.writeable
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.flags.writeable = True

    def test_a_model_that_was_closed(self, model: onnxmap.Model) -> None:
        running = model.stream(window=MIB)
        next(running)
        model.close()
        assert len(list(running)) == 39
        for read in (model.arrays, model.stream):
            with pytest.raises(ValueError, match="closed"):
                read()


def test_several_streams_of_one_model_at_once(tmp_path: Path) -> None:
    order = write_floats(tmp_path / "model.onnx", [30_000] * 60, data_files=3)
    model = onnxmap.load(tmp_path / "model.onnx")
    streams = [model.stream(window=MIB, copy=copy) for copy in (True, False) * 3]
    for name in order:
        for stream in streams:
            found, array = next(stream)
            assert found == name
            assert is_float_run(found, array)
    assert all(list(stream) == [] for stream in streams)


def test_streams_and_arrays_in_several_threads(tmp_path: Path) -> None:
    order = write_floats(tmp_path / "model.onnx", [30_000] * 60, data_files=3)
    model = onnxmap.load(tmp_path / "model.onnx")
    right: list[bool] = []

    def read(copy: bool) -> None:
        found = list(model.stream(window=MIB, copy=copy))
        right.append([name for name, _ in found] == order)
        right.append(all(is_float_run(*one) for one in found))
        right.append(all(is_float_run(*one) for one in model.arrays().items()))

    threads = [threading.Thread(target=read, args=(i % 2 == 0,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 18


class TestTwoThreads:
    """One thread waits inside the stream: its progress callable blocks."""

    @pytest.fixture
    def model(self, tmp_path: Path) -> onnxmap.Model:
        write_floats(tmp_path / "model.onnx", [1000] * 5)
        return onnxmap.load(tmp_path / "model.onnx")

    def test_the_second_is_refused_and_the_first_goes_on(self, model: onnxmap.Model) -> None:
        entered, leave = threading.Event(), threading.Event()

        def wait(done: int, total: int) -> None:
            if done == 0:
                entered.set()
                leave.wait()

        stream = model.stream(progress=wait)
        found: list[str] = []
        first = threading.Thread(target=lambda: found.extend(name for name, _ in stream))
        first.start()
        entered.wait()
        with pytest.raises(ValueError, match="another thread"):
            next(stream)
        leave.set()
        first.join()
        assert found == ["0", "1", "2", "3", "4"]

    def test_calls_from_its_own_progress_callable_are_refused(self, model: onnxmap.Model) -> None:
        def ask(done: int, total: int) -> None:
            with pytest.raises(ValueError, match="a callable that this stream calls"):
                next(stream)

        stream = model.stream(progress=ask)
        assert len(list(stream)) == 5

    def test_closing_from_another_thread_ends_it(self, model: onnxmap.Model) -> None:
        stream = model.stream(copy=True)
        next(stream)
        other = threading.Thread(target=stream.close)
        other.start()
        other.join()
        assert list(stream) == []
