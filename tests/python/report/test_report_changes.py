"""The page about two models: what differs, and the sizes and values of both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper
from support.models.sample import floats, model_of, write
from support.readers.report_page import Page, page_of

import onnxmap

pytest.importorskip("jinja2")
pytest.importorskip("squarify")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tensors = [floats(f"w{i}", 1000 + i) for i in range(20)]
    message = model_of([*tensors, numpy_helper.from_array(np.arange(50, dtype=np.int8), "b")])
    message.graph.node.append(
        helper.make_node("Conv", ["x", "w1"], ["y"], name="conv", strides=[2, 2])
    )
    helper.set_model_props(message, {"author": "somebody"})
    return write(message, tmp_path / "model.onnx")


def said_of(page: Page) -> str:
    return " ".join(page.texts["changes"].split())


def test_none(path: Path, tmp_path: Path) -> None:
    page = page_of(onnxmap.load(path), tmp_path, onnxmap.load(path))
    assert "no differences Histograms" in said_of(page)
    assert "changes" not in page_of(onnxmap.load(path), tmp_path).texts


def test_old_and_new_values_as_the_text_has_them(path: Path, tmp_path: Path) -> None:
    model, other = onnxmap.load(path), onnxmap.load(path)
    other.initializers["b"] = np.arange(1, 51, dtype=np.int8)
    other.graph.nodes[0].attributes["strides"] = [1, 1]
    other.graph.nodes[0].op_type = "Mul"
    other.metadata_props["author"] = "another"
    other.producer_version = "7" * 500
    page = page_of(model, tmp_path, other)
    said = said_of(page)
    for change in (
        'metadata_props["author"]: "somebody" -> "another"', 'op_type: "Conv" -> "Mul"',
        'attribute["strides"].ints: [2, 2] -> [1, 1]', "50 of its elements changed (100.000%)",
    ):  # fmt: skip
        assert change in said
    text = str(onnxmap.diff(model, other))
    lines = [line.strip() for line in text.splitlines()]
    shown = [line.strip() for line in page.texts["changes"].splitlines() if line.strip()]
    assert shown[-1 - len(lines) : -1] == lines
    assert shown[-1] == "Histograms show both models. All else below is about model.onnx."
    assert "7" * 130 not in page.text


def test_more_of_each_kind_than_the_text_has(path: Path, tmp_path: Path) -> None:
    model, other = onnxmap.load(path), onnxmap.load(path)
    for i in range(120):
        other.metadata_props[f"key{i}"] = "new"
    said = said_of(page_of(model, tmp_path, other))
    assert 'metadata_props["key99"]: absent -> "new"' in said
    assert "key100" not in said
    assert "and 20 more added" in said


def test_the_ends_of_a_long_difference_are_shown(path: Path, tmp_path: Path) -> None:
    model, other = onnxmap.load(path), onnxmap.load(path)
    for each, value in ((model, "old"), (other, "new")):
        each.metadata_props["key" * 200] = value
    assert '"old" -> "new"' in said_of(page_of(model, tmp_path, other))


def test_sizes_of_both_models(path: Path, tmp_path: Path) -> None:
    model, other = onnxmap.load(path), onnxmap.load(path)
    del other.initializers["w0"]
    other.save(tmp_path / "other.onnx")
    said = said_of(page_of(model, tmp_path, onnxmap.load(tmp_path / "other.onnx")))
    assert "model.onnxother.onnx size as protobuf" in said
    assert "weights80.8 kB76.8 kB" in said
    assert "tensors2120" in said
    assert "nodes11" in said


def test_histograms_of_both_models(path: Path, tmp_path: Path) -> None:
    model, other = onnxmap.load(path), onnxmap.load(path)
    other.initializers["b"] = np.arange(60, 110, dtype=np.int8)
    del other.initializers["w19"]
    page = page_of(model, tmp_path, other)
    said = " ".join(page.texts["histograms"].split())
    both = "b 049 model.onnx: INT8, 50 values, 50 B 60109 model.onnx: INT8, 50 values, 50 B"
    # The changed one comes first.
    assert f"of the largest others {both} w19 only in model.onnx" in said
    assert page.count()["svg"] == 2 * 12 - 1


def test_a_tensor_that_has_no_histogram_in_the_other_model(path: Path, tmp_path: Path) -> None:
    model, other = onnxmap.load(path), onnxmap.load(path)
    other.initializers["b"] = onnxmap.make_tensor("b", "STRING", [1], ["text"])
    page = page_of(model, tmp_path, other)
    assert "STRING" in page.texts["histograms"]
