"""Models from messages of onnx, their values, and what onnxruntime computes with them."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper

import onnxmap

# Python 3.15 has no wheel of it. Modules of tests that need it are skipped.
onnxruntime = pytest.importorskip("onnxruntime")

Feed = dict[str, Any]
_NUMPY_TYPES = {
    "tensor(float)": np.float32,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
}


def loads(message: ModelProto) -> onnxmap.Model:
    return onnxmap.loads(message.SerializeToString())


def run(model: onnxmap.Model | ModelProto, feed: Feed) -> Feed:
    data = onnxmap.dumps(model) if isinstance(model, onnxmap.Model) else model.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    given = {each.name: feed[each.name] for each in session.get_inputs()}
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, given), strict=True))


def floats(*names: str) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(name, 1, [2]) for name in names]


def feed_of(data: bytes) -> Feed:
    """Ones, in the first shapes that the model takes. Dimensions of one name have one size."""
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    shapes = {
        each.name: [n or f"{each.name} {axis}" for axis, n in enumerate(each.shape)]
        for each in session.get_inputs()
    }
    types = {each.name: _NUMPY_TYPES[each.type] for each in session.get_inputs()}
    names = dict.fromkeys(n for shape in shapes.values() for n in shape if isinstance(n, str))
    for size in 512, 256, 16, 2:
        for sizes in itertools.product([1, size], repeat=len(names)):
            given = dict(zip(names, sizes, strict=True))
            feed = {
                name: np.ones([given.get(n, n) for n in shape], types[name])
                for name, shape in shapes.items()
            }
            with contextlib.suppress(Exception):  # onnxruntime has one for each reason
                session.run(None, feed)
                return feed
    raise ValueError("the model takes none of these shapes")
