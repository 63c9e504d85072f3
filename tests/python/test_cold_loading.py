"""What loading a model that is not in the page cache brings into it, and what it asks the system for."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cold_files import PAGE, drop, have_come, pages_there, write_sparse

import onnxmap

KIB, MIB = 1 << 10, 1 << 20
MODES = ("mmap", "read")
SMALL = [20 * KIB] * 2000
LARGE = [8 * MIB] * 64


def come(path: Path, begin: int, end: int) -> bool:
    """Waits for the pages of bytes begin .. end; nothing tells when they have come."""
    give_up = time.monotonic() + 60
    while not have_come(path, begin, end):
        if time.monotonic() > give_up:
            return False
    return True


@pytest.mark.parametrize("io", MODES)
def test_large_values_are_left_on_disk(tmp_path: Path, io: str) -> None:
    path = tmp_path / "model.onnx"
    write_sparse(path, LARGE)
    drop(path)
    onnxmap.load(path, io=io)
    assert pages_there(path).sum() * PAGE <= len(LARGE) * 16 * KIB


@pytest.mark.parametrize("io", MODES)
def test_small_values_are_read_over(tmp_path: Path, io: str) -> None:
    path = tmp_path / "model.onnx"
    write_sparse(path, SMALL)
    drop(path)
    onnxmap.load(path, io=io)
    assert come(path, MIB, sum(SMALL))


@pytest.mark.parametrize("io", MODES)
def test_each_part_of_a_file_is_read_as_suits_it(tmp_path: Path, io: str) -> None:
    path = tmp_path / "model.onnx"
    sizes = [*LARGE[:8], *SMALL, *LARGE[:8]]
    write_sparse(path, sizes)
    drop(path)
    onnxmap.load(path, io=io)
    small = sum(LARGE[:8])
    assert come(path, small + MIB, small + sum(SMALL))
    there = pages_there(path)
    assert there[: small // PAGE].sum() * PAGE <= 8 * 16 * KIB
    behind = there[-sum(LARGE[:8]) // PAGE :].sum() * PAGE
    assert behind <= 4 * MIB + 8 * 16 * KIB  # what was asked for before the walk came there


def calls(path: Path, trace: Path) -> str:
    """The system calls about the file of a process that loads it."""
    if shutil.which("strace") is None:
        pytest.skip("no strace")
    code = "import sys, onnxmap; onnxmap.load(sys.argv[1])"
    command = [sys.executable, "-c", code, str(path)]
    trace_only = ["-e", "trace=fadvise64,preadv2,readahead,madvise", "-y", "-o", str(trace)]
    ran = subprocess.run(["strace", "-f", *trace_only, *command], capture_output=True, check=False)
    if ran.returncode != 0 and b"ptrace" in ran.stderr:
        pytest.skip("tracing is not allowed here")
    assert ran.returncode == 0, ran.stderr
    return "\n".join(line for line in trace.read_text().splitlines() if path.name in line)


def test_a_load_from_memory_asks_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    write_sparse(path, SMALL)
    path.read_bytes()
    found = calls(path, tmp_path / "trace")
    looks = found.count("preadv2(")
    assert 0 < looks <= sum(SMALL) // MIB + 1
    assert len(found.splitlines()) == looks
    write_sparse(path, LARGE)
    assert calls(path, tmp_path / "trace") == ""


def test_the_state_of_the_descriptor_is_not_changed(tmp_path: Path) -> None:
    """It is the mapping's, too: how NumPy's faults are read ahead hangs on it."""
    path = tmp_path / "model.onnx"
    write_sparse(path, [*LARGE[:8], *SMALL])
    drop(path)
    found = calls(path, tmp_path / "trace")
    advice = re.findall(r"fadvise64\(.*, (POSIX_FADV_\w+)\)", found)
    assert set(advice) == {"POSIX_FADV_WILLNEED"}
