"""Producers and users in functions, and the values of outer graphs in subgraphs."""

from __future__ import annotations

import onnx
import pytest
from onnx import FunctionProto, GraphProto, NodeProto, helper
from support.models.sample import floats, model_of

import onnxmap


def value(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, 1, [len(name)])


def neg(before: str, after: str) -> NodeProto:
    return helper.make_node("Neg", [before], [after], name=after)


def graph_of(nodes: list[NodeProto], **fields: object) -> GraphProto:
    return GraphProto(name="g", node=nodes, **fields)  # type: ignore[arg-type]


def inner_graph() -> GraphProto:
    innermost = graph_of([neg("outer", "p"), neg("typed", "q"), neg("hidden", "r")])
    holder = helper.make_node("If", ["c"], ["s"], name="holder", then_branch=innermost)
    return graph_of(
        [holder, neg("x", "own")], input=[value("hidden")], initializer=[floats("weight", 1)]
    )


def outer_nodes() -> list[NodeProto]:
    makers = [neg("x", name) for name in ("outer", "typed", "hidden", "weight", "own")]
    return [*makers, helper.make_node("If", ["c"], ["y"], name="if", then_branch=inner_graph())]


def load(*, edited: bool) -> onnxmap.Model:
    made = model_of([])
    main = graph_of(outer_nodes(), input=[value("x")], value_info=[value("typed"), value("own")])
    made.graph.CopyFrom(main)
    function = FunctionProto(name="F", domain="d", input=["x", "c"], output=["outer", "y"])
    function.node.extend(outer_nodes())
    function.value_info.append(value("typed"))
    made.functions.append(function)
    model = onnxmap.loads(made.SerializeToString())
    if edited:
        model.graph.nodes.insert(0, onnxmap.make_node("Abs", ["x"], ["first"]))
        model.functions[0].nodes.append(onnxmap.make_node("Abs", ["outer"], ["last"]))
    return model


@pytest.fixture(params=[False, True], ids=["loaded", "edited"])
def model(request: pytest.FixtureRequest) -> onnxmap.Model:
    return load(edited=request.param)


def subgraph(body: onnxmap.Graph | onnxmap.Function, *names: str) -> onnxmap.Graph:
    found: onnxmap.Graph = body  # type: ignore[assignment]
    for name in names:
        found = found.nodes[name].attributes["then_branch"].value
    return found


@pytest.mark.parametrize("place", ["graph", "function"])
def test_a_subgraph_sees_the_values_around_it(model: onnxmap.Model, place: str) -> None:
    body = model.graph if place == "graph" else model.functions["F"]
    for names in (("if",), ("if", "holder")):
        seen = subgraph(body, *names)
        for name in ("outer", "typed"):
            assert seen.producer(name) == body.nodes[name]
        typed = seen.value("typed")
        assert typed == body.value_infos["typed"]
        for name in ("hidden", "weight", "x", "c", "nothing", ""):
            assert seen.producer(name) is None
        assert seen.producer("own") == subgraph(body, "if").nodes["own"]
    inner = subgraph(body, "if")
    assert inner.value("hidden") == inner.inputs[0]
    assert subgraph(body, "if", "holder").value("hidden") == inner.inputs[0]
    assert inner.value("own") is None  # not that of the outer graph
    assert [node.name for node in inner.consumers("outer")] == ["p"]


def test_producers_and_users_in_a_function(model: onnxmap.Model) -> None:
    function = model.functions["F"]
    assert function.producer("outer") == function.nodes["outer"]
    assert function.producer("x") is None
    users = [node.name for node in function.consumers("outer")]
    assert users == (["p", ""] if model.edited else ["p"])
    uses = function.uses("outer")
    assert uses[-1] == (function, 0)
    assert isinstance(uses[-1].user, onnxmap.Function)
    assert [use.position for use in function.uses("x")] == [0] * 6
    assert [node.name for node in function.topological_order()][:2] == ["outer", "typed"]
    assert function.value("typed") == function.value_infos["typed"]
    assert function.value("x") is None


def test_a_cycle_of_a_function_is_named() -> None:
    made = model_of([])
    made.functions.add(name="F").node.extend([neg("a", "b"), neg("b", "a")])
    function = onnxmap.loads(made.SerializeToString()).functions[0]
    with pytest.raises(onnxmap.ParseError, match=r"function\.node\[\d\] depends on its own"):
        function.topological_order()


def test_an_algorithm_of_training_sees_the_main_graph() -> None:
    made = model_of([])
    made.graph.node.append(neg("x", "outer"))
    training = made.training_info.add()
    training.algorithm.node.append(neg("outer", "loss"))
    training.initialization.node.append(neg("outer", "start"))
    model = onnxmap.loads(made.SerializeToString())
    info = model.training_info[0]
    assert info.algorithm.producer("outer") == model.graph.nodes[0]
    assert info.initialization.producer("outer") is None


def test_edits_are_followed(model: onnxmap.Model) -> None:
    inner = subgraph(model.graph, "if")
    assert inner.producer("new") is None
    model.graph.nodes.insert(0, onnxmap.make_node("Abs", ["x"], ["new"]))
    assert inner.producer("new") == model.graph.nodes[0]
    del model.graph.nodes["outer"]
    assert inner.producer("outer") is None
    model.graph.nodes.append(model.graph.nodes["if"])
    added = model.graph.nodes[-1].attributes["then_branch"].value
    assert added.producer("new") == model.graph.nodes[0]
    model.graph.nodes.clear()
    assert inner.producer("typed") is None
    assert inner.value("typed") is None  # it belongs to no graph any longer
    model.revert()
    assert inner.producer("typed") == model.graph.nodes["typed"]


def test_a_graph_of_its_own_has_nothing_around_it() -> None:
    graph = onnxmap.wrap(onnxmap.make_graph(outer_nodes(), "g", [], []))
    inner = subgraph(graph, "if", "holder")
    assert inner.producer("outer") == graph.nodes["outer"]
    assert graph.producer("x") is None
    alone = onnxmap.wrap(onnxmap.new("GraphProto", node=[neg("a", "b")]))
    assert alone.producer("a") is None
