"""`Model.session()`, and files that are changed, replaced or deleted before, meanwhile, later."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onnxmap

pytest.importorskip("onnxruntime")  # its newest release needs Python 3.11
from support.interop.session_models import (
    CPU,
    SESSION,
    SIDE,
    external_model,
    inline_model,
    run,
    run_file,
)
from support.run_options import SANITIZED

from onnxmap.interop import ort


@pytest.mark.parametrize("change", ["replaced", "deleted", "rewritten"])
@pytest.mark.parametrize("make", [inline_model, external_model])
def test_a_file_that_changed_since_it_was_loaded(make: Any, change: str, tmp_path: Path) -> None:
    """A file that is gone is still mapped, so its values go into a temporary file."""
    path = make(tmp_path)
    expected = run_file(path)
    model = onnxmap.load(path)
    model.initializers["w0"].numpy()
    holder = path if make is inline_model else tmp_path / "sub/w.data"
    data = holder.read_bytes()
    if change != "rewritten":
        holder.unlink()
    if change != "deleted":
        holder.write_bytes(data + b"more")
    if change == "rewritten":
        with pytest.raises(onnxmap.FileChangedError):
            model.session(CPU)
    else:
        assert run(model.session(CPU)) == expected


def test_a_model_that_was_saved_over_its_file(tmp_path: Path) -> None:
    path = inline_model(tmp_path)
    model = onnxmap.load(path)
    model.initializers["w1"] = np.eye(SIDE, dtype=np.float32)
    model.save(path, sync=False)
    assert run(model.session(CPU)) == run_file(path)


def test_no_temporary_folder_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr(ort, "gettempdir", none)
    path = inline_model(tmp_path)
    assert run(onnxmap.load(path).session(CPU)) == run_file(path)


def test_the_temporary_file_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if onnxruntime refuses the model, and if the file cannot be written."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(ort, "gettempdir", lambda: str(folder))
    model = onnxmap.load(inline_model(tmp_path))
    model.initializers["w1"] = np.eye(SIDE, dtype=np.float32)
    seen: list[list[str]] = []

    def watched(*arguments: Any, **named: Any) -> Any:
        seen.append([path.name for path in folder.rglob("*.data")])
        return SESSION(*arguments, **named)

    monkeypatch.setattr(ort.onnxruntime, "InferenceSession", watched)
    model.session(CPU)
    model.graph.nodes[0].op_type = "NoSuchOperator"
    with pytest.raises(onnxmap.SessionError):
        model.session(CPU)
    assert seen == [["weights.data"]] * 2
    assert list(folder.iterdir()) == []
    monkeypatch.setattr(ort, "gettempdir", lambda: str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError, match="missing"):
        model.session(CPU)


@pytest.mark.parametrize("make", [inline_model, external_model])
def test_a_file_that_is_swapped_while_it_is_opened(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path)
    holder = path if make is inline_model else tmp_path / "sub/w.data"

    def swapping(*arguments: Any, **named: Any) -> Any:
        data = holder.read_bytes()
        holder.unlink()
        holder.write_bytes(data)
        return SESSION(*arguments, **named)

    monkeypatch.setattr(ort.onnxruntime, "InferenceSession", swapping)
    with pytest.raises(onnxmap.FileChangedError):
        onnxmap.load(path).session(CPU)


def test_the_files_may_be_replaced_and_deleted_while_it_lives(tmp_path: Path) -> None:
    path = external_model(tmp_path)
    expected = run_file(path, prepack=False)
    session = onnxmap.load(path).session(CPU, prepack=False)
    path.unlink()
    (tmp_path / "sub/w.data").rename(tmp_path / "old")
    (tmp_path / "sub/w.data").write_bytes(bytes((tmp_path / "old").stat().st_size))
    (tmp_path / "old").unlink()
    assert run(session) == expected


TRUNCATED = """
import os, sys, numpy as np, onnxmap
session = onnxmap.load(sys.argv[1]).session(["CPUExecutionProvider"], prepack=False)
os.truncate(sys.argv[1], 5000)
session.run(None, {"x": np.ones((2, int(sys.argv[2])), np.float32)})
"""


@pytest.mark.skipif(SANITIZED, reason="ASan has a handler of its own")
def test_truncation_ends_the_process(tmp_path: Path) -> None:
    """As the documentation says."""
    path = inline_model(tmp_path)
    done = subprocess.run([sys.executable, "-c", TRUNCATED, path, str(SIDE)], check=False)
    assert done.returncode == -7  # SIGBUS
