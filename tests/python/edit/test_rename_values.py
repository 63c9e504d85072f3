"""`graph.rename`: any value of a graph gets another name, and all that refers to it follows."""

from __future__ import annotations

import itertools

import onnx
import onnx_ir as ir
import pytest
from onnx import helper
from support.edits.rich_model import saved
from support.models.node_cases import node_cases
from support.run_options import EXHAUSTIVE, SANITIZED

import onnxmap


def made_by(graph: ir.Graph) -> dict[str, ir.Value]:
    """The values that a graph makes, by name."""
    values = [*graph.inputs, *graph.initializers.values()]
    values += [value for node in graph for value in node.outputs]
    return {value.name: value for value in values if value.name}


def branching() -> onnx.ModelProto:
    inner = helper.make_graph([helper.make_node("Neg", ["y"], ["inner"])], "inner", [], [])
    nodes = [
        helper.make_node("Split", ["x"], ["y", "zeros"], "split"),
        helper.make_node("If", ["zeros"], ["o"], then_branch=inner),
    ]
    value = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])
    return helper.make_model(helper.make_graph(nodes, "g", [value], []))


def small() -> onnxmap.Model:
    return onnxmap.loads(branching().SerializeToString())


def in_order(model: ir.Model) -> onnx.ModelProto:
    """The message of a model. A new name moves an initializer to the end in onnx_ir."""
    message = ir.to_proto(model)
    message.graph.initializer.sort(key=lambda tensor: tensor.name)
    message.graph.value_info.sort(key=lambda value: value.name)
    return message


@pytest.mark.skipif(SANITIZED, reason="the random programs rename as well")
def test_as_onnx_ir_renames() -> None:
    """Values of many models. onnx_ir's values are objects, whatever their names are."""
    count = inside = 0
    for original in (branching(), *node_cases().values()):
        data = original.SerializeToString()
        names = list(made_by(ir.from_proto(original).graph))
        for name in names if EXHAUSTIVE or count == 0 else {names[0], names[-1]}:
            theirs = ir.from_proto(onnx.ModelProto.FromString(data))  # renames in the message
            made_by(theirs.graph)[name].name = "a new name"
            model = onnxmap.loads(data)
            model.graph.rename(name, "a new name")
            ours = saved(model)
            assert in_order(ir.from_proto(ours)) == in_order(theirs), name
            count += 1
            graphs = [each.g for node in ours.graph.node for each in node.attribute]
            inside += any(b"a new name" in graph.SerializeToString() for graph in graphs)
            model.revert()
            assert saved(model).SerializeToString() == data
    assert count > (300 if EXHAUSTIVE else 150)
    assert inside > 0


def test_names_of_one_length_and_end_are_told_apart() -> None:
    names = ["xa", "ya", "za", "va"]
    nodes = [helper.make_node("Neg", [a], [b]) for a, b in itertools.pairwise(names)]
    values = [helper.make_tensor_value_info(name, 1, [2]) for name in (names[0], names[-1])]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    model = onnxmap.loads(helper.make_model(graph).SerializeToString())
    model.graph.rename({"xa": "ya", "ya": "za", "za": "xa"})
    assert [list(node.inputs) for node in model.graph.nodes] == [["ya"], ["za"], ["xa"]]
    assert [list(node.outputs) for node in model.graph.nodes] == [["za"], ["xa"], ["va"]]
    with pytest.raises(ValueError, match="a value of the name 'va' already"):
        model.graph.rename("xa", "va")


def trained() -> onnxmap.Model:
    """The algorithm makes `new` of its own initializer `rate` and of `w`, which is in the graph."""
    value = helper.make_tensor_value_info("x", 1, [])
    tensors = [helper.make_tensor(name, 1, [], [1.0]) for name in ("w", "rate")]
    neg = helper.make_node("Neg", ["w"], ["out"])
    model = helper.make_model(helper.make_graph([neg], "g", [], [], tensors[:1]))
    training = model.training_info.add()
    add = helper.make_node("Add", ["w", "rate"], ["new"])
    value.name = "new"
    training.algorithm.CopyFrom(helper.make_graph([add], "a", [], [value], tensors[1:]))
    zero = helper.make_node("Constant", [], ["first"], value_float=0.0)
    value.name = "first"
    training.initialization.CopyFrom(helper.make_graph([zero], "i", [], [value]))
    for key in ("w", "rate"):
        training.initialization_binding.add(key=key, value="first")
        training.update_binding.add(key=key, value="new")
    return onnxmap.loads(model.SerializeToString())


@pytest.mark.parametrize(
    ("graph", "name", "first", "updates"),
    [
        ("algorithm", "new", {"w": "first", "rate": "first"}, {"w": "NEW", "rate": "NEW"}),
        ("algorithm", "rate", {"w": "first", "NEW": "first"}, {"w": "new", "NEW": "new"}),
        ("initialization", "first", {"w": "NEW", "rate": "NEW"}, {"w": "new", "rate": "new"}),
    ],
)
def test_bindings_follow_the_graphs_of_their_training(
    graph: str, name: str, first: dict[str, str], updates: dict[str, str]
) -> None:
    model = trained()
    before = {finding.rule for finding in model.check().findings}
    getattr(model.training_info[0], graph).rename(name, "NEW")
    training = saved(model).training_info[0]
    assert {each.key: each.value for each in training.initialization_binding} == first
    assert {each.key: each.value for each in training.update_binding} == updates
    assert {finding.rule for finding in model.check().findings} <= before


def test_names_are_swapped() -> None:
    model = small()
    model.graph.rename({"x": "y", "y": "zeros", "zeros": "x"})
    nodes = saved(model).graph.node
    assert (list(nodes[0].input), list(nodes[0].output)) == (["y"], ["zeros", "x"])
    assert (list(nodes[1].input), nodes[1].attribute[0].g.node[0].input[0]) == (["x"], "zeros")
    assert model.graph.inputs[0].name == "y"
    assert model.graph.producer("x").name == "split"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("names", "error", "text"),
    [
        ({"w": "n"}, KeyError, "value"),
        ({"inner": "n"}, KeyError, "no value is named 'inner'"),
        ({"zero": "n"}, KeyError, "did you mean 'zeros'"),
        ({"": "n"}, KeyError, "value"),
        ({"y": "n", "zeros": "n"}, ValueError, "two values would get the name 'n'"),
        ({"y": "zeros"}, ValueError, "has a value of the name 'zeros' already"),
        ({"y": "inner"}, ValueError, "a subgraph has a value of its own"),
        ({"y": ""}, ValueError, "a value needs a name"),
        ({"y": "", "zeros": ""}, ValueError, "a value needs a name"),
        ({"y": "n", "nope": "n"}, KeyError, "no value is named 'nope'"),
        ({"y": 1}, TypeError, "a name is a str"),
    ],
)
def test_what_is_refused(names: dict[str, str], error: type[Exception], text: str) -> None:
    model = small()
    with pytest.raises(error, match=text):
        model.graph.rename({"x": "fine"} | names)
    assert not model.edited


def test_a_subgraph_renames_its_own() -> None:
    model = small()
    branch = model.graph.nodes[1].attributes["then_branch"].value
    branch.rename("inner", "mine")
    with pytest.raises(KeyError):
        branch.rename("y", "n")  # a value of the graph around it
    for outer in ("x", "y", "o"):
        with pytest.raises(ValueError, match=r"graph around this one|from outside"):
            branch.rename("mine", outer)
    assert saved(model).graph.node[1].attribute[0].g.node[0].output[0] == "mine"


def test_after_a_node_with_a_graph_was_removed() -> None:
    """What is known of the values follows the edits: the removed node has nothing to read."""
    model = small()
    branch = helper.make_graph([helper.make_node("Neg", ["x"], ["p"])], "b", [], [])
    model.graph.nodes.append(helper.make_node("If", ["zeros"], ["q"], then_branch=branch))
    model.graph.rename("x", "x1")
    del model.graph.nodes[-1]
    model.graph.rename("x1", "x2")
    assert model.graph.nodes[0].inputs == ["x2"]
    assert [use.position for use in model.graph.uses("x2")] == [0]


def test_names_that_are_no_text() -> None:
    graph = small().graph
    with pytest.raises(TypeError, match="int"):
        graph.rename({1: "n"})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="has the new names already"):
        graph.rename({"x": "n"}, "m")


def test_a_name_of_several_values() -> None:
    nodes = [helper.make_node("Neg", ["x"], ["y"]) for _ in range(2)]
    model = onnxmap.loads(
        helper.make_model(helper.make_graph(nodes, "g", [], [])).SerializeToString()
    )
    with pytest.raises(onnxmap.ParseError, match="'y'"):
        model.graph.rename("y", "n")
    assert not model.edited
