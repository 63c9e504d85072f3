"""Verbs of surgery where an attribute of a function has a graph as its default."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, helper, numpy_helper
from support.edits.rich_model import saved
from support.surgery.models import floats, loads

from onnxmap import DimReport, PruneReport


def float_info(name: str, shape: list[int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, 1, shape)


def test_values_they_use_are_not_replaced() -> None:
    """A default graph uses values wherever a node refers to its attribute."""
    default = helper.make_graph([helper.make_node("Neg", ["t"], ["d"])], "default", [], floats("d"))
    refers = helper.make_node("If", ["c"], ["z"])
    for name in ("then_branch", "else_branch"):
        refers.attribute.add(name=name, ref_attr_name="g", type=AttributeProto.GRAPH)
    nodes = [helper.make_node("Identity", ["a"], ["t"]), refers]
    branch = helper.make_graph(nodes, "branch", [], floats("z"))
    nodes_around = [helper.make_node("If", ["c"], ["o"], then_branch=branch, else_branch=branch)]
    message = helper.make_model(helper.make_graph([], "g", [], []))
    graph_by_default = [helper.make_attribute("g", default)]
    for name, output, inside in (("F", "z", nodes), ("G", "o", nodes_around)):
        function = helper.make_function(
            "f", name, ["c", "a"], [output], inside, [helper.make_opsetid("", 18)],
            attribute_protos=graph_by_default,
        )  # fmt: skip
        message.functions.append(function)
    model = loads(message)
    for body in (model.functions[0], model.functions[1].nodes[0].attributes["then_branch"].value):
        text = "'f::[FG]' has a graph as the default of its attribute 'g': uses of values in that"
        with pytest.raises(ValueError, match=text):
            body.bypass(body.nodes[0])
        with pytest.raises(ValueError, match=text):
            body.replace_uses("t", "a")
    assert not model.edited


@pytest.mark.parametrize("inside", [False, True])
def test_what_they_use_is_not_pruned(inside: bool) -> None:
    """An attribute of a function: its nodes are put in where nodes refer to the attribute."""
    opsets = [helper.make_opsetid(domain, 18 if not domain else 1) for domain in ("", "d", "e")]
    body = helper.make_graph(
        [
            helper.make_node("G", ["v"], ["t"], domain="d"),
            helper.make_node("E", ["t"], ["u"], domain="e"),
        ],
        "b", [], [helper.make_tensor_value_info("u", 1, [1])],
    )  # fmt: skip
    uses = helper.make_node("If", ["c"], ["y"])
    uses.attribute.add(name="then_branch", type=AttributeProto.GRAPH, ref_attr_name="body")
    nodes = [helper.make_node("Neg", ["c"], ["v"]), helper.make_node("Neg", ["c"], ["w"]), uses]
    default = [helper.make_attribute("body", body)]
    if inside:  # a branch, where all stays
        branch = helper.make_graph(
            nodes, "branch", [], [helper.make_tensor_value_info("y", 1, [1])]
        )
        nodes = [helper.make_node("If", ["c"], ["y"], then_branch=branch)]
    functions = [
        helper.make_function("d", "F", ["c"], ["y"], nodes, opsets, attribute_protos=default),
        helper.make_function("d", "G", ["x"], ["y"], nodes[:0], opsets[:1]),
    ]  # fmt: skip
    values = [helper.make_tensor_value_info(name, 1, [1]) for name in "xy"]
    graph = helper.make_graph(
        [helper.make_node("F", ["x"], ["y"], domain="d")], "g", *([v] for v in values)
    )
    model = loads(helper.make_model(graph, opset_imports=opsets[:2], functions=functions))
    gone = [] if inside else ["functions[0].node[1]"]
    assert model.prune() == PruneReport(gone, [], [], [], [])
    assert [opset.domain for opset in saved(model).functions[0].opset_import] == ["", "d", "e"]


def test_they_keep_no_old_number() -> None:
    default = helper.make_graph(
        [helper.make_node("Reshape", ["a", "size"], ["i"]), helper.make_node("Abs", ["i"], ["d"])],
        "default", [], [float_info("d", [3])], [numpy_helper.from_array(np.array([3]), "size")],
        value_info=[float_info("i", [3])],
    )  # fmt: skip
    branch = helper.make_node("If", ["c"], ["z"])
    for name in ("then_branch", "else_branch"):
        branch.attribute.add(name=name, ref_attr_name="g", type=AttributeProto.GRAPH)
    function = helper.make_function(
        "f", "F", ["c", "a"], ["z"], [branch], [helper.make_opsetid("", 18)],
        attribute_protos=[helper.make_attribute("g", default)],
    )  # fmt: skip
    graph = helper.make_graph(
        [helper.make_node("F", ["c", "x"], ["y"], domain="f")], "g",
        [helper.make_tensor_value_info("c", 9, []), float_info("x", [3])], [float_info("y", [3])],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    model = loads(helper.make_model(graph, functions=[function], opset_imports=opsets))
    assert model.set_dims(inputs={"x": [5]}) == DimReport(
        ["i"], ['functions[0].attribute_proto["g"].g.node[0].input[1]'], []
    )
    inner = saved(model).functions[0].attribute_proto[0].g
    assert not inner.output[0].type.tensor_type.shape.dim[0].HasField("dim_value")


def test_nodes_are_not_sorted_around_them() -> None:
    default = helper.make_graph([helper.make_node("Neg", ["t"], ["d"])], "g", [], floats("d"))
    refers = helper.make_node("If", ["c"], ["z"])
    refers.attribute.add(name="then_branch", ref_attr_name="g", type=AttributeProto.GRAPH)
    nodes = [helper.make_node("Neg", ["s"], ["t"]), helper.make_node("Abs", ["a"], ["s"]), refers]
    for order in ((1, 0, 2), (0, 1, 2)):
        function = helper.make_function(
            "f", "F", ["c", "a"], ["z"], [nodes[i] for i in order], [helper.make_opsetid("", 18)],
            attribute_protos=[helper.make_attribute("g", default)],
        )  # fmt: skip
        model = loads(helper.make_model(helper.make_graph([], "g", [], []), functions=[function]))
        if order[0] == 1:
            model.sort()
        else:
            with pytest.raises(ValueError, match="default of its attribute 'g': uses of values in"):
                model.sort()
        assert not model.edited


def branch_around_a_default(uses: str, nodes: list[onnx.NodeProto], weights: list[str]) -> Any:
    """A function whose branches refer to a default graph, which uses a value of theirs."""
    default = helper.make_graph([helper.make_node("Neg", [uses], ["d"])], "g", [], floats("d"))
    refers = helper.make_node("If", ["c"], ["u"])
    for name in ("then_branch", "else_branch"):
        refers.attribute.add(name=name, ref_attr_name="g", type=AttributeProto.GRAPH)
    branch = helper.make_graph(
        [refers if node.op_type == "If" else node for node in nodes], "branch", [], floats("u"),
        [numpy_helper.from_array(np.ones(1, np.float32), name) for name in weights],
    )  # fmt: skip
    function = helper.make_function(
        "f", "F", ["c", "a"], ["o"],
        [helper.make_node("If", ["c"], ["o"], then_branch=branch, else_branch=branch)],
        [helper.make_opsetid("", 18)], attribute_protos=[helper.make_attribute("g", default)],
    )  # fmt: skip
    call = helper.make_node("F", ["c", "x"], ["y"], domain="f")
    graph = helper.make_graph(
        [call], "g", [helper.make_tensor_value_info("c", 9, []), *floats("x")], floats("y")
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    return loads(helper.make_model(graph, functions=[function], opset_imports=opsets))


def test_initializers_that_they_may_use_stay() -> None:
    nodes = [helper.make_node("Add", ["a", "w1"], ["t"]), helper.make_node("If", ["c"], ["u"])]
    model = branch_around_a_default("w2", nodes, ["w1", "w2"])
    assert model.dedupe() == []
    assert model.prune() == PruneReport([], [], [], [], [])
    assert not model.edited


def test_no_value_that_they_may_use_is_renamed() -> None:
    nodes = [helper.make_node("Neg", ["a"], ["t"]), helper.make_node("If", ["c"], ["u"])]
    model = branch_around_a_default("t", nodes, ["w"])
    branch = model.functions[0].nodes[0].attributes["then_branch"].value
    for old in ("t", "w"):
        with pytest.raises(ValueError, match="default of its attribute 'g': uses of values in"):
            branch.rename(old, "new")
    with pytest.raises(ValueError, match="default of its attribute 'g': uses of values in"):
        branch.initializers.rename("w", "new")
    assert not model.edited


def test_nodes_of_branches_are_not_sorted_around_them() -> None:
    nodes = [
        helper.make_node("Neg", ["s"], ["t"]), helper.make_node("If", ["c"], ["u"]),
        helper.make_node("Abs", ["a"], ["s"]),
    ]  # fmt: skip
    model = branch_around_a_default("t", nodes, [])
    with pytest.raises(ValueError, match="default of its attribute 'g': uses of values in"):
        model.sort()
    assert not model.edited
