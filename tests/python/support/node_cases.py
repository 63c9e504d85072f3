"""Models of single operators from onnx's own tests, with constants as their inputs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache

import numpy as np
from onnx import ModelProto, TensorProto, numpy_helper

from support.run_options import EXHAUSTIVE, LONG

STEP = 1 if EXHAUSTIVE or LONG else 12  # between the cases that are looked at


@cache
def node_cases() -> dict[str, ModelProto]:
    """By name, the model of each case: its inputs are initializers, its outputs have no shapes."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = sorted(collect_testcases(None), key=lambda case: case.name)
    return {case.name: _with_constants(case) for case in found[::STEP]}


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
