"""`replace_uses`, `bypass`, `add_output`: values take the place of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_ir.passes import common
from support.edits.rich_model import saved
from support.run_options import EXHAUSTIVE, SANITIZED
from support.surgery.models import floats
from support.surgery.programs import graphs
from support.surgery.random_models import random_model

import onnxmap

SEEDS = range(100 if EXHAUSTIVE else 5)


def in_order(model: ir.Model | onnx.ModelProto) -> onnx.ModelProto:
    """The message of a model, as onnx_ir writes it, without what onnx_ir adds or leaves."""
    read = ir.from_proto(model) if isinstance(model, onnx.ModelProto) else model
    message = ir.to_proto(read)
    for graph in [message.graph, *(g for _, g in subgraphs(message.graph))]:
        graph.initializer.sort(key=lambda tensor: tensor.name)
        del graph.value_info[:]
        del graph.quantization_annotation[:]
        for value in [*graph.input, *graph.output]:
            value.ClearField("doc_string")  # ours keeps that of the output
    for function in message.functions:
        del function.value_info[:]
    return message


def subgraphs(graph: Any) -> list[tuple[onnx.NodeProto, onnx.GraphProto]]:
    found = []
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found += [(node, attribute.g), *subgraphs(attribute.g)]
    return found


def values_of(graph: ir.Graph | ir.Function) -> dict[str, ir.Value]:
    values = [*graph.inputs, *(value for node in graph for value in node.outputs)]
    if isinstance(graph, ir.Graph):
        values += graph.initializers.values()
    return {str(value.name): value for value in values}


@pytest.mark.skipif(SANITIZED, reason="the random programs replace uses as well")
def test_uses_are_replaced_as_by_onnx_ir() -> None:
    """Every value of the main graph by one that is made before it."""
    count = 0
    for seed in SEEDS:
        original = random_model(seed)
        data = original.SerializeToString()
        names = list(values_of(ir.from_proto(original).graph))
        outputs = {value.name for value in original.graph.output}
        model = onnxmap.loads(data)
        for old in names:
            new = "x" if old != "x" else original.graph.initializer[0].name
            theirs = ir.from_proto(onnx.ModelProto.FromString(data))
            values = values_of(theirs.graph)
            with_outputs = old in outputs
            ir.convenience.replace_all_uses_with(
                values[old], values[new], replace_graph_outputs=with_outputs
            )
            model.graph.replace_uses(old, new, outputs=with_outputs)
            ours = in_order(saved(model))
            assert ours == in_order(theirs), (seed, old)
            count += 1
            model.revert()
        assert onnxmap.dumps(model) == data
    assert count > 50


def test_identities_are_bypassed_as_by_onnx_ir() -> None:
    """Where onnx_ir removes all Identity nodes that it can, so do we, one by one."""
    count = kept = 0
    for seed in SEEDS:
        original = random_model(seed)
        theirs = ir.from_proto(original)
        common.IdentityEliminationPass()(theirs)
        model = onnxmap.loads(original.SerializeToString())
        for graph in graphs(model):
            for node in [node for node in graph.nodes if node.op_type == "Identity"]:
                try:
                    graph.bypass(node)
                    count += 1
                except ValueError:
                    kept += 1
        ours, other = in_order(saved(model)).graph, in_order(theirs).graph
        names = [value.name for value in other.output]
        if len(set(names)) == len(names):  # onnx_ir returns one value twice if both were outputs
            assert shape_of(ours) == shape_of(other), seed
    assert count > 5
    assert kept > 5


def shape_of(graph: onnx.GraphProto) -> Any:
    """The nodes with numbers for names: which of two names stays is a matter of taste."""
    numbers: dict[str, int] = {}

    def number(name: str) -> int:
        return numbers.setdefault(name, len(numbers))

    def read(graph: onnx.GraphProto) -> Any:
        nodes = [
            (
                node.op_type, [number(name) for name in node.input],
                [read(each.g) for each in node.attribute if each.HasField("g")],
                [number(name) for name in node.output],
            )
            for node in graph.node
        ]  # fmt: skip
        return nodes, [number(value.name) for value in graph.output]

    return read(graph)


def small() -> onnxmap.Model:
    """x -> Relu -> a -> Cast -> b (an output), and If uses a in a branch."""
    inner = helper.make_graph(
        [helper.make_node("Neg", ["a"], ["mine"])], "inner", [],
        [helper.make_tensor_value_info("mine", TensorProto.FLOAT, [2])],
    )  # fmt: skip
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "relu"),
        helper.make_node("Cast", ["a"], ["b"], "cast", to=1),
        helper.make_node("If", ["c"], ["d"], "if", then_branch=inner, else_branch=inner),
        helper.make_node("Split", ["w"], ["s", "t"], "split"),
        helper.make_node("Add", ["s", "t"], ["u"], "add"),
    ]
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", 1, [2]), helper.make_tensor_value_info("c", 9, [])],
        [helper.make_tensor_value_info("b", 1, ["N"]), helper.make_tensor_value_info("d", 1, [2])],
        [numpy_helper.from_array(np.zeros((3, 2), np.float32), "w")],
        value_info=[helper.make_tensor_value_info("a", 1, [2])],
    )  # fmt: skip
    annotation = graph.quantization_annotation.add(tensor_name="a")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="a")
    device = graph.node[1].device_configurations.add(configuration_id="d")
    device.sharding_spec.add(tensor_name="a")
    model = helper.make_model(graph)
    model.training_info.add().algorithm.CopyFrom(
        helper.make_graph([helper.make_node("Neg", ["a"], ["n"])], "t", [], [])
    )
    model.training_info[0].update_binding.add(key="w", value="b")
    return onnxmap.loads(model.SerializeToString())


def test_all_that_uses_a_value_follows() -> None:
    model = small()
    model.graph.replace_uses("a", "x")
    ours = saved(model)
    nodes = ours.graph.node
    assert nodes[1].input == ["x"]
    assert nodes[1].device_configurations[0].sharding_spec[0].tensor_name == "x"
    assert nodes[2].attribute[0].g.node[0].input == ["x"]
    assert ours.training_info[0].algorithm.node[0].input == ["x"]
    annotation = ours.graph.quantization_annotation[0]
    assert annotation.tensor_name == "a"  # which is still there
    assert annotation.quant_parameter_tensor_names[0].value == "x"


def test_outputs_follow_if_asked() -> None:
    model = small()
    model.graph.replace_uses("b", "a")
    assert [value.name for value in model.graph.outputs] == ["b", "d"]
    model.graph.replace_uses("b", "a", outputs=True)
    output = model.graph.outputs[0]
    assert (output.name, output.shape) == ("a", (2,))  # the type of the new value
    assert "a" not in [value.name for value in model.graph.value_infos]
    assert saved(model).training_info[0].update_binding[0].value == "a"


def test_the_key_of_a_binding_is_no_use() -> None:
    model = small()
    model.graph.replace_uses("w", "a", outputs=True)
    assert saved(model).training_info[0].update_binding[0].key == "w"


def test_a_node_is_put_behind_a_value() -> None:
    model = small()
    model.graph.nodes.insert(1, onnxmap.make_node("Identity", ["a"], ["new"]))
    model.graph.replace_uses("a", "new")
    assert model.graph.nodes[1].inputs == ["a"]
    assert model.graph.nodes["cast"].inputs == ["new"]


@pytest.mark.parametrize(
    ("old", "new", "error", "text"),
    [
        ("nope", "x", KeyError, "nope"),
        ("x", "nope", KeyError, "nope"),
        ("x", "", KeyError, "value"),
        ("x", "b", ValueError, "'b' is made by node 1, after node 0"),
        ("a", "u", ValueError, "after node 1"),
        ("a", "mine", KeyError, "mine"),
    ],
)
def test_refused_replacements(old: str, new: str, error: type[Exception], text: str) -> None:
    model = small()
    with pytest.raises(error, match=text):
        model.graph.replace_uses(old, new)
    assert not model.edited


def test_two_outputs_would_be_one() -> None:
    model = small()
    with pytest.raises(ValueError, match="'b' is an output already"):
        model.graph.replace_uses("d", "b", outputs=True)
    assert not model.edited


def test_a_subgraph_would_hide_the_value() -> None:
    model = small()
    branch = model.graph.nodes["if"].attributes["then_branch"].value
    branch.nodes[0].outputs[0] = "x"
    with pytest.raises(ValueError, match="also a value of a subgraph"):
        model.graph.replace_uses("a", "x")


def test_an_output_keeps_its_name() -> None:
    """What made the input of the node makes the output, and all that used the input follows."""
    model = small()
    model.graph.nodes.remove(model.graph.nodes["cast"], rewire=True)
    ours = saved(model)
    assert [node.name for node in ours.graph.node] == ["relu", "if", "split", "add"]
    assert ours.graph.node[0].output == ["b"]
    assert ours.graph.node[1].attribute[0].g.node[0].input == ["b"]
    assert ours.graph.quantization_annotation[0].tensor_name == "b"
    assert ours.graph.output[0].name == "b"
    assert not ours.graph.value_info
    assert ours.training_info[0].algorithm.node[0].input == ["b"]


def test_what_describes_a_bypassed_value_goes() -> None:
    model = small()
    model.graph.bypass(model.graph.nodes["relu"])
    ours = saved(model)
    assert ours.graph.node[0].input == ["x"]
    assert not ours.graph.value_info
    assert not ours.graph.quantization_annotation


def test_refused_bypasses() -> None:
    model = small()
    graph = model.graph
    with pytest.raises(ValueError, match="'t' is another output of the node"):
        graph.bypass(graph.nodes["split"])
    with pytest.raises(ValueError, match="not in this graph"):
        graph.bypass(small().graph.nodes["add"])
    with pytest.raises(ValueError, match="not in this graph"):
        graph.bypass(graph.nodes["if"].attributes["then_branch"].value.nodes[0])
    with pytest.raises(TypeError, match="Node, not str"):
        graph.bypass("add")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="only nodes are rewired"):
        graph.inputs.remove(graph.inputs[0], rewire=True)
    assert not model.edited
    graph.bypass(graph.nodes["relu"])
    with pytest.raises(ValueError, match="'b' is an output, and 'x' cannot be"):
        graph.bypass(graph.nodes["cast"])
    assert [node.name for node in graph.nodes] == ["cast", "if", "split", "add"]


def test_a_bypassed_node_may_have_no_input_if_nothing_uses_it() -> None:
    model = small()
    model.graph.nodes.append(onnxmap.make_node("RandomNormal", [], ["r"], shape=[2]))
    model.graph.bypass(model.graph.nodes[-1])
    model.graph.nodes.insert(0, onnxmap.make_node("RandomNormal", [], ["r"], shape=[2]))
    model.graph.nodes["relu"].inputs[0] = "r"
    with pytest.raises(ValueError, match="no first input"):
        model.graph.bypass(model.graph.nodes[0])


def test_outputs_are_added() -> None:
    model = small()
    model.graph.add_output("a")
    model.graph.add_output("w")
    model.graph.add_output("x")
    ours = saved(model).graph
    assert [value.name for value in ours.output] == ["b", "d", "a", "w", "x"]
    assert not ours.value_info
    added = onnxmap.loads(onnxmap.dumps(model)).graph.outputs
    assert (added["w"].dtype, added["w"].shape) == (onnxmap.DataType.FLOAT, (3, 2))


@pytest.mark.parametrize(
    ("name", "error", "text"),
    [
        ("nope", KeyError, "nope"),
        ("b", ValueError, "an output already"),
        ("s", ValueError, r"no known type and rank.*infer_shapes\(\)"),
    ],
)
def test_refused_outputs(name: str, error: type[Exception], text: str) -> None:
    model = small()
    with pytest.raises(error, match=text):
        model.graph.add_output(name)
    assert not model.edited


def test_a_subgraph_needs_no_types() -> None:
    model = small()
    branch = model.graph.nodes["if"].attributes["then_branch"].value
    branch.nodes.append(onnxmap.make_node("Neg", ["mine"], ["more"]))
    branch.add_output("more")
    assert [value.name for value in branch.outputs] == ["mine", "more"]
    with pytest.raises(ValueError, match="'a' is not a value of the graph"):
        branch.add_output("a")  # of the graph around it


def test_names_that_are_not_utf_8() -> None:
    data = small().proto.SerializeToString().replace(b"mine", b"mi\xffe")
    model = onnxmap.loads(data)
    branch = model.graph.nodes["if"].attributes["then_branch"].value
    name = branch.nodes[0].outputs[0]
    branch.nodes.append(onnxmap.make_node("Neg", [name], ["more"]))
    branch.replace_uses(name, "more", outputs=True)
    assert [value.name for value in branch.outputs] == ["more"]
    assert branch.nodes[1].inputs == [name]


def test_a_value_that_two_nodes_make() -> None:
    model = small()
    model.graph.nodes["add"].outputs[0] = "a"
    for edit in (
        lambda graph: graph.replace_uses("x", "a"),
        lambda graph: graph.bypass(graph.nodes["relu"]),
    ):
        with pytest.raises(onnxmap.ParseError, match="'a'"):
            edit(model.graph)


def test_removed_graphs_are_not_edited() -> None:
    model = small()
    branch = model.graph.nodes["if"].attributes["then_branch"].value
    node = branch.nodes[0]
    del model.graph.nodes[2]
    for edit in (
        lambda: branch.bypass(node),
        lambda: branch.add_output("mine"),
        lambda: branch.replace_uses("a", "mine"),
    ):
        with pytest.raises(onnxmap.EditError):
            edit()


def test_values_of_functions() -> None:
    function = helper.make_function(
        "d", "F", ["a"], ["b"],
        [
            helper.make_node("Neg", ["a"], ["m"]), helper.make_node("Identity", ["m"], ["i"]),
            helper.make_node("Abs", ["i"], ["b"]),
        ],
        [helper.make_opsetid("", 21)],
    )  # fmt: skip
    function.value_info.add(name="i")
    model = onnxmap.loads(
        helper.make_model(helper.make_graph([], "g", [], []), functions=[function])
        .SerializeToString()
    )  # fmt: skip
    ours = model.functions[0]
    ours.bypass(ours.nodes[1])
    assert ours.nodes[1].inputs == ["m"]
    assert not ours.value_infos
    ours.replace_uses("b", "m", outputs=True)
    assert list(ours.outputs) == ["m"]
    ours.bypass(ours.nodes[1])
    with pytest.raises(ValueError, match="'a' cannot be"):
        ours.bypass(ours.nodes[0])
    with pytest.raises(KeyError, match="'zz'"):
        ours.replace_uses("zz", "m")


def test_one_annotation_is_left_of_two() -> None:
    """The scale of one is the other: it takes the new name, where it stays."""
    nodes = [helper.make_node("Abs", ["x"], ["t"]), helper.make_node("Identity", ["t"], ["y"])]
    for annotated in ("ty", "yt", "t", "y"):
        graph = helper.make_graph(nodes, "g", floats("x"), floats("y"))
        for name in annotated:
            note = graph.quantization_annotation.add(tensor_name=name)
            for scale in (f"scale of {name}", "t"):
                note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value=scale)
        model = onnxmap.loads(helper.make_model(graph).SerializeToString())
        model.graph.bypass(model.graph.nodes[1])
        (left,) = saved(model).graph.quantization_annotation
        own = "y" if "y" in annotated else "t"
        assert left.tensor_name == "y"
        assert [each.value for each in left.quant_parameter_tensor_names] == [
            f"scale of {own}",
            "y",
        ]
        assert [node.op_type for node in model.graph.nodes] == ["Abs"]


def test_what_was_an_output_keeps_its_type() -> None:
    nodes = [helper.make_node("Abs", ["x"], ["t"]), helper.make_node("Cast", ["t"], ["u"], to=6)]
    u = helper.make_tensor_value_info("u", TensorProto.INT32, [2])
    graph = helper.make_graph(nodes, "g", floats("x"), floats("t"), value_info=[u])
    graph.output[0].doc_string = "what it is"
    model = onnxmap.loads(helper.make_model(graph).SerializeToString())
    model.graph.replace_uses("t", "u", outputs=True)
    (kept,) = saved(model).graph.value_info
    assert kept == graph.output[0]
    model.graph.add_output("t")
    assert [each.name for each in saved(model).graph.output] == ["u", "t"]
    assert saved(model).graph.value_info == []


def test_an_output_without_a_type_leaves_none() -> None:
    nodes = [helper.make_node("Abs", ["x"], ["t"]), helper.make_node("Neg", ["t"], ["u"])]
    branch = helper.make_graph(nodes, "branch", [], [onnx.ValueInfoProto(name="t")])
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    graph = helper.make_graph([node], "g", [*floats("x"), condition], floats("y"))
    model = onnxmap.loads(helper.make_model(graph).SerializeToString())
    inner = model.graph.nodes[0].attributes["then_branch"].value
    inner.replace_uses("t", "u", outputs=True)
    assert [each.name for each in inner.outputs] == ["u"]
    assert list(inner.value_infos) == []
