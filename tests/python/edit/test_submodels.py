"""`Model.extract` beside onnx.utils.Extractor."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.shape_inference
import pytest
from onnx import ModelProto, helper, numpy_helper
from onnx.utils import Extractor
from support.edits.rich_model import saved
from support.processes.cold_files import drop, pages_there
from support.run_options import EXHAUSTIVE, SANITIZED
from support.surgery.models import floats, loads, run
from support.surgery.programs import FEED, errors
from support.surgery.random_models import DOMAIN, random_model

import onnxmap

SEEDS = range(500 if EXHAUSTIVE else 4 if SANITIZED else 8)


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
                assert {t.name for t in ours.graph.initializer} == wanted | set(inputs[-1:])
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
    given = loads(message).extract(["x", "w"], ["y"])
    assert [value.name for value in given.graph.inputs] == ["x", "w"]
    assert given.initializers["w"].numpy().tolist() == [1, 1]


@pytest.mark.parametrize("ir_version", [3, 9])
def test_initializers_among_the_inputs_keep_their_values(ir_version: int) -> None:
    """The whole interface of a model gives its weights too, as with onnx."""
    nodes = [
        helper.make_node("Add", ["x", "w"], ["y"]), helper.make_node("Mul", ["y", "v"], ["z"])
    ]  # fmt: skip
    tensors = [numpy_helper.from_array(np.float32([2, 3]), name) for name in "vw"]
    graph = helper.make_graph(
        nodes, "g", floats("x", "v", "w"), floats("z"), tensors, value_info=floats("y")
    )
    opsets = [helper.make_opsetid("", 8)]
    message = helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)
    model = loads(message)
    part = model.extract([value.name for value in model.graph.inputs], ["z"])
    expected = Extractor(message).extract_model(["x", "v", "w"], ["z"])
    assert saved(part).graph.initializer == expected.graph.initializer
    assert saved(part).graph.input == message.graph.input
    assert errors(part) == set()
    for feed in ({"x": np.float32([1, 2])}, {"w": np.float32([5, 5])}):
        given = {each.name: np.float32([2, 3]) for each in tensors} | {"x": np.zeros(2, np.float32)}
        assert run(part, given | feed)["z"].tobytes() == run(message, given | feed)["z"].tobytes()


def untyped() -> ModelProto:
    """Two values between nodes whose types nothing tells; the second is of an unknown operator."""
    nodes = [
        helper.make_node("Shape", ["x"], ["a"]),
        helper.make_node("Expand", ["w", "a"], ["b"]),
        helper.make_node("Op", ["b"], ["c"], domain="other"),
        helper.make_node("Neg", ["c"], ["y"]),
    ]
    tensors = [numpy_helper.from_array(np.zeros(2000, np.float32), "w")]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, ["N", 2000])],
        [helper.make_tensor_value_info("y", 1, ["N", 2000])], tensors,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("other", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def test_types_are_inferred_as_by_onnx() -> None:
    model = loads(untyped())
    part = model.extract(["a"], ["b"])
    expected = Extractor(onnx.shape_inference.infer_shapes(untyped())).extract_model(["a"], ["b"])
    assert saved(part).graph.input == expected.graph.input
    assert part.graph.outputs[0].shape is not None
    assert len(part.graph.outputs[0].shape) == 2
    assert not model.edited
    assert errors(part) == set()
    feed = {"a": np.int64([3, 2000])}
    assert run(part, feed)["b"].shape == (3, 2000)


def test_a_type_that_onnx_cannot_infer_is_to_be_stated() -> None:
    model = loads(untyped())
    with pytest.raises(onnxmap.EditError, match="nothing tells of 'c'") as caught:
        model.extract(["c"], ["y"])
    assert caught.value.code == "edit.untyped"
    assert "infer_shapes" not in str(caught.value)
    state = "graph.value_infos.append(onnxmap.make_tensor_value_info(name, dtype, shape))"
    assert state in str(caught.value)
    names = {
        "graph": model.graph,
        "onnxmap": onnxmap,
        "name": "c",
        "dtype": 1,
        "shape": [None, 2000],
    }
    eval(state, names)
    assert [value.name for value in model.extract(["c"], ["y"]).graph.inputs] == ["c"]


def test_types_without_onnx_are_to_be_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxmap.interop.official", None)
    monkeypatch.delattr("onnxmap.interop.official", raising=False)
    with pytest.raises(onnxmap.EditError, match="nothing tells of 'a', 'b': state it with"):
        loads(untyped()).extract(["a"], ["b"])


@pytest.mark.parametrize("external", [False, True])
def test_weights_of_a_part_with_inferred_types(tmp_path: Path, external: bool) -> None:
    """They stay where they are, also if they are external."""
    onnx.save(
        untyped(), tmp_path / "m.onnx", save_as_external_data=external, location="w.data",
        size_threshold=0,
    )  # fmt: skip
    model = onnxmap.load(tmp_path / "m.onnx")
    model.extract(["a"], ["b"]).save(tmp_path / "part.onnx")
    part = onnxmap.load(tmp_path / "part.onnx")
    assert part.initializers["w"].is_external == external
    assert run(onnx.load(tmp_path / "part.onnx"), {"a": np.int64([3, 2000])})["b"].shape == (
        3,
        2000,
    )


@pytest.mark.parametrize(
    ("inputs", "outputs", "error", "text"),
    [
        (["nope", "x"], ["y", "nor"], KeyError, "no value 'nope', 'nor'"),
        (["x"], ["y"], ValueError, "need more inputs: 'c'"),
        (["x", "c", "x"], ["y"], ValueError, "'x' is given twice"),
        (["x", "c"], ["y", "y"], ValueError, "'y' is given twice"),
        (["x"], [], ValueError, "needs an output"),
        (["x"], [1], TypeError, "str"),
        ("x", ["y"], TypeError, r"lists of names, not a str: \['x'\]"),
        (["x", "c"], "y", TypeError, r"lists of names, not a str: \['y'\]"),
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
        model.inline_functions()
        model.set_dims(inputs={"x": ["n", 2]})
        model.set_dims({"n": 3})
    for file in files:
        assert pages_there(file).sum() < 200  # of 1024
    report = both.save(tmp_path / "both.onnx")
    assert report.bytes_copied + report.bytes_referenced >= 2 * weights[0].nbytes - 100
    loaded = onnxmap.load(tmp_path / "both.onnx")
    for name, expected in zip(("w", "b/w"), weights, strict=True):
        assert np.array_equal(loaded.initializers[name].numpy(), expected)
    part.save(tmp_path / "part.onnx", external_data=False)
    assert np.array_equal(onnxmap.load_arrays(tmp_path / "part.onnx")["w"], weights[0])


def test_reverted() -> None:
    model = loads(random_model(0))
    part = model.extract(["x", "c"], [model.graph.outputs[0].name])
    assert part.edited
    part.revert()
    assert not part.proto.ListFields()
