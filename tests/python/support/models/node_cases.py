"""Models of single operators from onnx's own tests, with constants as their inputs."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.backend.test.case import node

from support.run_options import EXHAUSTIVE

FEW = 150  # of 1,900
SLOW = {"averagepool", "lppool", "maxpool"}  # 47 cases: two thirds of the time of all imports


@cache
def all_cases() -> list[Any]:
    """All cases; those of slow modules only in a large run. The imports compute their outputs."""
    if EXHAUSTIVE:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some divide by zero and overflow on purpose
            return list(node.collect_testcases(None))
    _import([name for name in _modules() if name.rpartition(".")[2] not in SLOW])
    return list(node._NodeTestCases)


def _modules() -> list[str]:
    """Of onnx's own operators, then those of ai.onnx.ml, which are in a package below."""
    found = pkgutil.walk_packages(node.__path__, f"{node.__name__}.")
    return sorted((module.name for module in found), key=lambda name: name.count("."))


def _import(names: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as above
        for name in names:
            importlib.import_module(name)


@cache
def some_cases() -> list[Any]:
    """All cases in a large run, else about `FEW` of them, the same ones in each process."""
    found = sorted(all_cases(), key=lambda case: case.name)
    return found[:: 1 if EXHAUSTIVE else -(-len(found) // FEW)]


@cache
def node_cases() -> dict[str, ModelProto]:
    """By name, the model of each case: its inputs are initializers, its outputs have no shapes."""
    return {case.name: _with_constants(case) for case in some_cases()}


def _with_constants(case: object) -> ModelProto:
    model = ModelProto()
    model.CopyFrom(case.model)  # type: ignore[attr-defined]
    graph = model.graph
    given = case.data_sets[0][0]  # type: ignore[attr-defined]
    if len(given) == len(graph.input):
        inputs = list(graph.input)
        del graph.input[:]
        for value_info, value in zip(inputs, given, strict=True):
            constant = _constant(value, value_info.name)
            if constant is None:
                graph.input.append(value_info)
            else:
                graph.initializer.append(constant)
    for output in graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
    return model


def _constant(value: object, name: str) -> TensorProto | None:
    if isinstance(value, TensorProto):
        constant = TensorProto()
        constant.CopyFrom(value)
        constant.name = name
        return constant
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind not in "OUS":
        return numpy_helper.from_array(np.asarray(value), name)
    return None


def with_one_outside(model: ModelProto) -> Iterator[tuple[str, ModelProto, bytes]]:
    """Yield the model once for each initializer, which is external data of `w.data`."""
    for i, tensor in enumerate(model.graph.initializer):
        if not tensor.raw_data:
            continue
        changed = ModelProto()
        changed.CopyFrom(model)
        moved = changed.graph.initializer[i]
        moved.ClearField("raw_data")
        moved.data_location = TensorProto.EXTERNAL
        moved.external_data.add(key="location", value="w.data")
        yield tensor.name, changed, tensor.raw_data


def in_a_function(message: ModelProto) -> ModelProto:
    """The model with its nodes in a function."""
    graph, opsets = message.graph, list(message.opset_import)
    names = [[value.name for value in each] for each in (graph.input, graph.output)]
    function = helper.make_function("local", "F", *names, graph.node, opsets)
    call = helper.make_node("F", *names, domain="local")
    made = helper.make_graph([call], "g", graph.input, graph.output)
    opsets.append(helper.make_opsetid("local", 1))
    return helper.make_model(made, opset_imports=opsets, ir_version=10, functions=[function])
