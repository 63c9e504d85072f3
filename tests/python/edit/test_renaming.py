"""Initializers get other names, and everything that refers to them follows."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import StringStringEntryProto, TensorAnnotation, TensorProto, helper, numpy_helper
from support.edits.rich_model import saved

import onnxmap


def value(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])


def node(op_type: str, inputs: list[str], outputs: list[str], **graphs: Any) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs, outputs, **graphs)


def weight(name: str, first: float = 0) -> TensorProto:
    return numpy_helper.from_array(np.array([first, 1], np.float32), name)


def model_with_uses(w: str = "w", v: str = "v") -> onnx.ModelProto:
    """A model that uses the initializers in every way. The last three subgraphs hide `w`."""
    uses_outer = helper.make_graph(
        [node("Add", [w, "x"], ["inner"]), node("Neg", [v], [w + " of a node"])],
        "uses", [], [value(w)],
    )  # fmt: skip
    deep = helper.make_graph([node("If", ["c"], ["d"], then_branch=uses_outer)], "deep", [], [])
    hidden_by_input = helper.make_graph(
        [node("Neg", ["w"], ["h"])], "i", [value("w")], [value("w")]
    )
    hidden_by_weight = helper.make_graph([node("Neg", ["w"], ["h"])], "t", [], [], [weight("w", 9)])
    hidden_by_node = helper.make_graph(
        [node("Neg", ["x"], ["w"]), node("Neg", ["w"], ["h"])], "n", [], [value("w")]
    )
    graph = helper.make_graph(
        [
            node("Add", [w, v], ["y"]), node("Sum", [w, "", w], ["s"]),
            node("If", ["c"], ["o"], then_branch=deep, else_branch=uses_outer),
            node("Loop", ["m"], ["p"], body=hidden_by_input),
            node("Loop", ["m"], ["q"], body=hidden_by_weight),
            node("Loop", ["m"], ["r"], body=hidden_by_node),
        ],
        "g", [value("x"), value(w)], [value("y"), value(w)], [weight(w), weight(v, 5)],
        value_info=[value(v), value("y")],
    )  # fmt: skip
    note = graph.quantization_annotation.add(tensor_name=w)
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value=v)
    note.quant_parameter_tensor_names.add(key="w", value="other")
    function = helper.make_function(
        "d", "f", ["w"], ["y"], [node("Neg", ["w"], ["y"])], [helper.make_opsetid("", 21)]
    )
    model = helper.make_model(graph, functions=[function], opset_imports=[])
    training = model.training_info.add()
    training.update_binding.add(key=w, value="new w")
    training.initialization_binding.add(key=v, value="w")
    training.algorithm.node.append(node("Adam", [w, "x"], ["new w"]))
    shards = graph.node[0].device_configurations.add(configuration_id="c")
    shards.sharding_spec.add(tensor_name=w)
    model.graph.node[0].CopyFrom(graph.node[0])
    return model


def loaded(**names: str) -> onnxmap.Model:
    return onnxmap.loads(model_with_uses(**names).SerializeToString())


@pytest.mark.parametrize("form", ["two names", "a mapping"])
def test_every_use_follows(form: str) -> None:
    model = loaded()
    tensor = model.initializers["w"]
    if form == "two names":
        model.initializers.rename("w", "weight")
    else:
        model.initializers.rename({"w": "weight"})
    expected = model_with_uses(w="weight")
    for graph in (expected.graph.node[2].attribute[0].g, expected.graph.node[2].attribute[1].g):
        for inner in (graph, *(one.attribute[0].g for one in graph.node if one.attribute)):
            for one in inner.node:
                if one.output[0].endswith(" of a node"):
                    one.output[0] = "w of a node"
    assert saved(model) == expected
    assert (tensor.name, model.initializers["weight"] == tensor) == ("weight", True)
    assert ("w" in model.initializers, model.initializers.names()) == (False, ["weight", "v"])
    assert [use.position for use in model.graph.uses("weight")][:1] == [0]
    assert len(model.graph.uses("weight")) == len(loaded().graph.uses("w"))
    assert model.state_variables == ["v", "weight"]


def test_two_names_are_swapped() -> None:
    original = model_with_uses()
    del original.graph.node[3:]  # the other subgraphs have a value `w` of their own
    model = onnxmap.loads(original.SerializeToString())
    model.initializers.rename({"w": "v", "v": "w"})
    assert model.initializers["v"].numpy().tolist() == [0, 1]
    assert model.initializers["w"].numpy().tolist() == [5, 1]
    made = saved(model)
    assert list(made.graph.node[0].input) == ["v", "w"]
    assert [one.name for one in made.graph.initializer] == ["v", "w"]
    assert [one.name for one in made.graph.output] == ["y", "v"]
    model.initializers.rename({"w": "v", "v": "w"})
    assert saved(model) == original


def test_names_move_on_in_a_ring() -> None:
    tensors = [weight(name, number) for number, name in enumerate("abc")]
    nodes = [node("Sum", ["a", "b", "c"], ["y"])]
    graph = helper.make_graph(nodes, "g", [], [], tensors)
    model = onnxmap.loads(helper.make_model(graph).SerializeToString())
    model.initializers.rename({"a": "b", "b": "c", "c": "a"})
    assert model.initializers.names() == ["b", "c", "a"]
    assert model.graph.nodes[0].inputs == ["b", "c", "a"]
    model.initializers.rename({"a": "a", "b": "b"})
    saved(model)


def test_a_name_that_stays_is_no_edit() -> None:
    model = loaded()
    model.initializers.rename("w", "w")
    model.initializers.rename({"w": "w", "v": "v"})
    assert not model.edited


CONFLICTS = {
    "an input": ({"w": "x"}, "graph has a value"),
    "an output of a node": ({"w": "y"}, "graph has a value"),
    "another initializer": ({"w": "v"}, "graph has a value"),
    "the same new name": ({"w": "n", "v": "n"}, "two values would get"),
    "a value of a subgraph": ({"w": "inner"}, "subgraph has a value"),
    "the output of a node in a subgraph": ({"v": "h"}, "subgraph has a value"),
    "a value of the training algorithm": ({"w": "new w"}, "subgraph has a value"),
    "no name": ({"w": ""}, "needs a name"),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_conflicts_change_nothing(case: str) -> None:
    names, message = CONFLICTS[case]
    model = loaded()
    with pytest.raises(ValueError, match=message):
        model.initializers.rename(names)
    assert not model.edited


def test_a_value_from_outside_is_not_hidden() -> None:
    inner = helper.make_graph(
        [node("Add", ["i", "w"], ["t"])], "t", [], [value("t")], [weight("i")]
    )
    graph = helper.make_graph(
        [node("If", ["c"], ["y"], then_branch=inner)], "g", [], [value("y")], [weight("w")]
    )
    model = onnxmap.loads(helper.make_model(graph).SerializeToString())
    branch = model.graph.nodes[0].attributes["then_branch"].value
    with pytest.raises(ValueError, match="the graph uses a value 'w' from outside"):
        branch.initializers.rename("i", "w")
    assert not model.edited


def test_what_training_uses_is_not_deleted() -> None:
    graph = helper.make_graph([], "g", [], [], [weight(name) for name in ("k", "v", "a", "free")])
    original = helper.make_model(graph)
    training = original.training_info.add()
    training.initialization_binding.add(key="k", value="free")
    training.update_binding.add(key="q", value="v")
    training.algorithm.node.append(node("Neg", ["a"], ["q"]))
    model = onnxmap.loads(original.SerializeToString())
    for name, user in (("k", "TrainingInfo"), ("v", "TrainingInfo"), ("a", "Node Neg")):
        with pytest.raises(ValueError, match=f"initializer '{name}' is used by <onnxmap.{user}"):
            del model.initializers[name]
    del model.initializers["free"]
    assert model.initializers.names() == ["k", "v", "a"]


def test_names_that_are_no_text() -> None:
    model = loaded()
    with pytest.raises(TypeError, match="expected a name or a mapping of names, not int"):
        model.initializers.rename(0, "n")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a name is a str, not int"):
        model.initializers.rename("w", 0)  # type: ignore[arg-type]
    assert not model.edited


def test_names_that_are_not_there() -> None:
    model = loaded()
    for old in ("absent", "x", "inner", ""):
        with pytest.raises(KeyError):
            model.initializers.rename(old, "n")
    for wrong in (5, None, b"n"):
        with pytest.raises(TypeError):
            model.initializers.rename("w", wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        model.initializers.rename(5)  # type: ignore[arg-type]
    model.initializers.rename({})
    assert not model.edited


def test_initializers_of_a_subgraph_are_its_own() -> None:
    model = loaded()
    body = model.graph.nodes[4].attributes["body"].value
    body.initializers.rename("w", "mine")
    made = saved(model)
    inner = made.graph.node[4].attribute[0].g
    assert (inner.initializer[0].name, inner.node[0].input[0]) == ("mine", "mine")
    assert made.graph.node[0].input[0] == "w"
    assert made.training_info == model_with_uses().training_info
    expected = model_with_uses()
    inner = expected.graph.node[4].attribute[0].g
    inner.initializer[0].name = inner.node[0].input[0] = "mine"
    assert made == expected


def test_sparse_initializers() -> None:
    sparse = helper.make_sparse_tensor(
        weight("s"), numpy_helper.from_array(np.array([0, 2]), "s indices"), [3]
    )
    graph = helper.make_graph([node("Neg", ["s"], ["y"])], "g", [], [])
    graph.sparse_initializer.append(sparse)
    model = onnxmap.loads(helper.make_model(graph).SerializeToString())
    model.initializers.rename("s", "renamed")
    assert list(model.graph.sparse_initializers) == ["renamed"]
    assert model.graph.nodes[0].inputs == ["renamed"]
    saved(model)


def test_many_names_at_once() -> None:
    count = 300
    tensors = [weight(f"w{number}", number) for number in range(count)]
    nodes = [node("Add", [f"w{i}", f"w{(i * 7) % count}"], [f"y{i}"]) for i in range(count)]
    model = onnxmap.loads(
        helper.make_model(helper.make_graph(nodes, "g", [], [], tensors)).SerializeToString()
    )
    model.initializers.rename({f"w{number}": f"layer.{number}" for number in range(count)})
    assert model.initializers.names() == [f"layer.{number}" for number in range(count)]
    assert model.graph.node_inputs() == [
        [f"layer.{i}", f"layer.{(i * 7) % count}"] for i in range(count)
    ]
    assert [int(one.numpy()[0]) for one in model.initializers.values()] == list(range(count))


def test_annotations_of_subgraphs_follow() -> None:
    """Unless the name is that of a value of the subgraph itself."""

    def annotation(name: str, scale: str) -> TensorAnnotation:
        entry = StringStringEntryProto(key="SCALE_TENSOR", value=scale)
        return TensorAnnotation(tensor_name=name, quant_parameter_tensor_names=[entry])

    inner = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["c"])], "inner", [], [])
    own = numpy_helper.from_array(np.ones(1, np.float32), "scale")
    hiding = helper.make_graph([], "hiding", [], [], [own])
    for graph in inner, hiding:
        graph.quantization_annotation.append(annotation("w", "scale"))
    node = helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=hiding)
    weights = [numpy_helper.from_array(np.ones(1, np.float32), name) for name in ("w", "scale")]
    main = helper.make_graph([node], "main", [], [], weights)
    model = onnxmap.loads(helper.make_model(main).SerializeToString())
    model.initializers.rename({"w": "W", "scale": "S"})
    branches = {one.name: one.g for one in model.proto.graph.node[0].attribute}
    found = {
        name: (graph.quantization_annotation[0].tensor_name,
               graph.quantization_annotation[0].quant_parameter_tensor_names[0].value)
        for name, graph in branches.items()
    }  # fmt: skip
    assert found == {"then_branch": ("W", "S"), "else_branch": ("W", "scale")}
