"""The author of a model does not choose which files appear beside a copy of it."""

from __future__ import annotations

import os
import posixpath
import random
from pathlib import Path

import pytest
from support.models.weighted import names_in, save_weighted, values_of
from support.run_options import EXHAUSTIVE, LONG

import onnxmap
from onnxmap import cli

HOSTILE = [
    ".ssh/authorized_keys", ".bashrc", "numpy.py", "conftest.py", "Makefile", "setup.cfg",
    "sub/.git/hooks/post-commit", "a.data/../.profile", "index.html", "lib/libc.so.6", "x.desktop",
    ".data", "sub/w.data", "m.py", "m.onnx.py", "-rf", "w.data\n", "package.json", "w.onnx",
    "w..data",
]  # fmt: skip
PLAIN = ["w.data", "m.onnx.data", "w.bin", "layers.0.weight", "model.onnx_data_1", "W.DATA"]
ENDS = (".data", ".bin", ".weight", ".onnx_data_1", ".DATA")


def copied(way: str, model: Path, out: Path, *words: str) -> None:
    if way == "save":
        onnxmap.save(onnxmap.load(model), out, sync=False)
    else:
        assert cli.main([way, str(model), str(out), "--no-sync", *words]) == 0


@pytest.mark.parametrize("way", ["save", "cp", "mv"])
@pytest.mark.parametrize("location", [*HOSTILE, *PLAIN])
def test_names_in_another_folder(way: str, location: str, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old/a.data").mkdir()
    (tmp_path / "new").mkdir()
    values = save_weighted(tmp_path / "old/m.onnx", {"a": location})
    copied(way, tmp_path / "old/m.onnx", tmp_path / "new/n.onnx")
    assert values_of(tmp_path / "new/n.onnx") == values
    (data,) = names_in(tmp_path / "new") - {"n.onnx"}
    if location in PLAIN:
        assert data in (location, location.replace("m.onnx", "n.onnx"))
    else:
        assert data.startswith("n.")
        assert data.endswith(ENDS)
        assert "/" not in data


def test_a_variant_in_the_folder_of_another(tmp_path: Path) -> None:
    """The data file of the second model is named after that model."""
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    first = save_weighted(tmp_path / "new/first.onnx", {"a": "w.data"}, first_seed=7)
    values = save_weighted(tmp_path / "old/m.onnx", {"a": "w.data"})
    for name in ("second.onnx", "third.onnx", "second.onnx"):
        copied("save", tmp_path / "old/m.onnx", tmp_path / "new" / name)
        assert values_of(tmp_path / "new" / name) == values
    assert values_of(tmp_path / "new/first.onnx") == first
    assert names_in(tmp_path / "new") == {
        "first.onnx", "w.data", "second.onnx", "second.w.data", "third.onnx", "third.w.data",
    }  # fmt: skip


@pytest.mark.parametrize("location", ["w.data", ".bashrc"])
def test_a_save_to_another_folder_can_be_repeated(location: str, tmp_path: Path) -> None:
    """It replaces the data file of the model that it replaces, and no other file."""
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    for first_seed in (1, 5):
        values = save_weighted(tmp_path / "old/m.onnx", {"a": location}, first_seed=first_seed)
        for _ in range(2):
            copied("save", tmp_path / "old/m.onnx", tmp_path / "new/n.onnx")
            assert values_of(tmp_path / "new/n.onnx") == values
            assert len(names_in(tmp_path / "new")) == 2
        (tmp_path / "old" / location).unlink()
    (data,) = names_in(tmp_path / "new") - {"n.onnx"}
    (tmp_path / "new/n.onnx").unlink()
    (tmp_path / "new" / data).write_bytes(b"mine")
    values = save_weighted(tmp_path / "old/m.onnx", {"a": location})
    copied("save", tmp_path / "old/m.onnx", tmp_path / "new/n.onnx")
    assert values_of(tmp_path / "new/n.onnx") == values
    assert (tmp_path / "new" / data).read_bytes() == b"mine"


@pytest.mark.parametrize("location", [".bashrc", "notes.data"])
def test_overwrite_means_the_model_and_its_own_data(location: str, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    values = save_weighted(tmp_path / "old/m.onnx", {"a": location})
    (tmp_path / "new" / location).write_bytes(b"mine")
    save_weighted(tmp_path / "new/m.onnx", {"a": "own.data"}, first_seed=7)
    copied("cp", tmp_path / "old/m.onnx", tmp_path / "new", "--overwrite")
    assert (tmp_path / "new" / location).read_bytes() == b"mine"
    assert values_of(tmp_path / "new/m.onnx") == values
    before = names_in(tmp_path / "new")
    copied("cp", tmp_path / "old/m.onnx", tmp_path / "new", "--overwrite")
    assert names_in(tmp_path / "new") == before  # the data file of the first copy is its own


def random_location(choices: random.Random) -> str:
    letters = ["a", "B", ".", "-", "_", " ", "é", "~", "py", "onnx", "data", "bin", "/", "\t", "m"]
    return "".join(choices.choices(letters, k=choices.randint(1, 7)))


@pytest.mark.parametrize("seed", range(600 if LONG else 60 if EXHAUSTIVE else 6))
def test_random_names(seed: int, tmp_path: Path) -> None:
    """All values are there, and every new file has the name of a data file."""
    choices = random.Random(seed)
    locations: dict[str, str] = {}
    taken: set[str] = set()
    for i in range(6):
        location = random_location(choices)
        plain = posixpath.normpath(location)
        parts = {plain, *(plain[:at] for at, letter in enumerate(plain) if letter == "/")}
        is_safe = onnxmap._core.is_safe_location(os.fsencode(location))
        if is_safe and not parts & taken and plain != "m.onnx":
            taken |= parts
            locations[f"w{i}"] = location
    for way in ("save", "cp", "mv"):
        old, new = tmp_path / way, tmp_path / f"new_{way}"
        old.mkdir()
        new.mkdir()
        values = save_weighted(old / "m.onnx", locations)
        copied(way, old / "m.onnx", new / "n.onnx")
        assert values_of(new / "n.onnx") == values
        for name in names_in(new) - {"n.onnx"}:
            assert not name.startswith(".")
            assert name.lower().endswith((".data", ".bin"))
            assert name.isprintable()
            assert "/" not in name
