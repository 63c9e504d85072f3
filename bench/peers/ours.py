"""onnxmap itself."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  onnxmap imports it at first use; the peers import it at once
import numpy as np

import onnxmap
from bench import witness, written
from bench.peers import statistics
from bench.peers.usual import Files, Peer, Usual
from bench.tasks import (
    NEW_DATA,
    NEW_KEY,
    NEW_OPERATOR,
    NEW_VALUE,
    Task,
    data_file,
    edited_nodes,
    model_file,
    other_file,
    removed_nodes,
    tensor_file,
    touched_array,
    writing,
)

# These are imported at first use; the peers import all at once. An older commit (`make against`)
# has other names.
for _name in (
    "_files.append",
    "_files.diff",
    "_files.save",
    "_read.checks",
    "_read.stats",
    "_write.documents",
    "_appending",
    "_checking",
    "_diff",
    "_saving",
    "_stats",
):
    with suppress(ModuleNotFoundError):
        importlib.import_module(f"onnxmap.{_name}")


def _load(files: Files) -> onnxmap.Model:
    return onnxmap.load(files.model)


def _each(files: Files) -> Iterator[np.ndarray[Any, Any]]:
    with _load(files) as model, model.stream() as arrays:
        for _, array in arrays:
            yield array


_usual = Usual(
    Peer(
        open=_load,
        outline=lambda model: (model.initializers.names(), len(model.graph.nodes)),
        arrays=lambda files: _load(files).views(),
        copies=lambda files: onnxmap.load_arrays(files.model),
        each=_each,
    )
)
load = _usual.load
views = _usual.views
touch = _usual.touch
touch_only = _usual.touch_only
touch_and_hold = _usual.touch_and_hold
stream = _usual.touch_each
arrays = _usual.arrays


def names_shapes(folder: Path) -> Task:
    """The structure, then the initializers' names and shapes."""
    path = model_file(folder)

    def run() -> object:
        initializers = onnxmap.load(path).initializers
        return initializers.names(), initializers.shapes()

    return Task(run, lambda result, _: {"names_shapes": witness.digest(result)})


def check(folder: Path) -> Task:
    """All rules, of the file's model."""
    path = model_file(folder)
    return Task(
        lambda: onnxmap.load(path).check(), lambda report, _: {"errors": str(len(report.errors))}
    )


def check_structure(folder: Path) -> Task:
    """All rules but those that compare nodes with the signatures of their operators."""
    model = onnxmap.load(model_file(folder))
    return Task(
        lambda: model.check(operators=False),
        lambda report, _: {"errors": str(len(report.errors))},
    )


def check_operators(folder: Path) -> Task:
    """All rules, of a model that is loaded."""
    model = onnxmap.load(model_file(folder))
    return Task(model.check, lambda report, _: {"errors": str(len(report.errors))})


def diff(folder: Path) -> Task:
    """What differs between two models."""
    paths = model_file(folder), other_file(folder)
    return Task(lambda: onnxmap.diff(*paths), lambda found, _: {"same": str(found.same)})


def stream_64mib(folder: Path) -> Task:
    """Every byte of one array after another, through a window of 64 MiB."""
    return _stream(folder, window="64MiB")


def stream_copies_64mib(folder: Path) -> Task:
    """The same, with every array a copy."""
    return _stream(folder, window="64MiB", copy=True)


def stream_float32_64mib(folder: Path) -> Task:
    """The same, with every array converted to float32: other bytes than the other tasks."""
    return _stream(folder, "float32 checksum", window="64MiB", dtype="float32")


def _stream(folder: Path, checksum: str = "checksum", **options: Any) -> Task:
    path = model_file(folder)

    def run() -> int:
        with onnxmap.load(path).stream(**options) as arrays:
            return witness.touched(array for _, array in arrays)

    return Task(run, lambda result, _: {checksum: str(result)})


def stats(folder: Path) -> Task:
    """The statistics of every initializer of a loaded model."""
    model = onnxmap.load(model_file(folder))
    return Task(model.stats, _stats_seen)


def stats_one_thread(folder: Path) -> Task:
    """The same by one thread."""
    model = onnxmap.load(model_file(folder))
    return Task(lambda: model.stats(threads=1), _stats_seen)


def _stats_seen(found: onnxmap.ModelStats, _full: bool) -> dict[str, str]:
    facts = {
        name: (
            one.count,
            one.finite,
            one.zeros,
            one.nans,
            one.infinities,
            None if one.min is None else float(one.min),
            None if one.max is None else float(one.max),
            one.mean,
            one.std,
        )
        for name, one in found.items()
    }
    return statistics.seen(facts)


def op_types(folder: Path) -> Task:
    """The operators of a loaded model's nodes."""
    graph = onnxmap.load(model_file(folder)).graph
    return Task(graph.op_types, lambda result, _: {"op_types": witness.digest(result)})


def node_inputs(folder: Path) -> Task:
    """The input names of a loaded model's nodes."""
    graph = onnxmap.load(model_file(folder)).graph
    return Task(graph.node_inputs, lambda result, _: {"node_inputs": witness.digest(result)})


def walk(folder: Path) -> Task:
    """A Python loop over a loaded model's nodes."""
    graph = onnxmap.load(model_file(folder)).graph
    return Task(
        lambda: witness.walked(graph.nodes, "inputs"), lambda result, _: {"walk": str(result)}
    )


def count_inputs(folder: Path) -> Task:
    """A Python loop over nodes that exist already."""
    nodes = list(onnxmap.load(model_file(folder)).graph.nodes)
    return Task(lambda: sum(len(node.inputs) for node in nodes), witness.total)


def node_names(folder: Path) -> Task:
    """The same."""
    nodes = list(onnxmap.load(model_file(folder)).graph.nodes)
    return Task(lambda: sum(len(node.name) for node in nodes), witness.total)


def attribute_values(folder: Path) -> Task:
    """One attribute of each node, by its name."""
    nodes = list(onnxmap.load(model_file(folder)).graph.nodes)
    return Task(
        lambda: sum(sum(node.attributes["kernel_shape"].value) for node in nodes), witness.total
    )


def attribute_names(folder: Path) -> Task:
    """The names of the attributes of each node."""
    nodes = list(onnxmap.load(model_file(folder)).graph.nodes)
    return Task(lambda: sum(len(list(node.attributes)) for node in nodes), witness.total)


def tensor_shapes(folder: Path) -> Task:
    """A Python loop over tensors that exist already."""
    tensors = list(onnxmap.load(model_file(folder)).initializers.values())
    return Task(lambda: sum(len(tensor.shape) for tensor in tensors), witness.total)


def index(folder: Path) -> Task:
    """Nodes by name, and producers and uses by value, of a loaded model."""
    graph = onnxmap.load(model_file(folder)).graph

    def run() -> witness.Neighbours:
        # The first question makes the index.
        found = graph.producer("") is None, "" in graph.nodes
        assert found == (True, False)
        return neighbours

    def neighbours(name: str) -> object:
        node = graph.nodes[name]
        maker = graph.producer(node.inputs[0])
        return maker and maker.name, [(user.name, i) for user, i in graph.uses(node.outputs[0])]

    return Task(run, lambda found, _: witness.neighbours(found, graph.node_names()))


def decode(folder: Path) -> Task:
    """An array of a tensor that is loaded already but whose bytes have not been read."""
    return Task(onnxmap.load_tensor(tensor_file(folder)).numpy, witness.array)


def file_to_array(folder: Path) -> Task:
    """A tensor's file and its array."""
    path = tensor_file(folder)
    return Task(lambda: onnxmap.load_tensor(path).numpy(), witness.array)


def to_float32(folder: Path) -> Task:
    """The same, converted into an array of float32."""
    return _convert(folder, "float32")


def to_float16(folder: Path) -> Task:
    """The same, converted into an array of float16."""
    return _convert(folder, "float16")


def to_bfloat16(folder: Path) -> Task:
    """The same, converted into an array of bfloat16."""
    return _convert(folder, "bfloat16")


def to_float32_again(folder: Path) -> Task:
    """The same as `to_float32` if the bytes have been read before: no page faults."""
    return _convert(folder, "float32", read_before=True)


def to_float16_again(folder: Path) -> Task:
    """The same as `to_float16` if the bytes have been read before."""
    return _convert(folder, "float16", read_before=True)


def _convert(folder: Path, dtype: str, read_before: bool = False) -> Task:
    tensor = onnxmap.load_tensor(tensor_file(folder))
    out = touched_array(tensor.shape, dtype)
    if read_before:
        tensor.numpy(out=out)
        out.view(np.uint8).fill(0x5A)
    return Task(lambda: tensor.numpy(out=out), witness.array)


def to_external(folder: Path) -> Task:
    """The model, saved with its weights in a data file."""
    return _save(folder, external_data=NEW_DATA)


def to_external_unsynced(folder: Path) -> Task:
    """The same, without waiting for the disk."""
    return _save(folder, external_data=NEW_DATA, sync=False)


def to_inline(folder: Path) -> Task:
    """The model, saved with its weights in the model file."""
    return _save(folder, external_data=False)


def to_inline_unsynced(folder: Path) -> Task:
    """The same, without waiting for the disk."""
    return _save(folder, external_data=False, sync=False)


def to_folder(folder: Path) -> Task:
    """The model and its data file, saved into another folder without waiting for the disk."""
    return _save(folder, sync=False)


def to_safetensors(folder: Path) -> Task:
    """The weights of the model as a safetensors file, without waiting for the disk."""
    return writing(
        folder,
        lambda path: onnxmap.save_safetensors(
            onnxmap.load(model_file(folder)), path.with_suffix(".safetensors"), sync=False
        ),
        lambda path, full: written.weights(path.with_suffix(".safetensors"), full),
    )


def to_npz(folder: Path) -> Task:
    """The same as an archive of NumPy."""
    return writing(
        folder,
        lambda path: onnxmap.load(model_file(folder)).extract_weights(
            path.with_suffix(".npz"), sync=False
        ),
        lambda path, full: written.weights(path.with_suffix(".npz"), full),
    )


def from_safetensors(folder: Path) -> Task:
    """The weights in a safetensors file as a model with a data file of its own."""
    return writing(
        folder,
        lambda path: onnxmap.load_safetensors(data_file(folder)).save(
            path, external_data=NEW_DATA, sync=False
        ),
        written.arrays,
    )


def save_float16(folder: Path) -> Task:
    """The model with its weights in float16, in one file."""
    return writing(
        folder,
        lambda path: onnxmap.load(model_file(folder)).save(
            path, external_data=False, dtype="float16", sync=False
        ),
        partial(written.arrays, suffix=".float16"),
    )


def safetensors_to_bfloat16(folder: Path) -> Task:
    """The weights in a safetensors file as a model of bfloat16, in one file."""
    return writing(
        folder,
        lambda path: onnxmap.load_safetensors(data_file(folder)).save(
            path, external_data=False, dtype="bfloat16", sync=False
        ),
        partial(written.arrays, suffix=".bfloat16"),
    )


def _save(folder: Path, **options: Any) -> Task:
    source = model_file(folder)

    def write(path: Path) -> onnxmap.Model:
        model = onnxmap.load(source)
        model.save(path, **options)
        return model

    return writing(folder, write, written.model)


def add_metadata(folder: Path) -> Task:
    """One metadata key, appended to the model's file. It is cut off again afterwards."""
    path = Path(model_file(folder))
    nbytes = path.stat().st_size
    return Task(
        lambda: onnxmap.append(path, metadata_props={NEW_KEY: NEW_VALUE}),
        lambda _, full: written.model(path, full),
        lambda: os.truncate(path, nbytes),
    )


def edit_node(folder: Path) -> Task:
    """The operator of one node of a model that was just loaded: the first edit."""
    graph = onnxmap.load(model_file(folder)).graph
    middle = len(graph.nodes) // 2

    def load() -> None:
        nonlocal graph
        graph = onnxmap.load(model_file(folder)).graph

    def run() -> None:
        graph.nodes[middle].op_type = NEW_OPERATOR

    return Task(run, lambda _, __: {"op_types": witness.digest(graph.op_types())}, just_before=load)


def edit_nodes(folder: Path) -> Task:
    """The operators of nodes all over a loaded model, one after another."""
    graph = onnxmap.load(model_file(folder)).graph
    chosen = edited_nodes(len(graph.nodes))

    def run() -> None:
        for i in chosen:
            graph.nodes[i].op_type = NEW_OPERATOR

    return Task(run, lambda _, __: {"op_types": witness.digest(graph.op_types())})


def remove_nodes(folder: Path) -> Task:
    """Nodes taken out of a chain one by one: their users get their first inputs instead."""
    graph = onnxmap.load(model_file(folder)).graph
    removed = [graph.nodes[i] for i in removed_nodes(len(graph.nodes))]

    def run() -> None:
        for node in removed:
            for user, place in graph.uses(node.outputs[0]):
                user.inputs[place] = node.inputs[0]
            graph.nodes.remove(node)

    return Task(run, lambda _, __: {"node_inputs": witness.digest(graph.node_inputs())})


def edit_node_and_save(folder: Path) -> Task:
    """The model, with another operator in one node, saved without waiting for the disk."""
    source = model_file(folder)

    def write(path: Path) -> onnxmap.Model:
        model = onnxmap.load(source)
        nodes = model.graph.nodes
        nodes[len(nodes) // 2].op_type = NEW_OPERATOR
        model.save(path, sync=False)
        return model

    return writing(folder, write, written.file)


def edit_attribute_and_save(folder: Path) -> Task:
    """The model, with another attribute in one node, saved without waiting for the disk."""
    source = model_file(folder)

    def write(path: Path) -> onnxmap.Model:
        model = onnxmap.load(source)
        nodes = model.graph.nodes
        nodes[len(nodes) // 2].attributes["axis"] = 1
        model.save(path, sync=False)
        return model

    return writing(folder, write, written.model)
