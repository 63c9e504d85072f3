"""New tensor messages from numbers, texts and arrays, as `onnx.helper.make_tensor` makes them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from onnxmap import _core
from onnxmap._base.enums import DataType
from onnxmap._base.new_message import Message, new_message
from onnxmap._base.text import counted
from onnxmap._make.tensor_values import stored_bytes, tensor_of, text_bytes
from onnxmap._make.type_values import ElementType, element_type

_Array = np.ndarray[Any, Any]
_FLOAT8 = frozenset({
    DataType.FLOAT8E4M3FN, DataType.FLOAT8E4M3FNUZ, DataType.FLOAT8E5M2, DataType.FLOAT8E5M2FNUZ,
})  # fmt: skip
# The field that holds such values if `raw_data` does not.
_TYPED_FIELDS = {number: field for _, number, _, field, _ in _core.data_type_facts()}
_BITS_OF_A_FLOAT = 23  # bits of a float32's fraction; the exponent follows


def make_tensor(
    name: str, data_type: ElementType, dims: Sequence[int], vals: Any, raw: bool = False
) -> Message:
    """Return a new TensorProto with these values, as `onnx.helper.make_tensor` does.

    Args:
        name: the name of the tensor.
        data_type: its element type: a DataType, its number or name, or a NumPy type.
        dims: its shape.
        vals: its values: numbers or texts, an array, or a Tensor. They are copied. Numbers are
            converted to the element type. Those out of the range of a float8 type become the
            largest or smallest number of the type; those of FLOAT8E8M0 are rounded up.
        raw: store the values in `raw_data`. Then `vals` is bytes in its layout, or an array or
            Tensor of the element type.

    Raises:
        ValueError: ONNX has no such element type, or the number of values, or of bytes, is not that
            of the shape.
        TypeError: raw values are neither bytes nor an array, or are texts.
        OverflowError: an integer is out of range.
    """
    kind = DataType(element_type(data_type))
    count = math.prod(dims)
    shape = [int(dim) for dim in dims]
    facts = {"data_type": int(kind), "name": name, "dims": shape}
    tensor = new_message("TensorProto", facts)
    if raw:
        tensor.raw_data = _raw_bytes(kind, count, vals)
        return tensor
    if isinstance(vals, _core.Tensor):
        vals = vals.numpy()
    values = _texts(vals) if kind == DataType.STRING else _elements(kind, vals)
    if len(values) != count:
        told = f"{counted(len(values), 'value')} for a shape of {counted(count, 'element')}"
        raise ValueError(told)
    getattr(tensor, _TYPED_FIELDS[kind]).extend(_entries(kind, values))
    return tensor


def tensor_message(given: Any) -> Any:
    """Return a message for a tensor, which may be a message already, a Tensor or an array."""
    return given if _core.message_type_of(given) else tensor_of(given, copy=True)


def _texts(vals: Any) -> list[bytes]:
    """The bytes of texts in nested lists, or in an array."""
    if not isinstance(vals, np.ndarray):
        vals = np.asarray(vals, dtype=object)  # an array of NumPy's texts drops zeros at the end
    return [text_bytes(text) for text in vals.ravel().tolist()]


def _elements(kind: DataType, vals: Any) -> _Array:
    """The values in one dimension, as elements of the type."""
    dtype = kind.numpy()
    given = np.asarray(vals) if kind in _FLOAT8 or kind == DataType.FLOAT8E8M0 else None
    if given is None or given.dtype == dtype:
        return np.asarray(vals, dtype=dtype).ravel()
    if kind == DataType.FLOAT8E8M0:
        return _powers_of_two(given.astype(np.float32)).view(dtype).ravel()
    numbers = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    largest = np.max(numbers[np.isfinite(numbers)])
    return np.clip(given, -largest, largest).astype(dtype).ravel()


def _powers_of_two(floats: _Array) -> _Array:
    """The exponents, as of FLOAT8E8M0, of the powers of two that follow numbers without a sign."""
    bits = np.asarray(floats).view(np.uint32)
    exponent = bits >> _BITS_OF_A_FLOAT & 0xFF
    between = (bits & ((1 << _BITS_OF_A_FLOAT) - 1)) != 0
    largest = 0xFE  # 0xFF is NaN
    return np.where(exponent < largest, exponent + between, exponent).astype(np.uint8)


def _entries(kind: DataType, values: Any) -> Iterable[Any]:
    """The entries of the typed field."""
    if kind == DataType.STRING:
        return values
    if kind in (DataType.COMPLEX64, DataType.COMPLEX128):
        values = values.view(np.float32 if kind == DataType.COMPLEX64 else np.float64)
    elif kind.bits in (2, 4):
        values = stored_bytes(values, kind.bits)
    elif kind in (DataType.FLOAT16, DataType.BFLOAT16):
        values = values.view(np.uint16)
    elif kind.bits <= 8 and kind != DataType.INT8:
        values = values.view(np.uint8)
    return values.tolist()


def _raw_bytes(kind: DataType, count: int, vals: Any) -> bytes:
    if kind == DataType.STRING:
        raise TypeError("raw_data cannot hold strings; use raw=False")
    if isinstance(vals, _core.Tensor):
        vals = vals.tobytes()
    if isinstance(vals, np.ndarray):
        vals = stored_bytes(vals, kind.bits).tobytes()
    if not isinstance(vals, bytes):
        raise TypeError(f"raw values are bytes or an array, not {type(vals).__name__}")
    needed = -(-count * kind.bits // 8)
    if len(vals) != needed:
        raise ValueError(f"{counted(len(vals), 'byte')} for a shape that needs {needed}")
    return vals
