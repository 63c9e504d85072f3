"""Locations that are nearly right: errors and findings say what is there instead."""

from __future__ import annotations

import unicodedata
from contextlib import closing
from pathlib import Path

import pytest
from onnx import helper
from support.models.sample import external, model_of
from support.processes.file_watch import FileWatch

import onnxmap

COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "poids_été.bin") for form in ("NFC", "NFD"))
NEAR = {
    "renamed with the model": ("old.onnx.data", "new.onnx.data", "'new.onnx.data'?"),
    "another case": ("Weights.bin", "weights.bin", "'weights.bin'?"),
    "a backslash": ("sub\\x.data", "sub/x.data", "'sub/x.data'?"),
    "decomposed": (COMPOSED, DECOMPOSED, f"'{DECOMPOSED}', whose letters are encoded differently?"),
    "composed": (DECOMPOSED, COMPOSED, f"'{COMPOSED}', whose letters are encoded differently?"),
}


def loaded(folder: Path, location: str) -> onnxmap.Model:
    made = model_of([external("w", [2], {"location": location})])
    (folder / "new.onnx").write_bytes(made.SerializeToString())
    return onnxmap.load(folder / "new.onnx")


@pytest.mark.parametrize("name", NEAR)
def test_the_error_and_the_finding_name_the_nearest_file(tmp_path: Path, name: str) -> None:
    location, there, said = NEAR[name]
    (tmp_path / there).parent.mkdir(exist_ok=True)
    (tmp_path / there).write_bytes(bytes(8))
    model = loaded(tmp_path, location)
    with closing(FileWatch([tmp_path / there])) as watch:
        with pytest.raises(onnxmap.MissingDataError) as caught:
            model.initializers["w"].numpy()
        found = [each.message for each in model.check() if each.rule == "ext.missing"]
        assert watch.opened() == set()
    assert f"did you mean {said} Rename that file" in str(caught.value)
    assert found == [str(caught.value).replace(f"{tmp_path}/", "")]
    (tmp_path / there).rename(tmp_path / location)
    assert model.initializers["w"].numpy().tolist() == [0, 0]


def test_threads_search_no_more_often_than_one(tmp_path: Path) -> None:
    made = model_of([])
    made.opset_import.add(domain="com.microsoft", version=1)
    for i in range(3_000):  # so many nodes are checked by several threads
        context = {"embed_mode": 0, "ep_cache_context": f"context_{i:04}.bin"}
        made.graph.node.append(
            helper.make_node("EPContext", [], [f"y{i}"], domain="com.microsoft", **context)
        )
    (tmp_path / "context.bin").write_bytes(b"")
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    report = onnxmap.load(tmp_path / "m.onnx").check(select="node.ep_context_file")
    assert report.counts == {"node.ep_context_file": 3_000}
    assert 0 < sum("did you mean" in each.message for each in report) <= 8


def test_a_name_unlike_all_others_gets_no_suggestion(tmp_path: Path) -> None:
    (tmp_path / "something else").write_bytes(b"")
    with pytest.raises(onnxmap.MissingDataError) as caught:
        loaded(tmp_path, "w.bin").initializers["w"].numpy()
    assert str(caught.value).endswith("w.bin'")


def test_refusals_say_the_reason_and_what_to_do(tmp_path: Path) -> None:
    refused = {
        "con": "'con' is a reserved name: Windows opens a device",
        "x.data/": "a slash at the end means a directory",
        str(tmp_path / "sub/x.data"): "write 'sub/x.data' in the model",
        "/elsewhere/x.data": "a location is relative to the model directory",
        ".": "name a file in it",
    }
    (tmp_path / "folder").mkdir()
    for location in "folder", "folder/", str(tmp_path / "folder"), str(tmp_path / "folder/"):
        refused[location] = "; name a file in it"
    for location, said in refused.items():
        with pytest.raises(onnxmap.ExternalDataError) as caught:
            loaded(tmp_path, location).initializers["w"].numpy()
        assert said in str(caught.value)
