"""A stream reads a model that is larger than memory. A control group sets the limit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.models.sample import external, model_of, write
from support.processes.subprocesses import facts_from, run_python
from support.run_options import LONG, SANITIZED

GROUPS = Path("/sys/fs/cgroup/memory")
MIB = 1 << 20

pytestmark = pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")

STREAM = """
import os
with open(sys.argv[2] + "/cgroup.procs", "w") as group:
    group.write(str(os.getpid()))
import numpy as np
import onnxmap
path, _, how = sys.argv[1:]
if how == "arrays":
    onnxmap.load_arrays(path)
seen = []
window = 64 << 20
for name, array in onnxmap.load(path).stream(window=window, copy=how == "copy"):
    assert not array[1:-1:1024].any(), name  # a number of every page
    seen.append([int(array[0]), int(array[-1])])
    array = None
report(seen=seen)
"""


@pytest.fixture
def group(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A control group that limits the memory of its processes, page cache included."""
    folder = GROUPS / f"onnxmap-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    try:
        (folder / "memory.limit_in_bytes").write_text(str(request.param))
        yield folder
    finally:
        folder.rmdir()


def write_holes(folder: Path, tensors: int, nbytes: int) -> Path:
    """Tensors of zeros that need no disk. Each tensor has its number at both ends."""
    messages = []
    with (folder / "w.bin").open("wb") as file:
        file.truncate(tensors * nbytes)
        for i in range(tensors):
            for offset in (i * nbytes, (i + 1) * nbytes - 4):
                file.seek(offset)
                file.write((i + 1).to_bytes(4, "little"))
            entries = {"location": "w.bin", "offset": str(i * nbytes), "length": str(nbytes)}
            messages.append(external(f"t{i}", [nbytes // 4], entries, 6))
    return write(model_of(messages), folder / "model.onnx")


@pytest.mark.parametrize("how", ["views", "copy"])
@pytest.mark.parametrize("group", [256 * MIB], indirect=True)
def test_a_model_of_four_times_the_memory(group: Path, how: str, tmp_path: Path) -> None:
    path = write_holes(tmp_path, 64, 16 * MIB)
    facts = facts_from(STREAM, str(path), str(group), how, fresh=True)
    assert facts["seen"] == [[i, i] for i in range(1, 65)]
    assert int((group / "memory.max_usage_in_bytes").read_text()) <= 256 * MIB


@pytest.mark.parametrize("group", [256 * MIB], indirect=True)
def test_the_limit_ends_a_process_that_exceeds_it(group: Path, tmp_path: Path) -> None:
    path = write_holes(tmp_path, 64, 16 * MIB)
    assert run_python(STREAM, str(path), str(group), "arrays", fresh=True).returncode != 0


@pytest.mark.skipif(not LONG, reason="long: ONNXMAP_TEST_LONG=1")
@pytest.mark.parametrize("how", ["views", "copy"])
@pytest.mark.parametrize("group", [2048 * MIB], indirect=True)
def test_a_model_of_12_gb_in_2_gb(group: Path, how: str, tmp_path: Path) -> None:
    path = write_holes(tmp_path, 96, 128 * MIB)
    facts = facts_from(STREAM, str(path), str(group), how, timeout=600, fresh=True)
    assert facts["seen"] == [[i, i] for i in range(1, 97)]
