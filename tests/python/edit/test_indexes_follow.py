"""What a model finds by name follows each edit: a fresh model of the same bytes finds the same."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from onnx import TensorProto, helper
from support.edits.loops import chain
from support.edits.programs import random_program
from support.edits.runs import Edit, OnnxmapSide, executed
from support.readers.whole_models import READINGS, answer
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

import onnxmap

PROGRAMS = 5_000 if LONG else 10 if SANITIZED else 150 if EXHAUSTIVE else 15
SIZE = 20  # edits of a program
BY_NAME = (
    "producers", "consumers", "uses", "values by name", "nodes by name", "functions by name",
    "each initializer", "step: metadata", "step: attributes",
)  # fmt: skip


def disagreement(model: onnxmap.Model) -> str:
    data = onnxmap.dumps(model)
    try:
        fresh = onnxmap.loads(data)
    except onnxmap.OnnxMapError:  # a model without a graph
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in BY_NAME:
            expected, found = (answer(partial(READINGS[name], one)) for one in (fresh, model))
            if found != expected:
                return f"{name}\nexpected {expected!r}\nfound {found!r}"
    return ""


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_each_edit_of_a_random_program(seed: int) -> None:
    program = random_program(seed + 1_000_000, SIZE)

    def check(ours: OnnxmapSide, edit: Edit) -> None:
        assert disagreement(ours.models[0]) == "", (edit, program)

    executed(program, check)


@pytest.mark.parametrize("seed", range(3 if not LONG else 100))
def test_mappings_of_a_large_model_follow(seed: int) -> None:
    """They are dicts, whatever is looked up between the edits."""
    rng = random.Random(seed)
    model = chain(500)
    mappings = [model.metadata_props, model.opset_imports, model.graph.nodes[0].attributes]
    values = [
        (str, lambda: str(rng.random())),
        (int, lambda: rng.randrange(100)),
        (lambda attribute: attribute.value, lambda: rng.randrange(100)),
    ]
    for mapping, (plain, new) in zip(mappings, values, strict=True):
        expected = {key: plain(value) for key, value in mapping.items()}
        for _ in range(300):
            key = rng.choice(["k1", "k2", "d1", "d2", "new", f"new{rng.randrange(50)}"])
            match rng.randrange(6):
                case 0 | 1:
                    mapping[key] = expected[key] = new()
                case 2 if key in expected:
                    del mapping[key], expected[key]
                case 3:
                    assert len(mapping) == len(expected)
                case 4:
                    assert (key in mapping) == (key in expected)
                case _:
                    found = mapping.get(key)
                    assert (found if found is None else plain(found)) == expected.get(key)
        assert {key: plain(value) for key, value in mapping.items()} == expected


def twins() -> onnxmap.Model:
    """A large graph in which the nodes at 10, 20 and 30 are equal, and have no outputs."""
    nodes = [helper.make_node("Neg", ["x"], [f"y{i}"], name=f"n{i}") for i in range(2_000)]
    for i in (10, 20, 30):
        nodes[i] = helper.make_node("Print", ["x"], [])
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [1])], [])
    return onnxmap.loads(helper.make_model(graph).SerializeToString())


@pytest.mark.parametrize("edited", [False, True])
def test_the_first_equal_message_counts(edited: bool) -> None:
    """As in a list of Python: the object that is asked for may stand behind it."""
    model = twins()
    nodes = model.graph.nodes
    if edited:
        nodes[1].op_type = "Abs"
    assert nodes.index(nodes[20]) == 10
    assert nodes.index(nodes[20], 11) == 20
    assert nodes.index(nodes[20], -1_990, -1_970) == 10
    with pytest.raises(ValueError, match="no such message"):
        nodes.index(nodes[20], 31)
    assert nodes.count(nodes[30]) == 3
    assert nodes.count(nodes[5]) == 1
    last = nodes[30]
    nodes.remove(last)
    assert [node.op_type for node in nodes].index("Print") == 19
    assert nodes.count(last) == 2
    assert last in nodes
    assert model.graph.proto.node.index(model.graph.proto.node[29]) == 19
    assert onnxmap.new("NodeProto", op_type="Print", input=["x"]) in model.graph.proto.node
    assert onnxmap.new("NodeProto", op_type="Print", input=["z"]) not in model.graph.proto.node
    for other in (None, 3, object(), model.graph, model.proto):
        assert other not in nodes
        assert nodes.count(other) == 0


def test_nodes_that_share_names_are_told_apart() -> None:
    model = twins()
    nodes = model.graph.nodes
    nodes[100].outputs = ["y99"]
    assert nodes.index(nodes[100]) == 100
    nodes[100].name, nodes[100].inputs = nodes[99].name, ["x"]
    assert nodes.index(nodes[100]) == 99


def test_the_same_value_in_many_places() -> None:
    """More users than are looked up one by one; their order is that of the graph."""
    names = [f"n{i}" for i in range(1_000)]
    nodes = [helper.make_node("Add", ["x", "x"], [f"y{name}"], name=name) for name in names]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])], []
    )
    model = onnxmap.loads(helper.make_model(graph).SerializeToString())
    nodes = model.graph.nodes
    nodes.insert(0, nodes.pop())
    names.insert(0, names.pop())
    assert [node.name for node in model.graph.consumers("x")] == names
    assert [(use.user.name, use.position) for use in model.graph.uses("x")] == [
        (name, place) for name in names for place in (0, 1)
    ]


FAILING: dict[str, Callable[[Any, list[Any]], object]] = {
    "extend": lambda model, nodes: model.graph.nodes.extend(nodes),
    "proto": lambda model, nodes: model.proto.graph.node.extend([nodes[0], nodes[1].proto]),
    "slice": lambda model, nodes: model.graph.nodes.__setitem__(slice(0, 1), nodes),
}


@pytest.mark.parametrize("way", FAILING)
def test_an_edit_that_fails_leaves_nothing_to_find(way: str) -> None:
    """The first of two nodes was copied already when the second one is too deep."""
    deep = helper.make_node("If", ["x"], ["deep"])
    for _ in range(8):
        graph = helper.make_graph([deep], "inner", [], [])
        deep = helper.make_node("If", ["x"], ["deep"], then_branch=graph)
    source = onnxmap.loads(
        helper.make_model(helper.make_graph([deep], "graph", [], [])).SerializeToString()
    ).graph
    model = onnxmap.loads(onnxmap.dumps(chain(3)), limits=onnxmap.Limits(depth=12))
    graph = model.graph
    graph.doc_string = "edited"
    assert graph.producer("good") is None  # the index follows from here on
    good = onnxmap.make_node("Z", ["x"], ["good"], name="good")
    with pytest.raises(onnxmap.LimitError):
        FAILING[way](model, [good, source.nodes[0]])
    graph.doc_string = "edited again"
    assert graph.producer("good") is None
    assert "good" not in graph.nodes
    assert disagreement(model) == ""
