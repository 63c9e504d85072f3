"""Verbs that name, lower and raise what a whole model has, beside onnx, onnx_ir and onnxruntime."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import onnx.checker
import onnx.compose
import onnx_ir as ir
import pytest
from onnx import AttributeProto, GraphProto, ModelProto, helper, numpy_helper
from onnx_ir.passes import common
from support.edits.rich_model import saved
from support.processes.subprocesses import growth_kib
from support.processes.work import Work, too_steep
from support.run_options import EXHAUSTIVE, SANITIZED
from support.surgery.models import floats, loads, run
from support.surgery.programs import errors, results
from support.surgery.random_models import random_model

import onnxmap

SEEDS = range(100 if EXHAUSTIVE else 6)


def prefixed_by_onnx(message: ModelProto) -> GraphProto:
    """It forgets annotations, and gives nodes without a name an empty one."""
    made = onnx.compose.add_prefix(message, "p.", rename_functions=False).graph
    for note in made.quantization_annotation:
        for entry in note.quant_parameter_tensor_names:
            entry.value = f"p.{entry.value}"
        note.tensor_name = f"p.{note.tensor_name}"
    for node in made.node:
        if not node.name:
            node.ClearField("name")
    return made


def test_a_prefix_as_by_onnx() -> None:
    """It forgets initializers that a subgraph uses, so models with subgraphs are run instead."""
    compared = 0
    feed = {"p.x": np.float32([1, 2]), "p.c": np.array(True)}
    for seed in SEEDS:
        message = random_model(seed)
        model = loads(message)
        model.graph.add_prefix("p.")
        if all(node.op_type != "If" for node in message.graph.node):
            assert saved(model).graph == prefixed_by_onnx(message)
            compared += 1
        assert errors(model) == set()
        onnx.checker.check_model(saved(model), full_check=True)
        found = run(model, feed)
        plain = run(message, {name[2:]: value for name, value in feed.items()})
        assert {name: value.tobytes() for name, value in found.items()} == {
            f"p.{name}": value.tobytes() for name, value in plain.items()
        }
        for body in [model.graph, *_subgraphs(model)]:
            names = [*body.initializers, *(name for made in body.node_outputs() for name in made)]
            assert all(name.startswith("p.") for name in names if name)
        model.revert()
        assert onnxmap.dumps(model) == message.SerializeToString()
    assert 0 < compared < len(SEEDS)


def _subgraphs(model: onnxmap.Model) -> list[onnxmap.Graph]:
    nodes = [node for where, node in model.all_nodes() if where.startswith("graph")]
    values = [attribute.value for node in nodes for attribute in node.attributes.values()]
    return [value for value in values if isinstance(value, onnxmap.Graph)]


def test_names_that_are_kept() -> None:
    message = random_model(0)
    model = loads(message)
    ends = [value.name for value in [*model.graph.inputs, *model.graph.outputs]]
    model.graph.add_prefix("p.", keep=ends)
    assert [value.name for value in [*model.graph.inputs, *model.graph.outputs]] == ends
    assert results(model) == results(loads(message))
    assert all(name.startswith("p.") for name in model.initializers)


def shadowing() -> ModelProto:
    """A model whose subgraph has a value of its own with the name of one of the graph."""
    nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["e"])]
    branch = helper.make_graph(nodes, "b", [], floats("e"))
    graph = helper.make_graph(
        [
            helper.make_node("Neg", ["x"], ["a"]),
            helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
        ],
        "g", [*floats("x"), helper.make_tensor_value_info("c", 9, [])], floats("y"),
    )  # fmt: skip
    return helper.make_model(graph)


def test_a_prefix_that_is_refused_changes_nothing() -> None:
    message = shadowing()
    model = loads(message)
    with pytest.raises(ValueError, match="'pa'"):
        model.graph.add_prefix("p")
    assert onnxmap.dumps(model) == message.SerializeToString()
    message.graph.node[1].attribute[0].g.node[0].output[0] = "inner"
    message.graph.node[1].attribute[0].g.node[1].input[0] = "inner"
    message.graph.node[1].attribute[1].CopyFrom(message.graph.node[1].attribute[0])
    message.graph.node[1].attribute[1].name = "then_branch"
    message.graph.node.add(op_type="Neg", input=["x"], output=["px"])
    model = loads(message)
    with pytest.raises(ValueError, match="'px' already"):
        model.graph.add_prefix("p", keep=["px"])
    assert onnxmap.dumps(model) == message.SerializeToString()
    with pytest.raises(TypeError, match=r"a list of names, not a str: \['x'\]"):
        model.graph.add_prefix("p", keep="x")
    with pytest.raises(TypeError):
        model.graph.add_prefix(1)  # type: ignore[arg-type]
    assert not model.edited


def test_lowered_initializers_compute_the_same() -> None:
    lowered = 0
    for seed in SEEDS:
        message = random_model(seed)
        model = loads(message)
        names = model.lower_initializers()
        assert results(model) == results(loads(message))
        assert errors(model) == set()
        onnx.checker.check_model(saved(model), full_check=True)
        assert len(model.initializers) == 0
        assert model.lower_initializers() == []
        assert Counter(model.lift_constants()) >= Counter(names)
        lowered += len(names)
    assert lowered > 10


def test_initializers_that_stay() -> None:
    ones = np.ones(2, np.float32)
    tensors = [numpy_helper.from_array(ones, name) for name in ("w", "d", "v", "y", "r", "r", "")]
    nodes = [helper.make_node("Sum", ["d", "w", "v"], ["z"])]
    graph = helper.make_graph(nodes, "g", floats("d"), floats("z", "y"), tensors)
    message = helper.make_model(graph)
    message.training_info.add().update_binding.add(key="v", value="z")
    model = loads(message)
    assert model.lower_initializers() == ["w", "y"]
    assert [each.name for each in model.initializers.all()] == ["d", "v", "r", "r", ""]
    assert [[*node.outputs] for node in model.graph.nodes] == [["w"], ["y"], ["z"]]
    assert model.graph.nodes[0].attributes["value"].value.numpy().tolist() == [1, 1]


def test_initializers_of_subgraphs_are_lowered() -> None:
    message = shadowing()
    for attribute in message.graph.node[1].attribute:
        attribute.g.initializer.append(numpy_helper.from_array(np.ones(2, np.float32), "k"))
        attribute.g.node.add(op_type="Add", input=["e", "k"], output=["f"])
        attribute.g.output[0].name = "f"
        attribute.g.node[0].output[0] = attribute.g.node[1].input[0] = "inner"
    model = loads(message)
    assert model.lower_initializers() == ["k", "k"]
    feed = {"x": np.float32([1, -2]), "c": np.array(True)}
    assert run(model, feed)["y"].tolist() == run(message, feed)["y"].tolist() == [0, -1]


def test_a_model_without_operators_of_onnx_has_no_constant_nodes() -> None:
    message = old_model(9)
    message.opset_import[0].domain = "ai.onnx.ml"
    del message.graph.input[:]
    model = loads(message)
    with pytest.raises(ValueError, match=r"set model\.opset_imports"):
        model.lower_initializers()
    assert not model.edited


def test_weights_that_are_lowered_are_not_copied() -> None:
    data = "wire.blob(7, wire.blob(5, wire.blob(8, b'w') + wire.scalar(1, 50 << 20)"
    data += " + wire.scalar(2, 3) + wire.blob(9, bytes(50 << 20))))"
    use = "model = onnxmap.loads(data)\n    assert model.lower_initializers() == ['w']"
    assert growth_kib(data, use)["growth"] < 5 * 1024


def old_model(ir_version: int) -> ModelProto:
    tensors = [numpy_helper.from_array(np.float32([3, 5]), name) for name in "wv"]
    nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("Mul", ["a", "v"], ["y"])]
    graph = helper.make_graph(nodes, "g", floats("w", "x", "v"), floats("y"), tensors)
    opsets = [helper.make_opsetid("", 8)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)


@pytest.mark.parametrize("ir_version", [3, 9])
def test_inputs_with_defaults_go_as_with_onnx_ir(ir_version: int) -> None:
    message = old_model(ir_version)
    model = loads(message)
    assert model.drop_initializer_inputs() == ["w", "v"]
    theirs = ir.from_proto(message)
    common.RemoveInitializersFromInputsPass()(theirs)
    expected = ir.to_proto(theirs).graph
    del expected.value_info[:]  # initializers have types
    assert saved(model).graph == expected
    assert model.ir_version == max(ir_version, 4)
    onnx.checker.check_model(saved(model), full_check=True)
    x = np.float32([1, 2])
    w = np.float32([3, 5])
    assert run(model, {"x": x})["y"].tolist() == ((x + w) * w).tolist()
    assert model.drop_initializer_inputs() == []
    model.set_dims(inputs={"x": [2]})
    model.revert()
    assert onnxmap.dumps(model) == message.SerializeToString()


def test_each_node_gets_a_name_of_its_own() -> None:
    body = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["q"]), helper.make_node("Neg", ["q"], ["r"], "Neg_0")],
        "b", [], floats("r"),
    )  # fmt: skip
    nodes = [
        helper.make_node("Neg", ["x"], ["a"], "same"),
        helper.make_node("Neg", ["a"], ["b"], "same"),
        helper.make_node("If", ["c"], ["d"], then_branch=body, else_branch=body),
        helper.make_node("Neg", ["d"], ["y"]),
    ]  # fmt: skip
    inputs = [*floats("x"), helper.make_tensor_value_info("c", 9, [])]
    model = loads(helper.make_model(helper.make_graph(nodes, "g", inputs, floats("y"))))
    assert "node.name_repeated" in errors(model)
    new = model.assign_names()
    assert new == ["same_0", "If_0", "Neg_1", "Neg_2", "Neg_3"]
    assert model.graph.node_names() == ["same", "same_0", "If_0", "Neg_3"]
    assert "node.name_repeated" not in errors(model)
    assert all(node.name for _, node in model.all_nodes())
    assert model.assign_names() == []


@pytest.mark.parametrize("seed", SEEDS)
def test_named_models_compute_the_same(seed: int) -> None:
    message = random_model(seed)
    model = loads(message)
    model.assign_names()
    names = [node.name for _, node in model.all_nodes()]
    assert len({*names}) == len(names)
    assert results(model) == results(loads(message))


@pytest.mark.parametrize("old", [2, 3, 9])
def test_a_later_version_of_the_format(old: int) -> None:
    message = old_model(old)
    if old == 2:
        del message.opset_import[:]
    model = loads(message)
    for version in (3, 10, onnxmap.Version.IR_VERSION):
        if version < old:
            continue
        model.raise_ir(version)
        assert model.ir_version == version
        assert not {"model.opset_import", "model.ir_version"} & errors(model)
    assert dict(model.opset_imports) == {"": 1 if old == 2 else 8}
    for wrong in (3, 999, -1):
        with pytest.raises(ValueError, match=f"cannot become {wrong}"):
            model.raise_ir(wrong)
    with pytest.raises(TypeError):
        model.raise_ir("12")  # type: ignore[arg-type]


def test_attributes_without_types_are_not_raised() -> None:
    with pytest.raises(ValueError, match="IR version 1 cannot become 8"):
        loads(old_model(1)).raise_ir(8)


def wide(length: int) -> bytes:
    """Nodes without names; very many initializers, half of which are inputs; an If at the end."""
    graph = onnx.GraphProto(name="g", input=floats("x"), output=floats("y"))
    for i in range(length):
        graph.initializer.append(numpy_helper.from_array(np.float32([i]), f"w{i}"))
        graph.node.add(op_type="Add", input=[f"v{i}", f"w{i}"], output=[f"v{i + 1}"])
        if i % 2:
            graph.input.extend(floats(f"w{i}"))
    inner = onnx.GraphProto(name="b", output=floats("e"))
    inner.node.add(op_type="Neg", input=["x"], output=["e"])
    held = graph.node.add(op_type="If", input=["c"], output=["y"])
    for name in ("then_branch", "else_branch"):
        held.attribute.append(AttributeProto(name=name, type=AttributeProto.GRAPH, g=inner))
    return helper.make_model(graph).SerializeToString()


VERBS = {
    "add_prefix": lambda model: model.graph.add_prefix("p"),
    "lower_initializers": onnxmap.Model.lower_initializers,
    "drop_initializer_inputs": onnxmap.Model.drop_initializer_inputs,
    "assign_names": onnxmap.Model.assign_names,
    "raise_ir": lambda model: model.raise_ir(14),
    "remove_output": lambda model: model.graph.remove_output("y"),
    "insert_after": lambda model: model.graph.insert_after(
        "v3", onnxmap.make_node("Sum", ["v3"] * len(model.graph.nodes), ["new"])
    ),
    "insert_before": lambda model: model.graph.insert_before(
        model.graph.nodes[5], onnxmap.make_node("Neg", ["v5"], ["new"])
    ),
    "replace": lambda model: model.graph.replace(
        model.graph.nodes[:-1],
        [onnxmap.make_node("Mul", node.inputs, node.outputs) for node in model.graph.nodes[:-1]],
    ),
}


@pytest.mark.skipif(SANITIZED, reason="nothing is counted under ASan")
@pytest.mark.parametrize("verb", VERBS)
def test_work_is_linear(verb: str) -> None:
    def prepare(length: int) -> tuple[bytes, Work]:
        data = wide(length)
        return data, lambda: VERBS[verb](onnxmap.loads(data))

    def names(length: int) -> list[bytes]:
        return [b"v%d" % (3 * length // 8), b"w%d" % (3 * length // 8)]

    assert not too_steep(prepare, (100, 1_000), names)
