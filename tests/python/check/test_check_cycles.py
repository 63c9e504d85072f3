"""Cycles are found in the main graph, in subgraphs and in functions."""

from __future__ import annotations

from onnx import ModelProto, NodeProto, helper
from support.checks.rules import errors_in
from support.models.sample import model_of

CYCLE = [
    helper.make_node("Relu", ["a"], ["start"]),
    helper.make_node("Add", ["start", "c"], ["b"]),
    helper.make_node("Relu", ["b"], ["c"]),
]


def cycles(model: ModelProto) -> list[str]:
    return [where for rule, where in errors_in(model.SerializeToString()) if rule == "value.cycle"]


def if_node(nodes: list[NodeProto]) -> NodeProto:
    outputs = [helper.make_tensor_value_info("c", 1, None)]
    branch = helper.make_graph(nodes, "branch", [], outputs)
    return helper.make_node("If", ["a"], ["y"], then_branch=branch, else_branch=branch)


def test_in_the_graph() -> None:
    model = model_of([])
    model.graph.node.extend(CYCLE)
    assert cycles(model) == ["graph.node[2]"]


def test_in_a_subgraph() -> None:
    model = model_of([])
    model.graph.node.append(if_node(CYCLE))
    assert cycles(model) == [
        f'graph.node[0].attribute["{branch}"].g.node[2]'
        for branch in ("else_branch", "then_branch")
    ]


def test_in_a_function() -> None:
    opset = helper.make_opsetid("", 17)
    model = model_of([])
    model.functions.append(helper.make_function("org.test", "F", ["a"], ["c"], CYCLE, [opset]))
    assert cycles(model) == ["functions[0].node[2]"]


def test_unsorted_nodes_are_no_cycle() -> None:
    opset = helper.make_opsetid("", 17)
    nodes = [helper.make_node("Relu", ["b"], ["c"]), helper.make_node("Relu", ["a"], ["b"])]
    model = model_of([])
    model.functions.append(helper.make_function("org.test", "F", ["a"], ["c"], nodes, [opset]))
    model.graph.node.append(if_node(nodes))
    assert cycles(model) == []


def test_a_node_that_uses_its_own_output() -> None:
    model = model_of([])
    model.graph.node.append(helper.make_node("Add", ["x", "y"], ["y"]))
    assert cycles(model) == ["graph.node[0]"]
