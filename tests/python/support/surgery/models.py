"""Models from messages of onnx, their values, and what onnxruntime computes with them."""

from __future__ import annotations

from typing import Any

import onnx
import onnxruntime
from onnx import ModelProto, helper

import onnxmap

Feed = dict[str, Any]


def loads(message: ModelProto) -> onnxmap.Model:
    return onnxmap.loads(message.SerializeToString())


def run(model: onnxmap.Model | ModelProto, feed: Feed) -> Feed:
    data = onnxmap.dumps(model) if isinstance(model, onnxmap.Model) else model.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    given = {each.name: feed[each.name] for each in session.get_inputs()}
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, given), strict=True))


def floats(*names: str) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(name, 1, [2]) for name in names]
