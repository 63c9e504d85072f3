"""Assigned weights: what an array, a tensor of onnx or a torch tensor becomes as an initializer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxmap import _core
from onnxmap._enums import DataType
from onnxmap._messages import copy_into, message_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxmap._messages import Message

# The fields of a TensorProto that say what its values are. The others stay when values change.
_VALUE_FIELDS = (
    "dims", "data_type", "segment", "float_data", "int32_data", "string_data", "int64_data",
    "double_data", "uint64_data", "raw_data", "external_data", "data_location",
)  # fmt: skip


def assign(graph: _core.Graph, names: _core.TensorNames, name: str, values: Any) -> None:
    """Give an initializer other values, or add one at the end; see `Initializers`."""
    if not isinstance(name, str):
        raise TypeError(f"a name is a str, not {type(name).__name__}")
    if not name:
        raise ValueError("an initializer needs a name")
    if name in names:
        positions = _positions(graph, names, name)
        made = with_values(graph.proto.initializer[positions[0]], values)
        # As in a dict, an object of the tensor that was there stays what it was.
        graph.proto._splice("initializer", [made], positions)
    else:
        made = tensor_of(values)
        made.name = name
        graph.proto.initializer.append(made)


def remove(graph: _core.Graph, names: _core.TensorNames, name: str) -> None:
    """Remove an initializer."""
    graph.proto._splice("initializer", [], _positions(graph, names, name))


def _positions(graph: _core.Graph, names: _core.TensorNames, name: str) -> list[int]:
    """The positions of an initializer in the list: several, if it is stored in segments."""
    first = names.position(name)
    if not names.in_segments(name):
        return [first]
    stored = graph.initializer_names()
    return [i for i in range(first, len(stored)) if stored[i] == name]


def with_values(tensor: Message, values: Any) -> Message:
    """Return a copy of a TensorProto with other values; its name, documentation and metadata stay.

    Large values are not copied: the message refers to the array, or to the file of the Tensor.

    Args:
        tensor: a TensorProto.
        values: an array, a number or nested lists of numbers or texts, a Tensor, a TensorProto, or
            a torch tensor.

    Raises:
        TypeError: ONNX has no type for the elements.
        TensorError, ExternalDataError: a Tensor cannot be read.
    """
    changed = _core.new("TensorProto")
    changed.CopyFrom(tensor)
    for field in _VALUE_FIELDS:
        changed.ClearField(field)
    made = tensor_of(values)
    made.ClearField("name")
    changed.MergeFrom(made)
    return changed


def tensor_of(values: Any) -> Message:
    """Return a new TensorProto with these values, which are not copied if they are large.

    Raises:
        TypeError: ONNX has no type for the elements.
    """
    if isinstance(values, _core.ProtoView) and values.message_type == "TensorProto":
        values = _core.wrap(values)
    if isinstance(values, _core.Tensor):
        return _copy_of(values)
    if message_name(values) == "TensorProto":
        return _without_notes(values)
    if type(values).__module__.partition(".")[0] == "torch":
        return _new(*_torch_values(values))
    array = np.asarray(values)
    if array.dtype.kind in "SU" or (array.dtype == object and _are_texts(array)):
        from onnxmap._new_tensors import tensor_of_array

        return tensor_of_array(array)
    if array.dtype == object:
        found = "an array of other objects" if values is array else type(values).__name__
        raise TypeError(
            "expected an array, numbers, texts, a Tensor, a TensorProto or a torch tensor, "
            f"not {found}"
        )
    try:
        kind = DataType(array.dtype.newbyteorder("="))  # type: ignore[arg-type]
    except ValueError:
        raise TypeError(f"ONNX has no element type for {array.dtype}") from None
    from onnxmap._new_tensors import stored

    return _new(kind, array.shape, stored(kind, array))


def _are_texts(array: np.ndarray[Any, Any]) -> bool:
    return all(isinstance(text, str | bytes) for text in array.ravel().tolist())


def _torch_values(tensor: Any) -> tuple[DataType, tuple[int, ...], np.ndarray[Any, Any]]:
    """Element type, shape and bytes of a torch tensor: its own memory, if that has the layout."""
    name = str(tensor.dtype).removeprefix("torch.")
    try:
        kind = DataType(name)  # type: ignore[arg-type]
    except ValueError:
        raise TypeError(f"ONNX has no element type for torch.{name}") from None
    flat = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return kind, tuple(tensor.shape), flat.view(sys.modules["torch"].uint8).numpy()


def _new(kind: DataType, shape: Iterable[int], raw_data: Any) -> Message:
    made = _core.new("TensorProto", data_type=int(kind), dims=shape)
    _core.hold_raw_data(made, raw_data)
    return made


def _copy_of(values: _core.Tensor) -> Message:
    if values.is_external or values.proto.HasField("segment"):
        made = _core.new("TensorProto", data_type=int(values.dtype), dims=values.shape)
        return made if _core.hold_values(made, values) else tensor_of(values.numpy())
    return _without_notes(values.proto)


def _without_notes(message: Any) -> Message:
    """A copy of a TensorProto of any library, without documentation and metadata."""
    made = _core.new("TensorProto")
    copy_into(made, message)
    for field in ("doc_string", "metadata_props"):
        made.ClearField(field)
    return made
