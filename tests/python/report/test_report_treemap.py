"""The treemap of `Model.report`: which tensors have an area of their own."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from onnx import TensorProto
from support.models.sample import external, floats, model_of
from support.processes.work import instructions_of
from support.readers.report_page import Page, page_of

import onnxmap

pytest.importorskip("jinja2")
pytest.importorskip("squarify")

MODELS = sorted(Path(os.environ.get("ONNXMAP_TEST_MODELS", "/nonexistent")).glob("**/*.onnx"))


def areas_of(page: Page) -> dict[str, float]:
    """The share of the map that each label has."""
    areas = Counter[str]()
    for each in page.of_class("cell"):
        _, _, width, height = (float(n) for n in re.findall(r":([\d.]+)%", each["style"]))
        areas[str(each["title"]).rpartition(": ")[0]] += width * height / 1e4
    return dict(areas)


def areas(sizes: dict[str, int], folder: Path) -> dict[str, float]:
    model = model_of([floats(name, count) for name, count in sizes.items()])
    return areas_of(page_of(onnxmap.loads(model.SerializeToString()), folder))


def test_areas_are_bytes(tmp_path: Path) -> None:
    sizes = {f"layers.{i}.{part}": 100 * (i + 1) for i in range(4) for part in "ab"}
    sizes |= {f"flat_{i}": 1 for i in range(300)} | {"large": 20_000}
    found = areas(sizes, tmp_path)
    assert {"large", "layers.3.a", "layers.0.a", "rest"} <= found.keys()
    assert sum(found.values()) == pytest.approx(1, rel=1e-3)
    total = sum(sizes.values())
    for label, count in {"large": 20_000, "layers.3.a": 400, "rest": 300}.items():
        assert found[label] == pytest.approx(count / total, rel=1e-2)


def test_a_part_beside_tiny_constants_is_split(tmp_path: Path) -> None:
    sizes = {f"model.{i}.conv.{part}": 9000 for i in range(5) for part in ("weight", "scale")}
    found = areas(sizes | {f"onnx::Split_{i}": 1 for i in range(20)}, tmp_path)
    assert found.keys() == sizes.keys() | {"rest"}


def test_a_part_that_dominates_at_each_level(tmp_path: Path) -> None:
    names = ["a.b.c.d.e.f.g.h.i.j.k." + name for name in ("l.w0", "l.w1", "m.w")]
    found = areas(dict.fromkeys(names, 1000) | {"a.b.tiny": 1, "a.b.c.d.tiny": 1}, tmp_path)
    assert {*names} <= found.keys()


def test_many_flat_names_are_the_largest_and_the_rest(tmp_path: Path) -> None:
    found = areas({f"w{i}": 2000 - i for i in range(200)}, tmp_path)
    assert found.keys() == {f"w{i}" for i in range(59)} | {"rest"}


@pytest.mark.parametrize("layers", [6, 12, 24, 29])
def test_layers_of_equal_size_look_equal(layers: int, tmp_path: Path) -> None:
    parts = {"q": 100, "k": 99, "v": 98, "up": 400, "down": 390, "norm": 1}
    names = {f"layers.{i}.{part}": n for i in range(layers) for part, n in parts.items()}
    found = areas(names | {"embedding": 1000}, tmp_path)
    shown = Counter[int]()
    for label in found:
        if number := re.search(r"layers\.(\d+)\.", label):
            shown[int(number[1])] += 1
    assert set(shown) == set(range(layers))
    assert len(set(shown.values())) == 1
    assert shown[0] > 1
    assert len(found) <= 60


def test_layers_that_are_nearly_equal_look_equal(tmp_path: Path) -> None:
    names = {f"l.{i}.{part}": 1000 + i for i in range(25) for part in "abc"}
    labels = Counter(label.count("*") for label in areas(names, tmp_path))
    assert labels == {0: 25, 1: 25}  # the largest part of each layer, and its rest


def test_many_groups_of_one_size(tmp_path: Path) -> None:
    found = areas({f"layer_{i}/w": 10 for i in range(100)}, tmp_path)
    assert len(found) == 60
    assert found["rest"] == pytest.approx(41 / 100)


def test_thousands_of_small_layers_are_shown_in_runs(tmp_path: Path) -> None:
    found = areas({f"layers.{i}.{part}": 2 for i in range(3000) for part in "wb"}, tmp_path)
    assert len(found) == 60
    assert found["layers.0.* to layers.49.*"] == pytest.approx(1 / 60, rel=1e-3)


def test_tensors_of_one_name(tmp_path: Path) -> None:
    model = model_of([floats(name, 100) for name in ["w"] * 9 + [""] * 3])
    page = page_of(onnxmap.loads(model.SerializeToString()), tmp_path)
    assert len(page.of_class("cell")) >= 8


def test_a_tensor_much_smaller_than_another(tmp_path: Path) -> None:
    model = model_of([
        external(f"l.{i}.{'w' * i}", [1 << 40, size], {"location": "gone"})
        for i, size in enumerate([1 << 17, 1])
    ])  # fmt: skip
    model.graph.initializer.append(TensorProto(name="one", data_type=2, dims=[1], raw_data=b"1"))
    found = areas_of(page_of(onnxmap.loads(model.SerializeToString()), tmp_path))
    assert all(math.isfinite(area) for area in found.values())
    assert sum(found.values()) == pytest.approx(1, rel=1e-2)


def test_work_for_hostile_names(tmp_path: Path) -> None:
    def with_names(count: int) -> onnxmap.Model:
        nested = ("a." * (i % 60) + f"b{i}" for i in range(count))
        names = ["." * 25 * count, "a/" * 25 * count, *nested]
        return onnxmap.loads(model_of([floats(name, 2) for name in names]).SerializeToString())

    large = with_names(1000)
    assert len(areas_of(page_of(large, tmp_path))) > 8  # also imports what a page needs
    few, many = (
        instructions_of(partial(each.report, tmp_path / "r.html"))
        for each in (with_names(250), large)
    )
    assert many < 6 * few


@pytest.mark.skipif(not MODELS, reason="ONNXMAP_TEST_MODELS names no directory of models")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_areas_of_published_models(path: Path, tmp_path: Path) -> None:
    model = onnxmap.load(path)
    sizes = [tensor.nbytes for _, tensor in model.tensors()]
    large = sum(size > sum(sizes) / 100 for size in sizes)
    assert len(areas_of(page_of(model, tmp_path))) >= min(large, 8)
