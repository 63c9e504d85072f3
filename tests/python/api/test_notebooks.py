"""What notebooks show: HTML tables of models, graphs and lists."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
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
    values = numpy_helper.from_array(np.zeros(4, np.int64), "<b>sparse")
    graph.sparse_initializer.add(values=values, indices=values, dims=[9])
    graph.node[0].attribute.append(helper.make_attribute("<i>axis", 7))
    made = helper.make_model(graph, producer_name="tests")
    function = made.functions.add(name="<b>F", domain="custom", input=["i"], output=["o"])
    function.attribute.append("a")
    function.node.append(helper.make_node("Op", ["i"], ["o"]))
    helper.set_model_props(made, {"author": "somebody"})
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
    "residency": (
        lambda m: m.residency(),
        [["name", "in memory", "size"], ["w", "24 B", "24 B"], ["<i>shape", "32 B", "32 B"]],
    ),
    "sparse initializers": (
        lambda m: m.graph.sparse_initializers,
        [["name", "dtype", "shape", "values"], ["<b>sparse", "INT64", "[9]", "[4]"]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("of", TABLES)
def test_lists_are_tables(of: str, model: onnxmap.Model) -> None:
    find, expected = TABLES[of]
    things = find(model)
    table = Table(things._repr_html_())
    assert table.caption == repr(things)
    assert set(table.tags) <= {"table", "caption", "tr", "th", "td"}  # nothing from the file
    assert len(table.rows) >= len(expected)
    for row, begin in zip(table.rows, expected, strict=False):
        assert row[: len(begin)] == begin


def test_descriptions_name_the_class_and_the_count(model: onnxmap.Model) -> None:
    assert repr(model.graph.nodes) == "<60 x Node>"
    assert repr(model.proto.graph.node) == "<60 x NodeProto>"
    assert repr(model.graph.quantization_annotations) == "<0 x QuantizationAnnotation>"
    assert repr(model.graph.inputs) == "<1 x ValueInfo>"
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


def test_keys_complete_in_mappings_and_lists(model: onnxmap.Model) -> None:
    assert model.initializers._ipython_key_completions_() == ["w", "<i>shape"]
    assert model.graph.nodes._ipython_key_completions_()[:2] == ["n0", "n1"]
    assert model.graph.inputs._ipython_key_completions_() == ["v0"]
    assert model.graph.sparse_initializers._ipython_key_completions_() == ["<b>sparse"]
    residency: Any = model.residency()
    for mapping, keys in (
        (model.metadata_props, ["author"]),
        (model.opset_imports, [""]),
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
    assert found == {"author": "somebody"} == dict(found)
    assert repr(found) == "{'author': 'somebody'}"
    assert pickle.loads(pickle.dumps(found)) == copy.deepcopy(found) == found
    with pytest.raises(AttributeError):
        found.author = "x"
    with pytest.raises(KeyError):
        found["x"]
