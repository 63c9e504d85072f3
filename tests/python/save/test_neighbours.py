"""A save takes no file away from another model of its folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.saves.judges import contents, values_of
from support.saves.models import SAVE_MODELS

import onnxmap

ROUNDS = 4


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two models on the data file `shared.data`."""
    (tmp_path / "source").mkdir()
    model = onnxmap.load(SAVE_MODELS["chain"](tmp_path / "source"))
    paths = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnxmap.save_all(dict.fromkeys(paths, model), "shared.data", sync=False)
    return paths


def refused(save: Callable[[], object], folder: Path) -> str:
    """Why a save was refused, with nothing changed."""
    before = contents(folder)
    with pytest.raises(onnxmap.SaveError) as caught:
        save()
    assert caught.value.code == "save.own_data"
    assert contents(folder) == before
    return str(caught.value)


class TestDataFile:
    @pytest.mark.parametrize("name", ["a.onnx", "new.onnx"])
    def test_of_another_model(self, name: str, pair: tuple[Path, Path], tmp_path: Path) -> None:
        model = onnxmap.load(pair[0])
        model.initializers["more"] = np.zeros(3000, np.float32)
        save = lambda: model.save(tmp_path / name, external_data="shared.data")
        said = refused(save, tmp_path)
        user = pair[1] if name == "a.onnx" else pair[0]
        assert f"{str(user)!r} has values there" in said
        assert "save all models of that file together" in said

    def test_of_models_that_are_all_replaced(self, pair: tuple[Path, Path]) -> None:
        models = {path: onnxmap.load(path) for path in pair}
        expected = values_of(pair[0])
        onnxmap.save_all(models, "shared.data", alignment=1, sync=False)
        assert [values_of(path) for path in pair] == [expected, expected]

    def test_that_is_a_shard(self, pair: tuple[Path, Path], tmp_path: Path) -> None:
        options = {"external_data": "s.data", "max_shard_size_bytes": 5000}
        onnxmap.load(pair[0]).save(tmp_path / "one.onnx", **options)
        model = onnxmap.load(pair[0])
        said = refused(lambda: model.save(tmp_path / "two.onnx", **options), tmp_path)
        assert "s-00001-of-0000" in said

    def test_that_is_a_model(self, pair: tuple[Path, Path], tmp_path: Path) -> None:
        model = onnxmap.load(pair[0])
        save = lambda: model.save(tmp_path / "new.onnx", external_data="b.onnx")
        assert "that is a model" in refused(save, tmp_path)

    def test_of_a_model_in_another_folder(self, pair: tuple[Path, Path], tmp_path: Path) -> None:
        """A model beside the data file, not beside the new model."""
        onnxmap.load(pair[0]).save(tmp_path / "source/x.onnx", external_data="x.data")
        model = onnxmap.load(pair[0])
        save = lambda: model.save(tmp_path / "y.onnx", external_data="source/x.data")
        assert "x.onnx' has values there" in refused(save, tmp_path)

    @pytest.mark.parametrize("levels", [1, 2, 3])
    def test_of_a_model_in_a_folder_above(
        self, levels: int, pair: tuple[Path, Path], tmp_path: Path
    ) -> None:
        sub = tmp_path.joinpath(*"abc"[:levels])
        sub.mkdir(parents=True)
        above = tmp_path / "above.onnx"
        location = f"{sub.relative_to(tmp_path)}/w.data"
        model = onnxmap.load(pair[0])
        model.save(above, external_data=location, sync=False)
        said = refused(lambda: model.save(sub / "m.onnx", external_data="w.data"), sub)
        assert f"{str(above)!r} has values there" in said
        said = refused(lambda: model.save(sub / "w.data"), sub)
        assert f"{str(above)!r} has values there" in said

    def test_a_model_above_that_cannot_be_read(self, pair: tuple[Path, Path]) -> None:
        """It is too far away to count."""
        sub = pair[0].parent / "sub"
        sub.mkdir()
        (pair[0].parent / "broken.onnx").write_bytes(b"\xff")
        model = onnxmap.load(pair[0])
        for _ in range(2):
            model.save(sub / "m.onnx", external_data="w.data", sync=False)

    def test_behind_a_link(self, pair: tuple[Path, Path], tmp_path: Path) -> None:
        model = onnxmap.load(pair[0])
        model.save(tmp_path / "c.onnx", external_data="c.data")
        (tmp_path / "c.data").rename(tmp_path / "target")
        (tmp_path / "c.data").symlink_to("target")
        save = lambda: model.save(tmp_path / "d.onnx", external_data="target")
        assert "c.onnx' has values there" in refused(save, tmp_path)

    def test_of_models_that_cannot_be_read_or_are_gone(
        self, pair: tuple[Path, Path], tmp_path: Path
    ) -> None:
        """A pointer file of git-lfs, say, must not stop all saves in its folder."""
        expected = values_of(pair[0])
        pair[1].write_text("version https://git-lfs.github.com/spec/v1\n")
        onnxmap.load(pair[0]).save(pair[0], external_data="shared.data", alignment=1, sync=False)
        assert values_of(pair[0]) == expected

    def test_after_a_change_of_the_working_directory(
        self, pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pair[1].unlink()
        plain = pair[0].rename(tmp_path / "plain")
        monkeypatch.chdir(tmp_path)
        model = onnxmap.load(plain.name)
        monkeypatch.chdir(tmp_path / "source")
        save = lambda: model.save(tmp_path / "n.onnx", external_data="shared.data")
        assert "plain' has values there" in refused(save, tmp_path)


class TestModelPath:
    def test_data_of_another_model(self, pair: tuple[Path, Path], tmp_path: Path) -> None:
        model = onnxmap.load(tmp_path / "source/model.onnx")
        taken = tmp_path / "shared.data"
        assert "has values there" in refused(lambda: model.save(taken), tmp_path)
        with pytest.raises(FileExistsError):
            model.save(taken, overwrite=False)

    def test_tensors(self, pair: tuple[Path, Path], tmp_path: Path) -> None:
        save = lambda: onnxmap.save_tensor(np.zeros(3), tmp_path / "shared.data")
        assert "has values there" in refused(save, tmp_path)

    def test_a_model_with_a_view(self, pair: tuple[Path, Path], tmp_path: Path) -> None:
        path, view = tmp_path / "source/model.onnx", tmp_path / "source/view.onnx"
        model = onnxmap.load(path)
        model.save(view, external_data="view", sync=False)
        model.doc_string = "edited"
        model.save(path, sync=False)
        with pytest.raises(onnxmap.FileChangedError):
            onnxmap.load(view).views()

    def test_links_and_hard_links_to_the_model(self, pair: tuple[Path, Path]) -> None:
        """They have the model's data files, and do not stop its saves."""
        a, b = pair
        b.unlink()
        b.symlink_to(a.name)
        os.link(a, a.parent / "hard.onnx")
        model = onnxmap.load(a)
        model.doc_string = "edited"
        model.save(a, sync=False)
        assert onnxmap.load(b).doc_string == "edited"


class TestSideFile:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return SAVE_MODELS["chain_outside"](tmp_path)

    def edit(self, path: Path, number: float, source: Path | None = None) -> onnxmap.SaveReport:
        model = onnxmap.load(source or path)
        model.initializers["w0"] = np.full((20, 20), number, np.float32)
        return model.save(path, sync=False)

    def sides(self, folder: Path) -> list[str]:
        return sorted(file.name for file in folder.glob("*.edited.data"))

    def test_a_copy_in_a_shell_keeps_its_values(self, path: Path, tmp_path: Path) -> None:
        self.edit(path, 1)
        backup = Path(shutil.copy(path, tmp_path / "backup.onnx"))
        expected = values_of(backup)
        for number in range(ROUNDS):
            self.edit(path, number)
            assert values_of(backup) == expected
            assert onnxmap.load(path).initializers["w0"].numpy().mean() == number
            assert self.sides(tmp_path) == ["model.onnx.2.edited.data", "model.onnx.edited.data"]
            assert not set(onnxmap.load(path).unused_bytes()) & {
                str(tmp_path / "model.onnx.edited.data")
            }

    def test_unedited_values_follow(self, path: Path, tmp_path: Path) -> None:
        """Values of the old side file are in the new one, and the loaded model reads the old."""
        self.edit(path, 1)
        shutil.copy(path, tmp_path / "backup.onnx")
        model = onnxmap.load(path)
        model.initializers["w1"] = np.full((20, 20), 2, np.float32)
        model.save(path, sync=False)
        assert model.initializers["w0"].numpy().mean() == 1
        (tmp_path / "model.onnx.edited.data").unlink()
        found = onnxmap.load_arrays(path)
        assert (found["w0"].mean(), found["w1"].mean()) == (1, 2)

    def test_a_file_that_no_model_uses(self, path: Path, tmp_path: Path) -> None:
        side = tmp_path / "model.onnx.edited.data"
        side.write_bytes(b"precious")
        for number in range(ROUNDS):
            report = self.edit(path, number)
            assert report.files[0] == str(tmp_path / "model.onnx.2.edited.data")
        assert side.read_bytes() == b"precious"

    def test_of_the_loaded_model_which_stays(self, path: Path, tmp_path: Path) -> None:
        self.edit(path, 1)
        old = path.rename(tmp_path / "old")
        expected = values_of(old)
        self.edit(path, 2, source=old)
        assert values_of(old) == expected
        assert onnxmap.load(path).initializers["w0"].numpy().mean() == 2

    def test_of_the_replaced_model_alone(self, path: Path, tmp_path: Path) -> None:
        """Also if another model is saved over it."""
        other = SAVE_MODELS["chain_outside"](tmp_path).rename(tmp_path / "other.onnx")
        path = SAVE_MODELS["chain_outside"](tmp_path)
        for number in range(ROUNDS):
            self.edit(path, number, source=other)
            assert self.sides(tmp_path) == ["model.onnx.edited.data"]

    def test_a_model_object_that_is_saved_again_and_again(self, path: Path, tmp_path: Path) -> None:
        model = onnxmap.load(path)
        for number in range(ROUNDS):
            model.initializers["w0"] = np.full((20, 20), number, np.float32)
            model.save(path, sync=False)
            assert self.sides(tmp_path) == ["model.onnx.edited.data"]

    @pytest.mark.parametrize("way", [{"external_data": False}, {"external_data": "new.data"}])
    def test_that_its_model_no_longer_uses(
        self, way: dict[str, Any], path: Path, tmp_path: Path
    ) -> None:
        """It goes with the old model, so that side files do not pile up."""
        (tmp_path / "other").mkdir()
        other = SAVE_MODELS["chain_outside"](tmp_path / "other")
        for name in ("one.data", "two.data"):
            shutil.copy(tmp_path / "other" / name, tmp_path / name)
        for number in range(ROUNDS):
            shutil.copy(other, path)
            self.edit(path, number)
            assert self.sides(tmp_path) == ["model.onnx.edited.data"]
            model = onnxmap.load(path)
            report = model.save(path, sync=False, **way)
            assert report.left_over == []
            assert self.sides(tmp_path) == []
            assert model.initializers["w0"].numpy().mean() == number
            assert onnxmap.load(path).initializers["w0"].numpy().mean() == number

    @pytest.mark.parametrize("user", ["copy.onnx", "broken.onnx", "link", "overwrite=False"])
    def test_that_others_may_use(self, user: str, path: Path, tmp_path: Path) -> None:
        """Another model, one that cannot be read, or nobody knows: then the side file stays."""
        self.edit(path, 1)
        side = tmp_path / "model.onnx.edited.data"
        before = side.read_bytes()
        target = path
        if user == "copy.onnx":
            shutil.copy(path, tmp_path / user)
        elif user == "broken.onnx":
            (tmp_path / user).write_bytes(b"\xff")
        elif user == "link":
            path.rename(tmp_path / "kept")
            path.symlink_to("kept")
        else:
            target = tmp_path / "free.onnx"
        onnxmap.load(path).save(
            target, external_data=False, overwrite=user != "overwrite=False", sync=False
        )
        assert side.read_bytes() == before

    def test_that_an_edited_model_still_uses(self, path: Path, tmp_path: Path) -> None:
        self.edit(path, 1)
        model = onnxmap.load(path)
        model.doc_string = "edited"
        for _ in range(ROUNDS):
            model.save(path, sync=False)
            assert self.sides(tmp_path) == ["model.onnx.edited.data"]
            assert onnxmap.load(path).initializers["w0"].numpy().mean() == 1

    def test_a_move_takes_a_numbered_side_file_along(self, path: Path, tmp_path: Path) -> None:
        from onnxmap.cli import main

        (tmp_path / "model.onnx.edited.data").write_bytes(b"precious")
        self.edit(path, 3)
        assert main(["mv", str(path), str(tmp_path / "n.onnx")]) == 0
        assert self.sides(tmp_path) == ["model.onnx.edited.data", "n.onnx.2.edited.data"]
        assert onnxmap.load(tmp_path / "n.onnx").initializers["w0"].numpy().mean() == 3
