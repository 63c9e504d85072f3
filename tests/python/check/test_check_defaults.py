"""Graphs that are defaults of a function's attributes are checked, as other subgraphs are."""

from __future__ import annotations

import pytest
from onnx import AttributeProto, FunctionProto, helper
from support.checks.rules import errors_in
from support.models.sample import model_of

PLACE = 'functions[0].attribute_proto["body"].g'


def function_with_default(used: str) -> FunctionProto:
    """A function with the input `a` and the inner value `b`, and a default that uses a value."""
    function = helper.make_function(
        "org.test",
        "F",
        ["a"],
        ["c"],
        [helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Relu", ["b"], ["c"])],
        [helper.make_opsetid("", 17)],
    )
    output = helper.make_tensor_value_info("d", 1, None)
    graph = helper.make_graph([helper.make_node("Neg", [used], ["d"])], "inner", [], [output])
    function.attribute_proto.add(name="body", type=AttributeProto.GRAPH).g.CopyFrom(graph)
    return function


@pytest.mark.parametrize(
    ("used", "found"),
    [
        ("a", []),
        ("nowhere", [("value.undefined", f"{PLACE}.node[0].input[0]")]),
        ("b", [("value.unsorted", f"{PLACE}.node[0].input[0]")]),
    ],
)
def test_a_default_sees_the_inputs(used: str, found: list[tuple[str, str]]) -> None:
    model = model_of([])
    model.functions.append(function_with_default(used))
    model.opset_import.add(domain="org.test", version=1)
    assert errors_in(model.SerializeToString()) == found


def test_a_default_needs_a_name() -> None:
    model = model_of([])
    model.functions.append(function_with_default("a"))
    model.functions[0].attribute_proto[0].g.ClearField("name")
    model.opset_import.add(domain="org.test", version=1)
    assert errors_in(model.SerializeToString()) == [("graph.name", PLACE)]
