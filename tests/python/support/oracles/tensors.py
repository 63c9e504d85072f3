"""Compares onnxmap's tensors and values with `onnx.numpy_helper`, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import Message
from onnx import TensorProto, numpy_helper

import onnxmap

SUB_BYTE = {"INT4", "UINT4", "INT2", "UINT2", "FLOAT4E2M1", "FLOAT6E2M3", "FLOAT6E3M2"}
FIXED_WIDTH = [
    name
    for name in TensorProto.DataType.keys()  # noqa: SIM118  (an enum wrapper, no dict)
    if name not in SUB_BYTE | {"UNDEFINED", "STRING"}
]


def is_fixed_width(tensor: TensorProto) -> bool:
    return TensorProto.DataType.Name(tensor.data_type) in FIXED_WIDTH


def must_be_a_view(tensor: TensorProto) -> bool:
    """Whether `raw_data` of this tensor has the layout of an array in memory."""
    return is_fixed_width(tensor) and tensor.HasField("raw_data")


def assert_same_array(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> None:
    assert isinstance(ours, np.ndarray)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if theirs.dtype == object:
        assert ours.tolist() == theirs.tolist()
    else:
        assert ours.tobytes() == theirs.tobytes()


def compare_tensor(ours: onnxmap.Tensor, theirs: TensorProto) -> str:
    """Assert that `ours` reads like `theirs`; return how: a "view" of `raw_data`, or "decoded"."""
    assert ours.name == theirs.name
    assert ours.dtype == theirs.data_type
    assert ours.shape == tuple(theirs.dims)
    assert ours.doc_string == theirs.doc_string
    array = ours.numpy()
    assert_same_array(array, numpy_helper.to_array(theirs))
    assert not array.flags.writeable
    if theirs.HasField("raw_data"):
        assert ours.nbytes == len(theirs.raw_data)
        assert ours.tobytes() == theirs.raw_data
    return "view" if must_be_a_view(theirs) else "decoded"


def _step(name: str, repeated: bool, index: int, value: Message) -> str:
    if not repeated:
        return name
    return f'{name}["{value.name}"]' if name.startswith("attribute") else f"{name}[{index}]"


def tensors_of(message: Message, where: str = "") -> Iterator[tuple[str, TensorProto]]:
    """Every TensorProto anywhere in `message`, with its path as `Model.tensors()` writes it."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for index, inner in enumerate(value if field.is_repeated else [value]):
            step = _step(field.name, field.is_repeated, index, inner)
            path = f"{where}.{step}" if where else step
            if isinstance(inner, TensorProto):
                yield path, inner
            yield from tensors_of(inner, path)


def value_message(kind: onnx.TypeProto) -> tuple[str, str | None]:
    """The message that stores a value of this type, and `load_value`'s kind (None: a tensor)."""
    names: dict[str, tuple[str, str | None]] = {
        "tensor_type": ("TensorProto", None),
        "sequence_type": ("SequenceProto", "sequence"),
        "map_type": ("MapProto", "map"),
        "optional_type": ("OptionalProto", "optional"),
    }
    return names[kind.WhichOneof("value")]


def official_value(message: Message) -> Any:
    """What the official package reads from a stored test value."""
    readers = {
        "TensorProto": numpy_helper.to_array,
        "SequenceProto": numpy_helper.to_list,
        "MapProto": numpy_helper.to_dict,
        "OptionalProto": numpy_helper.to_optional,
    }
    return readers[message.DESCRIPTOR.name](message)


def assert_same_value(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, np.ndarray):
        assert_same_array(ours, theirs)
    elif isinstance(theirs, list):
        assert isinstance(ours, list)
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same_value(one, other)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        assert_same_value(list(ours.values()), list(theirs.values()))
    else:
        assert theirs is None
        assert ours is None
