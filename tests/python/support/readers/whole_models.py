"""Every way to read a model, to compare an edited model with a fresh one of the same bytes."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

import onnxmap
from support.oracles.canonical import parse
from support.readers.structure import STEPS

Read = Callable[[onnxmap.Model], Any]
# What may say where the bytes of a model are, and steps that only another model has.
LEFT_OUT = {"repr", "page for notebooks", "tensor", "last view"}


def _bytes(message: Any) -> bytes | None:
    """The bytes of a Node, a ValueInfo, or another message; None of None."""
    return None if message is None else message.proto.SerializeToString()


def _array(array: np.ndarray) -> tuple[object, ...]:
    values = array.tolist() if array.dtype == object else array.tobytes()
    return str(array.dtype), array.shape, values


def _tensor(tensor: onnxmap.Tensor) -> tuple[object, ...]:
    """A tensor without its place: an edited one may have none in a file."""
    external = None if not tensor.is_external else answer(lambda: tensor.external)
    return (
        tensor.name, answer(lambda: int(tensor.dtype)), answer(lambda: tensor.shape), external,
        answer(lambda: tensor.nbytes), answer(lambda: tensor.size), tensor.doc_string,
        answer(lambda: dict(tensor.metadata_props)), answer(lambda: _array(tensor.numpy())),
        answer(lambda: _array(tensor.packed())), answer(tensor.tobytes),
    )  # fmt: skip


def answer(read: Callable[[], Any]) -> object:
    """What a reading gives, or the class and the code of its error."""
    try:
        return read()
    except Exception as error:  # noqa: BLE001 -- both models must raise the same
        return type(error).__name__, getattr(error, "code", "")


def _each(names: Iterable[str], read: Callable[[str], Any]) -> dict[str, object]:
    return {name: answer(lambda name=name: read(name)) for name in names}


def value_names(model: onnxmap.Model) -> list[str]:
    """Every name of a value that the graph uses, and one that it lacks."""
    graph = model.graph
    lists = [*graph.node_inputs(), *graph.node_outputs(), graph.initializers.names()]
    values = [*graph.inputs, *graph.outputs, *graph.value_infos]
    found = {name for names in lists for name in names} | {value.name for value in values}
    return sorted(found | {"no such value"})


def _arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, object]:
    return {name: _array(array) for name, array in arrays.items()}


def _by_name(model: onnxmap.Model, read: Callable[[onnxmap.Graph, str], Any]) -> object:
    return _each(value_names(model), lambda name: read(model.graph, name))


def _copied(model: onnxmap.Model) -> bytes:
    return pickle.loads(pickle.dumps(model)).proto.SerializeToString()  # type: ignore[no-any-return]


READINGS: dict[str, Read] = {
    **{f"step: {name}": step for name, step in STEPS.items() if name not in LEFT_OUT},
    "bytes": lambda m: onnxmap.dumps(m),
    "size": lambda m: m.proto.ByteSize(),
    "JSON": lambda m: m.proto.to_json(),
    "dict": lambda m: m.proto.to_dict(preserving_proto_field_name=True),
    "each tensor": lambda m: [(where, _tensor(tensor)) for where, tensor in m.tensors()],
    "each initializer": lambda m: _each(m.initializers, lambda k: _tensor(m.initializers[k])),
    "each view": lambda m: _each(m.initializers, lambda k: _arrays(m.views([k]))),
    "each stream": lambda m: _each(m.initializers, lambda k: _arrays(dict(m.stream([k])))),
    "views": lambda m: _arrays(m.views()),
    "arrays": lambda m: _arrays(m.arrays()),
    "arrays of float32": lambda m: _arrays(m.arrays(dtype=np.float32)),
    "stream": lambda m: _arrays(dict(m.stream())),
    "stream of copies": lambda m: _arrays(dict(m.stream(copy=True))),
    "all nodes": lambda m: [(where, _bytes(node)) for where, node in m.all_nodes()],
    "nodes by name": lambda m: _each(
        m.graph.node_names(), lambda name: _bytes(m.graph.nodes[name])
    ),
    "topological order": lambda m: [_bytes(node) for node in m.graph.topological_order()],
    "required inputs": lambda m: [one.name for one in m.graph.required_inputs],
    "overridable inputs": lambda m: [one.name for one in m.graph.overridable_inputs],
    "dimensions": lambda m: m.graph.dimension_params,
    "state": lambda m: m.state_variables,
    "producers": lambda m: _by_name(m, lambda graph, name: _bytes(graph.producer(name))),
    "consumers": lambda m: _by_name(
        m, lambda graph, name: [_bytes(node) for node in graph.consumers(name)]
    ),
    "uses": lambda m: _by_name(m, lambda graph, name: len(graph.uses(name))),
    "values by name": lambda m: _by_name(m, lambda graph, name: _bytes(graph.value(name))),
    "functions by name": lambda m: _each(
        [one.name for one in m.functions], lambda name: _bytes(m.functions[name])
    ),
    "metadata of functions": lambda m: [dict(one.metadata_props) for one in m.functions],
    "model's own fields": lambda m: (
        m.producer_version, m.domain, m.model_version, len(m.training_info),
        [one.name for one in m.device_configurations],
    ),
    "annotations": lambda m: [_bytes(one) for one in m.graph.quantization_annotations],
    "pickled model": _copied,
    "pickled graph": lambda m: _bytes(pickle.loads(pickle.dumps(m.graph))),
    "pickled nodes": lambda m: [_bytes(pickle.loads(pickle.dumps(one))) for one in m.graph.nodes],
    "pickled tensors": lambda m: [
        answer(lambda one=one: _tensor(pickle.loads(pickle.dumps(one)))) for _, one in m.tensors()
    ],
}  # fmt: skip


def disagreement(model: onnxmap.Model, data: bytes | None = None) -> str:
    """Which reading of an edited model differs from that of its bytes; empty if none does.

    `data`: its bytes; by default those that onnxmap would save.
    """
    data = onnxmap.dumps(model) if data is None else data
    if not parse(data).HasField("graph"):  # onnxmap refuses to load such a model
        view = onnxmap.loads_proto(data, "ModelProto")
        return "" if str(model.proto) == str(view) else "the text of a model without a graph"
    fresh = onnxmap.loads(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # repeated keys, which random edits make
        for name, read in READINGS.items():
            expected, found = (answer(partial(read, one)) for one in (fresh, model))
            if found != expected:
                return f"{name}\nexpected {expected!r}\nfound {found!r}"
    return ""
