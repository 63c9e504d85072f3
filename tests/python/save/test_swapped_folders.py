"""A folder below that of the model is exchanged for a link while files are written there."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.faults.swapping import swapping
from support.models.sample import external, model_of, write
from support.run_options import EXHAUSTIVE, LONG
from support.saves.models import weight

import onnxmap
from onnxmap import cli

SECONDS = 60.0 if LONG else 5.0 if EXHAUSTIVE else 0.5
OPTIONS = ("--overwrite", "--no-sync")
THEIRS = b"nobody may write here"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the models: `sub`, and `link` that leads outside."""
    folder = tmp_path / "models"
    (folder / "sub").mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "w.data").write_bytes(THEIRS)
    (folder / "link").symlink_to(outside)
    write(model_of([weight(name, 30, 10) for name in "ab"]), folder / "m.onnx")
    return folder


def assert_nothing_outside(folder: Path) -> None:
    outside = folder.parent / "outside"
    assert [each.name for each in outside.iterdir()] == ["w.data"]
    assert (outside / "w.data").read_bytes() == THEIRS


def swap(folder: Path) -> None:
    (folder / "sub").rename(folder / "was")
    (folder / "link").rename(folder / "sub")


def save(folder: Path, **options: Any) -> None:
    onnxmap.load(folder / "m.onnx").save(
        folder / "out.onnx", external_data="sub/w.data", size_threshold_bytes=0, sync=False,
        **options,
    )  # fmt: skip


def test_before_the_values_are_summed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = hashlib.sha1

    def swap_first(**options: Any) -> object:
        swap(folder)
        return real(**options)

    monkeypatch.setattr(hashlib, "sha1", swap_first)
    with pytest.raises(onnxmap.UnsafePathError) as caught:
        save(folder, checksum=True)
    assert caught.value.location == "sub/w.data"
    assert_nothing_outside(folder)
    assert not list((folder / "was").iterdir())


def test_while_the_values_are_written(folder: Path) -> None:
    """The file goes into the folder that was looked at, which has another name by then."""
    swaps = iter([swap])

    def swap_once(done: int, _: int) -> None:
        for each in swaps if done else ():
            each(folder)

    save(folder, progress=swap_once)
    assert_nothing_outside(folder)
    assert [each.name for each in (folder / "was").iterdir()] == ["w.data"]


@pytest.mark.parametrize("command", ["cp", "mv"])
def test_commands(command: str, folder: Path) -> None:
    """Both the old and the new folder of a data file are held."""
    values = np.arange(30, dtype=np.float32)
    for name in ("sub", "other"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "sub" / "w.data").write_bytes(values.tobytes())
    write(
        model_of([external("a", [30], {"location": "sub/w.data", "length": "120"})]),
        folder / "m.onnx",
    )
    target = folder / "other" if command == "cp" else folder / "n.onnx"
    statuses = set()
    with swapping(folder / "sub", folder / "link"):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end or 0 not in statuses:
            statuses.add(cli.main([command, str(folder / "m.onnx"), str(target), *OPTIONS]))
            if not (folder / "m.onnx").exists():
                (folder / "n.onnx").rename(folder / "m.onnx")
            assert time.monotonic() < end + 60, statuses
    assert_nothing_outside(folder)


SAVES: dict[str, Callable[[Path], object]] = {
    "save": save,
    "checksum": lambda folder: save(folder, checksum=True),
    "shards": lambda folder: save(folder, max_shard_size_bytes=700),
    "a new folder": lambda folder: onnxmap.load(folder / "m.onnx").save(
        folder / "out.onnx", external_data="sub/new/w.data", size_threshold_bytes=0, sync=False
    ),
    "save_all": lambda folder: onnxmap.save_all(
        {folder / f"{name}.onnx": onnxmap.load(folder / "m.onnx") for name in "pq"},
        external_data="sub/w.data", size_threshold_bytes=0, sync=False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", SAVES)
def test_all_the_time(kind: str, folder: Path) -> None:
    done = refused = 0
    with swapping(folder / "sub", folder / "link"):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end or not done or not refused:
            try:
                SAVES[kind](folder)
                done += 1
            except (onnxmap.OnnxMapError, OSError):
                refused += 1
            assert time.monotonic() < end + 60, (done, refused)
    assert_nothing_outside(folder)
    assert not list(folder.glob("*.onnxmap-tmp"))
