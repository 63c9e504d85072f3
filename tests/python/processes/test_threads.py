"""Many threads on one model and on many get the same answers. Loading releases the GIL."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support import wire_bytes as wire
from support.models.sample import external, floats, model_of, write
from support.models.small import SMALL_MODELS

import onnxmap

THREADS = 8


@pytest.fixture
def path(tmp_path: Path) -> Path:
    np.arange(64, dtype=np.float32).tofile(tmp_path / "w.bin")
    tensors = [floats(f"in{i}", 16, i) for i in range(200)]
    tensors += [
        external(f"out{i}", [1], {"location": "w.bin", "offset": str(4 * i)}) for i in range(64)
    ]
    return write(model_of(tensors), tmp_path / "model.onnx")


def checksum(model: onnxmap.Model) -> float:
    """Read everything once, in several ways."""
    total = sum(float(view.sum()) for view in model.views().values())
    total += sum(float(tensor.numpy()[0]) for tensor in model.initializers.all())
    total += len(str(model.proto)) + len(model.graph.op_types()) + sum(map(len, model.initializers))
    return total + len([where for where, _ in model.tensors()])


def in_threads(work: object, count: int = THREADS) -> list[object]:
    """Run `work` in `count` threads that begin together; raise what they raise."""
    barrier = threading.Barrier(count)

    def run() -> object:
        barrier.wait()
        return work()  # type: ignore[operator]

    with ThreadPoolExecutor(count) as pool:
        return [future.result() for future in [pool.submit(run) for _ in range(count)]]


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_one_model_read_by_many(path: Path, io: str) -> None:
    expected = checksum(onnxmap.load(path, io=io))
    for _ in range(10):
        model = onnxmap.load(path, io=io)  # fresh, so that the first reads race
        assert in_threads(lambda model=model: checksum(model)) == [expected] * THREADS


def test_first_access_to_external_data_races(path: Path) -> None:
    for _ in range(20):
        model = onnxmap.load(path)
        views = in_threads(lambda model=model: model.initializers["out5"].numpy())
        assert [float(view[0]) for view in views] == [5.0] * THREADS
        assert all(np.shares_memory(views[0], view) for view in views)


def test_many_models_in_many_threads(path: Path) -> None:
    expected = checksum(onnxmap.load(path))
    small = {
        name: str(onnxmap.loads_proto(data, "ModelProto")) for name, data in SMALL_MODELS.items()
    }

    def work() -> bool:
        for name, data in SMALL_MODELS.items():
            assert str(onnxmap.loads_proto(data, "ModelProto")) == small[name]
        return checksum(onnxmap.load(path)) == expected

    assert all(in_threads(lambda: all(work() for _ in range(5))))


def test_one_thread_closes_the_model_while_others_read(path: Path) -> None:
    """A reader gets its answer or the error "closed". No array becomes invalid."""
    for _ in range(20):
        model = onnxmap.load(path)
        kept = model.views()

        def work(model: onnxmap.Model = model) -> str:
            try:
                model.views()
                return repr(model.graph) and "read"
            except ValueError as error:
                return "closed" if "closed" in str(error) else repr(error)

        with ThreadPoolExecutor(4) as pool:
            readers = [pool.submit(work) for _ in range(40)]
            pool.submit(model.close)
            assert {reader.result() for reader in readers} <= {"read", "closed"}
        assert float(kept["in3"][0]) == 3.0


def test_errors_in_many_threads() -> None:
    bad = SMALL_MODELS["subgraphs"][:-1]

    def work() -> set[tuple[str, int, str]]:
        seen = set()
        for _ in range(200):
            with pytest.raises(onnxmap.ParseError) as caught:
                onnxmap.loads(bad)
            seen.add((caught.value.code, caught.value.offset, caught.value.path))
        return seen

    results = in_threads(work)
    assert all(seen == results[0] for seen in results)
    assert len(results[0]) == 1


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs a second core to make progress on")
def test_loading_releases_the_gil() -> None:
    """While one thread loads 40 MB of structure, another keeps counting."""
    data = wire.blob(7, wire.blob(1, wire.blob(1, b"x") * 5 + wire.blob(4, b"Add")) * 1_700_000)
    done = threading.Event()
    ticks = 0

    def count() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.0005)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        before = ticks
        onnxmap.loads(data)
        meanwhile = ticks - before
    finally:
        done.set()
        counter.join()
    assert meanwhile >= 3
