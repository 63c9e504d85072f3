"""onnx-ir: objects over protobuf; external data are mapped, one tensor at a time."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx_ir

from bench import witness, written
from bench.peers.usual import Arrays, Files, Peer, Usual
from bench.tasks import (
    NEW_DATA,
    Task,
    data_file,
    model_file,
    removed_nodes,
    tensor_file,
    writing,
)


def _arrays(files: Files) -> Arrays:
    return {
        name: value.const_value.numpy()
        for name, value in onnx_ir.load(files.model).graph.initializers.items()
        if value.const_value is not None
    }


_usual = Usual(
    Peer(
        open=lambda files: onnx_ir.load(files.model),
        outline=lambda model: (list(model.graph.initializers), len(model.graph)),
        arrays=_arrays,
    )
)
load = _usual.load
views = _usual.views
touch = _usual.touch
touch_only = _usual.touch_only
touch_and_hold = _usual.touch_and_hold


def op_types(folder: Path) -> Task:
    """The operators of a loaded model's nodes."""
    graph = onnx_ir.load(model_file(folder)).graph
    return Task(
        lambda: [node.op_type for node in graph],
        lambda result, _: {"op_types": witness.digest(result)},
    )


def node_inputs(folder: Path) -> Task:
    """The input names of a loaded model's nodes."""
    graph = onnx_ir.load(model_file(folder)).graph
    return Task(
        lambda: [[value.name if value else "" for value in node.inputs] for node in graph],
        lambda result, _: {"node_inputs": witness.digest(result)},
    )


def remove_nodes(folder: Path) -> Task:
    """Nodes taken out of a chain one by one: their users get their first inputs instead."""
    graph = onnx_ir.load(model_file(folder)).graph
    nodes = list(graph)
    removed = [nodes[i] for i in removed_nodes(len(nodes))]

    def run() -> None:
        for node in removed:
            onnx_ir.convenience.replace_all_uses_with(node.outputs[0], node.inputs[0])
            graph.remove(node, safe=True)

    def inputs(_result: object, _full: bool) -> dict[str, str]:
        names = [[value.name if value else "" for value in node.inputs] for node in graph]
        return {"node_inputs": witness.digest(names)}

    return Task(run, inputs)


def decode(folder: Path) -> Task:
    """An array of a tensor that is loaded already."""
    tensor = onnx_ir.serde.deserialize_tensor(onnx.load_tensor(tensor_file(folder)))
    return Task(tensor.numpy, witness.array)


def file_to_array(folder: Path) -> Task:
    """A tensor's file and its array. onnx parses the file, because this peer has no reader."""
    path = tensor_file(folder)
    return Task(
        lambda: onnx_ir.serde.deserialize_tensor(onnx.load_tensor(path)).numpy(), witness.array
    )


def to_external(folder: Path) -> Task:
    """The model, saved with its weights in a data file."""
    return _save(folder, NEW_DATA)


def to_folder(folder: Path) -> Task:
    """The model and its data file, saved into another folder."""
    return _save(folder, data_file(folder).name)


def _save(folder: Path, data_name: str) -> Task:
    source = model_file(folder)

    def write(path: Path) -> onnx_ir.Model:
        model = onnx_ir.load(source)
        onnx_ir.save(model, path, external_data=data_name)
        return model

    return writing(folder, write, written.model)


def to_inline(folder: Path) -> Task:
    """The model, saved with its weights in the model file."""
    source = model_file(folder)

    def write(path: Path) -> onnx_ir.Model:
        model = onnx_ir.external_data.load_to_model(onnx_ir.load(source))
        onnx_ir.save(model, path)
        return model

    return writing(folder, write, written.model)


def to_safetensors(folder: Path) -> Task:
    """The model, saved with its weights in a safetensors file."""
    source = model_file(folder)

    def write(path: Path) -> onnx_ir.Model:
        model = onnx_ir.load(source)
        onnx_ir.save_safetensors(model, path, size_threshold_bytes=0)
        return model

    return writing(
        folder, write, lambda path, full: written.weights(path.with_suffix(".safetensors"), full)
    )
