"""External data are looked up in the folder of the time of loading, even if it was renamed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.containment.tree import BELOW, CANARY, VALUES, inside, model_bytes, write

import onnxmap

LOCATIONS = {"w": b"w.bin", "below": b"sub/w.bin", "link": b"link", "other": b"other/../w.bin"}


def folder_of(path: Path, values: list[float], below: list[float]) -> Path:
    for name in ("sub", "other"):
        (path / name).mkdir(parents=True)
    write(path / "w.bin", values)
    write(path / "sub/w.bin", below)
    (path / "link").symlink_to("sub/../w.bin")
    (path / "model.onnx").write_bytes(model_bytes(LOCATIONS))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder_of(tmp_path / "impostor", CANARY, CANARY)
    return folder_of(tmp_path / "model", VALUES, BELOW)


def values_of(model: onnxmap.Model, name: str) -> list[float]:
    return model.initializers[name].numpy().tolist()


def put_folder(folder: Path) -> None:
    folder.rename(folder.parent / "old")
    (folder.parent / "impostor").rename(folder)


def put_link(folder: Path) -> None:
    folder.rename(folder.parent / "old")
    folder.symlink_to("impostor")


def put_nothing(folder: Path) -> None:
    folder.rename(folder.parent / "old")


def put_file(folder: Path) -> None:
    folder.rename(folder.parent / "old")
    write(folder, CANARY)


def move_far_away(folder: Path) -> None:
    (folder.parent / "deep/deeper").mkdir(parents=True)
    folder.rename(folder.parent / "deep/deeper/old")


LOADS: dict[str, Callable[[Path], onnxmap.Model]] = {
    "whole path": lambda folder: onnxmap.load(folder / "model.onnx"),
    "root": lambda folder: onnxmap.load(
        folder.parent / "impostor/model.onnx", external_root=folder
    ),
    "buffer": lambda folder: onnxmap.loads(model_bytes(LOCATIONS), external_root=folder),
    "strict": lambda folder: onnxmap.load(folder / "model.onnx", link_policy="strict"),
    "trusted": lambda folder: onnxmap.load(folder / "model.onnx", link_policy="trusted"),
    "read": lambda folder: onnxmap.load(folder / "model.onnx", io="read"),
}


def relative(folder: Path) -> onnxmap.Model:
    with inside(folder.parent):
        return onnxmap.load("model/model.onnx")


def bare(folder: Path) -> onnxmap.Model:
    with inside(folder):
        return onnxmap.load("model.onnx")


LOADS |= {"relative path": relative, "bare name": bare}


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("move", [put_folder, put_link, put_nothing, put_file, move_far_away])
def test_moved_before_the_first_access(
    folder: Path, move: Callable[[Path], None], load: str
) -> None:
    model = LOADS[load](folder)
    move(folder)
    expected = {"w": VALUES, "below": BELOW, "link": VALUES, "other": VALUES}
    if load == "strict":
        del expected["link"]
    assert {name: values_of(model, name) for name in expected} == expected


@pytest.mark.parametrize("move", [put_folder, put_link])
def test_moved_after_the_first_access(folder: Path, move: Callable[[Path], None]) -> None:
    model = onnxmap.load(folder / "model.onnx")
    array = model.initializers["w"].numpy()
    move(folder)
    assert model.initializers["w"].numpy().tolist() == array.tolist() == VALUES
    assert model.initializers["below"].numpy().tolist() == BELOW
    fresh = onnxmap.load(folder / "model.onnx")
    assert fresh.initializers["w"].numpy().tolist() == CANARY
    assert fresh.initializers["below"].numpy().tolist() == CANARY
    assert model.initializers["w"].numpy().tolist() == VALUES


def test_a_link_that_leads_to_another_folder_later(folder: Path) -> None:
    alias = folder.parent / "alias"
    alias.symlink_to("model")
    model = onnxmap.load(alias / "model.onnx")
    alias.unlink()
    alias.symlink_to("impostor")
    assert model.initializers["w"].numpy().tolist() == VALUES
    assert model.initializers["link"].numpy().tolist() == VALUES
    assert onnxmap.load(alias / "model.onnx").initializers["w"].numpy().tolist() == CANARY


def test_the_folder_is_deleted(folder: Path) -> None:
    model = onnxmap.load(folder / "model.onnx")
    shutil.rmtree(folder)
    (folder.parent / "impostor").rename(folder)
    for name in LOCATIONS:
        with pytest.raises(FileNotFoundError) as caught:
            model.initializers[name].numpy()
        assert isinstance(caught.value, onnxmap.ExternalDataError)


def value_or_change(model: onnxmap.Model) -> float | str:
    try:
        return values_of(model, "w")[0]
    except onnxmap.FileChangedError:
        return "changed"


def test_the_folders_of_many_models_are_moved(tmp_path: Path) -> None:
    """A folder whose descriptor was closed is opened again. By then it has moved."""
    models = []
    for number in range(100):
        folder = folder_of(tmp_path / f"model{number}", [float(number)] * 4, BELOW)
        models.append(onnxmap.load(folder / "model.onnx"))
    for number in range(100):
        folder = tmp_path / f"model{number}"
        folder.rename(tmp_path / f"old{number}")
        folder_of(folder, CANARY, CANARY)
    outcomes = {value_or_change(model) for model in models}
    assert outcomes <= {*map(float, range(100)), "changed"}
    assert len(outcomes) > 1
