"""`Model.inline_functions` on models that would grow without bounds, in size, depth and time."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import ModelProto, NodeProto, helper
from support.processes.work import Work, too_steep
from support.run_options import SANITIZED
from support.surgery.functions import call, function, inlined, model_of, refused

import onnxmap


def chain(depth: int, calls: int) -> ModelProto:
    functions = []
    for i in range(depth):
        nodes = [call(f"F{i + 1}", ["a"], [f"t{j}"]) for j in range(calls)]
        functions.append(function(f"F{i}", ["a"], ["t0"], nodes))
    last = function(f"F{depth}", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])])
    return model_of([call("F0", ["x"], ["y"])], [*functions, last])


def test_growth_and_depth_are_bounded() -> None:
    refused(chain(60, 2), onnxmap.LimitError, r"the nodes of the functions need .*overlap")
    refused(chain(99, 64), onnxmap.LimitError, "overlap")  # more than 64 bits can count
    refused(chain(101, 1), onnxmap.LimitError, "more than 100 deep")
    assert len(inlined(chain(90, 1)).graph.node) == 1
    assert len(inlined(chain(6, 3)).graph.node) == 3**6


def test_what_calls_keep_in_memory_is_bounded() -> None:
    count = 3000
    neg = [helper.make_node("Neg", ["a"], ["b"])]
    defaults = [onnx.AttributeProto(name=f"d{i}", type=2) for i in range(count)]
    calls = [call("F", ["x"], [f"y{i}"]) for i in range(count)]
    many_defaults = function("F", ["a"], ["b"], neg, attribute_protos=defaults)
    many_inputs = function("F", ["a", *(f"i{i}" for i in range(count))], ["b"], neg)
    empty = function("F", [], [], [])
    nested = [function(f"G{i}", [], [], [call(f, [], [])] * 140) for i, f in enumerate(["F", "G0"])]
    refused(
        model_of([call("G1", [], [])] * 140, [empty, *nested], ()), onnxmap.LimitError, "overlap"
    )
    for each in (many_defaults, many_inputs):
        refused(model_of(calls, [each], ("y0",)), onnxmap.LimitError, "overlap")


LARGE = "x" * (1 << 20)


def nested(node: NodeProto, depth: int) -> NodeProto:
    for _ in range(depth):
        graph = helper.make_graph([node], "g", [], [onnx.ValueInfoProto(name="y")])
        node = helper.make_node("If", ["x"], ["y"], then_branch=graph, else_branch=graph)
    return node


def test_a_result_that_is_too_deep_is_refused_before_the_first_edit() -> None:
    deep = function("Deep", ["x"], ["y"], [nested(helper.make_node("Neg", ["x"], ["y"]), 5)])
    deeper = function("Deeper", ["x"], ["y"], [nested(call("Deep", ["x"], ["y"]), 5)])
    flat = function("Flat", ["x"], ["y"], [helper.make_node("Neg", ["x"], ["y"])])
    for depth, functions in ((1, [deep]), (5, [deep]), (0, [deep, deeper])):
        nodes = [call("Flat", ["x"], ["z"]), nested(call(functions[-1].name, ["x"], ["y"]), depth)]
        data = model_of(nodes, [flat, *functions]).SerializeToString()
        needed = 3 * (depth + 5 * len(functions)) + 2
        for limit in (needed, needed - 1):
            model = onnxmap.loads(data, limits=onnxmap.Limits(depth=limit))
            if limit == needed:
                model.inline_functions()
                onnxmap.loads(onnxmap.dumps(model), limits=onnxmap.Limits(depth=limit))
            else:
                with pytest.raises(onnxmap.LimitError, match="deep"):
                    model.inline_functions()
                assert onnxmap.dumps(model) == data


def uses_of_an_attribute(nodes: int, references: int, **given: Any) -> ModelProto:
    body = [helper.make_node("Neg", ["a"], ["b"]) for _ in range(nodes)]
    for i in range(references):
        refers = onnx.AttributeProto(name=f"t{i}", type=3, ref_attr_name="text")
        body[i % nodes].attribute.append(refers)
    f = function("F", ["a"], ["b"], body, **given)
    text = {} if given.get("attribute_protos") else {"text": LARGE}
    return model_of([call("F", ["x"], ["y"], **text)], [f])


def uses_of_a_name(in_subgraph: bool) -> ModelProto:
    sums = [helper.make_node("Sum", ["a"] * 1000, ["b"])]
    if in_subgraph:
        graph = helper.make_graph([], "g", [], [helper.make_empty_tensor_value_info("a")] * 1000)
        sums = [helper.make_node("If", ["a"], ["b"], then_branch=graph, else_branch=graph)]
    return model_of([call("F", [LARGE], ["y"])], [function("F", ["a"], ["b"], sums)])


def test_what_a_call_gives_is_not_put_in_without_bounds() -> None:
    """A file of 1 MB asked for 1 GB."""
    default = [helper.make_attribute("text", LARGE)]
    for message in (
        uses_of_a_name(in_subgraph=False),
        uses_of_a_name(in_subgraph=True),
        uses_of_an_attribute(1, 1000, attributes=["text"]),
        uses_of_an_attribute(1000, 1000, attribute_protos=default),
    ):
        refused(message, onnxmap.LimitError, r"the nodes of the functions need [12]\d{9} bytes")
    once = inlined(uses_of_an_attribute(300, 1, attributes=["text"]))  # 300 times were counted
    assert once.graph.node[0].attribute[0].s == LARGE.encode()


@pytest.mark.skipif(SANITIZED, reason="nothing is counted under ASan")
def test_work_is_linear() -> None:
    """Names are taken already, also those with numbers."""
    body = [helper.make_node("Neg", ["a"], ["t"], "n"), helper.make_node("Abs", ["t"], ["b"], "n")]

    def model_with(calls: int) -> ModelProto:
        taken = [helper.make_node("Neg", ["x"], [f"t_{i}"], f"n_{i}") for i in range(calls)]
        nodes = [call("F", ["x"], [f"v{i}"]) for i in range(calls)]
        return model_of([*taken, *nodes], [function("F", ["a"], ["b"], body)], ())

    def prepare(calls: int) -> tuple[bytes, Work]:
        data = model_with(calls).SerializeToString()
        return data, lambda: onnxmap.loads(data).inline_functions()

    def names(calls: int) -> list[bytes]:
        return [b"t_%d" % (3 * calls // 8), b"v%d" % (3 * calls // 8)]

    assert not too_steep(prepare, (100, 1_000), names)


def test_outputs_that_are_inputs_count() -> None:
    """Each becomes a node with the names that the call gives."""
    neg = helper.make_node("Neg", ["a"], ["b"])
    message = model_of(
        [
            helper.make_node("Neg", ["x"], [LARGE]),
            call("F", [LARGE], ["y", *(f"y{i}" for i in range(999))]),
        ],
        [function("F", ["a"], ["a"] * 1000, [neg])],
    )
    refused(message, onnxmap.LimitError, "overlap")
