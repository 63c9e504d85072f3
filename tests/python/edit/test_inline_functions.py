"""`Model.inline_functions` beside onnx.inliner and onnx_ir's InlinePass."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import onnx
import onnx.inliner
import onnx_ir
import pytest
from onnx import ModelProto, NodeProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx_ir.passes.common import InlinePass
from support.run_options import EXHAUSTIVE, SANITIZED
from support.surgery.functions import OPSETS, D, call, function, inlined, model_of, refused
from support.surgery.models import floats, loads, run
from support.surgery.programs import errors, results
from support.surgery.random_models import random_model

import onnxmap

SEEDS = range(500 if EXHAUSTIVE else 3 if SANITIZED else 8)


def ran(message: ModelProto, **feed: Any) -> list[Any]:
    return ReferenceEvaluator(message).run(None, feed or {"x": np.float32([1, -2])})


def canonical(message: ModelProto) -> list[str]:
    """The nodes of the main graph in a form that does not depend on names of inner values."""
    keep = {v.name for v in [*message.graph.input, *message.graph.output]}
    keep |= {tensor.name for tensor in message.graph.initializer}

    def enter(graph: Any, known: dict[str, str]) -> list[str]:
        def renamed(name: str) -> str:
            return name if name in keep or not name else known.setdefault(name, f"v{len(known)}")

        lines = []
        for node in graph.node:
            inputs = [renamed(name) for name in node.input]
            attributes = []
            for each in sorted(node.attribute, key=lambda one: one.name):
                text = enter(each.g, dict(known)) if each.HasField("g") else str(each)
                attributes.append(f"{each.name} {text}")
            outputs = [renamed(name) for name in node.output]
            lines.append(f"{outputs} = {node.domain}.{node.op_type}{inputs} {attributes}")
        if graph is not message.graph:
            lines.append(f"returns {[renamed(value.name) for value in graph.output]}")
        return lines

    return enter(message.graph, {})


def by_onnx_ir(message: ModelProto) -> ModelProto:
    model = onnx_ir.serde.deserialize_model(message)
    InlinePass()(model)
    return onnx_ir.serde.serialize_model(model)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_models_beside_the_peers(seed: int) -> None:
    message = random_model(seed)
    wanted = results(message)
    found = inlined(message)
    assert not found.functions
    assert errors(loads(found)) == set()
    assert results(found) == wanted
    assert canonical(found) == canonical(onnx.inliner.inline_local_functions(message))
    assert canonical(found) == canonical(by_onnx_ir(message))
    for graph in (message.graph, found.graph):
        names = [name for node in graph.node for name in node.output]
        assert len(set(names)) == len(names)
    names = [each.name for each in message.functions]
    some = random.Random(seed).sample(names, len(names) // 2)
    assert results(inlined(message, some)) == wanted


def referring(op_type: str, attribute: str, to: str, domain: str = D) -> NodeProto:
    """A node whose attribute has the value of an attribute of the function."""
    node = helper.make_node(op_type, ["a"], ["b"], domain=domain)
    node.attribute.append(onnx.AttributeProto(name=attribute, type=1, ref_attr_name=to))
    return node


def elu_of(attribute: str) -> tuple[list[str], list[str], list[NodeProto]]:
    return ["a"], ["b"], [referring("Elu", "alpha", attribute, "")]


def test_functions_that_stay_keep_references() -> None:
    elu = function("F", *elu_of("al"), attributes=["al"])
    outer = function("G", ["a"], ["b"], [referring("F", "al", "be")], attributes=["be"])
    message = model_of([call("G", ["x"], ["y"], be=3.0)], [elu, outer])
    found = inlined(message, ["F"])
    assert results(found) == results(message)
    wanted = onnx.inliner.inline_selected_functions(message, [(D, "F")])
    assert found.functions[0].node == wanted.functions[0].node

    # If `be` has no value, the default of another function holds, which no node can say.
    default = [helper.make_attribute("al", 4.0)]
    for functions in (
        [function("F", *elu_of("al"), attribute_protos=default), outer],
        [
            function("E", *elu_of("al"), attribute_protos=default),
            function("F", ["a"], ["b"], [referring("E", "al", "al")], attributes=["al"]),
            outer,
        ],
    ):
        message = model_of([call("G", ["x"], ["y"])], functions)
        model = loads(message)
        with pytest.raises(ValueError, match="may have no value: inline that one, too"):
            model.inline_functions([each.name for each in functions[:-1]])
        assert onnxmap.dumps(model) == message.SerializeToString()
        assert [each.f for each in inlined(message).graph.node[0].attribute] == [4.0]
    be = helper.make_attribute("be", 5.0)
    stays = function("G", ["a"], ["b"], [referring("F", "al", "be")], attribute_protos=[be])
    functions = [function("F", *elu_of("al"), attribute_protos=default), stays]
    found = inlined(model_of([call("G", ["x"], ["y"])], functions), ["F"])
    assert found.functions[0].node[0].attribute[0].ref_attr_name == "be"


def test_attributes_defaults_and_absent_ones() -> None:
    node = helper.make_node("Elu", ["a"], ["b"])
    node.attribute.append(onnx.AttributeProto(name="alpha", type=1, ref_attr_name="slope"))
    inner = call("Slope", ["a"], ["b"])
    inner.attribute.append(onnx.AttributeProto(name="slope", type=1, ref_attr_name="factor"))
    default = helper.make_attribute("factor", 4.0)
    functions = [
        function("Slope", ["a"], ["b"], [node], attributes=["slope"]),
        function("Outer", ["a"], ["b"], [inner], attribute_protos=[default]),
    ]
    nodes = [
        call("Slope", ["x"], ["u"], slope=3.0),
        call("Slope", ["u"], ["v"]),  # without the attribute: the operator's default
        call("Outer", ["v"], ["w"]),
        call("Outer", ["w"], ["y"], factor=5.0),
    ]
    message = model_of(nodes, functions)
    found = inlined(message)
    alphas = [[each.f for each in node.attribute] for node in found.graph.node]
    assert alphas == [[3.0], [], [4.0], [5.0]]
    assert [each.name for node in found.graph.node for each in node.attribute] == ["alpha"] * 3
    assert canonical(found) == canonical(by_onnx_ir(message))


def test_absent_inputs_and_outputs() -> None:
    body = [
        helper.make_node("Clip", ["a", "low", "high"], ["b"]),
        helper.make_node("Neg", ["b"], ["c"]),
    ]
    clip = function("Bound", ["a", "low", "high"], ["b", "c"], body)
    limit = helper.make_node("Constant", [], ["k"], value_float=0.5)
    nodes = [limit, call("Bound", ["x", "", "k"], ["", "y"]), call("Bound", ["x"], ["z"])]
    message = model_of(nodes, [clip], ("y", "z"))
    found = inlined(message)
    assert list(found.graph.node[1].input) == ["x", "", "k"]
    assert list(found.graph.node[3].input) == ["x", "", ""]
    assert [list(node.output) for node in found.graph.node[1:]] == [["b"], ["y"], ["z"], ["c"]]
    x = np.float32([1, -2])
    assert {k: v.tolist() for k, v in run(found, {"x": x}).items()} == {
        "y": [-0.5, 2],
        "z": [1, -2],
    }


def test_an_output_that_is_an_input_or_another_output() -> None:
    both = function("Both", ["a"], ["a", "b", "b"], [helper.make_node("Neg", ["a"], ["b"])])
    found = inlined(model_of([call("Both", ["x"], ["u", "v", "y"])], [both], ("u", "v", "y")))
    assert [(n.op_type, *n.input, *n.output) for n in found.graph.node] == [
        ("Neg", "x", "v"),
        ("Identity", "x", "u"),
        ("Identity", "v", "y"),
    ]
    assert ran(found)[2].tolist() == [-1, 2]


def branches(nodes: list[NodeProto], value: str) -> dict[str, Any]:
    graphs = [helper.make_graph(nodes, name, [], floats(value)) for name in ("then", "else")]
    return dict(zip(("then_branch", "else_branch"), graphs, strict=True))


def test_subgraphs_around_and_inside_of_functions() -> None:
    twice = function("Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])])
    inside = branches([call("Twice", ["a"], ["t"])], "t")
    choose = function("Choose", ["c", "a"], ["b"], [helper.make_node("If", ["c"], ["b"], **inside)])
    around = branches([call("Choose", ["c", "x"], ["s"])], "s")
    nodes = [
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.array(True))),
        helper.make_node("If", ["c"], ["t"], **around),
        call("Choose", ["c", "t"], ["y"]),
    ]
    message = model_of(nodes, [twice, choose])
    found = inlined(message)
    assert not {"Twice", "Choose"} & {node.op_type for _, node in loads(found).all_nodes()}
    assert ran(found)[0].tolist() == ran(message)[0].tolist() == [4, -8]
    assert canonical(found) == canonical(onnx.inliner.inline_local_functions(message))
    assert loads(found).check().ok


def test_a_graph_as_attribute_uses_the_values_of_the_caller() -> None:
    node = helper.make_node("If", ["c"], ["b"])
    for name in ("then_branch", "else_branch"):
        node.attribute.append(onnx.AttributeProto(name=name, type=5, ref_attr_name="body"))
    choose = function("Choose", ["c"], ["b"], [node], attributes=["body"])
    body = helper.make_graph([helper.make_node("Neg", ["x"], ["b"])], "body", [], floats("b"))
    truth = numpy_helper.from_array(np.array(True))
    nodes = [
        helper.make_node("Constant", [], ["c"], value=truth),
        call("Choose", ["c"], ["y"], body=body),
    ]
    found = inlined(model_of(nodes, [choose]))
    assert [each.name for each in found.graph.node[1].attribute] == ["then_branch", "else_branch"]
    assert ran(found)[0].tolist() == [-1, 2]
    inner = helper.make_graph([call("Choose", ["c"], ["b"])], "body", [], floats("b"))
    message = model_of([nodes[0], call("Choose", ["c"], ["y"], body=inner)], [choose])
    refused(message, ValueError, "a graph that calls 'test::Choose'")


def test_overloads_and_the_functions_that_stay() -> None:
    neg, absolute = (
        function("F", ["a"], ["b"], [helper.make_node(op, ["a"], ["b"])]) for op in ("Neg", "Abs")
    )
    absolute.overload = "abs"
    user = function("User", ["a"], ["b"], [call("F", ["a"], ["b"])])
    nodes = [call("F", ["x"], ["u"]), call("User", ["u"], ["v"]), call("F", ["v"], ["y"])]
    nodes[2].overload = "abs"
    message = model_of(nodes, [neg, absolute, user])
    found = inlined(message, ["test::F"])
    assert [node.op_type for node in found.graph.node] == ["Neg", "User", "F"]
    assert [(each.name, each.overload) for each in found.functions] == [("F", "abs"), ("User", "")]
    assert [node.op_type for node in found.functions[1].node] == ["Neg"]
    found = inlined(message, ["F"])
    assert [node.op_type for node in found.graph.node] == ["Neg", "User", "Abs"]
    model = loads(message)
    assert model.inline_functions(["test::F:abs", "User"]) == ["test::F:abs", "test::User"]
    assert model.inline_functions([]) == []
    with pytest.raises(onnxmap.UnknownNameError, match="no function 'G'"):
        model.inline_functions(["F", "G"])
    with pytest.raises(TypeError, match="list of names"):
        model.inline_functions("F")


def test_names_are_unique_and_kept_if_they_can_be() -> None:
    body = [
        helper.make_node("Neg", ["a"], ["t"], "inner"),
        helper.make_node("Abs", ["t"], ["b"], "outer"),
    ]
    f = function("F", ["a"], ["b"], body)
    nodes = [
        call("F", ["x"], ["u"]),
        call("F", ["u"], ["t_2"]),
        helper.make_node("Neg", ["t_2"], ["y"], "inner"),
    ]
    found = inlined(model_of(nodes, [f]))
    assert [node.output[0] for node in found.graph.node] == ["t", "u", "t_3", "t_2", "y"]
    names = ["inner_2", "outer", "inner_3", "outer_2", "inner"]
    assert [node.name for node in found.graph.node] == names


def test_imports_come_along_or_contradict() -> None:
    opsets = [*OPSETS, helper.make_opsetid("more", 3)]
    f = function("F", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], opsets=opsets)
    message = model_of([call("F", ["x"], ["y"])], [f])
    imports = {each.domain: each.version for each in inlined(message).opset_import}
    assert imports == {"": 18, D: 1, "more": 3}
    message.functions[0].opset_import[0].version = 17
    refused(message, ValueError, r"version 17 of the domain '', .* 18: call convert_version\(\)")
    message.functions[0].opset_import[0].version = 18
    message.functions[0].opset_import[1].version = 2
    refused(message, ValueError, "written for one version")
    message.graph.node[0].op_type = "Other"  # what is not called does not matter
    assert not inlined(message).functions


def test_value_infos_and_metadata_are_those_of_onnx_ir() -> None:
    f = function("F", ["a"], ["b"], [
        helper.make_node("Neg", ["a"], ["t"]), helper.make_node("Abs", ["t"], ["b"]),
    ])  # fmt: skip
    f.value_info.extend(floats("a", "t", "b"))
    f.node[1].metadata_props.add(key="k", value="own")
    nodes = [call("F", ["x"], ["u"]), call("F", ["u"], ["y"])]
    for i, node in enumerate(nodes):
        node.metadata_props.add(key="k", value=f"call {i}")
    message = model_of(nodes, [f])
    found = inlined(message)
    wanted = by_onnx_ir(message)
    for graph in (found.graph, wanted.graph):
        values = [[(p.key, p.value) for p in node.metadata_props] for node in graph.node]
        assert values == [[("k", "call 0")], [("k", "own")], [("k", "call 1")], [("k", "own")]]
        assert len({v.name for v in graph.value_info} & {"t", "t_2"}) == 2
    assert [value.name for value in found.graph.value_info] == ["t", "t_2"]


def test_recursion_names_the_cycle() -> None:
    a = function("A", ["a"], ["b"], [call("B", ["a"], ["b"])])
    b = function("B", ["a"], ["b"], [call("C", ["a"], ["b"])])
    c = function("C", ["a"], ["b"], [call("B", ["a"], ["b"])])
    text = "'test::B' calls itself.*: 'test::B' -> 'test::C' -> 'test::B'"
    refused(model_of([call("A", ["x"], ["y"])], [a, b, c]), onnxmap.ParseError, text)
    many = [
        function(f"F{i}", ["a"], ["b"], [call(f"F{(i + 1) % 50}", ["a"], ["b"])]) for i in range(50)
    ]
    model = loads(model_of([call("F0", ["x"], ["y"])], many))
    with pytest.raises(onnxmap.ParseError, match=r"-> \.\.\. -> ") as caught:
        model.inline_functions()
    assert caught.value.code == "model.cycle"
    assert len(str(caught.value)) < 500


def test_a_default_that_is_a_graph_is_refused() -> None:
    """Each copy of it would need names of its own."""
    other = function("Neg2", ["x"], ["y"], [helper.make_node("Neg", ["x"], ["y"])])
    body = helper.make_graph([call("Neg2", ["x"], ["y"])], "g", [], floats("y"))
    reference = helper.make_node("If", ["x"], ["y"], else_branch=body)
    reference.attribute.add(name="then_branch", type=5, ref_attr_name="body")
    default = helper.make_attribute("body", body)
    made = function("F", ["x"], ["y"], [reference], attribute_protos=[default])
    message = model_of([call("F", ["x"], ["y"])], [made, other])
    refused(message, ValueError, "'test::F' has a graph as the default of its attribute 'body'")
    del message.functions[0].attribute_proto[:]
    inlined(message)


def test_colons_in_names_make_no_other_function() -> None:
    made = function("b", ["x"], ["y"], [helper.make_node("Neg", ["x"], ["y"])], overload="c")
    model = loads(model_of([call("b:c", ["x"], ["y"])], [made]))
    assert model.inline_functions() == ["test::b:c"]
    assert [node.op_type for node in model.graph.nodes] == ["b:c"]


def test_what_makes_no_sense_is_refused() -> None:
    neg = function("F", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])])
    refused(model_of([call("F", ["x", "x"], ["y"])], [neg]), ValueError, "2 inputs, but it has 1")
    refused(model_of([call("F", ["x"], ["y", "z"])], [neg]), ValueError, "2 outputs, but it has 1")
    refused(model_of([call("F", ["x"], ["y"])], [neg, neg]), ValueError, "two functions")
    lacks = function("F", ["a"], ["c"], [helper.make_node("Neg", ["a"], ["b"])])
    refused(model_of([call("F", ["x"], ["y"])], [lacks]), ValueError, "makes its output 'c'")
    hides = function("F", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["a"])])
    hides.output[0] = "a"
    refused(model_of([call("F", ["x"], ["y"])], [hides]), ValueError, "rename one before")
    inside = branches([helper.make_node("Neg", ["b"], ["a"])], "a")
    hides = function("F", ["a", "b"], ["c"], [helper.make_node("If", ["a"], ["c"], **inside)])
    refused(model_of([call("F", ["x", "x"], ["y"])], [hides]), ValueError, "rename one before")


def test_names_of_undefined_values_capture_nothing() -> None:
    f = function("F", ["a"], ["b"], [helper.make_node("Add", ["a", "x"], ["b"])])
    found = inlined(model_of([call("F", ["x"], ["y"])], [f]))
    assert list(found.graph.node[0].input) == ["x", "x_2"]


def test_large_constants_are_not_copied() -> None:
    value = numpy_helper.from_array(np.zeros(1 << 18, np.float32), "w")
    nodes = [helper.make_node("Constant", [], ["k"], value=value)]
    f = function("F", ["a"], ["k"], nodes)
    calls = [call("F", ["x"], [f"y{i}"]) for i in range(40)]
    model = loads(model_of(calls, [f], ()))
    model.inline_functions()
    made = [node.attributes["value"].value.numpy() for node in model.graph.nodes]
    assert len({array.ctypes.data for array in made}) == 1


def test_random_names_of_functions_are_taken_as_they_are() -> None:
    rng = random.Random(0)
    names = ["::", "a::b", "a:b", "", "é", "a b"]
    rng.shuffle(names)
    functions = [
        function(name, ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])]) for name in names
    ]
    values = ["x", *(f"v{i}" for i in range(len(names) - 1)), "y"]
    nodes = [call(n, [values[i]], [values[i + 1]]) for i, n in enumerate(names)]
    model = loads(model_of(nodes, functions))
    assert model.inline_functions() == [f"test::{name}" for name in names]
    assert {node.op_type for node in model.graph.nodes} == {"Neg"}
    assert re.fullmatch("(x|v[0-9])*", "".join(node.inputs[0] for node in model.graph.nodes))
