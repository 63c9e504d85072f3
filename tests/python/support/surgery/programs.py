"""Verbs with random arguments, which fit the model as the verbs before it left it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto, helper

import onnxmap
from support.surgery.models import Feed, loads, run

Graph = onnxmap.Graph
FEED: Feed = {"x": np.array([0.25, -3.0], np.float32), "c": np.array(True)}
FEEDS = [FEED, FEED | {"c": np.array(False)}]


def results(
    model: onnxmap.Model | onnx.ModelProto, feeds: Sequence[Feed] = FEEDS
) -> dict[str, bytes]:
    """The bits of all outputs, for each feed."""
    found = {}
    for i, feed in enumerate(feeds):
        for name, value in run(model, feed).items():
            found[f"{name} {i}"] = np.asarray(value).tobytes()
    return found


def errors(model: onnxmap.Model) -> set[str]:
    """The rules that the model breaks."""
    return {each.rule for each in model.check() if each.severity == "error"}


def graphs(model: onnxmap.Model) -> Iterator[Any]:
    """Yield the graph, its subgraphs and the functions."""
    pending = [model.graph]
    while pending:
        graph = pending.pop()
        yield graph
        for node in graph.nodes:
            values = [attribute.value for attribute in node.attributes.values()]
            pending += [value for value in values if isinstance(value, Graph)]
    yield from model.functions


def _made(graph: Any) -> list[str]:
    names = [name for node in graph.nodes for name in node.outputs if name]
    return names + (list(graph.initializers) if isinstance(graph, Graph) else list(graph.inputs))


def _identities(graph: Any) -> list[Any]:
    return [node for node in graph.nodes if node.op_type == "Identity"]


def _bypass(model: onnxmap.Model, rng: random.Random, feed: Feed) -> None:
    graph = rng.choice([each for each in graphs(model) if _identities(each)] or [model.graph])
    if nodes := _identities(graph):
        if rng.random() < 0.5:
            graph.bypass(rng.choice(nodes))
        else:
            graph.nodes.remove(rng.choice(nodes), rewire=True)


def _insert_after(model: onnxmap.Model, rng: random.Random, feed: Feed) -> None:
    graph = rng.choice(list(graphs(model)))
    value = rng.choice(_made(graph))
    tensors = graph.initializers if isinstance(graph, Graph) else {}
    if value in tensors and len(tensors[value].shape) > 1:
        return  # onnxruntime would multiply by it with another kernel, which rounds otherwise
    graph.insert_after(value, _identity(value, rng))


def _insert_before(model: onnxmap.Model, rng: random.Random, feed: Feed) -> None:
    """Like all verbs that copy a value, not before operators whose kernels depend on constants."""
    graph = rng.choice([each for each in graphs(model) if _identities(each)] or [model.graph])
    if nodes := _identities(graph):
        node = rng.choice(nodes)
        graph.insert_before(node, _identity(node.inputs[0], rng))


def _identity(value: str, rng: random.Random) -> Any:
    return onnxmap.make_node("Identity", [value], [f"new{rng.random()}"])


def _replace(model: onnxmap.Model, rng: random.Random, feed: Feed) -> None:
    """A node becomes the same one and a copy of one of its outputs."""
    graph = rng.choice([each for each in graphs(model) if each.nodes])
    node = rng.choice(list(graph.nodes))
    position, value = rng.choice([(i, each) for i, each in enumerate(node.outputs) if each])
    new = f"new{rng.random()}"
    copy = onnxmap.new("NodeProto")
    copy.CopyFrom(node.proto)
    copy.output[position] = new
    graph.replace([node], [copy, onnxmap.make_node("Identity", [new], ["copy"])], {value: "copy"})


def _add_prefix(model: onnxmap.Model, rng: random.Random, feed: Feed) -> None:
    ends = [value.name for value in (*model.graph.inputs, *model.graph.outputs)]
    model.graph.add_prefix(f"p{rng.random()}.", keep=ends)


def _replace_by_copy(model: onnxmap.Model, rng: random.Random, feed: Feed) -> None:
    graph = rng.choice([each for each in graphs(model) if _identities(each)] or [model.graph])
    nodes = [node for node in _identities(graph) if graph.consumers(node.outputs[0])]
    if nodes:
        node = rng.choice(nodes)
        old, new = rng.sample([node.inputs[0], node.outputs[0]], 2)
        graph.replace_uses(old, new)


def _add_output(model: onnxmap.Model, rng: random.Random, feed: Feed) -> None:
    value = rng.choice(_made(model.graph))
    model.graph.add_output(value)
    if rng.random() < 0.5:
        model.graph.remove_output(value)


def _rename(model: onnxmap.Model, rng: random.Random, feed: Feed) -> None:
    graph = rng.choice([each for each in graphs(model) if isinstance(each, Graph)])
    outputs = {value.name for value in graph.outputs}
    names = [name for name in _made(graph) if name not in outputs]
    if names:
        graph.rename(rng.choice(names), f"renamed{rng.random()}")


def _set_dims(model: onnxmap.Model, rng: random.Random, feed: Feed) -> None:
    """Numbers become names, which keep all shapes, or the other way round."""
    sizes: dict[Any, int] = {}
    for value in model.graph.inputs:
        sizes.update(zip(value.shape or (), np.shape(feed[value.name]), strict=False))
    names = list(model.graph.dimension_params)
    if names and rng.random() < 0.6:
        name = rng.choice(names)
        size = sizes.get(name, rng.random())
        model.set_dims({name: rng.choice([f"n{size}", sizes.get(name, f"m{size}")])})
    elif feed:
        name = rng.choice(list(feed))
        shape = [rng.choice([size, f"n{size}", None]) for size in feed[name].shape]
        model.set_dims(inputs={name: shape})


def _merge(model: onnxmap.Model, rng: random.Random, feed: Feed) -> onnxmap.Model:
    """A model that makes one more value of an output."""
    output = rng.choice(list(model.graph.outputs))
    value, prefix = output.name, f"merged{rng.random()}."
    shape = None if output.type.shape is None else [None] * len(output.type.shape)
    kind = int(output.type.dtype)
    a, b = (helper.make_tensor_value_info(name, kind, shape) for name in "ab")
    op_type = "Neg" if kind == TensorProto.FLOAT else "Identity"
    graph = helper.make_graph([helper.make_node(op_type, ["a"], ["b"])], "g", [a], [b])
    opset = helper.make_opsetid("", model.opset_imports[""])
    other = helper.make_model(graph, opset_imports=[opset], ir_version=model.ir_version)
    return onnxmap.merge(model, loads(other), {value: "a"}, prefix=prefix)


def _extract(model: onnxmap.Model, rng: random.Random, feed: Feed) -> onnxmap.Model:
    """All inputs, and some of the outputs."""
    names = [value.name for value in model.graph.outputs]
    return model.extract(list(feed), rng.sample(names, rng.randint(1, len(names))))


def _shuffle_and_sort(model: onnxmap.Model, rng: random.Random, feed: Feed) -> None:
    graph = rng.choice(list(graphs(model)))
    graph.nodes.sort(key=lambda node: rng.random())
    model.sort()


Verb: TypeAlias = Callable[[onnxmap.Model, random.Random, Feed], Any]
VERBS: dict[str, Verb] = {
    "add_output": _add_output,
    "add_prefix": _add_prefix,
    "assign_names": lambda model, rng, feed: model.assign_names(),
    "bypass": _bypass,
    "dedupe": lambda model, rng, feed: model.dedupe(),
    "inline_functions": lambda model, rng, feed: model.inline_functions(
        rng.choice([None, *([f"{each.domain}::{each.name}"] for each in model.functions)])
    ),
    "insert_after": _insert_after,
    "insert_before": _insert_before,
    "lift_constants": lambda model, rng, feed: model.lift_constants(rng.choice([0, 8, 9])),
    "lower_initializers": lambda model, rng, feed: model.lower_initializers(),
    "prune": lambda model, rng, feed: model.prune(),
    "raise_ir": lambda model, rng, feed: model.raise_ir(rng.randint(8, 11)),
    "rename": _rename,
    "replace": _replace,
    "set_dims": _set_dims,
    "replace_by_copy": _replace_by_copy,
    "shuffle_and_sort": _shuffle_and_sort,
    "strip": lambda model, rng, feed: model.strip(*(rng.random() < 0.5 for _ in range(3))),
}
# These return another model, which has some of the outputs, or more.
MAKERS: dict[str, Verb] = {
    "extract": _extract,
    "merge": _merge,
}
# What a verb refuses must leave the model as it was. `_shuffle_and_sort` edits before.
EDITS_BEFORE = {"shuffle_and_sort"}
