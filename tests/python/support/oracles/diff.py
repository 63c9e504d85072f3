"""What `onnxmap.diff` calls the same, decided on protobuf's messages and NumPy arrays alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import Message
from onnx import ModelProto, TensorProto, numpy_helper

# The lists whose order has no meaning, and what tells their elements apart. The inputs and outputs
# of a graph have names, too, but their order counts.
KEYS: dict[tuple[str, str], Any] = {
    ("ModelProto", "opset_import"): lambda one: one.domain,
    ("ModelProto", "functions"): lambda one: (one.name, one.domain, one.overload),
    ("ModelProto", "configuration"): lambda one: one.name,
    ("GraphProto", "initializer"): lambda one: one.name,
    ("GraphProto", "sparse_initializer"): lambda one: one.values.name,
    ("GraphProto", "value_info"): lambda one: one.name,
    ("GraphProto", "quantization_annotation"): lambda one: one.tensor_name,
    ("TensorAnnotation", "quant_parameter_tensor_names"): lambda one: one.key,
    ("FunctionProto", "attribute_proto"): lambda one: one.name,
    ("FunctionProto", "opset_import"): lambda one: one.domain,
    ("FunctionProto", "value_info"): lambda one: one.name,
    ("NodeProto", "attribute"): lambda one: one.name,
    ("NodeProto", "device_configurations"): lambda one: one.configuration_id,
    ("TrainingInfoProto", "initialization_binding"): lambda one: one.key,
    ("TrainingInfoProto", "update_binding"): lambda one: one.key,
    ("TensorProto", "external_data"): lambda one: one.key,
}


_TYPED = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")


def canonical(model: ModelProto) -> bytes:
    """Equal for models that are the same. The values of all tensors are in the model."""
    copy = type(model).FromString(model.SerializeToString())
    _make_canonical(copy)
    return bytes(copy.SerializeToString(deterministic=True))


def _make_canonical(message: Message) -> None:
    kind = message.DESCRIPTOR.name
    for field, value in message.ListFields():
        if field.message_type is not None or field.is_repeated or field.containing_oneof:
            continue
        is_negative_zero = isinstance(value, float) and math.copysign(1, value) < 0
        is_default = not value and not is_negative_zero
        is_own_domain = kind != "ModelProto" and (field.name, value) == ("domain", "ai.onnx")
        if is_default or is_own_domain:
            message.ClearField(field.name)
    if kind == "TensorProto":
        _store_raw(message)
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if not field.is_repeated:
            _make_canonical(value)
            continue
        for element in value:
            _make_canonical(element)
        key = KEYS.get((kind, field.name))
        if field.name == "metadata_props":
            key = lambda one: one.key
        if key is not None:
            value.sort(key=key)  # keeps the order of elements of one name


def _store_raw(tensor: Any) -> None:
    """Store the values in the one form that every type but text has."""
    try:
        official = onnx.TensorProto.FromString(tensor.SerializeToString())
        if sum(bool(getattr(official, field)) for field in ("raw_data", *_TYPED)) > 1:
            return  # onnx takes one of them
        if official.data_type == TensorProto.STRING or official.HasField("segment"):
            return
        array = numpy_helper.to_array(official)
    except Exception:  # noqa: BLE001 -- whatever onnx says of a tensor with a fault
        return
    for field in _TYPED:
        tensor.ClearField(field)
    tensor.raw_data = np.ascontiguousarray(array).tobytes()


def expected_numbers(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> dict[str, Any]:
    """The facts of a TensorDiff about two arrays of one type and shape that are not text."""
    codes = a.reshape(-1).view(f"V{a.itemsize}"), b.reshape(-1).view(f"V{a.itemsize}")
    changed = np.array(
        [x.tobytes() != y.tobytes() for x, y in zip(*codes, strict=True)], dtype=bool
    )
    wide = [_widened(array.reshape(-1)) for array in (a, b)]
    nan = [np.array([x != x for x in array], bool) for array in wide]  # noqa: PLR0124 -- NaN
    measured = changed & ~nan[0] & ~nan[1]
    found: dict[str, Any] = {
        "changed": int(changed.sum()),
        "changed_share": float(changed.sum() / max(a.size, 1)),
        "nan_changed": int((changed & (nan[0] != nan[1])).sum()),
        "max_abs": None,
        "max_abs_at": None,
        "max_rel": None,
        "max_rel_at": None,
    }
    best: list[Any] = [None, None]
    for i in np.flatnonzero(measured):
        x, y = wide[0][i], wide[1][i]
        distance = _distance(x, y)
        for n, number in enumerate((distance, _relative(distance, x, y))):
            if best[n] is None or number > best[n][0]:
                best[n] = (number, tuple(int(part) for part in np.unravel_index(i, a.shape)))
    for (number, at), name in zip(
        [one for one in best if one is not None], ("max_abs", "max_rel"), strict=False
    ):
        found[name], found[f"{name}_at"] = number, at
    return found


def _widened(array: np.ndarray[Any, Any]) -> list[Any]:
    """The elements as Python's exact int, or as float or complex of 64 bits each."""
    if array.dtype.kind in "iub" or array.dtype.name in ("int4", "uint4", "int2", "uint2"):
        return [int(one) for one in array]
    if array.dtype.kind == "c":
        return [complex(one) for one in array]
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        return [float(one) for one in array.astype(np.float64)]


def _distance(x: Any, y: Any) -> Any:
    if isinstance(x, complex):
        parts = [_distance(x.real, y.real), _distance(x.imag, y.imag)]
        with np.errstate(over="ignore"):
            return float(np.hypot(*parts))
    return abs(x - y) if x != y else type(x)(0)


def _relative(distance: Any, x: Any, y: Any) -> float:
    if distance == 0:
        return 0.0
    with np.errstate(over="ignore"):
        parts = [
            float(np.hypot(one.real, one.imag)) if isinstance(one, complex) else float(abs(one))
            for one in (x, y)
        ]
    return float("inf") if np.isinf(max(parts)) else float(distance) / max(parts)
