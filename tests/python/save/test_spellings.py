"""A model that spells the location of a data file in several ways: it is one file all the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto
from support.models.sample import write
from support.saves.judges import contents, entries_of, values_of
from support.saves.models import made_external, matmul_model, weight

import onnxmap

SPELLINGS = ["w.data", "./w.data", "sub/../w.data", ".//w.data"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Four weights, each with another spelling, and 60 bytes that none of them uses."""
    (tmp_path / "sub").mkdir()
    data = bytearray(b"." * 60)
    weights = [
        made_external(weight(f"w{i}", 20, 20, seed=i), spelling, data)
        for i, spelling in enumerate(SPELLINGS)
    ]
    (tmp_path / "w.data").write_bytes(data)
    return write(matmul_model(weights), tmp_path / "model.onnx")


def locations(path: Path) -> list[str]:
    made = ModelProto.FromString(path.read_bytes())
    return [entries_of(one)["location"] for one in made.graph.initializer]


def test_it_is_copied_once(path: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    saved = tmp_path / "new" / "saved.onnx"
    report = onnxmap.load(path).save(saved, sync=False)
    assert report.files == [str(tmp_path / "new" / "w.data"), str(saved)]
    assert set(contents(tmp_path / "new")) == {"w.data", "saved.onnx"}
    assert (tmp_path / "new" / "w.data").stat().st_size == 4 * 1600
    assert locations(saved) == ["w.data"] * 4
    assert values_of(saved) == values_of(path)


def test_its_unused_bytes_are_those_that_no_tensor_uses(path: Path) -> None:
    model = onnxmap.load(path)
    assert model.unused_bytes() == {str(path.with_name("w.data")): 60}
    report = model.save(path, sync=False)
    assert report.unused == {str(path.with_name("w.data")): 60}
    assert locations(path) == SPELLINGS


@pytest.mark.parametrize("name", ["w.data", "./w.data", "sub/../w.data"])
def test_it_is_replaced_under_any_spelling(name: str, path: Path, tmp_path: Path) -> None:
    data = tmp_path / "w.data"
    report = onnxmap.load(path).save(path, external_data=name, alignment=4, sync=False)
    assert report.files == [str(data), str(path)]
    assert report.unused == {str(data): 0}
    assert onnxmap.load(path).unused_bytes() == {str(data): 0}
    assert data.stat().st_size == 4 * 1600


def test_unused_bytes_under_another_spelling(path: Path, tmp_path: Path) -> None:
    """The first tensor names the file in another way than the user."""
    made = ModelProto.FromString(path.read_bytes())
    made.graph.initializer.reverse()
    write(made, path)
    data = str(tmp_path / "w.data")
    model = onnxmap.load(path)
    assert model.unused_bytes() == {data: 60}
    assert model.save(path, sync=False).unused == {data: 60}
    inlined = model.save(path, external_data=False, sync=False)
    assert inlined.unused == {data: 4 * 1600 + 60}


def test_a_folder_that_is_a_link_makes_another_file(path: Path, tmp_path: Path) -> None:
    """`sub/..` is not the folder of the model, so the file keeps the name that the model has."""
    (tmp_path / "sub").rmdir()
    (tmp_path / "other" / "inner").mkdir(parents=True)
    (tmp_path / "sub").symlink_to("other/inner")
    (tmp_path / "other" / "w.data").write_bytes((tmp_path / "w.data").read_bytes() + b"more")
    through = str(tmp_path / "sub" / ".." / "w.data")
    unused = onnxmap.load(path).unused_bytes()
    assert unused == {str(tmp_path / "w.data"): 60 + 1600, through: 60 + 3 * 1600 + 4}


def test_links_have_names_of_their_own(path: Path, tmp_path: Path) -> None:
    """Both names lead to one file now, and may lead to two later."""
    (tmp_path / "link.data").symlink_to("w.data")
    made = ModelProto.FromString(path.read_bytes())
    entries = made.graph.initializer[1].external_data
    next(one for one in entries if one.key == "location").value = "link.data"
    write(made, path)
    (tmp_path / "new").mkdir()
    saved = tmp_path / "new" / "saved.onnx"
    onnxmap.load(path).save(saved, sync=False)
    assert set(contents(tmp_path / "new")) == {"w.data", "link.data", "saved.onnx"}
    assert values_of(saved) == values_of(path)


def test_the_side_file_of_the_model(path: Path, tmp_path: Path) -> None:
    """Values that are in the side file stay in it, however it is spelled."""
    model = onnxmap.load(path)
    for name in ("w1", "w2"):
        model.initializers[name] = np.full((20, 20), 3, np.float32)
    model.save(path, sync=False)
    side = "model.onnx.edited.data"
    assert locations(path) == ["w.data", side, side, ".//w.data"]
    made = ModelProto.FromString(path.read_bytes())
    entries = made.graph.initializer[2].external_data
    next(one for one in entries if one.key == "location").value = f"./{side}"
    write(made, path)
    model = onnxmap.load(path)
    model.initializers["w1"] = np.full((20, 20), 4, np.float32)
    model.save(path, sync=False)
    assert locations(path) == ["w.data", side, side, ".//w.data"]
    assert onnxmap.load(path).initializers["w2"].numpy().mean() == 3
    assert onnxmap.load(path).unused_bytes()[str(tmp_path / side)] == 0
