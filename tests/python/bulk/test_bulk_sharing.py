"""Streams in several threads, and in a process that forks during a stream."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.models.sample import floats, model_of, write
from support.processes.subprocesses import facts_from

import onnxmap

TENSORS, COUNT = 24, 30_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tensors = [floats(f"t{i}", COUNT, i) for i in range(TENSORS)]
    return write(model_of(tensors), tmp_path / "model.onnx")


@pytest.mark.parametrize("copy", [False, True])
def test_several_threads_stream_one_model(path: Path, copy: bool) -> None:
    model = onnxmap.load(path)

    def sums(window: int) -> list[float]:
        arrays = model.stream(window=window, copy=copy, threads=2)
        return [float(array[0] + array[-1]) for _, array in arrays]

    expected = [2.0 * i + COUNT - 1 for i in range(TENSORS)]
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(sums, [100_000, 200_000, 400_000, 1 << 28] * 6):
            assert found == expected


@pytest.mark.parametrize("copy", ["copy", "views"])
def test_a_fork_while_a_stream_is_alive(path: Path, copy: str) -> None:
    code = """
    import os, warnings, onnxmap
    path, copy = sys.argv[1:]
    model = onnxmap.load(path)
    warnings.simplefilter("ignore", DeprecationWarning)  # a fork in a process with threads
    stream = model.stream(window="300kB", copy=copy == "copy")
    first = [next(stream)[1][0] for _ in range(5)]
    child = os.fork()
    if child == 0:
        status = 1
        try:
            next(stream)
        except RuntimeError:
            stream.close()
            del stream  # nothing of it may wait for threads that are not here
            mine = [array[0] for _, array in model.stream(window="300kB", copy=copy == "copy")]
            arrays = model.arrays()
            status = 0 if len(arrays) == len(mine) == 24 and mine[23] == 23 else 2
        finally:
            os._exit(status)
    rest = [array[0] for _, array in stream]
    report(child=os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), seen=[*map(int, first + rest)])
    """
    facts = facts_from(code, str(path), copy)
    assert facts == {"child": 0, "seen": list(range(TENSORS))}
