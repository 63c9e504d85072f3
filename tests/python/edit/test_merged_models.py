"""`onnxmap.merge` beside onnx.compose."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, compose, helper, numpy_helper
from support.edits.rich_model import saved
from support.run_options import EXHAUSTIVE, SANITIZED
from support.surgery.models import floats, loads, run
from support.surgery.programs import FEED, errors
from support.surgery.random_models import DOMAIN, random_model

import onnxmap

SEEDS = range(500 if EXHAUSTIVE else 4 if SANITIZED else 8)


def test_merged_models_compute_one_after_the_other() -> None:
    for seed in SEEDS:
        first, second = random_model(seed), random_model(seed + 1000)
        output = first.graph.output[0].name
        a, b = loads(first), loads(second)
        both = onnxmap.merge(a, b, {output: "x"}, prefix="b/")
        assert not a.edited
        assert not b.edited
        assert errors(both) == set(), seed
        before = run(first, FEED)
        after = run(second, FEED | {"x": before[output]})
        expected = {name: value for name, value in before.items() if name != output}
        expected |= {f"b/{name}": value for name, value in after.items()}
        found = run(both, FEED | {"b/c": FEED["c"]})
        assert {k: v.tobytes() for k, v in found.items()} == {
            k: v.tobytes() for k, v in expected.items()
        }
        # The official one leaves the names in subgraphs without the prefix.
        official = compose.merge_graphs(first.graph, second.graph, [(output, "x")], prefix2="b/")
        ours = saved(both)
        for mine, theirs in zip(ours.graph.node, official.node, strict=True):
            assert (mine.name, mine.op_type) == (theirs.name, theirs.op_type)
            assert (mine.input, mine.output) == (theirs.input, theirs.output)
        assert ours.graph.name == official.name
        for field in ("input", "output", "initializer"):
            assert [each.name for each in getattr(ours.graph, field)] == [
                each.name for each in getattr(official, field)
            ]
        inner = {value.name for value in official.value_info} | {output}  # is one now
        assert {value.name for value in ours.graph.value_info} == inner


def chain(op_type: str, names: tuple[str, str], opset: int = 18, **fields: Any) -> ModelProto:
    values = [helper.make_tensor_value_info(name, 1, [2]) for name in names]
    node = helper.make_node(op_type, [names[0]], [names[1]], fields.pop("node_name", ""))
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    opsets = [helper.make_opsetid("", opset)]
    message = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    for key, value in fields.items():
        message.metadata_props.add(key=key, value=value)
    return message


def test_metadata_and_imports_of_both() -> None:
    b = chain("Neg", ("b", "c"), k="v", other="o")
    b.opset_import.add(domain="extra", version=2)
    b.ir_version = 10
    both = saved(onnxmap.merge(loads(chain("Abs", ("a", "b"), k="v")), loads(b), {"b": "b"}))
    assert [node.op_type for node in both.graph.node] == ["Abs", "Neg"]
    assert [(opset.domain, opset.version) for opset in both.opset_import] == [
        ("", 18), ("extra", 2),
    ]  # fmt: skip
    assert [(each.key, each.value) for each in both.metadata_props] == [("k", "v"), ("other", "o")]
    assert both.ir_version == 10


def test_metadata_of_both_graphs() -> None:
    a, b = chain("Abs", ("x", "y")), chain("Neg", ("p", "q"))
    for message, key in ((a, "a"), (b, "b")):
        message.graph.metadata_props.add(key="k", value="v")
        message.graph.metadata_props.add(key=key, value=key)
    both = saved(onnxmap.merge(loads(a), loads(b), {"y": "p"}))
    assert [each.key for each in both.graph.metadata_props] == ["k", "a", "b"]
    b.graph.metadata_props[0].value = "other"
    with pytest.raises(ValueError, match=r"differ in graph\.metadata_props\['k'\]: remove"):
        onnxmap.merge(loads(a), loads(b), {"y": "p"})


def test_what_describes_a_connected_input_goes() -> None:
    a, b = chain("Abs", ("x", "y")), chain("Neg", ("p", "q"))
    for graph, name in ((a.graph, "y"), (b.graph, "p")):
        graph.quantization_annotation.add(tensor_name=name)
    b.graph.initializer.append(numpy_helper.from_array(np.zeros(2, np.float32), "p"))
    b.graph.value_info.append(helper.make_tensor_value_info("p", 1, [2]))
    a.graph.value_info.append(helper.make_tensor_value_info("y", 1, [2]))
    both = onnxmap.merge(loads(a), loads(b), {"y": "p"})
    ours = saved(both)
    assert not ours.graph.initializer
    assert [value.name for value in ours.graph.value_info] == ["y"]
    assert [note.tensor_name for note in ours.graph.quantization_annotation] == ["y"]
    assert errors(both) == set()


def other_function(message: ModelProto, op_type: str) -> ModelProto:
    node = helper.make_node(op_type, ["p"], ["q"])
    function = helper.make_function(DOMAIN, "F", ["p"], ["q"], [node], message.opset_import)
    message.functions.append(function)
    return message


def trained(message: ModelProto) -> ModelProto:
    message.training_info.add()
    return message


@pytest.mark.parametrize(
    ("b", "connect", "error", "text"),
    [
        (chain("Neg", ("x", "y")), {"nope": "x"}, KeyError, "no output 'nope'"),
        (chain("Neg", ("x", "y")), {"y": "nope"}, KeyError, "no input 'nope'"),
        (chain("Neg", ("x", "y")), {"y": "x"}, ValueError, "both have a value 'y'|both models"),
        (chain("Neg", ("z", "x")), {}, ValueError, "value 'x': give a prefix"),
        (chain("Neg", ("p", "q"), node_name="n"), {}, ValueError, "node 'n'"),
        (chain("Neg", ("p", "q"), opset=20), {}, ValueError, r"convert_version\(20\)"),
        (chain("Neg", ("p", "q"), k="other"), {}, ValueError, r"metadata_props\['k'\]"),
        (
            other_function(chain("Neg", ("p", "q")), "Neg"),
            {},
            ValueError,
            f"functions '{DOMAIN}::F': give a prefix",
        ),
        (trained(chain("Neg", ("p", "q"))), {}, ValueError, "its steps would run the first"),
    ],
)
def test_refused_merges(
    b: ModelProto, connect: dict[str, str], error: type[Exception], text: str
) -> None:
    a = other_function(chain("Abs", ("x", "y"), node_name="n", k="v"), "Abs")
    with pytest.raises(error, match=text):
        onnxmap.merge(loads(a), loads(b), connect)
    with pytest.raises(TypeError, match="takes Models"):
        onnxmap.merge(loads(a), b)  # type: ignore[arg-type]


def test_arguments_of_a_merge() -> None:
    a, b = loads(chain("Abs", ("x", "y"))), loads(chain("Neg", ("p", "q")))
    with pytest.raises(TypeError, match=r"connect is a dict \{output of a: input of b\}, not list"):
        onnxmap.merge(a, b, [("y", "p")])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="prefix is a str, not int"):
        onnxmap.merge(a, b, prefix=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the name of a value is a str, not list"):
        onnxmap.merge(a, b, {"y": [["p"]]})  # type: ignore[list-item]
    with pytest.raises(TypeError, match="the name of a value is a str, not int"):
        onnxmap.merge(a, b, {"y": 3})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="share is a list of names, not int"):
        onnxmap.merge(a, b, share=3)  # type: ignore[arg-type]


def test_training_of_the_first_model() -> None:
    """It runs the main graph and its algorithm as one graph."""
    a = chain("Mul", ("x", "y"))
    a.graph.node[0].input.append("w")
    a.graph.initializer.append(numpy_helper.from_array(np.ones(2, np.float32), "w"))
    training = a.training_info.add()
    training.algorithm.name = "algorithm"
    training.algorithm.node.add(op_type="Neg", input=["y"], output=["step"])
    training.algorithm.output.extend(floats("step"))
    binding = training.update_binding.add(key="w", value="step")
    assert errors(onnxmap.merge(loads(a), loads(chain("Neg", ("p", "q"))), {"y": "p"})) == set()
    with pytest.raises(ValueError, match="both models have a value 'step'"):
        onnxmap.merge(loads(a), loads(chain("Neg", ("p", "step"))), {"y": "p"})
    binding.value = "y"
    with pytest.raises(ValueError, match="training of the first model assigns its output 'y'"):
        onnxmap.merge(loads(a), loads(chain("Neg", ("p", "q"))), {"y": "p"})
    assert saved(onnxmap.merge(loads(a), loads(chain("Neg", ("p", "q"))))).training_info


FLOAT = helper.make_tensor_type_proto(1, [2])
SEQUENCES = [helper.make_sequence_type_proto(FLOAT), helper.make_sequence_type_proto(
    helper.make_tensor_type_proto(1, [3])
)]  # fmt: skip


@pytest.mark.parametrize(
    ("made", "taken", "text"),
    [
        (FLOAT, helper.make_tensor_type_proto(11, [2]), r"'y' of .* FLOAT \[2\], .* DOUBLE \[2\]$"),
        (FLOAT, helper.make_tensor_type_proto(1, [5]), r"'p' of the second is FLOAT \[5\]$"),
        (FLOAT, helper.make_tensor_type_proto(1, [2, "N"]), r"'p' of .* is FLOAT \[2, N\]$"),
        (helper.make_tensor_type_proto(1, [None]), helper.make_tensor_type_proto(1, []),
         r"FLOAT \[\?\], .* FLOAT \[\]$"),
        (FLOAT, helper.make_sparse_tensor_type_proto(1, [2]), r"is a sparse FLOAT \[2\]$"),
        (FLOAT, helper.make_optional_type_proto(FLOAT), r"is an optional FLOAT \[2\]$"),
        (*SEQUENCES, r"a sequence of FLOAT \[2\], .* a sequence of FLOAT \[3\]$"),
        (FLOAT, helper.make_tensor_type_proto(1, ["N"]), ""),
        (helper.make_tensor_type_proto(1, [-1]), helper.make_tensor_type_proto(1, [4]), ""),
        (FLOAT, helper.make_tensor_type_proto(1, None), ""),
        (FLOAT, onnx.TypeProto(), ""),
        (SEQUENCES[0], SEQUENCES[0], ""),
    ],
)  # fmt: skip
def test_types_of_connections(made: onnx.TypeProto, taken: onnx.TypeProto, text: str) -> None:
    a, b = chain("Identity", ("x", "y")), chain("Identity", ("p", "q"))
    a.graph.output[0].type.CopyFrom(made)
    b.graph.input[0].type.CopyFrom(taken)
    if text:
        with pytest.raises(ValueError, match=text):
            onnxmap.merge(loads(a), loads(b), {"y": "p"})
    else:
        assert len(onnxmap.merge(loads(a), loads(b), {"y": "p"}).graph.nodes) == 2


def two_inputs(op_type: str, names: tuple[str, str, str]) -> ModelProto:
    message = chain(op_type, (names[0], names[2]))
    message.graph.node[0].input.append(names[1])
    message.graph.input.append(helper.make_tensor_value_info(names[1], 1, [2]))
    return message


X, MASK = np.float32([3, -5]), np.float32([2, 7])


def test_one_output_to_several_inputs() -> None:
    a, b = loads(chain("Abs", ("x", "y"))), loads(two_inputs("Add", ("p", "q", "z")))
    both = onnxmap.merge(a, b, {"y": ["p", "q"]})
    assert errors(both) == set()
    assert [each.name for each in both.graph.inputs] == ["x"]
    assert run(both, {"x": X})["z"].tolist() == [6, 10]
    with pytest.raises(ValueError, match="'p' is connected twice"):
        onnxmap.merge(a, b, {"y": ["p", "p"]})
    returning = two_inputs("Add", ("p", "q", "z"))
    returning.graph.output.extend(returning.graph.input)
    both = onnxmap.merge(a, loads(returning), {"y": ["p", "q"]})
    assert [each.name for each in both.graph.outputs] == ["z", "y"]
    assert errors(both) == set()


@pytest.mark.parametrize("prefix", [None, "b/"])
def test_an_input_that_both_share(prefix: str | None) -> None:
    a, b = two_inputs("Mul", ("x", "mask", "y")), two_inputs("Sub", ("p", "mask", "z"))
    b.graph.initializer.append(numpy_helper.from_array(MASK, "mask"))  # a default
    b.graph.value_info.append(helper.make_tensor_value_info("mask", 1, [2]))
    both = onnxmap.merge(loads(a), loads(b), {"y": "p"}, prefix, share=["mask"])
    assert errors(both) == set()
    assert [each.name for each in both.graph.inputs] == ["x", "mask"]
    assert len(both.initializers) == len(both.graph.value_infos) - 1 == 0
    found = run(both, {"x": X, "mask": MASK})
    assert found[f"{prefix or ''}z"].tolist() == (X * MASK - MASK).tolist()
    for message in (a, b):
        message.graph.output.append(message.graph.input[1])
    both = onnxmap.merge(loads(a), loads(b), {"y": "p"}, prefix, share=["mask"])
    assert [each.name for each in both.graph.outputs] == ["mask", f"{prefix or ''}z"]
    for share, error, text in (
        (["p"], KeyError, "not both models have an input 'p'"),
        ("nope", KeyError, "'nope'"),
        (["mask", "mask"], ValueError, "'mask' is shared twice"),
    ):
        with pytest.raises(error, match=text):
            onnxmap.merge(loads(a), loads(b), {"y": "p"}, prefix, share)
    b.graph.input[1].type.tensor_type.elem_type = 11
    with pytest.raises(ValueError, match="'mask' of the second is DOUBLE"):
        onnxmap.merge(loads(a), loads(b), {"y": "p"}, prefix, share=["mask"])


def test_an_initializer_of_both_comes_once() -> None:
    def with_weight(names: tuple[str, str], values: Any, is_input: bool) -> onnxmap.Model:
        message = two_inputs("Mul", (names[0], "w", names[1]))
        if not is_input:
            del message.graph.input[1]
        message.graph.initializer.append(numpy_helper.from_array(np.float32(values), "w"))
        return loads(message)

    for is_input in (False, True):
        a, b = with_weight(("x", "y"), MASK, is_input), with_weight(("p", "q"), MASK, is_input)
        both = onnxmap.merge(a, b, {"y": "p"})
        assert errors(both) == set()
        assert both.initializers.names() == ["w"]
        assert run(both, {"x": X, "w": MASK})["q"].tolist() == (X * MASK * MASK).tolist()
        assert onnxmap.merge(a, b, {"y": "p"}, "b/").initializers.names() == ["w", "b/w"]
        with pytest.raises(ValueError, match="both models have a value 'w'"):
            onnxmap.merge(a, with_weight(("p", "q"), X, is_input), {"y": "p"})
        # A caller could change it for one of them alone, and the second says more of it.
        other = with_weight(("p", "q"), MASK, not is_input)
        noted = saved(b)
        noted.graph.quantization_annotation.add(tensor_name="w")
        for second in (other, loads(noted)):
            with pytest.raises(ValueError, match="both models have a value 'w'"):
                onnxmap.merge(a, second, {"y": "p"})
    trains = saved(a)
    trains.training_info.add().algorithm.name = "algorithm"
    with pytest.raises(ValueError, match="both models have a value 'w'"):
        onnxmap.merge(loads(trains), b, {"y": "p"})


def test_functions_of_one_name() -> None:
    """Those of the second model get the prefix, wherever they are called."""

    def model(names: tuple[str, str], op_type: str) -> ModelProto:
        message = other_function(chain("Abs", names), op_type)
        message.opset_import.add(domain=DOMAIN, version=1)
        outer = helper.make_node("F", ["p"], ["q"], domain=DOMAIN)
        opsets = message.opset_import
        for name, body in (("G", outer), ("Same", helper.make_node("Neg", ["p"], ["q"]))):
            made = helper.make_function(DOMAIN, name, ["p"], ["q"], [body], opsets)
            message.functions.append(made)
        inner = helper.make_graph([helper.make_node("F", [names[0]], ["t"], domain=DOMAIN)],
            "branch", [], floats("t"))  # fmt: skip
        del message.graph.node[:]
        condition = helper.make_tensor("", 9, [], [True])
        message.graph.node.extend([
            helper.make_node("Constant", [], [f"{names[0]}.if"], value=condition),
            helper.make_node("If", [f"{names[0]}.if"], [f"{names[0]}.1"],
                then_branch=inner, else_branch=inner),
            helper.make_node("G", [f"{names[0]}.1"], [f"{names[0]}.2"], domain=DOMAIN),
            helper.make_node("Same", [f"{names[0]}.2"], [names[1]], domain=DOMAIN),
        ])  # fmt: skip
        return message

    a, b = model(("x", "y"), "Neg"), model(("p", "q"), "Sqrt")
    with pytest.raises(ValueError, match=f"'{DOMAIN}::F': give a prefix"):
        onnxmap.merge(loads(a), loads(b), {"y": "p"})
    both = onnxmap.merge(loads(a), loads(b), {"y": "p"}, "b/")
    assert errors(both) == set()
    assert [each.name for each in both.functions] == [
        "F", "G", "Same", "b/F", "b/G", "b/Same",
    ]  # fmt: skip
    given = np.float32([-16, -81])
    assert run(a, {"x": given})["y"].tolist() == [16, 81]
    assert run(both, {"x": given})["b/q"].tolist() == [-2, -3]


@pytest.mark.parametrize(("which", "domain", "name"), [(0, "", "F"), (1, "", "b/F"), (1, "d", "F")])
def test_a_prefix_that_does_not_tell_functions_apart(which: int, domain: str, name: str) -> None:
    """A node of the old or the new name calls something else."""
    a, b = (
        other_function(chain("Abs", names), op_type)
        for names, op_type in ((("x", "y"), "Neg"), (("p", "q"), "Sqrt"))
    )
    node = (b if (which, name) != (1, "b/F") else a).graph.node[0]
    node.op_type, node.domain = name, domain
    with pytest.raises(ValueError, match="a prefix cannot tell the functions"):
        onnxmap.merge(loads(a), loads(b), {"y": "p"}, "b/")


def test_names_inside_of_subgraphs_collide() -> None:
    """A value of a subgraph of one model must not have the name of a value of the other."""
    body = helper.make_graph(
        [helper.make_node("Neg", ["c"], ["x"])],
        "b",
        [],
        [helper.make_tensor_value_info("x", 1, [2])],
    )
    node = helper.make_node("If", ["t"], ["d"], then_branch=body, else_branch=body)
    b = chain("Neg", ("b", "c"))
    b.graph.node.append(node)
    for first, second in ((chain("Abs", ("x", "y")), b), (b, chain("Abs", ("x", "y")))):
        with pytest.raises(ValueError, match="value 'x': give a prefix"):
            onnxmap.merge(loads(first), loads(second))


def test_names_in_errors() -> None:
    """Also those that are not UTF-8."""
    data = chain("Abs", ("x", "yy"), node_name="n").SerializeToString()
    model = onnxmap.loads(data.replace(b"yy", b"\xff\xfe"))
    name = model.graph.outputs[0].name
    for refused in (
        lambda: model.extract(["x"], ["\udcfd"]),
        lambda: model.set_dims({"\udcfd": 1}),
        lambda: onnxmap.merge(model, model, {"\udcfd": "x"}),
        lambda: onnxmap.merge(model, model, {name: "\udcfd"}),
    ):
        with pytest.raises(onnxmap.UnknownNameError, match=r"'\\xfd'") as caught:
            refused()
        assert caught.value.code == "name.unknown"
    with pytest.raises(ValueError, match=r"both models have a value '\\xff\\xfe'"):
        onnxmap.merge(model, model, {name: "x"})
    with pytest.raises(ValueError, match=r"'\\xff\\xfe' is given twice"):
        model.extract(["x"], [name, name])


@pytest.mark.parametrize("inside", [False, True])
def test_a_function_takes_no_place_of_an_operator(inside: bool) -> None:
    """`b` calls an operator of onnxruntime, `a` has a function of that name."""
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]

    def model(name: str, node: onnx.NodeProto, **more: Any) -> onnxmap.Model:
        graph = helper.make_graph([node], name, floats(f"{name}x"), floats(f"{name}y"))
        return loads(helper.make_model(graph, opset_imports=opsets, ir_version=10, **more))

    def gelu(value: str, made: str) -> onnx.NodeProto:
        return helper.make_node("QuickGelu", [value], [made], domain="com.microsoft")

    neg = helper.make_node("Neg", ["p"], ["q"])
    function = helper.make_function("com.microsoft", "QuickGelu", ["p"], ["q"], [neg], opsets[:1])
    a = model("a", gelu("ax", "ay"), functions=[function])
    node = gelu("bx", "by")
    if inside:
        branch = helper.make_graph([gelu("bx", "t")], "branch", [], floats("t"))
        node = helper.make_node("If", ["bx"], ["by"], then_branch=branch, else_branch=branch)
    b = model("b", node)
    place = r'node\[0\].attribute\["else_branch"\].g.node\[0\]' if inside else r"node\[0\] of"
    for pair, which in (((a, b), "first"), ((b, a), "second")):
        with pytest.raises(
            ValueError, match=rf"the {which} model has a function 'com.microsoft::.* graph.{place}"
        ):
            onnxmap.merge(*pair)
    other = model("c", helper.make_node("QuickGelu", ["cx"], ["cy"], domain="org.other"))
    assert len(onnxmap.merge(a, other).functions) == 1
