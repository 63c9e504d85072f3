"""How often a watched file is checked: every 10 ms, and not for each tensor."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.models.paged import FLOAT, external_entries, model_of, tensor_message
from support.run_options import IN_CI, SANITIZED

STRACE = shutil.which("strace")
LOOKS = ("fstat", "newfstatat", "statx", "stat", "lstat")
ACCESS = """
import sys, time
import onnxmap
model = onnxmap.load(sys.argv[1], io=sys.argv[3], watch=sys.argv[4] == "watch")
tensors = list(model.initializers.all())
tensors[0].numpy()
begun = time.monotonic()
for _ in range(int(sys.argv[2]) // len(tensors)):
    for tensor in tensors:
        tensor.numpy()
print(time.monotonic() - begun)
"""


def traced(path: Path, accesses: int, io: str, watch: str) -> tuple[int, float]:
    """How many system calls check a file, and how many seconds the loop takes."""
    report = path.with_name("trace")
    command = [STRACE, "-f", "-c", "-o", report, "-e", f"trace={','.join(LOOKS)}", sys.executable]
    result = subprocess.run(
        [*command, "-c", ACCESS, path, str(accesses), io, watch],
        capture_output=True,
        check=True,
        timeout=120,
        text=True,
    )
    names = "|".join(LOOKS)
    calls = re.findall(rf"(\d+)(?: +\d+)? (?:{names})$", report.read_text(), re.MULTILINE)
    assert calls, report.read_text()
    return sum(map(int, calls)), float(result.stdout)


def can_trace() -> bool:
    """Containers may forbid it."""
    if STRACE is None:
        return False
    return subprocess.run([STRACE, "-o", "/dev/null", "true"], check=False).returncode == 0


@pytest.mark.skipif(SANITIZED, reason="sanitizers look at files, too")
@pytest.mark.skipif(not IN_CI and not can_trace(), reason="no strace, or it may not trace here")
@pytest.mark.parametrize("place", ["inside", "outside"])
def test_a_loop_over_100_000_tensors(tmp_path: Path, place: str) -> None:
    values = b"\1" * 4
    if place == "outside":
        (tmp_path / "w.bin").write_bytes(values)
        tensor = tensor_message(FLOAT, 1, external_entries(b"w.bin", 0, 4))
    else:
        tensor = tensor_message(FLOAT, 1, b"\x4a\x04" + values)
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(*[tensor] * 1_000))
    few, _ = traced(path, 1_000, "mmap", "watch")
    many, seconds = traced(path, 100_000, "mmap", "watch")
    # Two files at most, each checked every 10 ms. The interpreter's own start varies a little.
    assert many - few <= 2 * seconds / 0.010 + 20
    unwatched, _ = traced(path, 100_000, "mmap", "no watch")
    assert unwatched - few <= 20
