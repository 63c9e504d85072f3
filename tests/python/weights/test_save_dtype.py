"""`dtype=` of saves: initializers in another type, and a node Cast that gives them back."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.models.new_types import (
    TYPES,
    as_model,
    built,
    cast,
    mlp,
    names_and_types,
    onnxruntime,
    run,
)
from support.models.node_cases import some_cases
from support.models.sample import model_of, write
from support.run_options import EXHAUSTIVE
from support.tensors.float32_samples import stratified_codes

import onnxmap

# Half the distance between 1 and the next number.
PRECISION = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float8_e4m3fn": 2.0**-4, "float64": 0.0}


_STATE = onnxruntime.capi.onnxruntime_pybind11_state
REFUSED = (_STATE.Fail, _STATE.InvalidGraph, _STATE.InvalidArgument, _STATE.NotImplemented)


def samples(name: str) -> np.ndarray[Any, Any]:
    """All values of a small type, and many of a large one."""
    dtype = np.dtype(TYPES[name])
    if dtype.itemsize < 4:
        return np.arange(1 << 8 * dtype.itemsize).astype(f"u{dtype.itemsize}").view(dtype)
    with np.errstate(all="ignore"):
        return stratified_codes()[:: 1 if EXHAUSTIVE else 7].view(np.float32).astype(dtype)


@pytest.mark.parametrize("to", TYPES)
@pytest.mark.parametrize("of", TYPES)
def test_all_pairs_of_types(of: str, to: str, tmp_path: Path) -> None:
    array = samples(of)
    source = write(as_model({"w": array}), tmp_path / "m.onnx")
    expected, lost = cast(array, to)
    if of == to:
        report = onnxmap.load(source).save(tmp_path / "saved.onnx", dtype=to, sync=False)
        assert Path(report.files[0]).read_bytes() == source.read_bytes()
        return
    save = lambda **given: onnxmap.load(source).save(tmp_path / "saved.onnx", dtype=to, **given)
    if lost:
        with pytest.raises(onnxmap.SaveError, match=f"{lost} of {array.size} in 'w' as {to}"):
            save(sync=False)
    save(sync=False, allow_loss=bool(lost))
    model = onnxmap.load(tmp_path / "saved.onnx")
    made = model.initializers[f"w.{to}"].numpy()
    assert made.dtype == expected.dtype
    width = f"u{made.itemsize}"
    same = made.view(width) == expected.view(width)
    # The payloads of NaN are nobody's business, and NumPy makes some quiet on aarch64.
    if "float64" in (of, to) or platform.machine() == "aarch64":
        same |= np.isnan(made.astype(np.float64)) & np.isnan(expected.astype(np.float64))
    assert same.all()
    assert [(node.op_type, node.inputs, node.outputs) for node in model.graph.nodes] == [
        ("Cast", [f"w.{to}"], ["w"])
    ]
    assert model.graph.nodes[0].attributes["to"].value == onnxmap.DataType(of)
    onnx.checker.check_model(tmp_path / "saved.onnx", full_check=True)
    assert list(model.check()) == []


def convolution() -> tuple[list[Any], list[Any], list[Any], dict[str, Any]]:
    rng = np.random.default_rng(1)
    arrays = {name: rng.uniform(1, 2, 6) for name in "sbmv"}
    arrays["w"] = rng.normal(size=(6, 3, 3, 3))
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"]),
        helper.make_node("Sigmoid", ["n"], ["y"]),
    ]  # fmt: skip
    return nodes, [1, 3, 10, 10], [1, 6, 10, 10], arrays


def attention() -> tuple[list[Any], list[Any], list[Any], dict[str, Any]]:
    rng = np.random.default_rng(2)
    arrays = {name: rng.normal(size=(32, 32)) / 6 for name in ("q.weight", "k.weight", "v.weight")}
    arrays |= {"ln.scale": rng.uniform(0.5, 1.5, 32), "ln.bias": rng.normal(size=32)}
    nodes = [
        helper.make_node("LayerNormalization", ["x", "ln.scale", "ln.bias"], ["n"]),
        *(helper.make_node("MatMul", ["n", f"{name}.weight"], [name]) for name in "qkv"),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "kt"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["p"]),
        helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    return nodes, [1, 7, 32], [1, 7, 32], arrays


@pytest.mark.parametrize("to", PRECISION)
@pytest.mark.parametrize("make", [mlp, convolution, attention])
def test_converted_models_compute(make: Callable[[], Any], to: str, tmp_path: Path) -> None:
    """They compute what the model does whose weights were rounded, to the last bit."""
    source = write(built(make), tmp_path / "m.onnx")
    model = onnxmap.load(source)
    for options in ({}, {"external_data": "w.data", "size_threshold_bytes": 0}):
        path = tmp_path / "saved.onnx"
        model.save(path, dtype=to, sync=False, allow_loss=to.startswith("float8"), **options)
        onnx.checker.check_model(path, full_check=True)
        assert list(onnxmap.load(path).check()) == []
        shape = [dim.dim_value for dim in built(make).graph.input[0].type.tensor_type.shape.dim]
        x = np.random.default_rng(3).normal(size=shape).astype(np.float32)
        rounded = built(make)
        for each in rounded.graph.initializer:
            made = cast(numpy_helper.to_array(each), to)[0].astype(np.float32)
            each.CopyFrom(numpy_helper.from_array(made, each.name))
        (ours,), (same,), (first,) = (run(each, {"x": x}) for each in (path, rounded, source))
        assert np.allclose(ours, same, rtol=1e-6, atol=1e-6)
        assert np.abs(ours - first).max() <= 40 * PRECISION[to] + 1e-6


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
def test_node_cases_as_initializers(tmp_path: Path) -> None:
    """Operators of all kinds take a converted initializer as they took the old one."""
    tried = 0
    for case in some_cases():
        inputs = [
            np.asarray(each) if isinstance(each, np.generic) else each
            for each in case.data_sets[0][0]
        ]
        model = onnx.ModelProto.FromString(case.model.SerializeToString())
        floats = [
            (value, array)
            for value, array in zip(model.graph.input, inputs, strict=False)
            if isinstance(array, np.ndarray) and array.dtype == np.float32 and value.name
        ]
        if not floats or len(inputs) != len(model.graph.input):
            continue
        for value, array in floats:
            kept = array.astype(np.float16).astype(np.float32)
            model.graph.initializer.append(numpy_helper.from_array(kept, value.name))
            model.graph.input.remove(value)
        feeds = {
            value.name: array
            for value, array in zip(case.model.graph.input, inputs, strict=False)
            if value.name in {each.name for each in model.graph.input}
        }
        model.ir_version = max(model.ir_version, 4)
        if all(each.domain for each in model.opset_import):
            model.opset_import.add(version=21)  # Cast needs it
        source = write(model, tmp_path / "m.onnx")
        try:
            expected = run(source, feeds)
        except REFUSED:
            continue
        onnxmap.load(source).save(tmp_path / "s.onnx", dtype="float16", allow_loss=True, sync=False)
        for ours, theirs in zip(run(tmp_path / "s.onnx", feeds), expected, strict=True):
            if (
                isinstance(theirs, np.ndarray)
                and theirs.dtype.kind == "f"
                and "rand" not in case.name
            ):
                assert np.allclose(ours, theirs, rtol=1e-5, atol=1e-5, equal_nan=True), case.name
        tried += 1
    assert tried > 20


def test_subgraphs_and_names(tmp_path: Path) -> None:
    """A Cast stands in the graph of its initializer, whose value all graphs below it see."""
    then = helper.make_graph(
        [helper.make_node("Add", ["w", "inner"], ["t"])], "then", [],
        [helper.make_tensor_value_info("t", 1, [3])],
        [numpy_helper.from_array(np.float32([1, 2, 3]), "inner")],
    )  # fmt: skip
    other = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["e"])], "else", [],
        [helper.make_tensor_value_info("e", 1, [3])],
    )  # fmt: skip
    graph = helper.make_graph(
        [
            helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
            helper.make_node("Identity", ["w"], ["w.float16"]),  # the name is taken
        ],
        "g", [helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info(name, 1, [3]) for name in ("y", "w", "w.float16")],
        [numpy_helper.from_array(np.float32([0.5, 1, 2]), "w")],
    )  # fmt: skip
    source = write(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10),
        tmp_path / "m.onnx",
    )
    model = onnxmap.load(source)
    model.save(tmp_path / "s.onnx", dtype=np.float16, sync=False)
    onnx.checker.check_model(tmp_path / "s.onnx", full_check=True)
    saved = onnxmap.load(tmp_path / "s.onnx")
    assert list(saved.check()) == []
    assert list(saved.initializers) == ["w.float16.2"]
    assert [node.op_type for node in saved.graph.nodes] == ["Cast", "If", "Identity"]
    below = saved.graph.nodes[1].attributes["then_branch"].value
    assert [node.op_type for node in below.nodes] == ["Cast", "Add"]
    for chosen in (True, False):
        feeds = {"c": np.array(chosen)}
        for ours, theirs in zip(run(tmp_path / "s.onnx", feeds), run(source, feeds), strict=True):
            assert np.array_equal(ours, theirs)
    again = onnxmap.load(source)
    assert model.proto == again.proto  # a save never changes the model


def test_patterns(tmp_path: Path) -> None:
    """The first that matches counts; the others keep their type, and so do integers."""
    arrays = {
        "a.weight": np.ones(3, np.float32), "a.bias": np.ones(3, np.float32),
        "lm_head.weight": np.ones(3, np.float32), "n.weight": np.ones(3, np.int64),
        "x[0]": np.ones(3, np.float64), "h": np.ones(3, np.float16),
    }  # fmt: skip
    model = onnxmap.load(write(as_model(arrays), tmp_path / "m.onnx"))
    path = tmp_path / "s.onnx"
    model.save(
        path, dtype={"lm_head.*": "BFLOAT16", "*.weight": 10, "x[0]": np.float32}, sync=False
    )
    assert names_and_types(path) == {
        "a.weight.float16": "FLOAT16", "a.bias": "FLOAT", "lm_head.weight.bfloat16": "BFLOAT16",
        "n.weight": "INT64", "x[0].float32": "FLOAT", "h": "FLOAT16",
    }  # fmt: skip
    model.save(path, dtype={"a.*": "float32", "*": "float16"}, sync=False)  # as it is
    assert names_and_types(path)["a.weight"] == "FLOAT"
    for pattern, near in {
        "b.weight": "a.weight", "*.wieght": "a.weight", "n.weight": "a.weight",
        "lm_haed.*": "lm_head",
    }.items():  # fmt: skip
        with pytest.raises(onnxmap.UnknownNameError, match=re.escape(repr(pattern))) as caught:
            model.save(path, dtype={"a.bias": "float16", pattern: "float16"}, sync=False)
        assert any(near in each for each in caught.value.nearest)
    assert names_and_types(path)["a.weight"] == "FLOAT"
    for wrong in ("int8", "float4_e2m1fn", "float", 3.5, None.__class__, {"*": "x"}):
        with pytest.raises(ValueError, match="dtype must be one of float32, float16, float64"):
            model.save(path, dtype=wrong, sync=False)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="values stay in place"):
        model.save(path, "view", dtype="float16")
    with pytest.raises(ValueError, match="allow_loss needs dtype"):
        model.save(path, allow_loss=True)


def test_models_that_are_too_old(tmp_path: Path) -> None:
    array = {"w": np.ones(3, np.float32)}
    for to, opset, ir, reason in (
        ("float8_e5m2", 18, 10, "from opset 19 on.*convert_version"),
        ("bfloat16", 12, 10, "from opset 13 on"),
        ("float16", 5, 10, "from opset 6 on"),
        ("float8_e5m2", 21, 8, "needs ir_version 9"),
    ):
        model = as_model(array)
        model.ir_version, model.opset_import[0].version = ir, opset
        with pytest.raises(onnxmap.SaveError, match=reason) as caught:
            onnxmap.save(model, tmp_path / "s.onnx", dtype=to)
        assert caught.value.code == "save.opset"
    del model.opset_import[:]
    with pytest.raises(onnxmap.SaveError, match="imports none of ONNX"):
        onnxmap.save(model, tmp_path / "s.onnx", dtype="float16")
    assert list(tmp_path.iterdir()) == []


def test_what_keeps_its_type(tmp_path: Path) -> None:
    """Inputs, what training uses, what decides a shape, and sparse values."""
    model = as_model({"w": np.ones(3, np.float32), "v": np.ones(3, np.float32)})
    model.graph.input.append(helper.make_tensor_value_info("w", 1, [3]))
    with pytest.raises(onnxmap.SaveError, match=r"that are inputs, .*: 'w'; drop_init") as caught:
        onnxmap.save(model, tmp_path / "s.onnx", dtype="float16")
    assert caught.value.code == "save.dtype"
    onnxmap.save(model, tmp_path / "s.onnx", dtype={"w": "float32", "*": "float16"}, sync=False)
    assert list(names_and_types(tmp_path / "s.onnx")) == ["w", "v.float16"]

    model = as_model({"w": np.ones(3, np.float32), "v": np.ones(3, np.float32)})
    model.graph.initializer.add(name="w", data_type=7)
    with pytest.raises(onnxmap.SaveError, match=r"stands twice, .*: 'w'"):
        onnxmap.save(model, tmp_path / "s.onnx", dtype={"w": "float16"})
    del model.graph.initializer[2]
    training = model.training_info.add()
    training.update_binding.add(key="w", value="v")
    with pytest.raises(onnxmap.SaveError, match=r"training_info uses.*'w', 'v'"):
        onnxmap.save(model, tmp_path / "s.onnx", dtype="float16")

    sizes = model_of([numpy_helper.from_array(np.float32([1, 1, 2, 2]), "scales")])
    sizes.graph.node.append(helper.make_node("Resize", ["x", "", "scales"], ["y"]))
    sparse = sizes.graph.sparse_initializer.add(dims=[4])
    sparse.values.CopyFrom(numpy_helper.from_array(np.float32([1]), "s"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.int64([1]), ""))
    onnxmap.save(sizes, tmp_path / "s.onnx", dtype="float16", sync=False)
    assert list(names_and_types(tmp_path / "s.onnx")) == ["scales"]
    assert onnx.load(tmp_path / "s.onnx").graph == sizes.graph


def test_edited_models(tmp_path: Path) -> None:
    """Edits and casts go together: of the graph, and of the tensors."""
    model = onnxmap.load(write(built(mlp), tmp_path / "m.onnx"))
    model.initializers["w1"] = np.full((64, 128), 0.25, np.float32)
    model.graph.nodes[0].name = "first"
    model.graph.doc_string = "edited"
    model.save(tmp_path / "s.onnx", dtype="bfloat16", sync=False)
    onnx.checker.check_model(tmp_path / "s.onnx", full_check=True)
    saved = onnxmap.load(tmp_path / "s.onnx")
    assert saved.graph.doc_string == "edited"
    assert saved.graph.nodes[4].name == "first"
    assert (saved.initializers["w1.bfloat16"].numpy() == 0.25).all()
    assert "w1" in model.initializers


def nested() -> tuple[list[Any], list[Any], list[Any], dict[str, Any]]:
    """Subgraphs that use a weight of the graph, and one of their own."""
    own = [numpy_helper.from_array(np.linspace(0, 1, 8, dtype=np.float32), "inner")]
    value = helper.make_tensor_value_info("t", 1, [1, 8])
    then = helper.make_graph(
        [helper.make_node("Add", ["h", "inner"], ["t"])], "t", [], [value], own
    )
    other = helper.make_graph([helper.make_node("Mul", ["h", "b"], ["t"])], "e", [], [value])
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("Cast", ["s"], ["c"], to=TensorProto.BOOL),
        helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
    ]
    rng = np.random.default_rng(4)
    return nodes, [1, 8], [1, 8], {"w": rng.normal(size=(8, 8)), "b": rng.normal(size=8)}


@pytest.mark.parametrize("make", [mlp, attention, nested])
def test_a_copy_gets_another_type(make: Callable[[], Any], tmp_path: Path) -> None:
    """The nodes Cast of the first save go, or convert from the new type."""
    source = write(built(make), tmp_path / "m.onnx")
    onnxmap.load(source).save(tmp_path / "half.onnx", dtype="float16", sync=False)
    half = onnxmap.load(tmp_path / "half.onnx")
    x = np.random.default_rng(5).normal(size=half.graph.inputs[0].shape).astype(np.float32)
    (expected,) = run(tmp_path / "half.onnx", {"x": x})
    path = tmp_path / "s.onnx"

    half.save(path, dtype="float32", sync=False)
    back, first = onnx.load(path), onnx.load(source)
    # The weights in subgraphs are part of a node, and were rounded.
    assert back.graph.node == first.graph.node or make is nested
    assert [each.name for each in back.graph.initializer] == [
        each.name for each in first.graph.initializer
    ]
    assert all(each.data_type == TensorProto.FLOAT for each in back.graph.initializer)
    assert np.array_equal(run(path, {"x": x})[0], expected)

    half.save(path, dtype="bfloat16", sync=False)
    casts = [node for node in onnx.load(path).graph.node if node.op_type == "Cast"]
    names = [each.name for each in first.graph.initializer]
    assert [node.input[0] for node in casts][: len(names)] == [f"{name}.bfloat16" for name in names]
    assert {node.attribute[0].i for node in casts[: len(names)]} == {TensorProto.FLOAT}
    assert np.allclose(run(path, {"x": x})[0], expected, atol=0.2)

    half.save(path, dtype="float16", sync=False)
    assert path.read_bytes() == (tmp_path / "half.onnx").read_bytes()
    for each in (path, tmp_path / "half.onnx"):
        onnx.checker.check_model(each, full_check=True)
        assert list(onnxmap.load(each).check()) == []


def test_casts_that_stay(tmp_path: Path) -> None:
    """Those of an initializer that something else uses, or that a save did not name."""
    arrays = {name: np.ones(3, np.float16) for name in ("a.float16", "b.float16", "c", "d.float32")}
    model = as_model(arrays)
    del model.graph.output[1:]  # a.float16 is an output
    for made, of in (("a", "a.float16"), ("b2", "b.float16"), ("e", "c"), ("d", "d.float32")):
        model.graph.node.append(helper.make_node("Cast", [of], [made], to=TensorProto.FLOAT))
    onnxmap.save(model, tmp_path / "s.onnx", dtype="float32", sync=False)
    saved = onnx.load(tmp_path / "s.onnx")
    assert [node.input[0] for node in saved.graph.node] == [
        *(f"{name}.float32" for name in arrays), *arrays
    ]  # fmt: skip
