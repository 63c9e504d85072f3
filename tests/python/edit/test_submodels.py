"""`Model.extract` and `onnxmap.merge` beside onnx.utils.Extractor and onnx.compose."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, compose, helper, numpy_helper
from onnx.utils import Extractor
from support.edits.rich_model import saved
from support.processes.cold_files import drop, pages_there
from support.run_options import EXHAUSTIVE, SANITIZED
from support.surgery.programs import FEED, errors
from support.surgery.random_models import DOMAIN, random_model

import onnxmap

SEEDS = range(500 if EXHAUSTIVE else 4 if SANITIZED else 8)
Feed = dict[str, Any]


def loads(message: ModelProto) -> onnxmap.Model:
    return onnxmap.loads(message.SerializeToString())


def run(model: onnxmap.Model | ModelProto, feed: Feed) -> Feed:
    data = onnxmap.dumps(model) if isinstance(model, onnxmap.Model) else model.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    given = {each.name: feed[each.name] for each in session.get_inputs()}
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, given), strict=True))


def with_types(message: ModelProto) -> ModelProto:
    """The model with a type for each value of its main graph."""
    made = ModelProto.FromString(message.SerializeToString())
    known = {value.name for value in [*made.graph.value_info, *made.graph.output]}
    for node in made.graph.node:
        for name in node.output:
            if name not in known:
                made.graph.value_info.append(helper.make_tensor_value_info(name, 1, [2]))
    for tensor in made.graph.initializer:  # the official extractor wants it
        made.graph.value_info.append(helper.make_tensor_value_info(tensor.name, 1, [2]))
    return made


def names_of(nodes: Any) -> list[str]:
    return [node.output[0] for node in nodes]


def test_parts_compute_what_the_model_computes() -> None:
    cut = 0
    for seed in SEEDS:
        rng = random.Random(seed)
        message = with_types(random_model(seed))
        made = [name for node in message.graph.node for name in node.output]
        full = loads(message)
        for name in made:
            if name not in [output.name for output in full.graph.outputs]:
                full.graph.add_output(name)
        values = run(full, FEED) | FEED
        values |= {t.name: numpy_helper.to_array(t) for t in message.graph.initializer}
        model = loads(message)
        for _ in range(4):
            outputs = rng.sample(made, rng.randint(1, min(3, len(made))))
            inputs = ["x", "c", *rng.sample(made[: len(made) // 2], min(1, len(made) // 2))]
            inputs += rng.sample([t.name for t in message.graph.initializer], 1)
            part = model.extract(inputs, outputs)
            assert errors(part) == set(), seed
            assert [value.name for value in part.graph.inputs] == inputs
            for name, found in run(part, values).items():
                assert found.tobytes() == values[name].tobytes(), (seed, name)
            plain = ModelProto.FromString(message.SerializeToString())
            del plain.graph.quantization_annotation[:]  # the official one refuses them
            expected = Extractor(plain).extract_model(inputs, outputs)
            ours = saved(part)
            # The official one forgets what only subgraphs use.
            found = {name.removesuffix("_1") for name in names_of(ours.graph.node)}
            assert found >= set(names_of(expected.graph.node))
            if not any(node.op_type == "If" for node in ours.graph.node):
                for mine, theirs in zip(ours.graph.node, expected.graph.node, strict=True):
                    # A node that makes a given value gets another name for it here.
                    assert [name for name in mine.output if not name.endswith("_1")] == [
                        name for name in theirs.output if name not in inputs
                    ]
                    mine.ClearField("output"), theirs.ClearField("output")
                    assert mine == theirs
                wanted = {t.name for t in expected.graph.initializer}
                wanted |= {
                    entry.value
                    for note in ours.graph.quantization_annotation
                    for entry in note.quant_parameter_tensor_names
                }
                assert {t.name for t in ours.graph.initializer} == wanted - set(inputs)
                assert [f.name for f in ours.functions] == [f.name for f in expected.functions]
            cut += len(ours.graph.node) < len(message.graph.node)
        assert not model.edited
    assert cut > len(SEEDS)


def test_what_subgraphs_and_functions_use_comes_along() -> None:
    dead = helper.make_node("Neg", ["k"], ["dead"])
    body = helper.make_graph(
        [helper.make_node("Neg", ["w"], ["o"]), dead], "b", [],
        [helper.make_tensor_value_info("o", 1, [2])],
    )  # fmt: skip
    nodes = [
        helper.make_node("Neg", ["x"], ["k"]),
        helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body),
        helper.make_node("F", ["y"], ["z"], domain="f"),
        helper.make_node("Other", ["x"], ["t"], domain="other"),
    ]
    values = [helper.make_tensor_value_info(name, 1, [2]) for name in "xyzt"]
    graph = helper.make_graph(
        nodes, "g", [values[0], helper.make_tensor_value_info("c", 9, [])], values[2:],
        [numpy_helper.from_array(np.zeros(2, np.float32), name) for name in ("w", "unused")],
        value_info=[values[1]],
    )  # fmt: skip
    opsets = [helper.make_opsetid(domain, 1) for domain in ("", "f", "g", "other")]
    functions = [
        helper.make_function(domain, name, ["a"], ["b"], [node], imports)
        for domain, name, node, imports in (
            ("f", "F", helper.make_node("G", ["a"], ["b"], domain="g"), opsets),
            ("g", "G", helper.make_node("Neg", ["a"], ["b"]), opsets[:1]),
            ("f", "Unused", helper.make_node("Neg", ["a"], ["b"]), opsets),
        )
    ]
    message = helper.make_model(graph, functions=functions, opset_imports=opsets)
    message.metadata_props.add(key="k", value="v")
    model = loads(message)
    part = saved(model.extract(["x", "c"], ["z"]))
    assert part.graph.node == message.graph.node[:3]  # the dead node of the subgraph needs k
    assert [t.name for t in part.graph.initializer] == ["w"]
    assert [f.name for f in part.functions] == ["F", "G"]
    assert part.functions[0] == functions[0]
    assert [opset.domain for opset in part.opset_import] == ["", "f", "g"]
    assert part.metadata_props == message.metadata_props
    assert [v.name for v in part.graph.value_info] == ["y"]


def floats(*names: str) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(name, 1, [2]) for name in names]


def branching(nodes: list[onnx.NodeProto], output: str) -> ModelProto:
    """A model of "x" and "c" that makes "y" with a branch of these nodes, and "z" with "t"."""
    then = helper.make_graph(nodes, "then", [], floats(output))
    other = helper.make_graph([helper.make_node("Abs", ["x"], ["e"])], "else", [], floats("e"))
    graph = helper.make_graph(
        [
            helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
            helper.make_node("Both", ["x", "x"], ["t", "b"], domain=DOMAIN),
            helper.make_node("Add", ["y", "b"], ["z"]),
        ],
        "g", [*floats("x"), helper.make_tensor_value_info("c", 9, [])], floats("z"),
        value_info=floats("y", "t", "t_2"),
    )  # fmt: skip
    both = [helper.make_node("Neg", ["p"], ["r"]), helper.make_node("Abs", ["q"], ["s"])]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    function = helper.make_function(DOMAIN, "Both", ["p", "q"], ["r", "s"], both, opsets[:1])
    return helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=9)


def test_a_given_value_that_a_subgraph_makes_is_refused() -> None:
    nodes = [helper.make_node("Neg", ["x"], ["t"]), helper.make_node("Abs", ["t"], ["u"])]
    message = branching(nodes, "u")
    model = loads(message)
    for output in "yz":
        with pytest.raises(ValueError, match="a subgraph has a value 't' of its own: rename"):
            model.extract(["x", "c", "t"], [output])
    assert saved(model.extract(["x", "c"], ["y"])).graph.node == message.graph.node[:1]
    part = model.extract(["x", "y", "t"], ["z"])  # without the subgraph
    assert [node.op_type for node in saved(part).graph.node] == ["Both", "Add"]


def test_the_new_name_of_a_given_value_is_new() -> None:
    """A node may make a given value, and be kept for another output."""
    nodes = [helper.make_node("Neg", ["x"], ["t_1"]), helper.make_node("Abs", ["t_1"], ["u"])]
    message = branching(nodes, "u")
    message.graph.node.append(helper.make_node("Neg", ["x"], ["t_2"]))
    message.ir_version = 11
    message.configuration.add(name="two", num_devices=2)
    devices = message.graph.node[1].device_configurations.add(configuration_id="two")
    for name in "xtb":
        devices.sharding_spec.add(tensor_name=name)
    model = loads(message)
    inputs = ["x", "c", "t", "t_2"]
    part = model.extract(inputs, ["z"])
    made = saved(part).graph
    assert made.node[0] == message.graph.node[0]
    assert made.node[1].output == ["t_3", "b"]
    (devices,) = made.node[1].device_configurations
    assert [spec.tensor_name for spec in devices.sharding_spec] == ["x", "t_3", "b"]
    assert [value.name for value in made.input] == inputs
    assert errors(part) == set()


def test_initializers_are_inputs_before_version_4() -> None:
    nodes = [
        helper.make_node("Add", ["x", "w"], ["y"]), helper.make_node("Add", ["y", "v"], ["z"])
    ]  # fmt: skip
    tensors = [numpy_helper.from_array(np.ones(2, np.float32), name) for name in "vw"]
    graph = helper.make_graph(
        nodes, "g", floats("v", "w", "x"), floats("z"), tensors, value_info=floats("y")
    )
    message = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=3)
    part = loads(message).extract(["x"], ["y"])
    assert saved(part).graph.input == [message.graph.input[2], message.graph.input[1]]
    assert errors(part) == set()
    assert run(part, {"x": np.ones(2, np.float32)} | {"w": np.ones(2, np.float32)})
    assert [value.name for value in loads(message).extract(["x", "w"], ["y"]).graph.inputs] == [
        "x", "w",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("inputs", "outputs", "error", "text"),
    [
        (["nope", "x"], ["y", "nor"], KeyError, "no value 'nope', 'nor'"),
        (["x"], ["y"], ValueError, "need more inputs: 'c'"),
        (["x", "c", "x"], ["y"], ValueError, "'x' is given twice"),
        (["x", "c"], ["y", "y"], ValueError, "'y' is given twice"),
        (["x"], [], ValueError, "needs an output"),
        (["x", "c"], ["k"], ValueError, r"nothing tells of 'k'.*infer_shapes\(\)"),
        (["x"], [1], TypeError, "str"),
    ],
)
def test_refused_parts(inputs: Any, outputs: Any, error: type[Exception], text: str) -> None:
    nodes = [
        helper.make_node("Neg", ["x"], ["k"]), helper.make_node("Where", ["c", "k", "d"], ["y"])
    ]  # fmt: skip
    values = [helper.make_tensor_value_info(name, 1, [2]) for name in "xyd"]
    graph = helper.make_graph(
        nodes, "g", [values[0], helper.make_tensor_value_info("c", 9, [2]), values[2]],
        [values[1]], [numpy_helper.from_array(np.zeros(2, np.float32), "d")],
    )  # fmt: skip
    model = loads(helper.make_model(graph))
    with pytest.raises(error, match=text):
        model.extract(inputs, outputs)
    part = model.extract(["x", "c"], ["y"])
    assert list(part.initializers) == ["d"]  # the default of an input


def big_model(path: Path, seed: int, external: bool) -> onnxmap.Model:
    """A model with 4 MiB of weights."""
    weights = np.random.default_rng(seed).random((2, 1 << 19), np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"], "n")
    graph = helper.make_graph(
        [node], f"g{seed}", [helper.make_tensor_value_info("x", 1, [1, 2])],
        [helper.make_tensor_value_info("y", 1, [1, 1 << 19])],
        [numpy_helper.from_array(weights, "w")],
    )  # fmt: skip
    message = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path.parent.mkdir()
    onnx.save(message, path, save_as_external_data=external, location="w.data")
    return onnxmap.load(path)


@pytest.mark.skipif(SANITIZED, reason="counts pages")
@pytest.mark.parametrize("external", [False, True])
def test_no_weight_is_read(tmp_path: Path, external: bool) -> None:
    paths = [tmp_path / str(i) / "m.onnx" for i in range(2)]
    models = [big_model(path, i, external) for i, path in enumerate(paths)]
    weights = [model.initializers["w"].numpy().copy() for model in models]
    files = [path.with_name("w.data") if external else path for path in paths]
    for model in models:
        model.close()
    for file in files:
        drop(file)
    models = [onnxmap.load(path) for path in paths]
    part = models[0].extract(["x"], ["y"])
    both = onnxmap.merge(models[0], models[1], prefix="b/")
    for model in (part, both):
        model.prune()
        model.sort()
        model.strip()
        model.lift_constants()
    for file in files:
        assert pages_there(file).sum() < 200  # of 1024
    report = both.save(tmp_path / "both.onnx")
    assert report.bytes_copied + report.bytes_referenced >= 2 * weights[0].nbytes - 100
    loaded = onnxmap.load(tmp_path / "both.onnx")
    for name, expected in zip(("w", "b/w"), weights, strict=True):
        assert np.array_equal(loaded.initializers[name].numpy(), expected)
    part.save(tmp_path / "part.onnx", external_data=False)
    assert np.array_equal(onnxmap.load_arrays(tmp_path / "part.onnx")["w"], weights[0])


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
        (other_function(chain("Neg", ("p", "q")), "Neg"), {}, ValueError, f"'{DOMAIN}::F'"),
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
        (FLOAT, helper.make_tensor_type_proto(11, [2]), r"'y' is FLOAT\[2\], .* DOUBLE\[2\]$"),
        (FLOAT, helper.make_tensor_type_proto(1, [5]), r"'p' is FLOAT\[5\]$"),
        (FLOAT, helper.make_tensor_type_proto(1, [2, "N"]), r"'p' is FLOAT\[2, 'N'\]$"),
        (helper.make_tensor_type_proto(1, [None]), helper.make_tensor_type_proto(1, []),
         r"FLOAT\[\?\], .* FLOAT\[\]$"),
        (FLOAT, helper.make_sparse_tensor_type_proto(1, [2]), r"is a sparse FLOAT\[2\]$"),
        (FLOAT, helper.make_optional_type_proto(FLOAT), r"is an optional FLOAT\[2\]$"),
        (*SEQUENCES, r"a sequence of FLOAT\[2\], .* a sequence of FLOAT\[3\]$"),
        (FLOAT, helper.make_tensor_type_proto(1, ["N"]), ""),
        (helper.make_tensor_type_proto(1, [-1, 3]), helper.make_tensor_type_proto(1, [4, None]), ""),
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


def test_reverted() -> None:
    model = loads(random_model(0))
    part = model.extract(["x", "c"], [model.graph.outputs[0].name])
    assert part.edited
    part.revert()
    assert not part.proto.ListFields()
