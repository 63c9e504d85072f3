"""Wrong shapes that onnx.checker or onnxruntime refuse, a check finds without them.

Each official test of an operator is changed in one place: a dimension, a rank, an axis, a
permutation or a declared output. Tests whose inputs say where or how are also taken with these
inputs as constants.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, checker
from support.checks.rules import errors_in
from support.checks.shape_mutator import shape_mutants, with_constants
from support.models.node_cases import some_cases
from support.run_options import EXHAUSTIVE, LONG

ort = pytest.importorskip("onnxruntime")
NAMES = "Fail", "InvalidArgument", "InvalidGraph", "NotImplemented", "RuntimeException"
FAILURES = (
    *(getattr(ort.capi.onnxruntime_pybind11_state, name) for name in NAMES),
    RuntimeError, TypeError, ValueError,
)  # fmt: skip
MUTANTS = 10**9 if LONG else 4_000 if EXHAUSTIVE else 500
LEAST_FOUND = 0.85 if EXHAUSTIVE else 0.8
# What a check finds, and onnxruntime runs all the same.
EXPLAINED = {"test_attention_bidirectional_window"}  # it does not look at the size of a head


def session(data: bytes) -> Any:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def is_accepted_by_onnx(model: ModelProto) -> bool:
    try:
        checker.check_model(model, full_check=True)
    except (checker.ValidationError, onnx.shape_inference.InferenceError, ValueError):
        return False
    return True


def is_opened(data: bytes) -> bool:
    try:
        session(data)
    except FAILURES:
        return False
    return True


def seeds() -> list[tuple[str, ModelProto, dict[str, Any]]]:
    """Each test as it is, and with constants, and the values of its inputs."""
    found: list[tuple[str, ModelProto, dict[str, Any]]] = []
    for case in some_cases():
        given = list(case.data_sets[0][0])
        values = dict(zip((each.name for each in case.model.graph.input), given, strict=False))
        both = case.model, with_constants(case.model, given)
        good = [each for each in both if each.graph.input and is_accepted_by_onnx(each)]
        found.extend((case.name, each, values) for each in good)
    return found


def sample() -> list[tuple[str, str, ModelProto, bool, dict[str, Any]]]:
    """Some of all different mutants; whether onnxruntime opens the model that was changed."""
    made: dict[bytes, tuple[str, str, ModelProto, ModelProto, dict[str, Any]]] = {}
    for name, seed, values in seeds():
        for kind, model in shape_mutants(seed):
            made.setdefault(model.SerializeToString(), (name, kind, model, seed, values))
    all_made = list(made.values())
    chosen = random.Random(61).sample(all_made, min(MUTANTS, len(all_made)))
    opened: dict[int, bool] = {}
    for _, _, _, seed, _ in chosen:
        if id(seed) not in opened:
            opened[id(seed)] = is_opened(seed.SerializeToString())
    return [(name, kind, model, opened[id(seed)], values)
            for name, kind, model, seed, values in chosen]  # fmt: skip


def runs_as_declared(model: ModelProto, values: dict[str, Any]) -> bool:
    """Whether onnxruntime runs it, and its outputs have the shapes that it says."""
    feeds = {}
    for each in model.graph.input:
        value = values[each.name]
        shape = [dim.dim_value for dim in each.type.tensor_type.shape.dim]
        if isinstance(value, np.ndarray | np.generic) and list(value.shape) != shape:
            value = np.resize(value, shape)
        feeds[each.name] = value
    try:
        outputs = session(model.SerializeToString()).run(None, feeds)
    except FAILURES:
        return False
    for output, said in zip(outputs, model.graph.output, strict=True):
        if not said.type.tensor_type.HasField("shape"):
            continue
        dims = said.type.tensor_type.shape.dim
        known = [dim.dim_value if dim.HasField("dim_value") else None for dim in dims]
        if len(known) != output.ndim or any(
            dim not in (None, size) for dim, size in zip(known, output.shape, strict=True)
        ):
            return False
    return True


def test_wrong_shapes_are_found_and_only_those() -> None:
    refused: Counter[str] = Counter()
    found: Counter[str] = Counter()
    missed, too_strict = [], []
    for name, kind, model, is_open, values in sample():
        data = model.SerializeToString()
        errors = errors_in(data)
        if not is_accepted_by_onnx(model) or (is_open and not is_opened(data)):
            refused[kind] += 1
            found[kind] += bool(errors)
            if not errors:
                missed.append((name, kind))
        elif errors and is_open and name not in EXPLAINED and runs_as_declared(model, values):
            too_strict.append((name, kind, errors))
    assert too_strict == []
    assert sum(refused.values()) > min(MUTANTS, 20_000) / 2
    share = sum(found.values()) / sum(refused.values())
    kinds = {kind: f"{found[kind]} of {count}" for kind, count in refused.items()}
    logging.getLogger(__name__).info("found %.1f %%: %s", 100 * share, kinds)
    assert share > LEAST_FOUND, missed
