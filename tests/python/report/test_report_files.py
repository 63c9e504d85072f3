"""The file that `Model.report` writes, and those that it keeps."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper
from support.models.sample import external, model_of, write

import onnxmap

pytest.importorskip("jinja2")
pytest.importorskip("squarify")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "w.data").write_bytes(bytes(404))
    weight = external("w", [10, 10], {"location": "w.data", "length": "400"})
    return write(model_of([weight]), tmp_path / "model.onnx")


def test_what_cannot_be_written(path: Path, tmp_path: Path) -> None:
    model = onnxmap.load(path)
    with pytest.raises(FileNotFoundError):
        model.report(tmp_path / "gone" / "report.html")
    model.report(os.fsencode(tmp_path / "bytes.html"))
    assert (tmp_path / "bytes.html").exists()
    model.close()
    with pytest.raises(ValueError, match="closed"):
        model.report(tmp_path / "closed.html")
    assert not (tmp_path / "closed.html").exists()


def test_an_old_page_is_replaced(path: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text("old")
    page.chmod(0o640)
    before = set(tmp_path.iterdir())
    with page.open() as old:
        onnxmap.load(path).report(page)
        assert old.read() == "old"  # not written over: a page is whole at any time
    assert page.read_text().endswith("</html>")
    assert page.stat().st_mode & 0o777 == 0o640
    assert set(tmp_path.iterdir()) == before


def test_a_file_of_the_models_is_kept(path: Path, tmp_path: Path) -> None:
    (tmp_path / "link.html").symlink_to("w.data")
    other = write(model_of([]), tmp_path / "other.onnx")
    before = path.read_bytes()
    for place in (path, os.fsencode(tmp_path / "w.data"), tmp_path / "link.html", other):
        with pytest.raises(onnxmap.SaveError, match="is a file of the model") as caught:
            onnxmap.load(path).report(place, onnxmap.load(other))
        assert caught.value.code == "save.own_data"
    assert path.read_bytes() == before
    assert (tmp_path / "w.data").stat().st_size == 404


def test_a_file_of_a_model_that_gave_parts_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensors = [numpy_helper.from_array(np.ones(9000, np.float32), name) for name in "ab"]
    a, b = (write(model_of([each]), tmp_path / f"{each.name}.onnx") for each in tensors)
    before = a.read_bytes()
    edited = onnxmap.load(b)
    edited.initializers["b"] = onnxmap.load(a).initializers["a"]
    monkeypatch.chdir(tmp_path)
    relative = onnxmap.load("a.onnx")
    monkeypatch.chdir("/")
    for model in (onnxmap.merge(onnxmap.load(b), onnxmap.load(a)), edited, relative):
        with pytest.raises(onnxmap.SaveError, match="is a file of the model"):
            model.report(a)
    assert a.read_bytes() == before
