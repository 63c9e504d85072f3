"""The memory and page cache that streams and arrays use, measured in child processes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.models.many_tensors import is_float_run, write_floats
from support.processes import cold_files
from support.processes.page_requests import Requests, Trace, pages_of
from support.processes.subprocesses import facts_from
from support.run_options import EXHAUSTIVE, SANITIZED

import onnxmap

pytestmark = pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")

MIB = 1 << 20
PAGE = os.sysconf("SC_PAGESIZE")
SLACK = 4 * MIB  # for the interpreter, NumPy's temporaries and thread stacks
WINDOW = 16 * MIB
MODELS = {  # elements of 4 bytes each
    "large": [3 * MIB // 2] * 12,
    "mixed": [2_500_000, 1000, 2000] * 6,
    "small": [3000] * 6_000,
}
PLACES = {"large 0", "mixed 3", "small 0"}  # models and the number of their data files
if EXHAUSTIVE:
    PLACES = {f"{name} {data_files}" for name in MODELS for data_files in (0, 3)}
# Walk over a stream, read one number of each page, and report the peak.
WALK = """
import onnxmap
path, window, copy, typed = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "True", sys.argv[4]
model = onnxmap.load(path)
total = 0.0
def walk(stream):
    global total
    for _, array in stream:
        total += float(array[::1024].sum())
warm = onnxmap.loads(open(typed, "rb").read())
walk(warm.stream(copy=copy))
del warm
model.initializers.names()
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
before = resident_kib()
walk(model.stream(window=window, copy=copy))
report(growth=(peak_kib() - before) * 1024, left=(resident_kib() - before) * 1024)
"""


@pytest.fixture(scope="module", params=sorted(PLACES))
def model_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    name, data_files = request.param.split()
    path = tmp_path_factory.mktemp("model") / f"{name}.onnx"
    write_floats(path, MODELS[name], int(data_files))
    write_floats(path.with_suffix(".tiny"), [10])
    for one in path.parent.iterdir():
        drop(one)
    yield path
    for one in path.parent.iterdir():
        one.unlink()


def drop(path: Path) -> None:
    """Write a file to disk, and drop it from the page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def bring(path: Path) -> None:
    path.read_bytes()


@pytest.mark.parametrize("copy", [False, True])
def test_memory_grows_by_the_window_and_a_tensor(model_path: Path, copy: bool) -> None:
    """The loop still holds an array when it gets the next one, so two exist for a moment."""
    # Each pair of copies, data files and a warm page cache is there.
    warm = copy != (len(list(model_path.parent.iterdir())) > 2)
    for path in model_path.parent.iterdir():
        (bring if warm else drop)(path)
    tiny = str(model_path.with_suffix(".tiny"))
    facts = facts_from(WALK, str(model_path), str(WINDOW), str(copy), tiny)
    largest = 4 * max(MODELS[model_path.stem])
    most = max(WINDOW + largest, WINDOW * 3 // 4 + 2 * largest) if copy else WINDOW + largest
    assert facts["growth"] < most + SLACK
    assert facts["left"] < largest + SLACK


@pytest.fixture(scope="module")
def sixteen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of 64 MB in one data file."""
    path = tmp_path_factory.mktemp("sixteen") / "model.onnx"
    write_floats(path, [MIB] * 16, data_files=1)
    return path


@pytest.fixture
def cold(sixteen: Path) -> Path:
    """The same model after it was evicted from the page cache."""
    cold_files.drop(sixteen.parent / "0.bin")
    return sixteen


def walk(path: Path, **arguments: Any) -> None:
    for name, array in onnxmap.load(path).stream(**arguments):
        assert is_float_run(name, array)


WALK_TRACED = """
import json
import onnxmap
model = onnxmap.load(sys.argv[1])
phase("stream")
with model.stream(**json.loads(sys.argv[2])) as stream:
    for _, (name, array) in zip(range(int(sys.argv[3])), stream):
        array[::1024].sum()
phase("end")
"""


def stream_traced(
    path: Path, data: Path, taken: int = 100, **options: Any
) -> tuple[Requests, np.ndarray, np.ndarray]:
    """Stream `taken` tensors; return the requests, the absent pages and the dropped pages."""
    trace = Trace(path.parent, WALK_TRACED, str(path), json.dumps(options), str(taken))
    requests = trace.of(data, "stream")
    size = data.stat().st_size
    return requests, requests.absent(size), pages_of(requests.dropped, size)


OPTIONS = [{}, {"copy": True}, {"dtype": "float64"}]


@pytest.mark.parametrize("options", OPTIONS)
def test_pages_that_the_stream_brought_are_dropped(cold: Path, options: dict[str, Any]) -> None:
    data = cold.parent / "0.bin"
    _, absent, dropped = stream_traced(cold, data, window=64 * MIB, **options)
    assert absent.any()  # a fast reader passes some of them before they are brought
    np.testing.assert_array_equal(dropped, absent)


def test_pages_of_a_large_file_that_the_stream_brought_are_dropped(tmp_path: Path) -> None:
    """The tensors begin in the middle of pages, and the file is longer than the read-ahead."""
    path = tmp_path / "model.onnx"
    cold_files.write_sparse(path, [4 * MIB] * 48)
    _, absent, dropped = stream_traced(path, path, window=64 * MIB)
    assert absent.any()  # a fast reader passes some of them before they are brought
    np.testing.assert_array_equal(dropped, absent)


@pytest.mark.parametrize("options", OPTIONS)
def test_pages_that_were_there_stay(cold: Path, options: dict[str, Any]) -> None:
    data = cold.parent / "0.bin"
    places = [5 * MIB // PAGE, 30 * MIB // PAGE]
    with cold_files.locked(data, places[0], 8), cold_files.locked(data, places[1], 8):
        requests, absent, dropped = stream_traced(cold, data, window=64 * MIB, **options)
    present = requests.present(data.stat().st_size)
    for first in places:
        assert present[first : first + 8].all()
    np.testing.assert_array_equal(dropped, absent)


@pytest.mark.parametrize("taken", [1, 5])
def test_leaving_the_loop_drops_the_pages_read_ahead(cold: Path, taken: int) -> None:
    data = cold.parent / "0.bin"
    requests, absent, dropped = stream_traced(cold, data, taken, window=32 * MIB)
    brought = pages_of(requests.asked + requests.mapped, data.stat().st_size)
    # All pages except those of the reader's current tensor, which is still valid.
    kept = np.zeros_like(brought)
    kept[(taken - 1) * 4 * MIB // PAGE : taken * 4 * MIB // PAGE] = True
    np.testing.assert_array_equal(dropped, absent & ~kept)
    assert (brought & absent & ~dropped & ~kept).sum() == 0
    assert not brought[(taken * 4 + 32) * MIB // PAGE :].any()


def test_a_copy_leaves_no_pages_mapped(cold: Path) -> None:
    model = onnxmap.load(cold)
    assert len(model.arrays()) == 16
    smaps = Path("/proc/self/smaps").read_text().split("\n")
    data = str(cold.parent / "0.bin")
    for i, line in enumerate(smaps):
        if line.endswith(data):
            rss = next(one for one in smaps[i:] if one.startswith("Rss:"))
            assert int(rss.split()[1]) == 0
            break
    else:
        pytest.fail("the file is not mapped")


KEPT = """
import onnxmap
arrays = onnxmap.load(sys.argv[1]).arrays()
def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024
all_of_them = anonymous()
kept = arrays[sys.argv[2]]
arrays.clear()
with_one = anonymous()
del kept
report(total=all_of_them - anonymous(), kept=with_one - anonymous())
"""


def test_a_kept_array_keeps_its_slab_or_itself(tmp_path: Path) -> None:
    """A small array keeps its slab of at most 16 MiB. A large array keeps only itself."""
    path = tmp_path / "model.onnx"
    write_floats(path, [30_000] * 700 + [2_000_000] * 4)
    for name, most in (("350", 16 * MIB), ("0", 16 * MIB), ("701", 8_000_000)):
        facts = facts_from(KEPT, str(path), name)
        assert facts["total"] > 100 * MIB
        assert facts["kept"] < most + MIB
        # The interpreter itself may take some pages meanwhile.
        assert facts["kept"] >= (120_000 if name != "701" else most) - (64 << 10)


def test_files_on_a_tmpfs() -> None:
    """A tmpfs cannot drop pages. The values are the same."""
    folder = Path("/dev/shm")
    if not os.access(folder, os.W_OK):
        pytest.skip("no tmpfs")
    path = folder / f"onnxmap-{os.getpid()}.onnx"
    try:
        write_floats(path, [100_000] * 30)
        for copy in (False, True):
            walk(path, window=MIB, copy=copy)
        assert len(onnxmap.load_arrays(path)) == 30
        walk(path, window=MIB)
    finally:
        path.unlink()
