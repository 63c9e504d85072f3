"""What notebooks show: HTML tables of models, graphs and lists."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxmap

NODES = 60  # more than a table shows


class Table(HTMLParser):
    """The cells of a table by row, and every tag."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.caption = ""
        self.tags: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.tags[-1] == "caption":
            self.caption += data
        else:
            self.rows[-1][-1] += data


@pytest.fixture
def model() -> onnxmap.Model:
    nodes = [
        helper.make_node("<b>&Op", [f"v{i}", "w"], [f"v{i + 1}"], name=f"n{i}")
        for i in range(NODES)
    ]
    graph = helper.make_graph(
        nodes, "<script>", [helper.make_tensor_value_info("v0", TensorProto.FLOAT, [1, "N"])],
        [helper.make_tensor_value_info(f"v{NODES}", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.zeros((2, 3), np.float32), "w"),
         numpy_helper.from_array(np.zeros(4, np.int64), "<i>shape")],
    )  # fmt: skip
    made = helper.make_model(graph, producer_name="tests")
    return onnxmap.loads(made.SerializeToString())


TABLES: dict[str, tuple[Any, list[list[str]]]] = {
    "initializers": (
        lambda m: m.initializers,
        [["name", "dtype", "shape", "size", "stored"],
         ["w", "FLOAT", "[2, 3]"], ["<i>shape", "INT64", "[4]"]],
    ),
    "nodes": (
        lambda m: m.graph.nodes,
        [["name", "op_type", "inputs", "outputs"], ["n0", "<b>&Op", "v0, w", "v1"]],
    ),
    "inputs": (lambda m: m.graph.inputs, [["name", "type"], ["v0"]]),
}  # fmt: skip


@pytest.mark.parametrize("of", TABLES)
def test_lists_are_tables(of: str, model: onnxmap.Model) -> None:
    find, expected = TABLES[of]
    things = find(model)
    table = Table(things._repr_html_())
    assert table.caption == repr(things)
    assert set(table.tags) == {"table", "caption", "tr", "th", "td"}  # nothing from the file
    for row, begin in zip(table.rows, expected, strict=False):
        assert row[: len(begin)] == begin


def test_a_long_list_says_how_much_is_left(model: onnxmap.Model) -> None:
    rows = Table(model.graph.nodes._repr_html_()).rows
    assert rows[-1] == ["... 10 more"]
    assert len(rows) == 1 + NODES - 10 + 1


@pytest.mark.parametrize("of", ["model", "graph", "tensor"])
def test_facts_are_tables(of: str, model: onnxmap.Model) -> None:
    thing = {"model": model, "graph": model.graph, "tensor": model.initializers["w"]}[of]
    table = Table(thing._repr_html_())
    assert set(table.tags) == {"table", "caption", "tr", "th", "td"}
    facts = dict(table.rows)  # type: ignore[arg-type]
    assert facts.get("name", "w") in ("w", "<script>")
    assert all(facts.values())


def test_keys_complete_in_mappings_and_lists(model: onnxmap.Model) -> None:
    assert model.initializers._ipython_key_completions_() == ["w", "<i>shape"]
    assert model.graph.nodes._ipython_key_completions_()[:2] == ["n0", "n1"]
    assert model.graph.inputs._ipython_key_completions_() == ["v0"]
