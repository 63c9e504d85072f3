"""The page of `Model.report` in a browser: the table, hostile names, and the width of a phone."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper
from support.models.sample import floats, model_of
from support.readers.report_page import CHROMIUM, dom_of, page_of, used

import onnxmap

pytest.importorskip("jinja2")
pytest.importorskip("squarify")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")


def test_the_table(tmp_path: Path) -> None:
    tensors = [floats(f"w{i}", i + 1) for i in range(250)]
    page_of(onnxmap.loads(model_of(tensors).SerializeToString()), tmp_path)
    dom = dom_of(tmp_path / "report.html")  # with its policy
    assert len(re.findall(r"<td[^>]*>w\d+</td><td[^>]*>FLOAT</td>", dom.text)) == 200
    assert "250 of 250" in dom.texts["tensors"]
    assert dom.count()["svg"] == 12


def test_filter_and_order(tmp_path: Path) -> None:
    tensors = [floats(f"w.{i}", 300 - i) for i in (2, 10, 1, 100, 3)] + [floats("bias", 1)]
    page = page_of(onnxmap.loads(model_of(tensors).SerializeToString()), tmp_path)
    steps = {
        "": ["w.2", "w.10", "w.1", "w.100", "w.3", "bias"],
        "type('W.1');": ["w.10", "w.1", "w.100"],
        "type(''); click(0);": ["bias", "w.1", "w.2", "w.3", "w.10", "w.100"],
        "click(0);": ["w.100", "w.10", "w.3", "w.2", "w.1", "bias"],
        "click(3);": ["w.1", "w.2", "w.3", "w.10", "w.100", "bias"],
        "type('float w. 1');": ["w.1", "w.10", "w.100"],
        "type('nothing');": [],
    }
    script = "const seen = [], click = i => tensors.heads[i].firstChild.click();"
    script += "const type = text => { tensors.filter.value = text;"
    script += " tensors.filter.dispatchEvent(new Event('input')); };"
    script += (
        "const look = () => seen.push([...tensors.body.rows].map(r => r.cells[0].textContent));"
    )
    script += "".join(f"{step} look();" for step in steps) + "return seen;"
    assert dict(zip(steps, used(page, tmp_path, script), strict=True)) == steps


def test_hostile_names_run_nothing(tmp_path: Path) -> None:
    evil = "</script><img src=x onerror='document.title=1'>.<img src=x>/\u202e\""
    value = numpy_helper.from_array(np.float32([1]), evil)
    message = model_of([floats(evil, 4)])
    message.graph.node.append(
        helper.make_node(evil, [evil], [f"{evil}2"], evil, domain=evil, **{evil: value})
    )
    page_of(onnxmap.loads(message.SerializeToString()), tmp_path)
    dom = dom_of(tmp_path / "report.html")
    assert dom.count()["img"] == 0
    assert dom.count()["tr"] == 2 + 2 + 1
    assert "<title>a model in memory</title>" in dom.text


def test_no_column_is_cut_on_a_phone(tmp_path: Path) -> None:
    names = [f"model.encoder.layers.{i}.self_attention.query.weight" for i in range(3)]
    message = model_of([floats(name, 9000) for name in names], producer_name="maker")
    message.graph.node.extend(
        helper.make_node("ConvTranspose", [name], [f"{name}.output"], name, strides=[2, 2])
        for name in names
    )
    message.graph.input.append(helper.make_tensor_value_info("images", 1, ["batch", 3, 320, 320]))
    helper.set_model_props(message, {"description": "of the model", "a" * 200: "b" * 200})
    model, other = (onnxmap.loads(message.SerializeToString()) for _ in range(2))
    other.initializers[names[0]] = np.zeros(9000, np.float32)
    script = """
    const outside = [...document.querySelectorAll("body *")].filter(each =>
      !each.closest(".map") && each.getBoundingClientRect().right > innerWidth);
    const hidden = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    return [innerWidth, hidden, outside.map(each => each.outerHTML)];
    """
    assert used(page_of(model, tmp_path, other), tmp_path, script, 375) == [375, 0, []]


@pytest.mark.parametrize("width", [375, 1280])
def test_keys_do_not_break_inside_words(width: int, tmp_path: Path) -> None:
    keys = ["description", "com.example.a_long_key_of_metadata", "date"]
    message = model_of([], doc_string="word " * 90)
    helper.set_model_props(message, dict.fromkeys(keys, "a value of several words " * 9))
    page = page_of(onnxmap.loads(message.SerializeToString()), tmp_path)
    script = """return [...document.querySelectorAll("dt")].map(each => {
      const range = document.createRange();
      range.selectNodeContents(each);
      return [each.textContent, range.getClientRects().length];
    });"""
    lines = dict(used(page, tmp_path, script, width))
    assert {*keys, "about"} <= lines.keys()
    assert set(lines.values()) == {1}
