"""A model that was not edited is saved byte for byte, whatever its encoding."""

from __future__ import annotations

import io
from pathlib import Path

import onnx
import pytest
from support.edits.models import EDIT_MODELS
from support.hostile.corpus_recipes import CORPUS, RECIPES
from support.saves.judges import assert_nothing_left, contents
from support.saves.models import SAVE_MODELS

import onnxmap

ROOT = Path(onnx.__file__).parent
OFFICIAL = sorted(ROOT.rglob("*.onnx"))
LOADABLE = [name for name, (_, on_load, _) in RECIPES.items() if on_load is None]


def assert_saved_unchanged(path: Path, folder: Path, data: bytes, **options: object) -> None:
    """To a path, to a file object and as bytes; from a mapping, by reads, and from a buffer."""
    for number, model in enumerate(
        (
            onnxmap.load(path, io="mmap", **options),
            onnxmap.load(path, io="read", **options),
            onnxmap.loads(data, external_root=path.parent, **options),
        )
    ):
        saved, stream = folder / f"{number}.onnx", io.BytesIO()
        report = onnxmap.save(model, saved, sync=False)
        assert saved.read_bytes() == data
        assert report.files == [str(saved)]
        assert (report.bytes_written, report.bytes_copied) == (
            (len(data), 0) if number == 2 else (0, len(data))
        )
        onnxmap.save(model, stream)
        assert stream.getvalue() == data
        assert onnxmap.dumps(model) == data
        assert onnxmap.dumps(model.proto) == data
        model.save(saved, sync=False)
        assert saved.read_bytes() == data
        assert not model.edited
    assert_nothing_left(folder)


@pytest.mark.parametrize("path", OFFICIAL, ids=lambda path: path.parent.name)
def test_official_models(path: Path, tmp_path: Path) -> None:
    assert_saved_unchanged(path, tmp_path, path.read_bytes())


@pytest.mark.parametrize("name", LOADABLE)
def test_malformed_models_that_load(name: str, tmp_path: Path) -> None:
    """A tensor that cannot be read does no harm as long as it stays where it is."""
    data = RECIPES[name][0]
    (tmp_path / "source.onnx").write_bytes(data)
    assert_saved_unchanged(tmp_path / "source.onnx", tmp_path, data)
    assert (CORPUS / f"{name}.onnx").read_bytes() == data


@pytest.mark.parametrize("name", EDIT_MODELS)
def test_odd_encodings(name: str, tmp_path: Path) -> None:
    (tmp_path / "source.onnx").write_bytes(EDIT_MODELS[name])
    assert_saved_unchanged(tmp_path / "source.onnx", tmp_path, EDIT_MODELS[name])


@pytest.mark.parametrize("name", SAVE_MODELS)
def test_models_with_data_files(name: str, tmp_path: Path) -> None:
    """The data files are used where they are, and nothing happens to them."""
    path = SAVE_MODELS[name](tmp_path)
    before = contents(tmp_path)
    assert_saved_unchanged(path, tmp_path, before.pop("model.onnx"))
    after = contents(tmp_path)
    assert set(after) == {*before, "model.onnx", "0.onnx", "1.onnx", "2.onnx"}
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("name", ["chain", "chain_outside", "overlapping"])
def test_what_stays_is_reported(name: str, tmp_path: Path) -> None:
    path = SAVE_MODELS[name](tmp_path)
    model = onnxmap.load(path)
    report = onnxmap.save(model, path, sync=False)
    used = {
        "chain": {},
        "chain_outside": {"one.data": (100 + 1600 + 60 + 1600 + 2, 3200), "two.data": (1600, 1600)},
        "overlapping": {"w.data": (10_000, 4500 - 100 + 2000)},
    }[name]
    unused = {str(tmp_path / name): size - count for name, (size, count) in used.items()}
    assert report.unused == unused == model.unused_bytes()
    sizes = {"chain": 0, "chain_outside": 4800, "overlapping": 3000 + 2500 + 100 + 2000}
    assert report.bytes_referenced == sizes[name]


def test_an_undone_edit_leaves_no_trace(tmp_path: Path) -> None:
    path = SAVE_MODELS["nested"](tmp_path)
    data = path.read_bytes()
    model = onnxmap.load(path)
    model.doc_string = "edited"
    model.graph.nodes[0].op_type = "Other"
    model.revert()
    onnxmap.save(model, path, sync=False)
    assert path.read_bytes() == data
