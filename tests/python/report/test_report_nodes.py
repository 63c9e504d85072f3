"""The list of nodes in `Model.report`, and the links between nodes and tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support.models.sample import floats, model_of
from support.readers.report_page import CHROMIUM, page_of, used

import onnxmap

pytest.importorskip("jinja2")
pytest.importorskip("squarify")


def model_with(nodes: list[onnx.NodeProto], **graph: Any) -> onnxmap.Model:
    message = model_of([floats("w", 4), floats("w.1", 4)], **graph)
    message.graph.node.extend(nodes)
    return onnxmap.loads(message.SerializeToString())


def body(*nodes: onnx.NodeProto) -> onnx.GraphProto:
    return helper.make_graph(list(nodes), "body", [], [])


CONSTANT = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.int64([4, 5])))
NODES = [
    helper.make_node("Conv", ["x", "w"], ["y"], name="conv", strides=[2, 2], auto_pad="VALID"),
    helper.make_node("Gelu", ["y", "", "c"], ["z"], domain="d"),
    CONSTANT,
    helper.make_node("If", ["z"], ["u"], then_branch=body(helper.make_node("Neg", ["w"], ["n"]))),
]


def test_operators_values_and_attributes(tmp_path: Path) -> None:
    _, nodes = page_of(model_with(NODES), tmp_path).tables
    assert nodes == [
        ["Conv", "conv", ["x", "w"], ["y"], "auto_pad=b'VALID', strides=[2, 2]", "graph.node[0]"],
        ["d.Gelu", "", ["y", "", "c"], ["z"], "", "graph.node[1]"],
        ["Constant", "", [], ["c"], "value=Tensor '' INT64 [2], 16 B, inline", "graph.node[2]"],
        ["If", "", ["z"], ["u"], "then_branch=Graph 'body': 1 node, 0 initializers, () -> ()",
         "graph.node[3]"],
        ["Neg", "", ["w"], ["n"], "", 'graph.node[3].attribute["then_branch"].g.node[0]'],
    ]  # fmt: skip


def test_a_named_tensor_of_a_node_has_its_path(tmp_path: Path) -> None:
    value = numpy_helper.from_array(np.int64([4]), "named")
    node = helper.make_node("Constant", [], ["c"], value=value)
    tensors, _ = page_of(model_with([node]), tmp_path).tables
    assert tensors[2] == ["named", "INT64", "[1]", 8, 'graph.node[0].attribute["value"].t']


def test_wrong_attributes(tmp_path: Path) -> None:
    node = helper.make_node("Conv", ["x"], ["y"])
    node.attribute.append(onnx.AttributeProto.FromString(b"\x0a\x01a\xa0\x01\x63"))  # of type 99
    node.attribute.add(name="a", ref_attr_name="b")
    node.attribute.extend([onnx.AttributeProto()] * 40)
    _, nodes = page_of(model_with([node]), tmp_path).tables
    assert nodes[0][4].startswith("a=")
    assert nodes[0][4].endswith("and 12 more")


def test_long_lists_are_cut(tmp_path: Path) -> None:
    message = model_of([])
    message.graph.node.append(helper.make_node("Concat", [f"v{i}" for i in range(2000)], ["y"]))
    message.graph.node.extend(onnx.NodeProto(op_type="Relu", input=["y"]) for _ in range(10_500))
    page = page_of(onnxmap.loads(message.SerializeToString()), tmp_path)
    _, nodes = page.tables
    assert len(nodes) == 10_000
    assert nodes[0][2] == [*(f"v{i}" for i in range(30)), 1970]
    assert "501 nodes more, the last ones of the model, are left out" in page.texts["nodes"]
    assert 'The column "used by" does not count nodes that are left out.' in page.text
    assert len(page.text) < 700_000


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
class TestInABrowser:
    LOOK = """
    const seen = [];
    const texts = (table, i) => [...table.body.rows].map(row => row.cells[i].textContent);
    const follow = (table, row, column, link = 0) =>
      table.body.rows[row].cells[column].querySelectorAll("a")[link].click();
    """

    def test_links_from_tensor_to_node_and_back(self, tmp_path: Path) -> None:
        script = f"""{self.LOOK}
        seen.push(texts(tensors, 5));
        follow(tensors, 0, 5);
        seen.push(texts(nodes, 0), nodes.filter.value);
        follow(nodes, 0, 2, 1);
        seen.push(texts(tensors, 0), tensors.count.textContent);
        nodes.only = null; nodes.filter.value = ""; nodes.choose();
        follow(nodes, 1, 2, 0);
        seen.push(texts(nodes, 0));
        nodes.only = null; nodes.filter.value = "constant"; nodes.choose();
        follow(nodes, 0, 4);
        seen.push(texts(tensors, 1));
        follow(tensors, 0, 5);
        seen.push(texts(nodes, 0));
        return seen;"""
        assert used(page_of(model_with(NODES), tmp_path), tmp_path, script) == [
            ["2", "", "1"],
            ["Conv", "Neg"], "w",  # all of the nodes with this weight
            ["w"], "1 of 3",  # and not w.1
            ["Conv", "d.Gelu"],  # that make or use y
            ["INT64"],
            ["Constant"],
        ]  # fmt: skip

    def test_functions_have_names_of_their_own(self, tmp_path: Path) -> None:
        function = helper.make_function(
            "d", "F", ["w"], ["b"], [helper.make_node("Relu", ["w"], ["b"])],
            [helper.make_opsetid("", 21)],
        )  # fmt: skip
        model = model_with(
            [helper.make_node("F", ["w.1"], ["y"], domain="d")], functions=[function]
        )
        script = f"{self.LOOK} follow(nodes, 1, 2); return [texts(tensors, 5), texts(nodes, 0)];"
        assert used(page_of(model, tmp_path), tmp_path, script) == [["", "1"], ["Relu"]]

    def test_a_click_anywhere_on_a_header_sorts(self, tmp_path: Path) -> None:
        script = f"""{self.LOOK}
        const head = nodes.heads[0];
        for (const each of [head, head.firstChild, head]) {{
          each.click();
          const arrow = getComputedStyle(head.firstChild, "::after").content;
          seen.push([texts(nodes, 0)[0], head.getAttribute("aria-sort"), arrow.trim()]);
        }}
        head.firstChild.focus();
        return [seen, document.activeElement.textContent];"""
        seen, focused = used(page_of(model_with(NODES), tmp_path), tmp_path, script)
        assert seen == [
            ["Constant", "ascending", '" ▲"'], ["Neg", "descending", '" ▼"'],
            ["Constant", "ascending", '" ▲"'],
        ]  # fmt: skip
        assert focused == "operator"
