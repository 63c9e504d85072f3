"""Files lose their end during `arrays` and `stream`. Every reader gets FileChangedError."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.faults.cutting import kept_cutting
from support.models.sample import external, floats, model_of, write
from support.processes.subprocesses import facts_from
from support.run_options import LONG, SANITIZED

import onnxmap

COUNT, TENSORS = 100_000, 12  # elements of each
CUTS = 1_000 if LONG else 20 if SANITIZED else 60

CUT_BETWEEN = """
import os, onnxmap
path, cut, io, way = sys.argv[1:]
size = os.path.getsize(cut)

def cut_off(done=0, total=0):
    os.truncate(cut, size // 2)
    # A different time than before, even if the clock is coarse.
    os.utime(cut, ns=(0, 0))

model = onnxmap.load(path, io=io)
opened = model.initializers["t0"].numpy()  # a data file is what it is when it is first opened
seen, error = 0, None
try:
    if way == "arrays":
        model.arrays(progress=cut_off)
    elif way == "before arrays":
        cut_off()
        model.arrays()
    else:
        with model.stream(window="500kB", copy="copy" in way) as stream:
            for name, array in stream:
                # All of it, or the first half, which is there.
                assert array[0] == 100 * seen, name
                if "copy" in way or seen < 4:
                    assert array[-1] == 100 * seen + array.size - 1, name
                seen += 1
                if seen == 4:
                    cut_off()
except onnxmap.FileChangedError as caught:
    error = caught.code
report(error=error, seen=seen)
"""


def model_in(folder: Path, where: str) -> tuple[Path, Path]:
    """A model, and the file that contains its values."""
    path, data = folder / "model.onnx", folder / "w.bin"
    messages = [floats(f"t{i}", COUNT, 100 * i) for i in range(TENSORS)]
    if where == "inline":
        return write(model_of(messages), path), path
    data.write_bytes(b"".join(message.raw_data for message in messages))
    tensors = []
    for i, message in enumerate(messages):
        nbytes = len(message.raw_data)
        entries = {"location": "w.bin", "offset": str(i * nbytes), "length": str(nbytes)}
        tensors.append(external(message.name, [COUNT], entries))
    return write(model_of(tensors), path), data


@pytest.mark.parametrize("way", ["arrays", "before arrays", "stream", "stream copy"])
@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("where", ["inline", "external"])
def test_cut_at_a_known_moment(where: str, io: str, way: str, tmp_path: Path) -> None:
    path, data = model_in(tmp_path, where)
    facts = facts_from(CUT_BETWEEN, str(path), str(data), io, way)
    assert facts["error"] == "file.changed"
    assert facts["seen"] < TENSORS


def read_all(path: Path, way: str) -> str:
    try:
        model = onnxmap.load(path)
        if way == "arrays":
            found = model.arrays(threads=3)
        else:
            found = dict(model.stream(window="1MB", copy=True, threads=3))
    except onnxmap.FileChangedError:
        return "changed"
    except (onnxmap.ParseError, onnxmap.ExternalDataError):
        return "short"  # as it was when it was opened
    for i in range(TENSORS):
        expected = np.arange(100 * i, 100 * i + COUNT, dtype=np.float32)
        if not np.array_equal(found[f"t{i}"], expected):
            return "wrong"
    return "right"


@pytest.mark.parametrize("way", ["arrays", "stream"])
@pytest.mark.parametrize("where", ["inline", "external"])
def test_cut_at_any_moment(where: str, way: str, tmp_path: Path) -> None:
    path, data = model_in(tmp_path, where)
    seen = set()
    with kept_cutting(data, CUTS) as goes_on:
        while goes_on():
            seen.add(read_all(path, way))
    assert seen <= {"right", "changed", "short"}
    assert "changed" in seen
    assert read_all(path, way) == "right"
