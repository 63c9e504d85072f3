"""Saving over the files that were loaded, while their arrays and models are in use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.oracles.tensors import assert_same_array
from support.saves.judges import assert_nothing_left, contents, values_of
from support.saves.models import SAVE_MODELS

import onnxmap

SAVES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "inline": {"external_data": False},
    "the old data file": {"external_data": "one.data", "size_threshold_bytes": 0},
    "another data file": {"external_data": "new.data", "dedupe": True},
    "shards": {"external_data": "one.data", "max_shard_size_bytes": 1700},
    "aligned": {"alignment": 64},
}


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("name", ["chain", "chain_outside", "every_type", "nested"])
def test_arrays_and_the_model_stay_as_they_are(
    name: str, save: str, io: str, tmp_path: Path
) -> None:
    path = SAVE_MODELS[name](tmp_path)
    expected = values_of(path)
    data = path.read_bytes()
    model = onnxmap.load(path, io=io)
    views = model.views()
    copies = {name: view.copy() for name, view in views.items()}
    written = {name: tensor.numpy(writable=True) for name, tensor in model.initializers.items()}
    onnxmap.save(model, path, sync=False, **SAVES[save])
    assert values_of(path) == expected
    for arrays in (views, written, model.views(), model.arrays()):
        for one, copy in copies.items():
            assert_same_array(np.asarray(arrays[one]), copy)
    assert onnxmap.dumps(model) == data
    assert not model.edited
    onnxmap.save(model, path, sync=False, **SAVES[save])
    assert values_of(path) == expected
    assert_nothing_left(tmp_path)


@pytest.mark.parametrize("save", SAVES)
def test_an_edited_model_is_still_edited(save: str, tmp_path: Path) -> None:
    """The model object is what it was, and can be edited and saved again."""
    path = SAVE_MODELS["chain_outside"](tmp_path)
    model = onnxmap.load(path)
    model.initializers["w1"] = np.full((20, 20), 3, np.float32)
    edited = onnxmap.dumps(model)
    for _ in range(2):
        onnxmap.save(model, path, sync=False, **SAVES[save])
        assert model.edited
        assert onnxmap.dumps(model) == edited
        assert onnxmap.load(path).initializers["w1"].numpy().mean() == 3
    model.initializers["w1"] = np.full((20, 20), 4, np.float32)
    onnxmap.save(model, path, sync=False, **SAVES[save])
    found = onnxmap.load(path)
    assert found.initializers["w1"].numpy().mean() == 4
    assert (found.initializers["w2"].numpy() == model.initializers["w2"].numpy()).all()
    model.revert()
    assert model.initializers["w1"].numpy().mean() not in (3, 4)


@pytest.mark.parametrize("save", SAVES)
def test_edits_are_reverted_after_a_save(save: str, tmp_path: Path) -> None:
    """The values that were edited are in data files that only the loaded model reads."""
    path = SAVE_MODELS["chain_outside"](tmp_path)
    expected = onnxmap.load_arrays(path)
    model = onnxmap.load(path)
    for node in list(model.graph.nodes):
        model.graph.nodes.remove(node)
    for name in expected:
        del model.initializers[name]
    onnxmap.save(model, path, sync=False, **SAVES[save])
    assert not onnxmap.load(path).initializers
    model.revert()
    found = model.arrays()
    assert all((found[name] == array).all() for name, array in expected.items())


def test_a_data_file_that_other_tensors_still_read(tmp_path: Path) -> None:
    """Each round swaps the order of the values within the same file."""
    path = SAVE_MODELS["chain_outside"](tmp_path)
    expected = onnxmap.load_arrays(path)
    for number in range(4):
        model = onnxmap.load(path)
        tensors = model.proto.graph.initializer
        copy = [onnxmap.loads_proto(one.SerializeToString(), "TensorProto") for one in tensors]
        for i, one in enumerate(reversed(copy)):
            tensors[i].CopyFrom(one)
        model.save(path, external_data="one.data", alignment=1 << number, sync=False)
        found = onnxmap.load_arrays(path)
        assert list(found) == list(expected)[:: -1 if number % 2 == 0 else 1]
        assert all((found[name] == array).all() for name, array in expected.items())
        assert (tmp_path / "one.data").stat().st_size == 3 * 1600
    assert_nothing_left(tmp_path)


def test_pairs_are_replaced_together(tmp_path: Path) -> None:
    """Two models on one data file, of which both the models and the file are replaced."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    one, two = SAVE_MODELS["chain"](tmp_path / "a"), SAVE_MODELS["shared"](tmp_path / "b")
    expected = {"one": values_of(one), "two": values_of(two)}
    targets = {name: tmp_path / f"{name}.onnx" for name in expected}
    models = {"one": onnxmap.load(one), "two": onnxmap.load(two)}
    for alignment in (16, 4096, 1):
        report = onnxmap.save_all(
            {targets[name]: model for name, model in models.items()},
            "pair.data", alignment=alignment, sync=False,
        )  # fmt: skip
        assert report.left_over == []
        models = {name: onnxmap.load(path) for name, path in targets.items()}
        assert {name: values_of(path) for name, path in targets.items()} == expected
        assert_nothing_left(tmp_path)
    assert set(contents(tmp_path)) == {
        "a/model.onnx", "b/model.onnx", "b/w.data", "one.onnx", "two.onnx", "pair.data",
    }  # fmt: skip


def test_a_model_that_was_loaded_through_a_link(tmp_path: Path) -> None:
    """The link becomes a file, and the target of the link stays; or the other way round."""
    (tmp_path / "real").mkdir()
    real = SAVE_MODELS["chain"](tmp_path / "real")
    data, link = real.read_bytes(), tmp_path / "link.onnx"
    link.symlink_to(real)
    model = onnxmap.load(link)
    model.doc_string = "followed"
    report = model.save(link, follow_symlinks=True, sync=False)
    assert link.is_symlink()
    assert real.read_bytes() == onnxmap.dumps(model) != data
    assert report.files == [str(real)]
    model.doc_string = "replaced"
    before = real.read_bytes()
    model.save(link, sync=False)
    assert not link.is_symlink()
    assert (link.read_bytes(), real.read_bytes()) == (onnxmap.dumps(model), before)


def test_other_models_of_the_old_files_keep_their_values(tmp_path: Path) -> None:
    path = SAVE_MODELS["chain"](tmp_path)
    others = [onnxmap.load(path, io=io) for io in ("mmap", "read", "auto")]
    expected = onnxmap.load_arrays(path)
    model = onnxmap.load(path)
    for name in expected:
        model.initializers[name] = np.zeros((16, 16), np.float32)
    model.save(path, sync=False)
    for other in others:
        assert all((array == expected[name]).all() for name, array in other.arrays().items())


@pytest.mark.parametrize("external", [None, "view"])
@pytest.mark.parametrize("way", ["its name", "a link", "a hard link"])
def test_a_model_never_replaces_its_own_data(way: str, external: Any, tmp_path: Path) -> None:
    model = onnxmap.load(SAVE_MODELS["chain_outside"](tmp_path))
    taken = tmp_path / "one.data"
    if way == "a link":
        taken.rename(tmp_path / "elsewhere")
        taken.symlink_to("elsewhere")
    elif way == "a hard link":
        taken = tmp_path / "other"
        taken.hardlink_to(tmp_path / "one.data")
        model = onnxmap.load(tmp_path / "model.onnx", allow_hardlinks=True)
    before = contents(tmp_path)
    with pytest.raises(onnxmap.SaveError) as caught:
        model.save(taken, external_data=external)
    assert caught.value.code == "save.own_data"
    assert contents(tmp_path) == before
    if way == "its name":
        values = values_of(tmp_path / "model.onnx")
        with pytest.raises(onnxmap.SaveError, match=r"model\.onnx' has values there"):
            model.save(taken, external_data=False)
        assert contents(tmp_path) == before
        (tmp_path / "model.onnx").unlink()
        model.save(taken, external_data=False)
        assert values_of(taken) == values


def test_a_closed_model_cannot_be_saved(tmp_path: Path) -> None:
    path = SAVE_MODELS["chain"](tmp_path)
    model = onnxmap.load(path)
    model.close()
    with pytest.raises(ValueError, match="closed"):
        onnxmap.save(model, tmp_path / "saved.onnx")
    assert set(contents(tmp_path)) == {"model.onnx"}
