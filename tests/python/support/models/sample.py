"""Models, tensors and an operator set for several tests. One model has all fixed-width types."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, TensorProto, helper

import onnxmap
from support.oracles.tensors import FIXED_WIDTH

SHAPES: dict[str, list[int]] = {"matrix": [3, 5], "scalar": [], "empty": [0, 4], "one": [1]}


def itemsize(type_name: str) -> int:
    return int(helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(type_name)).itemsize)


def raw_tensor(name: str, type_name: str, shape: list[int]) -> TensorProto:
    """A tensor of random bits, NaN payloads included, the same on every run."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    data = rng.bytes(int(np.prod(shape, dtype=np.int64)) * itemsize(type_name))
    if type_name == "BOOL":
        data = bytes(byte & 1 for byte in data)
    number = TensorProto.DataType.Value(type_name)
    return TensorProto(name=name, dims=shape, data_type=number, raw_data=data)


def tensors_of_every_type() -> list[TensorProto]:
    return [
        raw_tensor(f"{type_name}_{shape}", type_name, SHAPES[shape])
        for type_name in FIXED_WIDTH
        for shape in SHAPES
    ]


def model_of(tensors: list[TensorProto], **fields: object) -> ModelProto:
    graph = GraphProto(name="weights", initializer=tensors)
    return ModelProto(
        ir_version=10, opset_import=[helper.make_opsetid("", 21)], graph=graph, **fields
    )


def write(message: onnx.ModelProto | TensorProto, path: Path) -> Path:
    path.write_bytes(message.SerializeToString())
    return path


def floats(name: str, count: int, start: float = 0.0) -> TensorProto:
    values = np.arange(start, start + count, dtype=np.float32)
    return TensorProto(name=name, dims=[count], data_type=1, raw_data=values.tobytes())


def operator_set() -> onnxmap.OperatorSet:
    made = onnx.OperatorSetProto(magic="ONNXOPSET", opset_version=1, domain="d")
    made.operator.add(op_type="Op")
    view = onnxmap.loads_proto(made.SerializeToString(), "OperatorSetProto")
    found = onnxmap.wrap(view)
    assert isinstance(found, onnxmap.OperatorSet)
    return found


def external(
    name: str, dims: list[int], entries: Mapping[str, str], data_type: int = 1
) -> TensorProto:
    tensor = TensorProto(
        name=name, dims=dims, data_type=data_type, data_location=TensorProto.EXTERNAL
    )
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return tensor
