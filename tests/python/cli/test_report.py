"""`onnxmap report`: the page, the second model, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.models.hard_names import EVIL_NAME, save, tensor
from support.processes.command_line import Run, piped

pytest.importorskip("jinja2")
pytest.importorskip("squarify")


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(Path(tmp_path / "m.onnx"), tensor("w", np.arange(9)), tensor(EVIL_NAME, np.float32([1])))
    save(Path(tmp_path / "n.onnx"), tensor("w", np.arange(1, 10)))
    monkeypatch.chdir(tmp_path)


def test_it_says_where_the_page_is(run: Run) -> None:
    ran = run("report", "m.onnx")
    assert (ran.status, ran.out, ran.err) == (0, "report.html\n", "")
    assert "<title>m.onnx</title>" in Path("report.html").read_text()
    ran = run("report", "m.onnx", "-o", "a.html", "--json")
    assert json.loads(ran.out) == {"file": "a.html"}
    assert Path("a.html").read_bytes() == Path("report.html").read_bytes()


def test_two_models(run: Run) -> None:
    assert run("report", "m.onnx", "n.onnx", "-o", "d.html").status == 0
    page = Path("d.html").read_text()
    assert "Compared with n.onnx" in page
    assert "9 of its elements changed (100.000%), largest difference 1 at" in page
    assert run("report", "m.onnx", "m.onnx", "-o", "same.html").status == 0
    assert "no differences" in Path("same.html").read_text()


def test_the_page_on_standard_output() -> None:
    ran = piped("report", "m.onnx", "-o", "/dev/stdout")
    assert ran.stdout.startswith("<!doctype html>")
    assert ran.stdout.endswith("</html>")


@pytest.mark.parametrize(
    ("words", "why"),
    [("- -", "only one"), ("gone.onnx", "No such"), ("m.onnx gone.onnx", "No such")],
)
def test_what_is_refused(run: Run, words: str, why: str) -> None:
    ran = run("report", *words.split())
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert why in ran.err
    assert not Path("report.html").exists()


def test_a_place_that_is_not_there(run: Run) -> None:
    ran = run("report", "m.onnx", "-o", "gone/r.html")
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
