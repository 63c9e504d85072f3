"""Streams whose arrays are larger than the rest of the window."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.models.sample import floats, model_of, write
from support.processes.subprocesses import facts_from


@pytest.mark.parametrize("before", [1, 2, 7])
def test_a_large_array_behind_small_ones_that_are_still_held(before: int, tmp_path: Path) -> None:
    """Small arrays share memory. The stream holds it until the reader gets the next array."""
    counts = [*[1000] * before, 9_000, 1000, 200_000, 1000, 1000, 20_000]
    tensors = [floats(f"t{i}", count, i) for i, count in enumerate(counts)]
    path = write(model_of(tensors), tmp_path / "model.onnx")
    code = """
    import faulthandler, itertools, onnxmap
    faulthandler.dump_traceback_later(60, exit=True)  # instead of waiting for ever
    path, seen = sys.argv[1], []
    for window, threads in itertools.product((20_000, 40_000, 60_000, 100_000), (1, None)):
        with onnxmap.load(path).stream(window=window, threads=threads, copy=True) as stream:
            seen.append([(array[0], array.size) for _, array in stream])
    report(seen=[[(int(first), size) for first, size in one] for one in seen])
    """
    expected = [[i, count] for i, count in enumerate(counts)]
    assert facts_from(code, str(path))["seen"] == [expected] * 8
