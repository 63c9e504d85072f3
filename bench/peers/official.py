"""The package `onnx`: protobuf's C engine, then NumPy arrays from `numpy_helper`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.checker
from onnx import external_data_helper, numpy_helper

from bench import witness, written
from bench.peers.usual import Arrays, Files, Peer, Usual
from bench.tasks import (
    NEW_DATA,
    NEW_KEY,
    NEW_OPERATOR,
    NEW_VALUE,
    Task,
    edited_nodes,
    model_file,
    tensor_file,
    touched_array,
    writing,
)


def _arrays(files: Files) -> Arrays:
    tensors = onnx.load(files.model).graph.initializer
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors}


def _each(files: Files) -> Iterator[np.ndarray[Any, Any]]:
    folder = str(Path(files.model).parent)
    for tensor in onnx.load(files.model, load_external_data=False).graph.initializer:
        if external_data_helper.uses_external_data(tensor):
            external_data_helper.load_external_data_for_tensor(tensor, folder)
        yield numpy_helper.to_array(tensor)
        tensor.ClearField("raw_data")


_usual = Usual(Peer(arrays=_arrays, each=_each))
views = _usual.views
touch_and_hold = _usual.touch_and_hold
touch_each = _usual.touch_each


def load(folder: Path) -> Task:
    """The whole message, weights included."""
    path = model_file(folder)
    return Task(lambda: onnx.load(path), _outline)


def check(folder: Path) -> Task:
    """All that `onnx.checker` checks, of the file's model. It stops at the first error."""
    path = model_file(folder)
    return Task(lambda: onnx.checker.check_model(path), lambda _result, _: {"errors": "0"})


def names_shapes(folder: Path) -> Task:
    """The whole message, then the initializers' names and shapes."""
    path = model_file(folder)

    def run() -> object:
        tensors = onnx.load(path).graph.initializer
        return [tensor.name for tensor in tensors], [tuple(tensor.dims) for tensor in tensors]

    return Task(run, lambda result, _: {"names_shapes": witness.digest(result)})


def op_types(folder: Path) -> Task:
    """The operators of a loaded model's nodes."""
    graph = onnx.load(model_file(folder)).graph
    return Task(
        lambda: [node.op_type for node in graph.node],
        lambda result, _: {"op_types": witness.digest(result)},
    )


def node_inputs(folder: Path) -> Task:
    """The input names of a loaded model's nodes."""
    graph = onnx.load(model_file(folder)).graph
    return Task(
        lambda: [list(node.input) for node in graph.node],
        lambda result, _: {"node_inputs": witness.digest(result)},
    )


def walk(folder: Path) -> Task:
    """A Python loop over a loaded model's nodes."""
    graph = onnx.load(model_file(folder)).graph
    return Task(
        lambda: witness.walked(graph.node, "input"), lambda result, _: {"walk": str(result)}
    )


def count_inputs(folder: Path) -> Task:
    """A Python loop over nodes that exist already."""
    nodes = list(onnx.load(model_file(folder)).graph.node)
    return Task(lambda: sum(len(node.input) for node in nodes), witness.total)


def node_names(folder: Path) -> Task:
    """The same."""
    nodes = list(onnx.load(model_file(folder)).graph.node)
    return Task(lambda: sum(len(node.name) for node in nodes), witness.total)


def attribute_values(folder: Path) -> Task:
    """One attribute of each node, by its name."""
    nodes = list(onnx.load(model_file(folder)).graph.node)

    def run() -> int:
        total = 0
        for node in nodes:
            found = next(one for one in node.attribute if one.name == "kernel_shape")
            total += sum(onnx.helper.get_attribute_value(found))
        return total

    return Task(run, witness.total)


def attribute_names(folder: Path) -> Task:
    """The names of the attributes of each node."""
    nodes = list(onnx.load(model_file(folder)).graph.node)
    return Task(
        lambda: sum(len([one.name for one in node.attribute]) for node in nodes), witness.total
    )


def tensor_shapes(folder: Path) -> Task:
    """A Python loop over tensors that exist already."""
    tensors = list(onnx.load(model_file(folder)).graph.initializer)
    return Task(lambda: sum(len(tuple(tensor.dims)) for tensor in tensors), witness.total)


def index(folder: Path) -> Task:
    """Nodes by name, and producers and uses by value, of a loaded model: a Python loop."""
    graph = onnx.load(model_file(folder)).graph

    def run() -> witness.Neighbours:
        nodes: dict[str, onnx.NodeProto] = {}
        producers: dict[str, onnx.NodeProto] = {}
        uses: dict[str, list[tuple[onnx.NodeProto | onnx.GraphProto, int]]] = {}
        for node in graph.node:
            nodes[node.name] = node
            for i, name in enumerate(node.input):
                uses.setdefault(name, []).append((node, i))
            for name in node.output:
                producers[name] = node
        for i, value in enumerate(graph.output):
            uses.setdefault(value.name, []).append((graph, i))

        def neighbours(name: str) -> object:
            node = nodes[name]
            maker = producers.get(node.input[0])
            return maker and maker.name, [(user.name, i) for user, i in uses[node.output[0]]]

        return neighbours

    return Task(run, lambda found, _: witness.neighbours(found, [n.name for n in graph.node]))


def decode(folder: Path) -> Task:
    """An array of a tensor that is loaded already."""
    tensor = onnx.load_tensor(tensor_file(folder))
    return Task(lambda: numpy_helper.to_array(tensor), witness.array)


def file_to_array(folder: Path) -> Task:
    """A tensor's file, parsed, and its array."""
    path = tensor_file(folder)
    return Task(lambda: numpy_helper.to_array(onnx.load_tensor(path)), witness.array)


def to_float32(folder: Path) -> Task:
    """The conversion by NumPy or ml_dtypes of an array that exists already."""
    return _convert(folder, "float32")


def to_float16(folder: Path) -> Task:
    """The same to float16."""
    return _convert(folder, "float16")


def to_bfloat16(folder: Path) -> Task:
    """The same to bfloat16."""
    return _convert(folder, "bfloat16")


def _convert(folder: Path, dtype: str) -> Task:
    """The source is aligned and unpacked, which is easier than bytes in a file."""
    source = numpy_helper.to_array(onnx.load_tensor(tensor_file(folder)))
    out = touched_array(source.shape, dtype)

    def run() -> object:
        np.copyto(out, source, casting="unsafe")
        return out

    return Task(run, witness.array)


def to_external(folder: Path) -> Task:
    """The model, saved with its weights in a data file."""
    return _save(folder, save_as_external_data=True, location=NEW_DATA)


def to_inline(folder: Path) -> Task:
    """The model, saved with its weights in the model file."""
    return _save(folder)


def add_metadata(folder: Path) -> Task:
    """The model with one more metadata key, saved."""
    return _save(folder, lambda model: model.metadata_props.add(key=NEW_KEY, value=NEW_VALUE))


def edit_node(folder: Path) -> Task:
    """The operator of one node of a model that was just loaded."""
    graph = onnx.load(model_file(folder)).graph
    middle = len(graph.node) // 2

    def load() -> None:
        nonlocal graph
        graph = onnx.load(model_file(folder)).graph

    def run() -> None:
        graph.node[middle].op_type = NEW_OPERATOR

    return Task(run, lambda _, __: _operators(graph), just_before=load)


def edit_nodes(folder: Path) -> Task:
    """The operators of nodes all over a loaded model, one after another."""
    graph = onnx.load(model_file(folder)).graph
    chosen = edited_nodes(len(graph.node))

    def run() -> None:
        for i in chosen:
            graph.node[i].op_type = NEW_OPERATOR

    return Task(run, lambda _, __: _operators(graph))


def _operators(graph: onnx.GraphProto) -> dict[str, str]:
    return {"op_types": witness.digest([node.op_type for node in graph.node])}


def edit_node_and_save(folder: Path) -> Task:
    """The model, with another operator in one node, saved."""

    def edit(model: onnx.ModelProto) -> None:
        nodes = model.graph.node
        nodes[len(nodes) // 2].op_type = NEW_OPERATOR

    return _save(folder, edit, written.file)


def edit_attribute_and_save(folder: Path) -> Task:
    """The model, with another attribute in one node, saved."""

    def edit(model: onnx.ModelProto) -> None:
        nodes = model.graph.node
        nodes[len(nodes) // 2].attribute.append(onnx.helper.make_attribute("axis", 1))

    return _save(folder, edit)


def _save(
    folder: Path,
    edit: Callable[[onnx.ModelProto], object] = lambda _model: None,
    prove: Callable[[Path, bool], dict[str, str]] = written.model,
    **options: Any,
) -> Task:
    source = model_file(folder)

    def write(path: Path) -> onnx.ModelProto:
        model = onnx.load(source)
        edit(model)
        onnx.save_model(model, str(path), **options)
        return model

    return writing(folder, write, prove)


def _outline(model: onnx.ModelProto, _full: bool) -> dict[str, str]:
    graph = model.graph
    return witness.outline([tensor.name for tensor in graph.initializer], len(graph.node))
