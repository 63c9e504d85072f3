"""A save takes no file away from another model of its folder, whatever that model is called."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from support.saves.models import SAVE_MODELS

import onnxmap
from onnxmap.cli import main

MIB = 1 << 20
ROUNDS = 4
SIDE = "model.onnx.edited.data"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return SAVE_MODELS["chain_outside"](tmp_path)


def edit(path: Path, number: float, source: Path | None = None) -> onnxmap.SaveReport:
    model = onnxmap.load(source or path)
    model.initializers["w0"] = np.full((20, 20), number, np.float32)
    return model.save(path, sync=False)


def number_in(path: Path) -> float:
    """What `edit` has written."""
    return float(onnxmap.load_arrays(path, "w0")["w0"].mean())


def sides(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.glob("*.edited.data"))


def copied(path: Path, name: str) -> Path:
    return Path(shutil.copy(path, path.with_name(name)))


def as_text(path: Path, name: str) -> Path:
    onnxmap.load(path).save(path.with_name(name), sync=False)
    # The save gave the text a side file of its own.
    text = path.with_name(name)
    text.write_text(text.read_text().replace(f"{name}.edited.data", SIDE))
    path.with_name(f"{name}.edited.data").unlink()
    return text


def linked(path: Path, name: str) -> Path:
    os.link(path, path.with_name(name))
    return path.with_name(name)


def begun_by(field: bytes) -> Callable[[Path, str], Path]:
    """A copy with another field first, where protobuf writes ir_version."""

    def made(path: Path, name: str) -> Path:
        data = path.read_bytes()
        assert data[:1] == b"\x08"
        assert data[1] < 0x80
        copy = path.with_name(name)
        copy.write_bytes(field + data[2:] + data[:2])
        return copy

    return made


NAMES: dict[str, Callable[[Path, str], Path]] = {
    "model.onnx.bak": copied,
    "model.ort.model": copied,
    "model": copied,
    "m.pb": copied,
    "m.data": copied,
    "late version": begun_by(b""),
    "large version": begun_by(b"\x08\xff\x01"),
    "metadata first": begun_by(b"r\x03\n\x01k"),
    "linked": linked,
    "m.textproto": as_text,
    "m.json": as_text,
    "text": as_text,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_keeps_its_values(name: str, path: Path, tmp_path: Path) -> None:
    edit(path, 1)
    if name == "text":
        other = as_text(path, "m.json").rename(tmp_path / name)
    else:
        other = NAMES[name](path, name)
    assert number_in(other) == 1
    for number in range(ROUNDS):
        edit(path, number)
        assert number_in(other) == 1
        assert sides(tmp_path) == ["model.onnx.2.edited.data", SIDE]
    onnxmap.load(path).save(path, external_data=False, sync=False)
    assert sides(tmp_path) == [SIDE]
    assert number_in(other) == 1
    with pytest.raises(onnxmap.SaveError, match="has values there"):
        onnxmap.load(path).save(path, external_data=SIDE, size_threshold_bytes=0)
    if name != "linked":  # one file is not saved over its other name
        with pytest.raises(onnxmap.SaveError, match="that is a model"):
            onnxmap.load(path).save(path, external_data=name)


@pytest.mark.parametrize("before", [0, 1, 6, 13, 14])
def test_a_long_text(before: int, path: Path, tmp_path: Path) -> None:
    """It is searched for data files by the MiB."""
    edit(path, 1)
    tensor = 'name: "w" dims: 400 data_type: FLOAT data_location: EXTERNAL'
    entry = f'external_data {{ key: "location" value: "{SIDE}" }}'
    text = f"graph {{ initializer {{ {tensor} {entry} }} }}"
    padding = MIB - before - text.index("external_data") - len('doc_string: "" ')
    text = f'doc_string: "{"x" * padding}" {text}'
    assert text.index("external_data") == MIB - before
    (tmp_path / "m.textproto").write_text(text)
    edit(path, 2)
    assert sides(tmp_path) == ["model.onnx.2.edited.data", SIDE]


@pytest.mark.parametrize("command", ["mv", "cp --overwrite"])
def test_commands(command: str, path: Path, tmp_path: Path) -> None:
    edit(path, 1)
    backup = copied(path, "model.onnx.bak")
    if command == "mv":
        assert main(["mv", str(path), str(tmp_path / "n.onnx")]) == 0
        assert number_in(tmp_path / "n.onnx") == 1
    else:
        (tmp_path / "other").mkdir()
        other = SAVE_MODELS["chain_outside"](tmp_path / "other")
        edit(other, 2)
        assert main(["cp", "--overwrite", str(other), str(path)]) == 0
        assert number_in(path) == 2
    assert number_in(backup) == 1


class TestNotReadable:
    def test_a_copy_that_is_not_complete_yet(self, path: Path, tmp_path: Path) -> None:
        """It may be a user, since it is newer than the side file."""
        edit(path, 1)
        part = tmp_path / "model.onnx.part"
        data = path.read_bytes()
        part.write_bytes(data[: len(data) // 2])
        for number in range(ROUNDS):
            edit(path, number)
        part.write_bytes(data)
        assert number_in(part) == 1

    def test_a_form_that_only_onnx_reads(self, path: Path, tmp_path: Path) -> None:
        edit(path, 1)
        (tmp_path / "m.onnxtxt").write_text(
            onnx.printer.to_text(onnx.load(path, load_external_data=False))
        )
        edit(path, 2)
        assert sides(tmp_path) == ["model.onnx.2.edited.data", SIDE]

    @pytest.mark.parametrize("name", ["pointer.onnx", "pointer.txt"])
    def test_what_is_older_than_the_side_file(self, name: str, path: Path, tmp_path: Path) -> None:
        (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\n")
        time.sleep(0.02)  # the clock of the file system ticks
        for number in range(ROUNDS):
            edit(path, number)
            assert sides(tmp_path) == [SIDE]
        onnxmap.load(path).save(path, external_data=False, sync=False)
        assert sides(tmp_path) == []

    def test_files_that_are_no_models(self, path: Path, tmp_path: Path) -> None:
        edit(path, 1)
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "gone").symlink_to("nowhere")
        (tmp_path / "folder").mkdir()
        contents = b"", b"\x08" * 100, b"\x12" * 40, b"((((", b"\x08\x01", b"graph { :", b'{"ir'
        for i, data in enumerate(contents):
            (tmp_path / f"{i}").write_bytes(data)
        for name, head in (("large", b""), ("text", b"ir_version: 9\n#")):
            with (tmp_path / name).open("wb") as large:
                large.write(head)
                large.truncate(1 << 40)  # to read it would take hours
        before = set(tmp_path.iterdir())
        for number in range(ROUNDS):
            edit(path, number)
            assert set(tmp_path.iterdir()) == before

    def test_files_of_a_killed_save(self, path: Path, tmp_path: Path) -> None:
        edit(path, 1)
        for end in ("tmp", "old"):
            shutil.copy(path, tmp_path / f".model.onnx.0123abcd.onnxmap-{end}")
        edit(path, 2)
        assert sides(tmp_path) == [SIDE]


@pytest.mark.parametrize("way", [{}, {"external_data": False}])
@pytest.mark.parametrize("name", ["model.onnx", "m.textproto", "m.json"])
def test_a_model_keeps_the_side_file_that_its_save_has_replaced(
    way: dict[str, Any], name: str, path: Path, tmp_path: Path
) -> None:
    onnxmap.load(path).save(tmp_path / name)
    edit(tmp_path / name, 1)
    model = onnxmap.load(tmp_path / name)
    model.initializers["w0"] = np.full((20, 20), 2, np.float32)
    model.save(tmp_path / name, sync=False, **way)
    model.revert()
    assert model.initializers["w0"].numpy().mean() == 1
    assert number_in(tmp_path / name) == 2


@pytest.mark.parametrize("name", ["m.textproto", "m.json", "m"])
def test_side_files_of_texts_do_not_pile_up(name: str, path: Path, tmp_path: Path) -> None:
    text = tmp_path / name
    onnxmap.load(path).save(text, format="json" if name == "m" else None, sync=False)
    path.unlink()
    for number in range(ROUNDS):
        edit(text, number)
        assert sides(tmp_path) == [f"{name}.edited.data"]
        assert number_in(text) == number
    onnxmap.load(text).save(text, external_data=False, sync=False)
    assert sides(tmp_path) == []
    assert number_in(text) == ROUNDS - 1
