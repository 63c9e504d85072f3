"""Writers of the same files at the same time, and readers beside them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.models.sample import model_of, write
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

import onnxmap

TRIALS = 2000 if LONG else 200 if EXHAUSTIVE else 8
STEPS = 3000 if LONG else 600 if EXHAUSTIVE else 60


def rivals(*words: object) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-m", "support.faults.rival_writers", *map(str, words)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        check=True,
    )
    report: dict[str, Any] = json.loads(ran.stdout)
    return report


def test_writers_of_one_model_and_readers() -> None:
    """What is left is of one writer or missing, and so is all that is read meanwhile.

    A model whose data file is missing was replaced meanwhile, and the error says so.
    """
    report = rivals("savers", TRIALS, 0.5 if SANITIZED else 0.15, 2, 1)
    reads = report["reads"]
    assert reads["mixed"] == reads["no data"] == reads["other"] == 0, report
    assert reads["pure"] > TRIALS
    left = report["left"]
    assert left.pop("ended by -9") == left.pop("writers") + left.pop("readers") > 4 * TRIALS
    assert set(left) <= {"pure", "missing"}, report
    assert left["pure"] > 0  # how often a kill comes between two names depends on the machine


def test_no_append_is_lost() -> None:
    """Each append that returned is in the file, although all writers also save over it."""
    report = rivals("appends", 3, STEPS, 1)
    assert report["codes"] == [0, 0, 0]
    assert report["missing"] == report["unknown"] == []
    assert report["appended"] > STEPS // 4


def metadata_of(path: Path) -> dict[str, str]:
    with onnxmap.load(path) as model:
        return {entry.key: entry.value for entry in model.proto.metadata_props}


class TestOneProcess:
    """What somebody wrote since the model was loaded from the file, or saved there, is not lost."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        (tmp_path / "models").mkdir()
        return write(model_of([]), tmp_path / "models" / "model.onnx")

    def test_an_append_after_a_save(self, path: Path) -> None:
        model = onnxmap.load(path)
        model.save(path, sync=False)
        onnxmap.append(path, metadata_props={"reviewed": "yes"}, sync=False)
        with pytest.raises(onnxmap.FileChangedError, match="load it again"):
            model.save(path, sync=False)
        assert metadata_of(path) == {"reviewed": "yes"}

    def test_an_append_to_another_place_of_the_model(self, path: Path) -> None:
        model = onnxmap.load(path)
        other = path.with_name("other.onnx")
        model.save(other, sync=False)
        onnxmap.append(other, metadata_props={"reviewed": "yes"}, sync=False)
        with pytest.raises(onnxmap.FileChangedError, match="was appended to"):
            model.save(other, sync=False)
        model.save(path, sync=False)

    def test_an_append_while_the_save_writes(self, path: Path) -> None:
        model = onnxmap.load(path)

        def append(done: int, total: int) -> None:
            if done == total:
                onnxmap.append(path, metadata_props={"reviewed": "yes"}, sync=False)

        with pytest.raises(onnxmap.FileChangedError):
            model.save(path, sync=False, progress=append)
        assert metadata_of(path) == {"reviewed": "yes"}
        assert [each.name for each in path.parent.iterdir()] == ["model.onnx"]

    def test_side_files_of_an_edit_while_the_save_writes(self, path: Path) -> None:
        """The model that the save replaces is another one than when it began."""
        values = {name: np.zeros(9, np.float32) for name in "ab"}
        pair: dict[str, Any] = {"size_threshold_bytes": 0, "sync": False}
        onnxmap.from_arrays(values).save(path, external_data="w.data", **pair)

        def edit(done: int, total: int) -> None:
            if done == total:
                with onnxmap.load(path) as theirs:
                    theirs.initializers["a"] = np.ones(9, np.float32)
                    theirs.save(path, **pair)
                assert path.with_name("model.onnx.edited.data").exists()

        onnxmap.from_arrays(values).save(path, external_data="new.data", **pair, progress=edit)
        names = {each.name for each in path.parent.iterdir()}
        assert names == {"model.onnx", "new.data", "w.data"}

    def test_a_file_that_somebody_put_there(self, path: Path) -> None:
        model = onnxmap.load(path)
        theirs = onnxmap.load(path)
        theirs.graph.doc_string = "theirs"
        theirs.save(path, sync=False)
        with pytest.raises(onnxmap.FileChangedError, match="was replaced by another file"):
            model.save(path, sync=False)
        assert onnxmap.load(path).graph.doc_string == "theirs"
        path.unlink()
        model.save(path, sync=False)

    @pytest.mark.parametrize("way", ["spelled", "folder link", "link"])
    def test_another_way_to_the_file(self, way: str, path: Path) -> None:
        """The model knows its own saves by any way, and what others put there."""
        folder = path.parent
        (folder.parent / "folder").symlink_to(folder)
        (folder / "link.onnx").symlink_to(path.name)
        other = {
            "spelled": folder / ".." / folder.name / path.name,
            "folder link": folder.parent / "folder" / path.name,
            "link": folder / "link.onnx",
        }[way]
        for first, second in ((path, other), (other, path)):
            model = onnxmap.load(first)
            for place in (second, first, second):
                model.save(place, follow_symlinks=True, sync=False)
            onnxmap.loads(path.read_bytes()).save(path, sync=False)
            for place in (first, second):
                with pytest.raises(onnxmap.FileChangedError, match="was replaced by another file"):
                    model.save(place, follow_symlinks=True, sync=False)

    def test_a_file_that_somebody_put_where_the_model_was_saved(self, path: Path) -> None:
        """Of two that save to one place, the later one wins."""
        model, place = onnxmap.load(path), path.with_name("saved.onnx")
        model.save(place, sync=False)
        onnxmap.loads(path.read_bytes()).save(place, sync=False)
        model.save(place, sync=False)

    def test_a_model_that_knows_nothing_of_the_file(self, path: Path) -> None:
        other = onnxmap.loads(path.read_bytes())
        onnxmap.append(path, metadata_props={"reviewed": "yes"}, sync=False)
        other.save(path, sync=False)
        other.save(path, sync=False)
        assert not metadata_of(path)
