"""Saves that would take files away from a model are refused before anything is written."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.models.sample import external, model_of, write
from support.saves.judges import contents
from support.saves.models import SAVE_MODELS

import onnxmap

VALUES = np.arange(3000, dtype=np.float32)


def entries(location: str, offset: int = 0, length: int = 12_000) -> dict[str, str]:
    return {"location": location, "offset": str(offset), "length": str(length)}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "w.data").write_bytes(VALUES.tobytes())
    return write(model_of([external("w", [3000], entries("w.data"))]), tmp_path / "a.onnx")


def edited(source: Path) -> onnxmap.Model:
    model = onnxmap.load(source)
    del model.initializers["w"]
    model.initializers["v"] = -VALUES
    return model


def test_data_of_a_model_that_stays(source: Path, tmp_path: Path) -> None:
    """Otherwise the loaded file would lead to the values of another model."""
    before = contents(tmp_path)
    with pytest.raises(onnxmap.SaveError) as caught:
        edited(source).save(tmp_path / "b.onnx", external_data="w.data")
    assert caught.value.code == "save.own_data"
    assert "a.onnx" in str(caught.value)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("wait", [0, 0.02], ids=["at once", "later"])  # a look counts for 10 ms
@pytest.mark.parametrize("change", ["replaced", "deleted", "written"])
def test_a_reference_to_data_that_are_there_no_longer(
    change: str, wait: float, source: Path, tmp_path: Path
) -> None:
    """The loaded model still reads its values, but a new one would read others, or none."""
    model, data = onnxmap.load(source), tmp_path / "w.data"
    assert (model.initializers["w"].numpy() == VALUES).all()
    if change == "written":
        data.write_bytes(data.read_bytes() + b"more")
    else:
        data.unlink()
    if change == "replaced":
        data.write_bytes((-VALUES).tobytes())
    before = contents(tmp_path)
    time.sleep(wait)
    with pytest.raises(onnxmap.FileChangedError) as caught:
        model.save(tmp_path / "b.onnx")
    assert caught.value.path == str(data)
    assert contents(tmp_path) == before
    if change != "written":
        model.save(tmp_path / "b.onnx", external_data=False, sync=False)
        assert (onnxmap.load(tmp_path / "b.onnx").initializers["w"].numpy() == VALUES).all()


def test_data_of_a_model_that_is_replaced(source: Path, tmp_path: Path) -> None:
    edited(source).save(source, external_data="w.data", sync=False)
    model = onnxmap.load(source)
    assert model.initializers.names() == ["v"]
    assert (model.initializers["v"].numpy() == -VALUES).all()
    assert set(contents(tmp_path)) == {"a.onnx", "w.data"}


@pytest.mark.parametrize("name", ["n.onnx", "m.onnx"])
def test_data_that_only_a_link_leads_to(name: str, tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    snapshot.mkdir()
    (blobs / "1").write_bytes(VALUES.tobytes())
    write(model_of([external("w", [3000], entries("w.data"))]), blobs / "2")
    (snapshot / "w.data").symlink_to("../blobs/1")
    (snapshot / "m.onnx").symlink_to("../blobs/2")
    model = onnxmap.load(snapshot / "m.onnx")
    before = contents(snapshot)
    with pytest.raises(onnxmap.SaveError) as caught:
        model.save(snapshot / name)
    assert caught.value.code == "save.link"
    assert contents(snapshot) == before
    model.save(snapshot / name, external_data="own.data", sync=False)
    assert (onnxmap.load(snapshot / name).initializers["w"].numpy() == VALUES).all()


@pytest.mark.parametrize("external_data", [None, False, "all.data"])
def test_external_segments_are_not_left_behind(
    external_data: str | bool | None, tmp_path: Path
) -> None:
    (tmp_path / "w.data").write_bytes(VALUES.tobytes())
    segments = []
    for i in range(2):
        one = external("w", [3000], entries("w.data", 6000 * i, 6000))
        one.segment.CopyFrom(TensorProto.Segment(begin=1500 * i, end=1500 * (i + 1)))
        segments.append(one)
    model = onnxmap.load(write(model_of(segments), tmp_path / "a.onnx"))
    (tmp_path / "new").mkdir()
    with pytest.raises(onnxmap.SaveError) as caught:
        model.save(tmp_path / "new" / "a.onnx", external_data=external_data)
    assert caught.value.code == "save.segments"
    assert contents(tmp_path / "new") == {}
    model.save(tmp_path / "b.onnx", sync=False)
    assert (tmp_path / "b.onnx").read_bytes() == (tmp_path / "a.onnx").read_bytes()


def test_a_data_file_that_was_replaced_has_no_unused_bytes(tmp_path: Path) -> None:
    """The file of that name is another one by now, and the loaded model does not know it."""
    source = SAVE_MODELS["chain_outside"](tmp_path)
    model = onnxmap.load(source)
    one, two = str(tmp_path / "one.data"), str(tmp_path / "two.data")
    assert model.unused_bytes() == {one: 162, two: 0}
    model.save(source, external_data="one.data", sync=False)
    assert model.unused_bytes() == {two: 0}
    report = model.save(tmp_path / "inline.onnx", external_data=False, sync=False)
    assert report.unused == {two: 1600}


OUT_OF_OLD_FILES: list[dict[str, Any]] = [
    {"external_data": False}, {"external_data": "new.data"}, {"dtype": "float16"},
]  # fmt: skip


@pytest.mark.parametrize("options", [{}, *OUT_OF_OLD_FILES])
def test_what_another_model_needs_is_not_unused(options: dict[str, Any], tmp_path: Path) -> None:
    """Whoever deletes what a report calls unused must not lose a model."""
    source = SAVE_MODELS["chain_outside"](tmp_path)
    old = {str(tmp_path / "one.data"), str(tmp_path / "two.data")}
    onnxmap.load(source).save(tmp_path / "copy.onnx", sync=False)
    for path in (tmp_path / "new.onnx", source):
        report = onnxmap.load(source).save(path, sync=False, **options)
        assert not old & report.unused.keys()
        path.unlink()


@pytest.mark.parametrize("options", OUT_OF_OLD_FILES)
def test_what_no_model_needs_any_longer_is_unused(options: dict[str, Any], tmp_path: Path) -> None:
    source = SAVE_MODELS["chain_outside"](tmp_path)
    report = onnxmap.load(source).save(source, sync=False, **options)
    for name in ("one.data", "two.data"):
        assert report.unused[str(tmp_path / name)] == (tmp_path / name).stat().st_size


def test_what_a_model_in_memory_needs_is_not_unused(tmp_path: Path) -> None:
    source = SAVE_MODELS["chain_outside"](tmp_path)
    proto = onnx.load(source, load_external_data=False)
    source.unlink()
    report = onnxmap.save(proto, source, False, external_root=tmp_path, sync=False)
    assert report.unused == {}


def test_what_an_ep_context_names_is_not_unused(tmp_path: Path) -> None:
    source = SAVE_MODELS["chain_outside"](tmp_path)
    model = onnx.load(source, load_external_data=False)
    attributes = {"embed_mode": 0, "ep_cache_context": "one.data"}
    model.graph.node.append(
        helper.make_node("EPContext", [], ["c"], domain="com.microsoft", **attributes)
    )
    write(model, source)
    report = onnxmap.load(source).save(source, False, sync=False)
    assert report.unused == {str(tmp_path / "two.data"): 1600}


def test_a_side_file_that_a_save_removes_is_not_unused(tmp_path: Path) -> None:
    source = SAVE_MODELS["chain_outside"](tmp_path)
    model = onnxmap.load(source)
    model.initializers["w1"] = np.full((20, 20), 0.5, np.float32)
    side = model.save(source, sync=False).files[0]
    report = onnxmap.load(source).save(source, external_data="new.data", sync=False)
    assert not Path(side).exists()
    assert side not in report.unused
