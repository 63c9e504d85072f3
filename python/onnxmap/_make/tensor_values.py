"""New tensors from what an initializer or an attribute may be set to."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxmap import _core
from onnxmap._base.enums import DataType
from onnxmap._base.later import import_module
from onnxmap._base.new_message import Message

_Array = np.ndarray[Any, Any]
_TEXTS = "SUTO"  # kinds of arrays that may hold texts


def tensor_of(values: Any, *, copy: bool) -> Message:
    """Return a new TensorProto, without the documentation and metadata of another one.

    Args:
        values: an array, numbers or texts in nested lists, a Tensor or TensorProto of any library,
            or a torch tensor.
        copy: copy an array. Otherwise the tensor refers to its memory if it is large, and the
            caller keeps it unchanged.

    Raises:
        TypeError: ONNX has no type for the elements.
    """
    if isinstance(values, np.ndarray):
        return _of_array(values, values, copy)
    if isinstance(values, _core.Tensor):
        return _of_tensor(values, copy)
    message = _core.find_message("TensorProto", values)
    if message is not None:
        return _of_tensor(_core.wrap(message), copy) if is_bound(values) else _plain(message)
    module = type(values).__module__
    if module == "torch" or module.startswith("torch."):
        return _of_torch(values)
    return _of_array(np.asarray(values), values, copy)


def is_bound(value: Any) -> bool:
    """Return whether an object is a message of onnxmap, or has one, as a Tensor does."""
    return isinstance(getattr(value, "proto", value), _core.ProtoView)


def is_tensor_message(values: Any) -> bool:
    """Return whether an object is a Tensor or TensorProto of any library: it has a type."""
    return is_bound(values) or hasattr(values, "SerializeToString")


def stored_bytes(array: _Array, bits: int) -> _Array:
    """Return the `raw_data` of an array's elements as an array of bytes.

    It is a view of the array if that has this layout.

    Args:
        array: the elements.
        bits: of an element; less than 8 are packed if the array has a byte for each.
    """
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    stored = np.ascontiguousarray(little).reshape(-1).view(np.uint8)
    if bits >= 8 or array.dtype.itemsize != 1:
        return stored
    packed = np.empty((stored.size * bits + 7) // 8, np.uint8)
    _core.pack(stored, bits, packed)
    return packed


def text_bytes(text: Any) -> bytes:
    """Return the bytes of a text, which may hold bytes that are not UTF-8 as surrogates."""
    if isinstance(text, str):
        return str.encode(text, "utf-8", "surrogateescape")
    if isinstance(text, bytes):
        return text
    raise TypeError(f"a string is a str or bytes, not {type(text).__name__}")


def _new_tensor(kind: int, shape: Any) -> Message:
    return _core.new("TensorProto", data_type=int(kind), dims=shape)


def _plain(message: Message) -> Message:
    """A copy without documentation and metadata."""
    made = _core.new("TensorProto")
    made.CopyFrom(message)
    for field in ("doc_string", "metadata_props"):
        made.ClearField(field)
    return made


def _of_tensor(tensor: _core.Tensor, copy: bool) -> Message:
    if not tensor.is_external and tensor.segment is None:
        return _plain(tensor.proto)
    made = _new_tensor(tensor.dtype, tensor.shape)
    return made if _core.hold_values(made, tensor) else tensor_of(tensor.numpy(), copy=copy)


def _of_array(array: _Array, given: Any, copy: bool) -> Message:
    if array.dtype.kind in _TEXTS:
        texts = array.ravel().tolist()
        if all(isinstance(each, str | bytes) for each in texts):
            strings = [text_bytes(each) for each in texts]
            return _core.new(
                "TensorProto", data_type=int(DataType.STRING), dims=array.shape, string_data=strings
            )
        what = "an array of other objects" if given is array else type(given).__name__
        expected = "an array, numbers, strings, a Tensor, a TensorProto or a torch tensor"
        raise TypeError(f"expected {expected}, not {what}")
    kind = _core.data_type_of(array.dtype.newbyteorder("="))
    if kind == 0:
        raise TypeError(f"ONNX has no element type for {array.dtype}")
    made = _new_tensor(kind, array.shape)
    stored = stored_bytes(array, _core.data_type_bits(kind))
    _core.hold_raw_data(made, stored.tobytes() if copy else stored)
    return made


def _of_torch(tensor: Any) -> Message:
    """It refers to the memory of the torch tensor if that has the layout of `raw_data`."""
    name = str(tensor.dtype)
    element, shape = name.rpartition(".")[2], list(tensor.shape)
    # As float4_e2m1fn_x2: torch counts pairs of elements.
    if element.endswith("_x2") and shape:
        element = element.removesuffix("_x2")
        shape[-1] *= 2
    try:
        kind = DataType(element)  # type: ignore[arg-type]
    except ValueError:
        raise TypeError(f"ONNX has no element type for {name}") from None
    flat = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
    made = _new_tensor(kind, shape)
    _core.hold_raw_data(made, flat.view(import_module("torch").uint8).numpy())
    return made
