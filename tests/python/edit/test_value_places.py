"""What `replace_uses` and `bypass` let take the place of a value, and the types of outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.edits.rich_model import saved
from support.processes.work import Work, too_steep

import onnxmap


def nested() -> onnxmap.Model:
    """x -> If (then: t = Neg(x); else: e = Abs(x)) -> y -> late -> z."""
    float_2 = [helper.make_tensor_value_info(name, 1, [2]) for name in ("x", "t", "e", "z")]
    x, t, e, z = float_2
    branches = {
        "then_branch": helper.make_graph([helper.make_node("Neg", ["x"], ["t"])], "then", [], [t]),
        "else_branch": helper.make_graph([helper.make_node("Abs", ["x"], ["e"])], "else", [], [e]),
    }
    nodes = [
        helper.make_node("Abs", ["x"], ["before"]),
        helper.make_node("If", ["c"], ["y"], "if", **branches),
        helper.make_node("Neg", ["y"], ["z"], "late"),
    ]
    graph = helper.make_graph(nodes, "g", [x, helper.make_tensor_value_info("c", 9, [])], [z])
    return onnxmap.loads(helper.make_model(graph).SerializeToString())


def test_a_subgraph_uses_only_what_is_made_before_its_node() -> None:
    model = nested()
    branch = model.graph.nodes["if"].attributes["then_branch"].value
    with pytest.raises(ValueError, match="'y' is made by the node that holds this graph"):
        branch.replace_uses("x", "y")
    with pytest.raises(ValueError, match="'z' is made by node 2, after node 1"):
        branch.replace_uses("x", "z")
    assert not model.edited
    branch.replace_uses("x", "before")
    assert branch.nodes[0].inputs == ["before"]
    model.graph.nodes["if"].doc_string = "edited"
    with pytest.raises(ValueError, match="holds this graph"):
        branch.replace_uses("before", "y")


def in_model(nodes: list[Any], inputs: list[Any], outputs: list[Any], **parts: Any) -> Any:
    graph = helper.make_graph(nodes, "g", inputs, outputs, **parts)
    return onnxmap.loads(helper.make_model(graph).SerializeToString())


def test_a_new_output_has_its_own_type() -> None:
    x, y = (helper.make_tensor_value_info(name, 1, [2]) for name in "xy")
    nodes = [
        helper.make_node("Neg", ["x"], ["y"]),
        helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT64),
    ]
    weight = numpy_helper.from_array(np.array([1, 2, 3]), "w")
    model = in_model(nodes, [x], [y], initializer=[weight])
    with pytest.raises(ValueError, match=r"'i' has no known type.*infer_shapes\(\)"):
        model.graph.replace_uses("y", "i", outputs=True)
    assert not model.edited
    model.graph.replace_uses("y", "w", outputs=True)
    onnx.checker.check_model(saved(model), full_check=True)
    assert saved(model).graph.output[0] == helper.make_tensor_value_info("w", 7, [3])
    branch = nested()
    then = branch.graph.nodes["if"].attributes["then_branch"].value
    then.nodes.append(onnxmap.make_node("Cast", ["t"], ["i"], to=7))
    then.replace_uses("t", "i", outputs=True)
    assert then.nodes[1].inputs == ["t"]
    assert not then.outputs[0].proto.HasField("type")


def test_values_that_cannot_be_returned() -> None:
    model = nested()
    branch = model.graph.nodes["if"].attributes["then_branch"].value
    with pytest.raises(ValueError, match=r"'x' cannot be an output in the place of 't'.*Identity"):
        branch.replace_uses("t", "x", outputs=True)
    function = helper.make_function(
        "f", "F", ["a"], ["b"],
        [helper.make_node("Neg", ["a"], ["n"]), helper.make_node("Neg", ["n"], ["b"])],
        [helper.make_opsetid("", 18)],
    )  # fmt: skip
    message = saved(model)
    message.functions.append(function)
    model = onnxmap.loads(message.SerializeToString())
    with pytest.raises(ValueError, match="'a' cannot be an output"):
        model.functions[0].replace_uses("b", "a", outputs=True)
    model.functions[0].replace_uses("b", "n", outputs=True)
    assert model.functions[0].outputs == ["n"]


def test_an_output_that_a_subgraph_before_also_makes() -> None:
    """The name would be seen by all subgraphs behind what makes the input."""
    model = nested()
    branch = model.graph.nodes["if"].attributes["then_branch"].value
    branch.rename("t", "out")
    model.graph.nodes.append(onnxmap.make_node("Identity", ["before"], ["out"]))
    model.graph.outputs[0].name = "out"
    with pytest.raises(ValueError, match="'out' is an output, and also a value of a subgraph"):
        model.graph.bypass(model.graph.nodes[-1])
    branch.rename("out", "t")
    model.graph.bypass(model.graph.nodes[-1])
    assert model.graph.nodes[0].outputs == ["out"]


def test_a_node_with_very_many_equal_inputs() -> None:
    """One edit is for all of them."""
    x, z, y = (helper.make_tensor_value_info(name, 1, [None]) for name in "xzy")

    def prepare(many: int) -> tuple[bytes, Work]:
        nodes = [
            helper.make_node("Identity", ["x"], ["i"]),
            helper.make_node("Concat", ["z", *["i"] * many, "z"], ["y"], axis=0),
        ]
        graph = helper.make_graph(nodes, "g", [x, z], [y])
        data = helper.make_model(graph).SerializeToString()

        def work() -> None:
            model = onnxmap.loads(data)
            model.graph.replace_uses("i", "x")
            assert model.graph.nodes[1].inputs == ["z", *["x"] * many, "z"]
            model.revert()
            model.graph.bypass(model.graph.nodes[0])
            assert model.graph.nodes[0].inputs == ["z", *["x"] * many, "z"]

        return data, work

    assert not too_steep(prepare, (100, 1_000))


def test_a_new_output_has_the_type_of_its_initializer() -> None:
    """The model gives it no other one, and it is read before the graph is edited."""
    model = nested()
    model.initializers["w"] = np.zeros((3, 2), np.int64)
    model = onnxmap.loads(model.proto.SerializeToString())
    model.graph.add_output("w")
    assert (model.graph.outputs["w"].dtype.name, model.graph.outputs["w"].shape) == (
        "INT64",
        (3, 2),
    )


def test_errors_with_names_that_are_not_utf_8() -> None:
    data = nested().proto.SerializeToString().replace(b"before", b"be\xffore")
    model = onnxmap.loads(data)
    name = "be\udcffore"
    model.graph.nodes.append(onnxmap.make_node("Neg", [name], ["n"]))
    with pytest.raises(ValueError, match=r"'be\\xffore' has no known type"):
        model.graph.add_output(name)
    with pytest.raises(ValueError, match=r"'be\\xffore' has no known type"):
        model.graph.replace_uses("z", name, outputs=True)
    model.graph.nodes.insert(0, onnxmap.make_node("Neg", ["x"], ["first"]))
    with pytest.raises(ValueError, match=r"'be\\xffore' is made by node 1, after node 0"):
        model.graph.replace_uses("x", name)
