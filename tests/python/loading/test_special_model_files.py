"""Model paths that are not regular files are refused at once."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.models.sample import floats, model_of, write
from support.processes.subprocesses import run_python

import onnxmap

LOAD = """
import json, sys
import onnxmap
try:
    model = getattr(onnxmap, sys.argv[1])(sys.argv[2])
except (onnxmap.OnnxMapError, OSError) as error:
    print(json.dumps([type(error).__name__, str(error)]))
else:
    print(json.dumps(["loaded", float(model.initializers["w"].numpy()[2])]))
"""


def load(path: str, kind: str = "load") -> str:
    """The output of a process that loads this path. Fails if the process takes two minutes."""
    ran = run_python(LOAD, kind, path)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def load_with_input(path: str, stdin: int) -> str:
    """The same with this standard input."""
    command = [sys.executable, "-c", LOAD, "load", path]
    return subprocess.run(
        command, stdin=stdin, capture_output=True, check=True, timeout=120, text=True
    ).stdout


@pytest.fixture
def pipe() -> Iterator[int]:
    """The reading end of a pipe whose other end is open but never written."""
    reading, writing = os.pipe()
    yield reading
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("kind", ["load", "load_tensor"])
def test_a_fifo(tmp_path: Path, kind: str) -> None:
    os.mkfifo(tmp_path / "model.onnx")
    said = load(str(tmp_path / "model.onnx"), kind=kind)
    assert "not a regular file" in said
    assert "model.onnx" in said


def test_a_fifo_behind_a_link(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "model.onnx").symlink_to("fifo")
    assert "not a regular file" in load(str(tmp_path / "model.onnx"))


def test_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("model.onnx")
        with pytest.raises(OSError, match=r"model\.onnx"):
            onnxmap.load("model.onnx")


@pytest.mark.parametrize("path", ["/dev/stdin", "/proc/self/fd/0"])
def test_a_pipe(path: str, pipe: int) -> None:
    assert "not a regular file" in load_with_input(path, pipe)


@pytest.mark.parametrize("path", ["/dev/stdin", "/proc/self/fd/0"])
def test_standard_input_that_is_a_file(tmp_path: Path, path: str) -> None:
    with write(model_of([floats("w", 6)]), tmp_path / "model.onnx").open("rb") as file:
        assert load_with_input(path, file.fileno()) == '["loaded", 2.0]\n'


@pytest.mark.parametrize("name", ["null", "zero", "full", "random", "ptmx"])
def test_devices(name: str) -> None:
    assert "not a regular file" in load(f"/dev/{name}")


@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/maps", "/proc/self/mem", "/proc/self/pagemap", "/proc/cpuinfo", "/proc/self",
        "/sys/kernel/mm", "/sys/kernel/uevent_seqnum", "/dev", "/",
    ],
)  # fmt: skip
def test_files_that_the_kernel_generates(path: str) -> None:
    said = load(path)
    assert path in said
    assert "loaded" not in said


def test_a_path_through_a_file(tmp_path: Path) -> None:
    np.zeros(1).tofile(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        onnxmap.load(tmp_path / "file" / "model.onnx")
    with pytest.raises(NotADirectoryError):
        onnxmap.load(f"{tmp_path}/file/")
