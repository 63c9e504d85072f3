"""Models whose weights are in Constant nodes: a save that would do nothing says what helps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper
from support.models.node_cases import some_cases
from support.models.sample import write

import onnxmap

ARRAY = np.linspace(-1, 1, 24 * 24, dtype=np.float32).reshape(24, 24)
OPSETS = [helper.make_opsetid("", 21), helper.make_opsetid("d", 1)]
FLOATS = helper.make_tensor_value_info("x", 1, [1, 24])
RESULT = helper.make_tensor_value_info("y", 1, None)

REQUESTS: dict[str, Callable[[onnxmap.Model, Path], Any]] = {
    "dtype": lambda model, to: model.save(to / "m.onnx", dtype="float16", sync=False),
    "some types": lambda model, to: model.save(to / "m.onnx", dtype={"w": "float16"}, sync=False),
    "data file": lambda model, to: model.save(to / "m.onnx", "w.data", sync=False),
    "all models": lambda model, to: onnxmap.save_all({to / "m.onnx": model}, "w.data", sync=False),
    "safetensors": lambda model, to: onnxmap.save_safetensors(model, to / "w.safetensors"),
    ".npz": lambda model, to: model.extract_weights(to / "w.npz", sync=False),
    ".npy": lambda model, to: model.extract_weights(to / "w.npy", sync=False),
}


def model_of(nodes: list[Any], **fields: Any) -> ModelProto:
    graph = helper.make_graph(nodes, "g", [FLOATS], [RESULT])
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=10, **fields)


def constant_and_use() -> list[Any]:
    return [
        helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(ARRAY, "any name")),
        helper.make_node("MatMul", ["x", "w"], ["y"]),
    ]


def in_graph() -> ModelProto:
    return model_of(constant_and_use())


def in_branch() -> ModelProto:
    branch = helper.make_graph(constant_and_use(), "b", [], [RESULT])
    made = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    condition = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.bool_(1)))
    return model_of([condition, made])


def in_function() -> ModelProto:
    nodes = constant_and_use()
    function = helper.make_function("d", "F", ["x"], ["y"], nodes, OPSETS[:1])
    return model_of([helper.make_node("F", ["x"], ["y"], domain="d")], functions=[function])


def as_floats() -> ModelProto:
    nodes = [
        helper.make_node("Constant", [], ["w"], value_floats=ARRAY.ravel().tolist()),
        helper.make_node("Add", ["x", "w"], ["y"]),
    ]
    return model_of(nodes)


MODELS = {each.__name__: each for each in (in_graph, in_branch, in_function, as_floats)}


def carry_out(advice: str, model: onnxmap.Model) -> None:
    assert "lift_constants()" in advice
    if "inline_functions()" in advice:
        model.inline_functions()
    model.lift_constants()


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("name", MODELS)
def test_a_request_that_would_do_nothing(name: str, request_: str, tmp_path: Path) -> None:
    """It writes nothing, and does what was asked for after the call that the error names."""
    source, to = write(MODELS[name](), tmp_path / "source.onnx"), tmp_path / "to"
    to.mkdir()
    model = onnxmap.load(source)
    with pytest.raises(onnxmap.SaveError, match="are in Constant nodes") as caught:
        REQUESTS[request_](model, to)
    assert caught.value.code == "save.no_weights"
    assert list(to.iterdir()) == []
    assert not model.edited
    carry_out(str(caught.value), model)
    if name == "in_branch" and request_ not in ("dtype", "data file", "all models"):
        return  # only the condition is an initializer of the main graph
    REQUESTS[request_](model, to)
    files = {each.suffix: each for each in to.iterdir()}
    if request_ in ("dtype", "some types"):
        saved = onnxmap.load(files[".onnx"])
        assert {str(each.dtype) for _, each in saved.tensors() if each.nbytes > 1} == {"FLOAT16"}
    else:
        (weights,) = (each for each in files.values() if each.suffix != ".onnx")
        assert weights.stat().st_size >= ARRAY.nbytes


@pytest.mark.parametrize("name", ["in_graph", "in_branch", "in_function"])
def test_attributes_are_taken_as_they_are(name: str, tmp_path: Path) -> None:
    source = write(MODELS[name](), tmp_path / "m.onnx")
    model = onnxmap.load(source)
    for place in ("w.data", "view"):
        with pytest.raises(onnxmap.SaveError, match="attributes=True takes them"):
            model.save(tmp_path / "s.onnx", place, sync=False)
        model.save(tmp_path / "s.onnx", place, attributes=True, sync=False)
        saved = onnxmap.load(tmp_path / "s.onnx")
        assert any(tensor.is_external for _, tensor in saved.tensors())


def test_what_is_saved_as_before(tmp_path: Path) -> None:
    """Models with initializers, or with nothing that could be one; and requests of other kinds."""
    nodes = constant_and_use()
    mixed = model_of(nodes)
    mixed.graph.initializer.append(numpy_helper.from_array(ARRAY, "v"))
    output = model_of([helper.make_node("Constant", [], ["y"], value_float=1.0)])
    nothing = model_of([helper.make_node("Relu", ["x"], ["y"])])
    for each in (mixed, output, nothing):
        model = onnxmap.load(write(each, tmp_path / "source.onnx"))
        for name in ("dtype", "data file", "safetensors", ".npz"):
            REQUESTS[name](model, tmp_path)
    model = onnxmap.load(write(model_of(nodes), tmp_path / "source.onnx"))
    model.save(tmp_path / "m.onnx", sync=False)
    model.save(tmp_path / "m.onnx", False, sync=False)
    model.save(tmp_path / "m.onnx", "w.data", size_threshold_bytes=10_000, sync=False)
    assert (tmp_path / "m.onnx").read_bytes() == (tmp_path / "source.onnx").read_bytes()


def wrapped(model: ModelProto) -> ModelProto:
    """The model as a call of a function; itself if a function cannot have what it has."""
    graph = model.graph
    names = [[each.name for each in values] for values in (graph.input, graph.output)]
    if graph.initializer or graph.sparse_initializer or model.functions or not names[1]:
        return model
    function = helper.make_function("d", "F", *names, graph.node, model.opset_import)
    made = ModelProto()
    made.CopyFrom(model)
    del made.graph.node[:], made.graph.value_info[:]
    made.graph.node.append(helper.make_node("F", *names, domain="d"))
    made.functions.append(function)
    made.opset_import.add(domain="d", version=1)
    made.ir_version = max(model.ir_version, 8)
    return made


def test_every_refusal_has_a_remedy(tmp_path: Path) -> None:
    """Official models, as they are and wrapped in a function: what the errors advise helps."""
    refused = 0
    for case in some_cases():
        for each in (case.model, wrapped(case.model)):
            for name in ("dtype", "data file", "safetensors"):
                model = onnxmap.loads(each.SerializeToString())
                error = refusal(model, name, tmp_path)
                if error is not None:
                    refused += 1
                    carry_out(str(error), model)
                    assert refusal(model, name, tmp_path) is None, case.name
    assert refused


def refusal(model: onnxmap.Model, name: str, folder: Path) -> onnxmap.SaveError | None:
    """The error that the weights are in Constant nodes. A model may lack what other errors name."""
    try:
        REQUESTS[name](model, folder)
    except onnxmap.SaveError as error:
        return error if error.code == "save.no_weights" else None
    return None
