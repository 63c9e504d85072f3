"""`external_data="view"`: a small model that shows the weights of another file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from support.saves.judges import assert_same_model, contents, values_of
from support.saves.models import SAVE_MODELS

import onnxmap

VIEW_KEYS = "onnxmap.view."  # of the metadata that name the file of a view


def make_view(folder: Path, name: str = "chain", **options: int) -> tuple[Path, Path]:
    source, view = SAVE_MODELS[name](folder), folder / "view.onnx"
    onnxmap.save(onnxmap.load(source), view, external_data="view", sync=False, **options)
    return source, view


def view_entries(path: Path) -> list[str]:
    props = ModelProto.FromString(path.read_bytes()).metadata_props
    return [one.key.removeprefix(VIEW_KEYS) for one in props if one.key.startswith(VIEW_KEYS)]


@pytest.mark.parametrize("name", SAVE_MODELS)
def test_it_reads_like_the_model(name: str, tmp_path: Path) -> None:
    source, view = make_view(tmp_path, name)
    assert_same_model(view, source, structure=False)
    refers = any(
        tensor.file == str(source)
        for _, tensor in onnxmap.load(view).tensors()
        if tensor.is_external
    )
    assert view_entries(view) == (["file", "size", "modified_ns"] if refers else [])
    message, original = (onnx.load(one, load_external_data=False) for one in (view, source))
    del message.metadata_props[len(original.metadata_props) :]
    assert [one.name for one in message.graph.initializer] == [
        one.name for one in original.graph.initializer
    ]


def test_no_weights_are_copied(tmp_path: Path) -> None:
    source, view = make_view(tmp_path)
    report = onnxmap.save(onnxmap.load(source), view, external_data="view", sync=False)
    assert view.stat().st_size < 700
    assert report.bytes_referenced == 3 * 1024
    assert (report.files, report.unused) == ([str(view)], {})
    assert report.bytes_written + report.bytes_copied == view.stat().st_size
    with onnxmap.load(view) as model:
        assert {tensor.file for tensor in model.initializers.values()} == {str(source)}
    _, other = source, tmp_path / "small.onnx"
    report = onnxmap.save(
        onnxmap.load(source), other, external_data="view", size_threshold_bytes=1025, sync=False
    )
    assert (report.bytes_referenced, other.stat().st_size > 3 * 1024) == (0, True)


def test_edited_and_decoded_values_go_into_the_view(tmp_path: Path) -> None:
    source = SAVE_MODELS["small_and_odd"](tmp_path)
    model, view = onnxmap.load(source), tmp_path / "view.onnx"
    model.initializers["new"] = np.arange(1000.0)
    onnxmap.save(model, view, external_data="view", sync=False)
    expected = values_of(source)
    found = values_of(view)
    assert {where: found[where] for where in expected} == expected
    outside = {
        one.name
        for one in ModelProto.FromString(view.read_bytes()).graph.initializer
        if one.external_data
    }
    assert outside == {"twice", "", "int4", "typed"}


def test_a_view_that_shows_nothing_is_a_model_of_its_own(tmp_path: Path) -> None:
    """All values of its source are in another file, so the source may be replaced or removed."""
    source, view = make_view(tmp_path, "chain_outside")
    expected = values_of(source)
    onnxmap.load(view).save(source, sync=False)
    assert values_of(source) == expected
    source.unlink()
    assert values_of(view) == expected


def test_a_view_whose_last_reference_is_edited_is_no_view(tmp_path: Path) -> None:
    source, view = make_view(tmp_path)
    model = onnxmap.load(view)
    names = [name for name, one in model.initializers.items() if one.file == str(source)]
    for name in names[1:]:
        model.initializers[name] = np.zeros(300, np.float32)
    model.save(tmp_path / "partly.onnx", sync=False)
    assert view_entries(tmp_path / "partly.onnx") == ["file", "size", "modified_ns"]
    model.initializers[names[0]] = np.zeros(300, np.float32)
    model.save(source, sync=False)
    assert view_entries(source) == []
    assert list(onnxmap.load(source).initializers) == list(model.initializers)


@pytest.mark.parametrize("change", ["size", "time", "append", "missing"])
def test_a_stale_view_is_noticed(change: str, tmp_path: Path) -> None:
    source, view = make_view(tmp_path)
    onnxmap.load(view)
    if change == "missing":
        source.unlink()
        with pytest.raises(FileNotFoundError) as missing:
            onnxmap.load(view)
        assert missing.value.filename == str(source)
        return
    if change == "size":
        status = source.stat()
        source.write_bytes(source.read_bytes() + b"\x08\x01")
        os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif change == "append":
        onnxmap.append(source, doc_string="more")
    else:
        os.utime(source, ns=(1, source.stat().st_mtime_ns + 1))
    advice = 'load that file, and save the view again with external_data="view"'
    with pytest.raises(onnxmap.FileChangedError, match=advice) as caught:
        onnxmap.load(view)
    assert (caught.value.code, caught.value.path) == ("file.changed", str(source))
    onnxmap.save(onnxmap.load(source), view, external_data="view", sync=False)
    onnxmap.load(view)


def test_refused_up_front(tmp_path: Path) -> None:
    source, view = make_view(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "text.textproto").write_text(str(onnxmap.load(source).proto))
    (tmp_path / "link.onnx").symlink_to("model.onnx")
    os.link(source, tmp_path / "hard.onnx")
    before = contents(tmp_path)
    model = onnxmap.load(source)
    cases = {
        "another folder": (model, tmp_path / "sub" / "view.onnx"),
        "a missing folder": (model, tmp_path / "nope" / "view.onnx"),
        "the model itself": (model, source),
        "the model by a link": (model, tmp_path / "link.onnx"),
        "the model by a hard link": (model, tmp_path / "hard.onnx"),
        "a buffer": (onnxmap.loads(source.read_bytes()), tmp_path / "new.onnx"),
        "a message": (onnx.load(source), tmp_path / "new.onnx"),
        "a text file": (onnxmap.load(tmp_path / "text.textproto"), tmp_path / "new.onnx"),
        "a view of a view": (onnxmap.load(view), tmp_path / "new.onnx"),
    }
    for case, (given, path) in cases.items():
        error = FileNotFoundError if case == "a missing folder" else onnxmap.SaveError
        with pytest.raises(error) as caught:
            onnxmap.save(given, path, external_data="view")
        assert getattr(caught.value, "code", "save.view") == "save.view", case
        assert contents(tmp_path) == before, case


@pytest.mark.parametrize("change", ["replaced", "deleted", "written"])
def test_a_view_of_what_is_there_no_longer(change: str, tmp_path: Path) -> None:
    """It would refer to the values of another model, or to none."""
    source = SAVE_MODELS["chain"](tmp_path)
    model = onnxmap.load(source)
    if change == "written":
        source.write_bytes(source.read_bytes() + b"\x32\x01d")
    else:
        shutil.copy(source, tmp_path / "new")
        source.unlink()
    if change == "replaced":
        (tmp_path / "new").rename(source)
    before = contents(tmp_path)
    with pytest.raises(onnxmap.FileChangedError) as caught:
        model.save(tmp_path / "view.onnx", external_data="view")
    assert caught.value.path == str(source)
    assert contents(tmp_path) == before


def test_a_view_does_not_replace_what_it_shows(tmp_path: Path) -> None:
    source, view = make_view(tmp_path)
    before = contents(tmp_path)
    with pytest.raises(onnxmap.SaveError) as caught:
        onnxmap.load(view).save(source)
    assert caught.value.code == "save.own_data"
    assert contents(tmp_path) == before
    values = values_of(view)
    onnxmap.load(view).save(source, external_data=False)
    assert values_of(source) == values


def test_a_file_object_has_no_folder(tmp_path: Path) -> None:
    model = onnxmap.load(SAVE_MODELS["chain"](tmp_path))
    with (tmp_path / "out").open("wb") as file, pytest.raises(ValueError, match="no folder"):
        onnxmap.save(model, file, external_data="view")


@pytest.mark.parametrize("options", [{"external_data": False}, {"external_data": "w"}])
def test_what_is_saved_from_a_view_is_no_view(options: dict[str, object], tmp_path: Path) -> None:
    """Without the original, it can still be loaded."""
    source, view = make_view(tmp_path)
    expected = values_of(source)
    saved = tmp_path / "saved.onnx"
    onnxmap.save(onnxmap.load(view), saved, sync=False, **options)
    assert view_entries(saved) == []
    source.unlink()
    assert values_of(saved) == expected
    assert set(onnxmap.load(saved).views()) == {"small", "w", "again"}


def test_a_view_in_another_folder_has_its_own_weights(tmp_path: Path) -> None:
    source, view = make_view(tmp_path)
    (tmp_path / "other").mkdir()
    saved = tmp_path / "other" / "view.onnx"
    onnxmap.save(onnxmap.load(view), saved, sync=False)
    assert view_entries(saved) == []
    source.unlink()
    assert set(onnxmap.load(saved).views()) == {"small", "w", "again"}


def test_an_edited_view_is_still_a_view(tmp_path: Path) -> None:
    source, view = make_view(tmp_path)
    model = onnxmap.load(view)
    model.metadata_props["mine"] = "1"
    model.graph.nodes[0].name = "renamed"
    onnxmap.save(model, view, sync=False)
    again = onnxmap.load(view)
    assert again.metadata_props["mine"] == "1"
    assert view_entries(view) == ["file", "size", "modified_ns"]
    os.utime(source, ns=(1, 1))
    with pytest.raises(onnxmap.FileChangedError):
        onnxmap.load(view)


HOSTILE = ["", "\0", "a\0b", "/etc/passwd", "../model.onnx", "..", ".", "C:\\x", "é\ud800"[:1]]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_lead_elsewhere_are_no_views(name: str, tmp_path: Path) -> None:
    """No file outside the folder is looked at."""
    _, view = make_view(tmp_path)
    message = ModelProto.FromString(view.read_bytes())
    message.metadata_props[0].value = name
    view.write_bytes(message.SerializeToString())
    if name == "é":  # a fine name
        with pytest.raises(FileNotFoundError):
            onnxmap.load(view)
        return
    assert onnxmap.load(view).metadata_props[VIEW_KEYS + "file"] == name


def test_entries_that_make_no_sense(tmp_path: Path) -> None:
    source, view = make_view(tmp_path)
    for i, value in ((1, "x"), (2, ""), (1, "-1")):
        message = ModelProto.FromString(view.read_bytes())
        message.metadata_props[i].value = value
        (tmp_path / "odd.onnx").write_bytes(message.SerializeToString())
        with pytest.raises(onnxmap.FileChangedError):
            onnxmap.load(tmp_path / "odd.onnx")
    message = ModelProto.FromString(view.read_bytes())
    message.metadata_props[0].value = str(tmp_path.name)  # not in the folder
    (tmp_path / "odd.onnx").write_bytes(message.SerializeToString())
    with pytest.raises(FileNotFoundError):
        onnxmap.load(tmp_path / "odd.onnx")
    assert source.exists()


def test_a_view_that_is_saved_after_an_append(tmp_path: Path) -> None:
    """The model was loaded before. Its values are where they were."""
    source = SAVE_MODELS["chain"](tmp_path)
    model = onnxmap.load(source)
    onnxmap.append(source, metadata_props={"reviewed": "yes"})
    view = tmp_path / "view.onnx"
    model.save(view, external_data="view", sync=False)
    assert values_of(view) == values_of(source)
    assert onnxmap.load(view).initializers["w"].numpy().shape == (16, 16)
    onnxmap.append(source, doc_string="again")
    with pytest.raises(onnxmap.FileChangedError):
        onnxmap.load(view)


@pytest.mark.parametrize("options", [{}, {"external_data": False}])
def test_the_model_that_it_shows_has_no_unused_bytes(
    options: dict[str, Any], tmp_path: Path
) -> None:
    """What the view does not use of it is the structure of a model."""
    source = SAVE_MODELS["chain"](tmp_path)
    onnxmap.load(source).save(tmp_path / "view.onnx", external_data="view", sync=False)
    view = onnxmap.load(tmp_path / "view.onnx")
    assert view.unused_bytes() == {}
    assert view.save(tmp_path / "again.onnx", sync=False, **options).unused == {}
