"""`insert_after`, `insert_before`, `replace` and `remove_output`, beside onnxruntime and onnx."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx.checker
import onnx_ir as ir
import pytest
from onnx import ModelProto, helper, numpy_helper
from onnx_ir import convenience
from support.edits.rich_model import saved
from support.surgery.models import Feed, floats, loads, run

import onnxmap

FEED: Feed = {"x": np.float32([0.25, -3]), "c": np.array(True)}


def made_of(*nodes: onnx.NodeProto, outputs: str = "y", **others: Any) -> ModelProto:
    inputs = [*floats("x"), helper.make_tensor_value_info("c", 9, [])]
    weights = [numpy_helper.from_array(np.float32([2, 4]), "w")]
    graph = helper.make_graph(list(nodes), "g", inputs, floats(*outputs), weights, **others)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def chain(**others: Any) -> ModelProto:
    """x is negated, scaled, and used by the branches of an If."""
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(op, ["a", "b"], [name])], name, [], floats(name)
        )
        for name, op in (("then", "Add"), ("else", "Sub"))
    }
    return made_of(
        helper.make_node("Neg", ["x"], ["a"], "neg"),
        helper.make_node("Mul", ["a", "w"], ["b"], "mul"),
        helper.make_node("If", ["c"], ["y"], "if", **branches),
        value_info=floats("a", "b"),
        **others,
    )


def is_valid(model: onnxmap.Model) -> bool:
    onnx.checker.check_model(saved(model), full_check=True)
    return model.check().ok


@pytest.mark.parametrize("value", ["x", "w", "a", "b", "c"])
def test_a_node_behind_a_value_takes_its_uses(value: str) -> None:
    message = chain()
    model, wanted = loads(message), run(message, FEED)["y"]
    model.graph.insert_after(value, onnxmap.make_node("Identity", [value], ["new"]))
    assert run(model, FEED)["y"].tobytes() == wanted.tobytes()
    assert is_valid(model)
    assert [node.op_type for node in model.graph.consumers(value)] == ["Identity"]
    made = model.graph.producer("new")
    assert made is not None
    model.graph.bypass(made)
    assert onnxmap.dumps(model) == message.SerializeToString()


def test_what_a_node_behind_a_value_computes() -> None:
    model = loads(chain())
    model.graph.insert_after("a", onnxmap.make_node("Abs", ["a"], ["positive"]))
    x, w = np.abs(FEED["x"]), np.float32([2, 4])
    assert np.array_equal(run(model, FEED)["y"], x + x * w)


def test_a_node_comes_behind_all_that_it_takes() -> None:
    """Uses of the value before that place cannot take it."""
    nodes = [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Abs", ["x"], ["b"])]
    model = loads(made_of(*nodes, helper.make_node("Add", ["a", "b"], ["y"])))
    model.graph.insert_after("a", onnxmap.make_node("Mul", ["b", "a"], ["new"]))
    assert model.graph.op_types() == ["Neg", "Abs", "Mul", "Add"]
    before = onnxmap.dumps(model)
    with pytest.raises(ValueError, match="'late' is made by node 3, after node 0"):
        model.graph.insert_after("x", onnxmap.make_node("Add", ["x", "new"], ["late"]))
    assert onnxmap.dumps(model) == before


def test_an_output_takes_a_node_behind_it_on_request() -> None:
    model = loads(made_of(helper.make_node("Neg", ["x"], ["y"])))
    node = onnxmap.make_node("Cast", ["y"], ["half"], to=10)
    with pytest.raises(ValueError, match="only outputs of the graph use 'y': pass outputs=True"):
        model.graph.insert_after("y", node)
    with pytest.raises(ValueError, match=r"has no known type.*make_tensor_value_info"):
        model.graph.insert_after("y", node, outputs=True)
    assert not model.graph.nodes[1:]
    model.graph.value_infos.append(onnxmap.make_tensor_value_info("half", 10, [2]))
    model.graph.insert_after("y", node, outputs=True)
    assert run(model, FEED)["half"].dtype == np.float16
    assert is_valid(model)


def test_nodes_in_functions_and_subgraphs() -> None:
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("d", 1)]
    nodes = [helper.make_node("Neg", ["p"], ["q"]), helper.make_node("Abs", ["q"], ["r"])]
    message = chain()
    message.functions.append(helper.make_function("d", "F", ["p"], ["r"], nodes, opsets[:1]))
    message.graph.node[0].CopyFrom(helper.make_node("F", ["x"], ["a"], domain="d"))
    message.opset_import.append(opsets[1])
    model, wanted = loads(message), run(message, FEED)["y"]
    function = model.functions[0]
    function.insert_after("q", onnxmap.make_node("Identity", ["q"], ["q2"]))
    function.insert_before(function.nodes[0], onnxmap.make_node("Identity", ["p"], ["p2"]))
    function.replace([function.nodes[-1]], [onnxmap.make_node("Abs", ["q2"], ["r"])])
    branch = model.graph.nodes["if"].attributes["then_branch"].value
    branch.insert_before(branch.nodes[0], onnxmap.make_node("Identity", ["b"], ["b2"]))
    branch.insert_after("a", onnxmap.make_node("Identity", ["a"], ["a2"]))
    assert run(model, FEED)["y"].tobytes() == wanted.tobytes()
    assert is_valid(model)
    assert function.nodes[1].inputs == ["p2"]
    assert branch.nodes[-1].inputs == ["a2", "b2"]


def test_a_node_before_another_one() -> None:
    """Others that use the value keep it."""
    model = loads(chain())
    node = model.graph.nodes["mul"]
    model.graph.insert_before(node, onnxmap.make_node("Abs", ["a"], ["new"]))
    assert node.inputs == ["new", "w"]
    x, w = FEED["x"], np.float32([2, 4])
    assert np.array_equal(run(model, FEED)["y"], -x + np.abs(x) * w)
    assert is_valid(model)


def test_replaced_as_by_onnx_ir() -> None:
    message = chain()
    theirs = ir.from_proto(message)
    graph = theirs.graph
    old = [graph.node("mul")]
    scaled = ir.node("Div", [old[0].inputs[0], old[0].inputs[1]])
    again = ir.node("Neg", [scaled.outputs[0]])
    scaled.outputs[0].name = "inner"
    convenience.replace_nodes_and_values(
        graph, old[0], old, [scaled, again], old[0].outputs, again.outputs
    )
    model = loads(message)
    model.graph.replace(
        [model.graph.nodes["mul"]],
        [
            onnxmap.make_node("Div", ["a", "w"], ["inner"]),
            onnxmap.make_node("Neg", ["inner"], ["new"]),
        ],
        {"b": "new"},
    )
    ours, expected = saved(model), ir.to_proto(theirs)
    assert [(n.op_type, n.input, n.output) for n in ours.graph.node] == [
        (n.op_type, n.input, n.output) for n in expected.graph.node
    ]
    assert run(model, FEED)["y"].tobytes() == run(expected, FEED)["y"].tobytes()
    assert is_valid(model)


def test_several_nodes_become_one() -> None:
    """What only the removed nodes used goes, with its type; an output keeps its name and type."""
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["m"]),
        helper.make_node("Neg", ["x"], ["n"]),
        helper.make_node("Add", ["m", "w"], ["y"]),
        helper.make_node("Sub", ["n", "y"], ["z"]),
    ]
    message = made_of(*nodes, outputs="yz", value_info=floats("m", "n"))
    model = loads(message)
    first, _, second, _ = model.graph.nodes
    model.graph.replace([second, first], [onnxmap.make_node("Pow", ["x", "w"], ["y"])])
    assert model.graph.op_types() == ["Pow", "Neg", "Sub"]
    assert [value.name for value in model.graph.value_infos] == ["n"]
    assert saved(model).graph.output == message.graph.output
    assert np.array_equal(run(model, FEED)["y"], FEED["x"] ** np.float32([2, 4]))
    assert is_valid(model)


def test_a_removed_output_is_a_value_with_its_type() -> None:
    message = made_of(
        helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Abs", ["a"], ["y"]), outputs="ay"
    )
    model, wanted = loads(message), run(message, FEED)
    model.graph.remove_output("a")
    found = run(model, FEED)
    assert list(found) == ["y"]
    assert found["y"].tobytes() == wanted["y"].tobytes()
    assert is_valid(model)
    model.graph.add_output("a")
    assert saved(model).graph.output == message.graph.output[::-1]
    assert not saved(model).graph.value_info


def test_an_output_that_is_an_input_goes() -> None:
    message = made_of(helper.make_node("Neg", ["x"], ["y"]), outputs="xyw")
    model = loads(message)
    for name in "xw":
        model.graph.remove_output(name)
    assert list(run(model, FEED)) == ["y"]
    assert not model.graph.value_infos


def test_an_output_that_training_assigns_stays() -> None:
    message = chain()
    message.training_info.add().update_binding.add(key="w", value="y")
    model = loads(message)
    with pytest.raises(ValueError, match="training assigns the output 'y'"):
        model.graph.remove_output("y")
    assert not model.edited


def test_a_value_that_training_uses_stays() -> None:
    message = chain()
    helper_node = message.graph.node.add(op_type="Neg", input=["x"], output=["extra"])
    training = message.training_info.add()
    training.algorithm.node.add(op_type="Neg", input=["extra"], output=["t"])
    training.update_binding.add(key="w", value="t")
    model = loads(message)
    extra = next(each for each in model.graph.nodes if each.outputs == helper_node.output)
    with pytest.raises(ValueError, match="training uses 'extra'"):
        model.graph.replace([extra], [])
    assert not model.edited
    model.training_info.clear()
    model.graph.replace([extra], [])
    assert model.graph.producer("extra") is None


def node(op_type: str, inputs: str, outputs: str) -> Any:
    return onnxmap.make_node(op_type, inputs.split(), outputs.split())


@pytest.mark.parametrize("name", ["c", "x", "w", "b", "then"])
def test_a_value_around_a_subgraph_has_its_name_alone(name: str) -> None:
    branch = loads(chain()).graph.nodes["if"].attributes["then_branch"].value
    with pytest.raises(ValueError, match=f"there is a value '{name}' already"):
        branch.insert_after("a", node("Neg", "a", name))
    branch.insert_after("a", node("Neg", "a", "else"))  # the other branch does not see it


@pytest.mark.parametrize("name", ["x", "c", "w", "a"])
def test_subgraphs_of_a_new_node_hide_nothing(name: str) -> None:
    inner = helper.make_graph([helper.make_node("Abs", ["a"], [name])], "then", [], floats(name))
    other = helper.make_graph([helper.make_node("Abs", ["a"], ["e"])], "else", [], floats("e"))
    new = onnxmap.make_node("If", ["c"], ["n"], then_branch=inner, else_branch=other)
    model = loads(chain())
    for edit in (
        lambda: model.graph.replace([model.graph.nodes["if"]], [new], {"y": "n"}),
        lambda: model.graph.insert_before(model.graph.nodes["if"], new),
    ):
        with pytest.raises(ValueError, match=f"'{name}' already, around the new subgraph"):
            edit()
    assert not model.edited


def test_a_graph_of_training_has_its_names_alone() -> None:
    message = chain()
    message.training_info.add().algorithm.node.add(op_type="Abs", input=["a"], output=["t"])
    model = loads(message)
    with pytest.raises(ValueError, match="there is a value 't' already, in a subgraph"):
        model.graph.insert_before(model.graph.nodes["mul"], node("Neg", "a", "t"))


@pytest.mark.parametrize("name", ["i", "on", "v", "k"])
def test_inputs_and_initializers_of_a_subgraph_have_their_names_alone(name: str) -> None:
    body = helper.make_graph(
        [helper.make_node("Mul", ["v", "k"], ["out"]), helper.make_node("Not", ["on"], ["go"])],
        "body",
        [helper.make_tensor_value_info(*each) for each in (("i", 7, []), ("on", 9, []))]
        + floats("v"),
        [helper.make_tensor_value_info("go", 9, []), *floats("out")],
        [numpy_helper.from_array(np.float32([2, 2]), "k")],
    )
    loop = helper.make_node("Loop", ["", "c", "a"], ["y"], body=body)
    model = loads(made_of(helper.make_node("Neg", ["x"], ["a"]), loop))
    with pytest.raises(ValueError, match=f"there is a value '{name}' already"):
        model.graph.insert_after("a", node("Neg", "a", name))
    assert not model.edited


@pytest.mark.parametrize(
    ("edit", "error", "text"),
    [
        (lambda g: g.remove_output("a"), KeyError, "'a'"),
        (lambda g: g.remove_output(1), TypeError, "str"),
        (lambda g: g.insert_after("a", node("Neg", "x", "n")), ValueError, "does not take 'a'"),
        (lambda g: g.insert_after("a", node("Neg", "a", "b")), ValueError, "value 'b' already"),
        (lambda g: g.insert_after("a", node("Neg", "a", "w")), ValueError, "value 'w' already"),
        (lambda g: g.insert_after("a", node("Neg", "a", "x")), ValueError, "value 'x' already"),
        (lambda g: g.insert_after("a", node("Neg", "a", "then")), ValueError, "'then' already"),
        (lambda g: g.insert_after("a", node("Neg", "a", "")), ValueError, "outputs .* need names"),
        (lambda g: g.insert_after("no", node("Neg", "no", "n")), KeyError, "'no'"),
        (lambda g: g.insert_after("a", "Neg"), TypeError, "NodeProto"),
        (lambda g: g.insert_before(g.nodes["mul"], node("Neg", "x", "n")), ValueError,
         "does not take 'x', the first input"),
        (lambda g: g.insert_before(g.nodes["mul"], node("Neg", "", "n")), ValueError, "take ''"),
        (lambda g: g.insert_before(g.nodes["neg"], node("Add", "x b", "n")), ValueError,
         "is made after"),
        (lambda g: g.insert_before(g.nodes["mul"], node("Neg", "a", "b")), ValueError, "already"),
        (lambda g: g.insert_before(node("Neg", "x", "y"), node("Neg", "x", "n")), ValueError,
         "no such message"),
        (lambda g: g.insert_before(loads(chain()).graph.nodes["mul"], node("Neg", "a", "n")),
         ValueError, "not in this graph"),
        (lambda g: g.insert_before(g.nodes["mul"], node("Split", "a", "n n")), ValueError,
         "two outputs of the new nodes have the name 'n'"),
        (lambda g: g.insert_after("a", node("Split", "a", "n n")), ValueError, "two outputs"),
        (lambda g: g.insert_before(g.nodes["mul"], node("Neg", "a", "then")), ValueError,
         "there is a value 'then' already, in a subgraph"),
        (lambda g: g.replace([loads(chain()).graph.nodes["mul"]], []), ValueError,
         "not in this graph"),
        (lambda g: g.replace([g.nodes["mul"]], [node("Neg", "a", "b"), node("Abs", "a", "b")]),
         ValueError, "two outputs"),
        (lambda g: g.replace([g.nodes["mul"]], []), ValueError, "'b' is used"),
        (lambda g: g.replace([g.nodes["if"]], []), ValueError, "'y' is used"),
        (lambda g: g.replace([g.nodes["mul"]], [node("Neg", "b", "n")]), ValueError, "'b' is used"),
        (lambda g: g.replace([g.nodes["neg"]], [node("Neg", "b", "a")]), ValueError,
         "'a' is used, and no new node makes it before node 1"),
        (lambda g: g.replace([g.nodes["mul"]], [node("Neg", "a", "b w")]), ValueError, "already"),
        (lambda g: g.replace([g.nodes["mul"]], [node("Neg", "a", "n")], {"b": "o"}), KeyError,
         "'o'"),
        (lambda g: g.replace([g.nodes["mul"]], [node("Neg", "a", "n")], {"a": "n"}), ValueError,
         "no node that is replaced makes 'a'"),
        (lambda g: g.replace([g.nodes["mul"], node("Neg", "p", "q")], []), ValueError,
         "not in this graph"),
        (lambda g: g.replace([g.nodes["mul"]], [1]), TypeError, "NodeProto"),
        (lambda g: g.replace([g.nodes["mul"]], [node("Add", "b a", "b")]), ValueError,
         "a new node uses 'b' before a new node makes it"),
        (lambda g: g.replace([g.nodes["mul"]], [node("Neg", "n", "b"), node("Neg", "a", "n")]),
         ValueError, "a new node uses 'n' before"),
    ],
)  # fmt: skip
def test_what_is_refused_changes_nothing(
    edit: Callable[[Any], object], error: type[Exception], text: str
) -> None:
    model = loads(chain())
    before = onnxmap.dumps(model)
    with pytest.raises(error, match=text):
        edit(model.graph)
    assert onnxmap.dumps(model) == before


def test_a_removed_graph_is_not_edited() -> None:
    model = loads(chain())
    branch = model.graph.nodes["if"].attributes["then_branch"].value
    del model.graph.nodes["if"]
    for edit in (
        lambda: branch.insert_after("a", node("Neg", "a", "n")),
        lambda: branch.replace([branch.nodes[0]], [node("Neg", "a", "then")]),
        lambda: branch.add_prefix("p"),
    ):
        with pytest.raises(ValueError, match=r"removed|a "):
            edit()
