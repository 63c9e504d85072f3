"""A model is replaced together with its data file, which the loaded model has not opened yet."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.models.sample import external, model_of, write

import onnxmap

COUNT = 500
VALUES = {"a": np.full(COUNT, 1, np.float32), "b": np.full(COUNT, 2, np.float32)}


def write_pair(folder: Path, names: str = "ab") -> Path:
    """A model with its data file. The order of the names is that in the file."""
    folder.mkdir(exist_ok=True)
    tensors = [
        external(name, [COUNT], {"location": "w.data", "offset": str(4 * COUNT * i)})
        for i, name in enumerate(names)
    ]
    other = external("c", [COUNT], {"location": "other.data"})
    (folder / "w.data").write_bytes(b"".join(VALUES[name].tobytes() for name in names))
    (folder / "other.data").write_bytes(bytes(4 * COUNT))
    return write(model_of([*tensors, other]), folder / "model.onnx")


def is_right(model: onnxmap.Model) -> bool:
    return all((model.initializers[name].numpy() == array).all() for name, array in VALUES.items())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_pair(tmp_path / "models")


def by_rename(path: Path) -> None:
    new = write_pair(path.parents[1] / "new", "ba")
    for name in ("w.data", "model.onnx"):
        (new.parent / name).replace(path.with_name(name))


def by_a_save(path: Path) -> None:
    new = onnxmap.load(write_pair(path.parents[1] / "new", "ba"))
    new.save(path, external_data="w.data", size_threshold_bytes=0, sync=False)


def in_place(path: Path) -> None:
    write_pair(path.parent, "ba")
    os.utime(path, ns=(0, 0))  # the clock of the file system may not have ticked


def moved_aside(path: Path) -> None:
    """As a save does before it puts the new data file and then the new model in place."""
    path.rename(f"{path}.0123abcd.onnxmap-old")
    (write_pair(path.parents[1] / "new", "ba").parent / "w.data").replace(path.with_name("w.data"))


def replaced_and_moved_aside(path: Path) -> None:
    """By a rename that others make, before a save moves the new file aside."""
    write(model_of([]), path.with_name("new.onnx")).replace(path)
    moved_aside(path)


def both_aside(path: Path) -> None:
    """As in a save, while neither data file is there."""
    for name in ("model.onnx", "w.data"):
        path.with_name(name).rename(path.with_name(f"{name}.0123abcd.onnxmap-old"))


def without_data(path: Path) -> None:
    """By a new model that needs no data file, and the old file is gone."""
    write(model_of([]), path.with_name("new.onnx")).replace(path)
    path.with_name("w.data").unlink()


REPLACED: dict[str, Callable[[Path], None]] = {
    way.__name__: way
    for way in (
        by_rename,
        by_a_save,
        in_place,
        moved_aside,
        replaced_and_moved_aside,
        both_aside,
        without_data,
    )
}
READS: dict[str, Callable[[onnxmap.Model], Any]] = {
    "one": lambda model: model.initializers["a"].numpy(),
    "views": lambda model: model.views(),
    "arrays": lambda model: model.arrays(),
    "stream": lambda model: list(model.stream()),
    "unused": lambda model: model.unused_bytes(),
}


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("way", REPLACED)
def test_data_of_a_replaced_model_are_not_read(path: Path, way: str, read: str, io: Any) -> None:
    model = onnxmap.load(path, io=io)
    REPLACED[way](path)
    for _ in range(2):
        with pytest.raises(onnxmap.FileChangedError, match=r"model\.onnx") as caught:
            READS[read](model)
        assert (caught.value.code, caught.value.path) == ("file.changed", str(path))
    if way in ("by_rename", "by_a_save", "in_place"):
        assert is_right(onnxmap.load(path))


def test_data_that_are_missing_though_the_model_stays(path: Path) -> None:
    model = onnxmap.load(path)
    path.with_name("w.data").unlink()
    for _ in range(2):
        with pytest.raises(onnxmap.MissingDataError):
            model.views()
        if path.exists():
            path.unlink()  # with its data, which is no change


def test_it_cannot_be_saved_either(path: Path, tmp_path: Path) -> None:
    model = onnxmap.load(path)
    by_rename(path)
    with pytest.raises(onnxmap.FileChangedError, match="load it again"):
        model.save(tmp_path / "saved.onnx", external_data=False)
    assert not (tmp_path / "saved.onnx").exists()


def test_files_that_are_open_stay_the_old_ones(path: Path) -> None:
    model = onnxmap.load(path)
    assert is_right(model)
    by_rename(path)
    assert is_right(model)
    with pytest.raises(onnxmap.FileChangedError):
        model.initializers["c"].numpy()  # in the other file, which was never opened
    assert is_right(model)


def test_a_link_that_leads_elsewhere_now(path: Path, tmp_path: Path) -> None:
    """As in a cache of Hugging Face, if the snapshot is updated."""
    write_pair(tmp_path / "second", "ba")
    for name in ("model.onnx", "w.data"):
        (tmp_path / name).symlink_to(Path("models") / name)
    linked = tmp_path / "model.onnx"
    model = onnxmap.load(linked)
    assert is_right(onnxmap.load(linked))
    for name in ("w.data", "model.onnx"):
        (tmp_path / name).unlink()
        (tmp_path / name).symlink_to(Path("second") / name)
    with pytest.raises(onnxmap.FileChangedError):
        model.views()
    assert is_right(onnxmap.load(linked))


@pytest.mark.parametrize("way", [moved_aside, replaced_and_moved_aside])
def test_the_target_of_a_link_is_moved_aside(
    path: Path, way: Callable[[Path], None], tmp_path: Path
) -> None:
    """The link leads nowhere, and has another name."""
    linked = tmp_path / "linked.onnx"
    linked.symlink_to(path)
    model = onnxmap.load(linked)
    way(path)
    with pytest.raises(onnxmap.FileChangedError):
        model.views()


@pytest.mark.parametrize("name", ["alone.onnx", f"{'é' * 100}.onnx"])
def test_data_in_another_folder_than_the_model_aside(path: Path, name: str, tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    moved = path.rename(tmp_path / "alone" / name)
    model = onnxmap.load(moved, external_root=path.parent)
    write(model_of([]), tmp_path / "new.onnx").replace(moved)
    moved.rename(moved.with_name(f"{name.encode()[:100].decode()}.abcdefgh.onnxmap-old"))
    with pytest.raises(onnxmap.FileChangedError):
        model.views()


def test_data_in_another_folder(path: Path, tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    moved = path.rename(tmp_path / "alone/model.onnx")
    model = onnxmap.load(moved, external_root=path.parent)
    new = write_pair(tmp_path / "new", "ba")
    new.replace(moved)
    with pytest.raises(onnxmap.FileChangedError):
        model.views(["a"])
    assert is_right(onnxmap.load(moved, external_root=new.parent))


def deleted(path: Path) -> None:
    path.unlink()


def deleted_beside_another(path: Path) -> None:
    """A save that was killed has left another model there."""
    path.unlink()
    for name in ("another.onnx", "model.onn", "model.onnx.more"):
        path.with_name(f"{name}.abcdefgh.onnxmap-old").touch()


def renamed(path: Path) -> None:
    path.rename(path.with_name("renamed.onnx"))


def folder_renamed(path: Path) -> None:
    path.parent.rename(path.parents[1] / "renamed")


def another_folder(path: Path) -> None:
    """The path leads to another pair, but the model has its own folder."""
    folder_renamed(path)
    write_pair(path.parent, "ba")


def appended(path: Path) -> None:
    onnxmap.append(path, doc_string="more")


def saved_beside(path: Path) -> None:
    with onnxmap.load(path) as model:
        model.save(path.with_name("beside.onnx"), sync=False)


NOT_REPLACED: dict[str, Callable[[Path], None]] = {
    way.__name__: way
    for way in (
        deleted,
        deleted_beside_another,
        renamed,
        folder_renamed,
        another_folder,
        appended,
        saved_beside,
    )
}


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("way", NOT_REPLACED)
def test_what_does_not_replace_a_model(path: Path, way: str, io: Any) -> None:
    model = onnxmap.load(path, io=io)
    NOT_REPLACED[way](path)
    assert is_right(model)


def test_a_model_saved_over_itself_stays_usable(path: Path) -> None:
    """The save opens all data files, so the model has the old ones."""
    model = onnxmap.load(path)
    for location in ("w.data", "new.data", "w.data"):
        model.save(path, external_data=location, size_threshold_bytes=0, sync=False)
        assert is_right(model)
        assert is_right(onnxmap.load(path))


def test_models_that_are_not_checked(path: Path) -> None:
    """Those of a buffer, and those that are not watched."""
    unwatched = onnxmap.load(path, watch=False)
    buffer = onnxmap.loads(path.read_bytes(), external_root=path.parent)
    write_pair(path.parents[1] / "new").replace(path)
    assert is_right(unwatched)
    assert is_right(buffer)
