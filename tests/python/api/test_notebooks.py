"""What notebooks show: HTML tables of models, graphs and lists."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
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
    values = numpy_helper.from_array(np.zeros(4, np.int64), "<b>sparse")
    graph.sparse_initializer.add(values=values, indices=values, dims=[9])
    graph.node[0].attribute.append(helper.make_attribute("<i>axis", 7))
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("custom", 1)]
    made = helper.make_model(graph, producer_name="tests", opset_imports=opsets)
    function = made.functions.add(name="<b>F", domain="custom", input=["i"], output=["o"])
    function.attribute.append("a")
    function.node.append(helper.make_node("Op", ["i"], ["o"]))
    helper.set_model_props(made, {"author": "<b>somebody"})
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
    "inputs": (lambda m: m.graph.inputs, [["name", "type"], ["v0", "FLOAT [1, N]"]]),
    "functions": (
        lambda m: m.functions,
        [["name", "inputs", "outputs", "attributes", "contents"],
         ["custom.<b>F", "i", "o", "a", "1 node"]],
    ),
    "views of nodes": (
        lambda m: m.proto.graph.node, [["<onnxmap.ProtoView NodeProto, 39 bytes>"]],
    ),
    "views of inputs": (
        lambda m: m.proto.graph.input, [["<onnxmap.ProtoView ValueInfoProto, 21 bytes>"]],
    ),
    "no views": (lambda m: m.proto.functions, []),
    "attributes": (
        lambda m: m.graph.nodes[0].attributes,
        [["name", "type", "value"], ["<i>axis", "INT", "7"]],
    ),
    "metadata": (lambda m: m.metadata_props, [["key", "value"], ["'author'", "<b>somebody"]]),
    "operator sets": (
        lambda m: m.opset_imports, [["key", "value"], ["''", "21"], ["'custom'", "1"]],
    ),
    "names": (lambda m: m.graph.nodes[0].inputs, [["'v0'"], ["'w'"]]),
    "no names": (lambda m: m.graph.nodes[NODES - 1].metadata_props, [["key", "value"]]),
    "numbers": (lambda m: m.graph.proto.initializer[0].dims, [["2"], ["3"]]),
    "findings": (
        lambda m: m.check(),
        [["severity", "rule", "where", "message"], ["error", "operator.unknown", "graph.node[0]"]],
    ),
    "differences": (
        lambda m: onnxmap.diff(m, changed(m)),
        [["part", "difference"],
         ["metadata", '~ metadata_props["author"]: "<b>somebody" -> "me"'],
         ["outputs", """- 'v60' at graph.output["v60"]"""]],
    ),
    "residency": (
        lambda m: m.residency(),
        [["name", "in memory", "size"], ["w", "24 B", "24 B"], ["<i>shape", "32 B", "32 B"]],
    ),
    "sparse initializers": (
        lambda m: m.graph.sparse_initializers,
        [["name", "dtype", "shape", "values"], ["<b>sparse", "INT64", "[9]", "[4]"]],
    ),
}  # fmt: skip


def changed(model: onnxmap.Model) -> onnxmap.Model:
    other = onnxmap.loads(model.proto.SerializeToString())
    other.metadata_props["author"] = "me"
    del other.graph.outputs[0]
    return other


def caption_of(things: Any) -> str:
    kind = type(things).__name__
    mappings = ("AttributeMapping", "OpsetMapping", "StringMapping")
    is_long = kind in ("MessageList", "ValueList", *mappings)
    return f"onnxmap.{kind} of {len(things)}" if is_long else repr(things)


@pytest.mark.parametrize("of", TABLES)
def test_lists_are_tables(of: str, model: onnxmap.Model) -> None:
    find, expected = TABLES[of]
    things = find(model)
    table = Table(things._repr_html_())
    assert table.caption == caption_of(things)
    assert set(table.tags) <= {"table", "caption", "tr", "th", "td"}  # nothing from the file
    assert len(table.rows) >= len(expected)
    for row, begin in zip(table.rows, expected, strict=False):
        assert row[: len(begin)] == begin


def test_descriptions_name_the_class_and_the_count(model: onnxmap.Model) -> None:
    assert repr(model.functions[0]).endswith(", 1 node>")
    assert repr(model.graph.sparse_initializers) == "<onnxmap.SparseInitializers of 1 tensor>"
    many = helper.make_graph([helper.make_node("Op", [], [])] * 2000, "g", [], [])
    graph = onnxmap.wrap(onnxmap.loads_proto(many.SerializeToString(), "GraphProto"))
    assert repr(graph) == "<onnxmap.Graph 'g': 2,000 nodes, 0 initializers, () -> ()>"
    stream = model.stream()
    assert repr(stream) == "<onnxmap.TensorStream of 56 B, open>"
    stream.close()
    assert repr(stream) == "<onnxmap.TensorStream of 56 B, ended>"


def test_a_long_list_says_how_much_is_left(model: onnxmap.Model) -> None:
    rows = Table(model.graph.nodes._repr_html_()).rows
    assert rows[-1] == ["... 10 more"]
    assert len(rows) == 1 + NODES - 10 + 1


@pytest.mark.parametrize(
    "of", ["model", "graph", "tensor", "node", "attribute", "value", "function"]
)
def test_facts_are_tables(of: str, model: onnxmap.Model) -> None:
    thing = {
        "model": model,
        "graph": model.graph,
        "tensor": model.initializers["w"],
        "node": model.graph.nodes[0],
        "attribute": model.graph.nodes[0].attributes["<i>axis"],
        "value": model.graph.inputs[0],
        "function": model.functions[0],
    }[of]
    table = Table(thing._repr_html_())
    assert set(table.tags) == {"table", "caption", "tr", "th", "td"}
    facts = dict(table.rows)  # type: ignore[arg-type]
    names = ("w", "<script>", "n0", "<i>axis", "v0", "custom.<b>F")
    assert facts.get("name", "w") in names
    assert all(facts.values())


def facts_of(report: Any) -> dict[str, str]:
    table = Table(report._repr_html_())
    assert table.caption == f"onnxmap.{type(report).__name__}"
    return dict(table.rows)  # type: ignore[arg-type]


def test_reports_are_tables(model: onnxmap.Model, tmp_path: Path) -> None:
    model.initializers["unused"] = np.zeros(3, np.float32)
    rebased = model.rebase({"w": np.ones((2, 3), np.float32)}, strict=False)
    assert facts_of(rebased) == {"matched": "w", "missing": "<i>shape, unused", "unused": ""}
    assert facts_of(model.set_dims({"N": 5})) == {
        "value_infos": "",
        "constants": "",
        "rewritten": "",
    }
    long = onnxmap.DimReport([f"<i>{n}" for n in range(9)], [], [])
    assert facts_of(long)["value_infos"].endswith(", <i>7, ... 1 more")
    pruned = facts_of(model.prune())
    assert pruned["initializers"] == "<i>shape, unused, <b>sparse"
    assert list(pruned) == ["nodes", "initializers", "value_infos", "functions", "opset_imports"]
    saved = facts_of(
        model.save(tmp_path / "<b>.onnx", external_data="data", size_threshold_bytes=0)
    )
    assert saved["files"].endswith("/<b>.onnx")
    assert int(saved["bytes_written"]) > 0
    assert saved["unused"] == ""


def test_a_table_of_findings_has_errors_first_and_says_how_many_are_left() -> None:
    graph = helper.make_graph([helper.make_node("\x1b[31mOp", ["x"], [])] * 70, "g", [], [])
    report = onnxmap.loads(helper.make_model(graph).SerializeToString()).check(strict=True)
    table = Table(report._repr_html_())
    severities = [row[0] for row in table.rows[1:-1]]
    assert severities == sorted(severities, key=("error", "warning", "hint").index)
    assert len(table.rows) == 1 + 50 + 1
    assert table.rows[-1] == [f"... {len(report) - 50:,} more"]
    assert "\x1b" not in report._repr_html_()
    assert table.caption == f"<onnxmap.CheckReport: {report.summary()}>"


def test_a_table_of_differences_shows_what_changed_in_a_node(model: onnxmap.Model) -> None:
    other = onnxmap.loads(model.proto.SerializeToString())
    other.graph.nodes[0].attributes["<i>axis"] = 8
    diff = onnxmap.diff(model, other)
    assert repr(diff) == "<onnxmap.ModelDiff: 1 node>"
    rows = Table(diff._repr_html_()).rows
    assert rows == [
        ["part", "difference"],
        ["nodes", "~ <b>&Op 'n0' at graph.node[0]"], ["nodes", 'attribute["<i>axis"].i: 7 -> 8'],
    ]  # fmt: skip
    for node in other.graph.nodes:
        node.doc_string = "x" * 1000
        node.name = f"{node.name}{'y' * 1000}"
    rows = Table(onnxmap.diff(model, other)._repr_html_()).rows
    assert ["nodes", "... and 50 more changed"] in rows
    assert max(len(cell) for row in rows for cell in row) <= 300


def test_keys_complete_in_mappings_and_lists(model: onnxmap.Model) -> None:
    assert model.initializers._ipython_key_completions_() == ["w", "<i>shape"]
    assert model.graph.nodes._ipython_key_completions_()[:2] == ["n0", "n1"]
    assert model.graph.inputs._ipython_key_completions_() == ["v0"]
    assert model.graph.sparse_initializers._ipython_key_completions_() == ["<b>sparse"]
    residency: Any = model.residency()
    for mapping, keys in (
        (model.metadata_props, ["author"]),
        (model.opset_imports, ["", "custom"]),
        (model.graph.nodes[0].attributes, ["<i>axis"]),
        (residency, ["w", "<i>shape"]),
    ):
        assert mapping._ipython_key_completions_() == keys


def test_a_node_shows_its_attributes(model: onnxmap.Model) -> None:
    node: Any = model.graph.nodes[0]
    facts = dict(Table(node._repr_html_()).rows)  # type: ignore[arg-type]
    assert facts == {
        "name": "n0",
        "op_type": "<b>&Op",
        "inputs": "v0, w",
        "outputs": "v1",
        "attributes": "'<i>axis' INT = 7",
    }


def test_a_mapping_is_shown_and_copied_as_a_dict(model: onnxmap.Model) -> None:
    found: Any = model.metadata_props
    assert isinstance(found, Mapping)
    assert found == {"author": "<b>somebody"} == dict(found)
    assert repr(found) == "{'author': '<b>somebody'}"
    assert pickle.loads(pickle.dumps(found)) == copy.deepcopy(found) == found
    with pytest.raises(AttributeError):
        found.author = "x"
    with pytest.raises(KeyError):
        found["x"]
