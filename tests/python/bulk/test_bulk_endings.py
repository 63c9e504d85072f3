"""Neither files that lose typed tensors nor threads at exit may end the process."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from support import wire_bytes as wire
from support.models.many_tensors import write_floats
from support.models.sample import external, model_of, write
from support.processes.subprocesses import facts_from
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

import onnxmap

CUTS = 200 if LONG else 10 if SANITIZED or not EXHAUSTIVE else 30

# Cut the file in a thread at a random moment, and report how the reading ended.
CUT = """
import os, random, shutil, threading, time, onnxmap
path, way, cuts = sys.argv[1], sys.argv[2], int(sys.argv[3])
ends = {}
for i in range(cuts):
    shutil.copy(path, path + ".copy")
    model = onnxmap.load(path + ".copy")
    model.initializers.names()
    def cut(wait=random.Random(i).uniform(0, 0.2)):
        time.sleep(wait)
        os.truncate(path + ".copy", 100)
    thread = threading.Thread(target=cut)
    thread.start()
    try:
        if way == "arrays":
            model.arrays()
        else:
            for _ in model.stream(window="1MB", copy=True):
                pass
        end = "all"
    except onnxmap.FileChangedError:
        end = "changed"
    thread.join()
    ends[end] = ends.get(end, 0) + 1
report(ends=ends)
"""


@pytest.mark.parametrize("way", ["arrays", "stream"])
def test_a_file_loses_typed_tensors(way: str, tmp_path: Path) -> None:
    """The threads of the core decode them from the mapping."""
    tensor = wire.scalar(1, 20) + wire.scalar(2, 7) + wire.blob(7, b"\5" * 20)
    fields = (wire.blob(5, tensor + wire.blob(8, b"t%d" % i)) for i in range(40_000))
    path = tmp_path / "model.onnx"
    path.write_bytes(wire.scalar(1, 10) + wire.blob(7, b"".join(fields)))
    ends = facts_from(CUT, str(path), way, str(CUTS))["ends"]
    assert sum(ends.values()) == CUTS
    assert ends.get("changed", 0) > 0


EXIT = """
import threading, time, onnxmap
path, way = sys.argv[1:]
model = onnxmap.load(path)
begun = threading.Event()

def work():
    while True:
        begun.set()
        if way == "arrays":
            model.arrays(dtype="float16")
        else:
            for _ in model.stream(window="1MB", dtype="float16"):
                pass

threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep(0.02)  # into the work; at any point of it, the process must end well
report(done=True)
"""


@pytest.mark.parametrize("way", ["arrays", "stream"])
def test_a_daemon_thread_at_the_end_of_the_interpreter(way: str, tmp_path: Path) -> None:
    """If the interpreter ended the thread inside the core, the process would abort."""
    path = tmp_path / "model.onnx"
    write_floats(path, [1_000_000] * 10)
    for _ in range(5):
        assert facts_from(EXIT, str(path), way)["done"]


@pytest.mark.parametrize(
    "options", [{}, {"copy": True}, {"dtype": "float64"}, {"dtype": "float16"}]
)
def test_a_data_file_is_overwritten_during_a_stream(
    options: dict[str, object], tmp_path: Path
) -> None:
    count, tensors = 1_000_000, 10
    values = np.repeat(np.arange(tensors, dtype=np.float32), count)
    (tmp_path / "w.bin").write_bytes(values.tobytes())
    messages = [
        external(f"t{i}", [count], {"location": "w.bin", "offset": str(4 * count * i)})
        for i in range(tensors)
    ]
    model = onnxmap.load(write(model_of(messages), tmp_path / "model.onnx"))
    time.sleep(0.02)  # a coarse clock gives writes at the same moment the same time
    seen: list[float] = []

    def walk() -> None:
        for _, array in model.stream(window="5MB", **options):  # type: ignore[arg-type]
            seen.append(float(array[-1]))
            if len(seen) == 2:
                with (tmp_path / "w.bin").open("r+b") as file:
                    file.write(np.full(count * tensors, 99, np.float32).tobytes())

    with pytest.raises(onnxmap.FileChangedError):
        walk()
    assert seen == list(range(len(seen)))


WINDOW = """
import onnxmap
model = onnxmap.load(sys.argv[1])
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
before = resident_kib()
sums = [int(array[::1000].sum()) for _, array in model.stream(window="16MiB")]
report(growth=(peak_kib() - before) << 10, sums=sums)
"""


@pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")
def test_the_window_counts_decoded_bytes_as_well(tmp_path: Path) -> None:
    """Here ten stored bytes become one decoded byte."""
    count, tensors = 2_000_000, 10
    run = b"\xff" * 9 + b"\x01"
    fields = [
        wire.blob(
            5,
            wire.scalar(1, count) + wire.scalar(2, 3) + wire.blob(5, run * count)
            + wire.blob(8, b"t%d" % i),
        )
        for i in range(tensors)
    ]  # fmt: skip
    path = tmp_path / "model.onnx"
    path.write_bytes(wire.scalar(1, 10) + wire.blob(7, b"".join(fields)))
    facts = facts_from(WINDOW, str(path))
    assert facts["sums"] == [-count // 1000] * tensors
    assert facts["growth"] < (16 << 20) + 11 * count + (4 << 20)


@pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")
def test_memory_that_arrays_give_back_is_used_again(tmp_path: Path) -> None:
    """A hundred arrays of a megabyte each, one after another."""
    count, tensors = 1_000_000, 100
    fields = [
        wire.blob(
            5,
            wire.scalar(1, count) + wire.scalar(2, 3) + wire.blob(5, b"\x07" * count)
            + wire.blob(8, b"t%d" % i),
        )
        for i in range(tensors)
    ]  # fmt: skip
    path = tmp_path / "model.onnx"
    path.write_bytes(wire.scalar(1, 10) + wire.blob(7, b"".join(fields)))
    facts = facts_from(WINDOW.replace("16MiB", "1MiB"), str(path))
    assert facts["sums"] == [7 * count // 1000] * tensors
    assert facts["growth"] < (1 << 20) + 2 * count + (16 << 20)  # 35 MB if none is used again


@pytest.mark.skipif(SANITIZED, reason="the sanitizer's own threads count, too")
@pytest.mark.skipif(os.geteuid() != 0, reason="the limit holds for others only")
def test_no_thread_can_be_started(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    write_floats(path, [1000] * 10)
    code = """
    import os, resource, onnxmap._read.bulk_arrays  # while its folder can be read
    model = onnxmap.load(sys.argv[1])
    os.setuid(65534)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    arrays = model.arrays()
    stream = {name: array.tolist() for name, array in model.stream(copy=True)}
    report(same=stream == {name: array.tolist() for name, array in arrays.items()}, n=len(stream))
    """
    path.chmod(0o644)
    facts = facts_from(code, str(path))
    assert facts == {"same": True, "n": 10}
