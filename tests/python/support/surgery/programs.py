"""Random programs of verbs. A verb is chosen for the model as those before it left it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

import onnxmap
from support.surgery.models import floats, loads

Graph = onnxmap.Graph
FEED = {"x": np.array([0.25, -3.0], np.float32), "c": np.array(True)}


def results(model: onnxmap.Model | onnx.ModelProto) -> dict[str, bytes]:
    """The bits of all outputs, for both values of `c`."""
    is_ours = isinstance(model, onnxmap.Model)
    data = onnxmap.dumps(model) if is_ours else model.SerializeToString()  # type: ignore[arg-type,union-attr]
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]
    given = {each.name for each in session.get_inputs()}
    found = {}
    for c in (True, False):
        feed = {name: value for name, value in (FEED | {"c": np.array(c)}).items() if name in given}
        for name, value in zip(names, session.run(None, feed), strict=True):
            found[f"{name} {c}"] = value.tobytes()
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


def _bypass(model: onnxmap.Model, rng: random.Random) -> None:
    graph = rng.choice([each for each in graphs(model) if _identities(each)] or [model.graph])
    if nodes := _identities(graph):
        if rng.random() < 0.5:
            graph.bypass(rng.choice(nodes))
        else:
            graph.nodes.remove(rng.choice(nodes), rewire=True)


def _put_behind(model: onnxmap.Model, rng: random.Random) -> None:
    """An Identity behind a value, which all others use."""
    graph = rng.choice(list(graphs(model)))
    old, new = rng.choice(_made(graph)), f"new{rng.random()}"
    makers = [i for i, node in enumerate(graph.nodes) if old in node.outputs]
    graph.nodes.insert(makers[0] + 1 if makers else 0, onnxmap.make_node("Identity", [old], [new]))
    graph.replace_uses(old, new)


def _replace_by_copy(model: onnxmap.Model, rng: random.Random) -> None:
    graph = rng.choice([each for each in graphs(model) if _identities(each)] or [model.graph])
    nodes = [node for node in _identities(graph) if graph.consumers(node.outputs[0])]
    if nodes:
        node = rng.choice(nodes)
        old, new = rng.sample([node.inputs[0], node.outputs[0]], 2)
        graph.replace_uses(old, new)


def _add_output(model: onnxmap.Model, rng: random.Random) -> None:
    model.graph.add_output(rng.choice(_made(model.graph)))


def _rename(model: onnxmap.Model, rng: random.Random) -> None:
    graph = rng.choice([each for each in graphs(model) if isinstance(each, Graph)])
    outputs = {value.name for value in graph.outputs}
    names = [name for name in _made(graph) if name not in outputs]
    if names:
        graph.rename(rng.choice(names), f"renamed{rng.random()}")


def _set_dims(model: onnxmap.Model, rng: random.Random) -> None:
    """Numbers become names, which keep all shapes, or the other way round."""
    names = list(model.graph.dimension_params)
    if names and rng.random() < 0.6:
        model.set_dims({rng.choice(names): rng.choice([2, "n", f"n{rng.random()}"])})
    else:
        model.set_dims(inputs={"x": [rng.choice([2, "n", None])]})


def _merge(model: onnxmap.Model, rng: random.Random) -> onnxmap.Model:
    """A model that makes one more value of an output."""
    output = rng.choice(list(model.graph.outputs))
    value, prefix = output.name, f"merged{rng.random()}."
    graph = helper.make_graph(
        [helper.make_node("Neg", ["a"], ["b"])], "g", floats("a"), floats("b")
    )
    other = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return onnxmap.merge(model, loads(other), {value: "a"}, prefix=prefix)


def _extract(model: onnxmap.Model, rng: random.Random) -> onnxmap.Model:
    """All inputs, and some of the outputs."""
    names = [value.name for value in model.graph.outputs]
    return model.extract(["x", "c"], rng.sample(names, rng.randint(1, len(names))))


def _shuffle_and_sort(model: onnxmap.Model, rng: random.Random) -> None:
    graph = rng.choice(list(graphs(model)))
    keys = {node.outputs[0]: rng.random() for node in graph.nodes}
    graph.nodes.sort(key=lambda node: keys[node.outputs[0]])
    model.sort()


VERBS: dict[str, Callable[[onnxmap.Model, random.Random], object]] = {
    "add_output": _add_output,
    "bypass": _bypass,
    "dedupe": lambda model, rng: model.dedupe(),
    "inline_functions": lambda model, rng: model.inline_functions(
        rng.choice([None, ["Both"], ["org.test::Once"]])
    ),
    "lift_constants": lambda model, rng: model.lift_constants(rng.choice([0, 8, 9])),
    "prune": lambda model, rng: model.prune(),
    "put_behind": _put_behind,
    "rename": _rename,
    "set_dims": _set_dims,
    "replace_by_copy": _replace_by_copy,
    "shuffle_and_sort": _shuffle_and_sort,
    "strip": lambda model, rng: model.strip(*(rng.random() < 0.5 for _ in range(3))),
}
# These return another model, which has some of the outputs, or more.
MAKERS: dict[str, Callable[[onnxmap.Model, random.Random], onnxmap.Model]] = {
    "extract": _extract,
    "merge": _merge,
}
# What a verb refuses must leave the model as it was. `_put_behind` edits before it calls the verb.
EDITS_BEFORE = {"put_behind", "shuffle_and_sort"}
