"""`copy_model` and `move_model`: what they report, refuse and pass on.

The tests of the commands `cp` and `mv` look at names, failures and crashes.
"""

from __future__ import annotations

import dataclasses
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from support.models.weighted import Values, names_in, save_weighted, values_of

import onnxmap

Function = Callable[..., Any]
BOTH = pytest.mark.parametrize("function", [onnxmap.copy_model, onnxmap.move_model])


@pytest.fixture
def values(tmp_path: Path) -> Values:
    """Of `m.onnx`, with one weight in a file of its own, one in a shared file, and one inside."""
    save_weighted(tmp_path / "other.onnx", {"c": "shared.bin"}, first_seed=5)
    locations = {"a": "m.data", "b": "shared.bin", "inside": None}
    return save_weighted(tmp_path / "m.onnx", locations)


def test_the_report_of_a_copy(tmp_path: Path, values: Values) -> None:
    before = {name: (tmp_path / name).read_bytes() for name in names_in(tmp_path)}
    report = onnxmap.copy_model(tmp_path / "m.onnx", tmp_path / "n.onnx")
    new = {"m.data": "n.data", "shared.bin": "n.shared.bin"}
    assert report.copies == new
    assert report.files == [str(tmp_path / name) for name in (*new.values(), "n.onnx")]
    sizes = [(tmp_path / name).stat().st_size for name in (*new.values(), "n.onnx")]
    assert report.bytes_copied + report.bytes_written == sum(sizes)
    assert report.bytes_copied >= 2 * 2000
    assert isinstance(report, onnxmap.SaveReport)
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.copies = {}  # type: ignore[misc]
    assert values_of(tmp_path / "n.onnx") == values
    for name, content in before.items():
        assert (tmp_path / name).read_bytes() == content


def test_the_report_of_a_move(tmp_path: Path, values: Values) -> None:
    (tmp_path / "to").mkdir()
    report = onnxmap.move_model(tmp_path / "m.onnx", tmp_path / "to")
    to = tmp_path / "to"
    assert report == onnxmap.MoveReport(
        moved={
            str(tmp_path / "m.onnx"): str(to / "m.onnx"),
            str(tmp_path / "m.data"): str(to / "m.data"),
        },
        copied={str(tmp_path / "shared.bin"): str(to / "m.shared.bin")},
        stays={str(tmp_path / "shared.bin"): "other.onnx uses it"},
        bytes_copied=report.bytes_copied,
    )
    assert 2000 <= report.bytes_copied < 2 * 2000 + 200  # values of b, and those inside
    assert values_of(to / "m.onnx") == values


def test_what_stays_in_the_same_directory(tmp_path: Path, values: Values) -> None:
    save_weighted(tmp_path / "single.onnx", {"d": "w.bin"})
    report = onnxmap.move_model(tmp_path / "single.onnx", tmp_path / "renamed.onnx")
    assert report.moved == {str(tmp_path / "single.onnx"): str(tmp_path / "renamed.onnx")}
    assert report.stays == {str(tmp_path / "w.bin"): ""}
    (tmp_path / "link.bin").symlink_to("w.bin")
    save_weighted(tmp_path / "linked.onnx", {"e": "link.bin"})
    why = onnxmap.move_model(tmp_path / "linked.onnx", tmp_path / "n.onnx").stays
    assert "symbolic link" in why[str(tmp_path / "link.bin")]


def test_a_move_over_another_model_copies_no_weights(tmp_path: Path) -> None:
    values = save_weighted(tmp_path / "m.onnx", {"inside": None})
    save_weighted(tmp_path / "n.onnx", {"old": None}, first_seed=5)
    number = (tmp_path / "m.onnx").stat().st_ino
    report = onnxmap.move_model(tmp_path / "m.onnx", tmp_path / "n.onnx", overwrite=True)
    assert (report.bytes_copied, (tmp_path / "n.onnx").stat().st_ino) == (0, number)
    assert names_in(tmp_path) == {"n.onnx"}
    assert values_of(tmp_path / "n.onnx") == values


@BOTH
def test_taken_names(function: Function, tmp_path: Path, values: Values) -> None:
    for taken in ("n.onnx", "n.data"):
        (tmp_path / taken).write_bytes(b"mine")
        before = names_in(tmp_path)
        with pytest.raises(FileExistsError) as caught:
            function(tmp_path / "m.onnx", tmp_path / "n.onnx")
        assert caught.value.filename == str(tmp_path / taken)
        assert (tmp_path / taken).read_bytes() == b"mine"
        assert names_in(tmp_path) == before
        (tmp_path / taken).unlink()
    save_weighted(tmp_path / "n.onnx", {"x": "n.data"}, first_seed=9)
    function(tmp_path / "m.onnx", tmp_path / "n.onnx", overwrite=True)
    assert values_of(tmp_path / "n.onnx") == values
    assert (tmp_path / "m.onnx").exists() == (function is onnxmap.copy_model)


@BOTH
def test_codes(function: Function, tmp_path: Path, values: Values) -> None:
    (tmp_path / "link.onnx").symlink_to("m.onnx")
    places: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "save.same_file": (tmp_path / "m.onnx", tmp_path, {"overwrite": True}),
        "save.no_folder": (tmp_path / "m.onnx", f"{tmp_path}/gone/", {}),
        "save.own_data": (tmp_path / "m.onnx", tmp_path / "shared.bin", {"overwrite": True}),
        "save.not_regular": (tmp_path / "m.onnx", "/dev/null", {"overwrite": True}),
    }
    if function is onnxmap.move_model:
        places["save.not_local"] = ("http://127.0.0.1:9/m.onnx", tmp_path / "n.onnx", {})
        places["save.link"] = (tmp_path / "link.onnx", tmp_path / "n.onnx", {})
    before = names_in(tmp_path)
    for code, (path, new_path, options) in places.items():
        with pytest.raises(onnxmap.SaveError) as caught:
            function(path, new_path, **options)
        assert caught.value.code == code
    with pytest.raises(FileNotFoundError):
        function(tmp_path / "m.onnx", tmp_path / "gone/m.onnx")
    assert names_in(tmp_path) == before


@BOTH
def test_the_arguments_of_load(function: Function, tmp_path: Path, values: Values) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "m.data").rename(root / "m.data")
    (tmp_path / "shared.bin").rename(root / "shared.bin")
    (tmp_path / "to").mkdir()
    with pytest.raises(onnxmap.ExternalDataError):
        function(tmp_path / "m.onnx", tmp_path / "to")
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        function(tmp_path / "m.onnx", root, checksum=True)
    function(tmp_path / "m.onnx", tmp_path / "to", external_root=root)
    assert values_of(tmp_path / "to/m.onnx") == values
    assert (root / "m.data").exists()


@BOTH
def test_kinds_of_paths(function: Function, tmp_path: Path, values: Values) -> None:
    for i, kind in enumerate((os.fspath, os.fsencode, lambda path: f"file://{path}")):
        path = tmp_path / f"n{i}.onnx"
        onnxmap.copy_model(tmp_path / "m.onnx", path)
        function(kind(path), kind(tmp_path / f"o{i}.onnx"))
        assert values_of(tmp_path / f"o{i}.onnx") == values


@pytest.mark.parametrize(
    ("path", "error"),
    [("", FileNotFoundError), ("http://x/n.onnx", onnxmap.SaveError), ("n\0.onnx", ValueError)],
)
@BOTH
def test_wrong_new_paths(
    function: Function, path: str, error: type[Exception], tmp_path: Path, values: Values
) -> None:
    with pytest.raises(error):
        function(tmp_path / "m.onnx", path)
    with pytest.raises(error):
        onnxmap.load(tmp_path / "m.onnx").save(path)
    assert values_of(tmp_path / "m.onnx") == values


@BOTH
def test_progress(function: Function, tmp_path: Path, values: Values) -> None:
    told: list[tuple[int, int]] = []
    (tmp_path / "to").mkdir()
    options: dict[str, Any] = {"sync": False, "progress": lambda *sizes: told.append(sizes)}
    function(tmp_path / "m.onnx", tmp_path / "to", **options)
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1] > 2000


# onnx opens no data file that is named after these.
@pytest.mark.parametrize("name", ["a..b.onnx", ".hidden.onnx"])
@BOTH
def test_a_model_name_that_no_data_file_should_have(
    function: Function, name: str, tmp_path: Path
) -> None:
    values = save_weighted(tmp_path / "m.onnx", {"a": "w.data"})
    function(tmp_path / "m.onnx", tmp_path / name)
    found = onnxmap.load_arrays(tmp_path / name)
    assert {key: array.tolist() for key, array in found.items()} == values


@BOTH
def test_a_path_through_a_linked_directory(
    function: Function, tmp_path: Path, values: Values
) -> None:
    """The system takes `link/..` for the directory above the target of the link."""
    (tmp_path / "b/sub").mkdir(parents=True)
    (tmp_path / "a").mkdir()
    (tmp_path / "a/link").symlink_to("../b/sub")
    expected = save_weighted(tmp_path / "b/m.onnx", {"a": "w.data"}, first_seed=7)
    save_weighted(tmp_path / "a/m.onnx", {"a": "w.data"}, first_seed=9)
    function(tmp_path / "a/link/../m.onnx", tmp_path / "a/link/../n.onnx")
    assert values_of(tmp_path / "b/n.onnx") == expected
    assert not (tmp_path / "a/n.onnx").exists()
    assert (tmp_path / "a/m.onnx").exists()


@BOTH
def test_data_files_behind_a_url(function: Function, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    values = save_weighted(tmp_path / "m.onnx", {"a": "w.data"})
    with fsspec.open("memory://copied/w.data", "wb") as file:
        file.write((tmp_path / "w.data").read_bytes())
    (tmp_path / "w.data").unlink()
    (tmp_path / "to").mkdir()
    report = function(tmp_path / "m.onnx", tmp_path / "to", external_root="memory://copied")
    assert values_of(tmp_path / "to/m.onnx") == values
    if function is onnxmap.move_model:
        assert report.copied == {"w.data": str(tmp_path / "to/w.data")}


@pytest.mark.parametrize("name", ["n.onnx", "taken.onnx"])
def test_a_move_waits_for_a_save(name: str, tmp_path: Path) -> None:
    """As saves and appends wait for each other."""
    for path in ("m.onnx", "taken.onnx"):
        onnxmap.from_arrays({"w": np.full(3, 5.0)}).save(tmp_path / path)
    moved: list[onnxmap.MoveReport] = []
    places = tmp_path / "m.onnx", tmp_path / name
    move = Thread(target=lambda: moved.append(onnxmap.move_model(*places, overwrite=True)))
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        move.start()
        move.join(0.3)
        assert move.is_alive()
        assert (tmp_path / "m.onnx").exists()
    finally:
        os.close(folder)
        move.join()
    assert moved[0].moved == {str(places[0]): str(places[1])}
