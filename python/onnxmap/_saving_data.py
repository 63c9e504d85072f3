"""Writing tensors, values of test data, and operator sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxmap import _core
from onnxmap._enums import DataType
from onnxmap._operator_set import OperatorSet
from onnxmap._save_options import SaveReport
from onnxmap._weights import tensor_of
from onnxmap._writing import write_message

if TYPE_CHECKING:
    from onnxmap._messages import Message
    from onnxmap._paths import Path
    from onnxmap._values import Kind

# The numbers of SequenceProto.DataType and OptionalProto.DataType.
_TENSOR, _SPARSE_TENSOR, _SEQUENCE, _MAP, _OPTIONAL = 1, 2, 3, 4, 5


def save_tensor(
    array: Any,
    path: Path,
    name: str = "",
    *,
    overwrite: bool = True,
    replace_read_only: bool = False,
    sync: bool = True,
) -> SaveReport:
    """Write a file that holds one TensorProto.

    Args:
        array: an array, a Tensor, a torch tensor, or what `numpy.asarray` takes.
        path: the path of the file.
        name: the name of the tensor; by default, that of a Tensor stays.
        overwrite: replace a file that exists.
        replace_read_only: replace also a file that must not be written to, as in `save`.
        sync: wait until the disk has the file.

    Raises:
        TypeError: ONNX has no type for the elements.
        SaveError: the tensor has more than 2 GiB (`save.too_large`).
        The other errors of `save`.
    """
    made = tensor_of(array)
    if not name and isinstance(array, _core.Tensor):
        name = array.name
    if name:
        made.name = name
    return write_message(made, path, overwrite, replace_read_only, sync)


def save_value(
    value: Any,
    path: Path,
    kind: Kind,
    *,
    overwrite: bool = True,
    replace_read_only: bool = False,
    sync: bool = True,
) -> SaveReport:
    """Write a file of test data: an input or output, as onnx-data.proto stores it.

    Args:
        value: for the kind "tensor" an array, "sequence" a list, "map" a dict, "optional" a value
            or None. Values in a list, a dict or an optional are arrays, lists or dicts; all values
            of a list have the same kind.
        path: the path of the file.
        kind: "tensor", "sequence", "map" or "optional".
        overwrite: replace a file that exists.
        replace_read_only: replace also a file that must not be written to, as in `save`.
        sync: wait until the disk has the file.

    Raises:
        TypeError: the value is not of the kind, or ONNX has no type for it.

    Source: onnx-data.proto.
    """
    if kind == "tensor":
        made = tensor_of(value)
    elif kind == "sequence":
        made = _sequence(value)
    elif kind == "map":
        made = _map(value)
    elif kind == "optional":
        made = _optional(value)
    else:
        raise ValueError(f'kind must be "tensor", "sequence", "map" or "optional", not {kind!r}')
    return write_message(made, path, overwrite, replace_read_only, sync)


def save_operator_set(
    operator_set: OperatorSet | Any,
    path: Path,
    *,
    overwrite: bool = True,
    replace_read_only: bool = False,
    sync: bool = True,
) -> SaveReport:
    """Write a file that holds one OperatorSetProto. The options are those of `save`.

    Raises:
        TypeError: `operator_set` is no operator set.
    """
    made = _core.new("OperatorSetProto")
    made.MergeFrom(operator_set)
    return write_message(made, path, overwrite, replace_read_only, sync)


def _kind_of(value: object) -> int:
    if isinstance(value, Mapping):
        return _MAP
    if isinstance(value, list | tuple):
        return _SEQUENCE
    return _TENSOR


def _message_of(value: Any) -> Message:
    kind = _kind_of(value)
    return (
        _map(value) if kind == _MAP else _sequence(value) if kind == _SEQUENCE else tensor_of(value)
    )


_FIELDS = {_TENSOR: "tensor", _SEQUENCE: "sequence", _MAP: "map"}


def _sequence(values: Any) -> Message:
    if not isinstance(values, list | tuple):
        raise TypeError(f"a sequence is a list, not {type(values).__name__}")
    kinds = {_kind_of(value) for value in values} or {_TENSOR}
    if len(kinds) > 1:
        raise TypeError("all values of a sequence must be arrays, or all lists, or all dicts")
    kind = kinds.pop()
    made = _core.new("SequenceProto", elem_type=kind)
    getattr(made, f"{_FIELDS[kind]}_values").extend(_message_of(value) for value in values)
    return made


def _map(values: Any) -> Message:
    if not isinstance(values, Mapping):
        raise TypeError(f"a map is a dict, not {type(values).__name__}")
    keys = list(values)
    made = _core.new("MapProto")
    if all(isinstance(key, str | bytes) for key in keys) and keys:
        made.key_type = int(DataType.STRING)
        made.string_keys.extend(
            key.encode("utf-8", "surrogateescape") if isinstance(key, str) else key for key in keys
        )
    elif all(isinstance(key, int | np.integer) and not isinstance(key, bool) for key in keys):
        array: np.ndarray[Any, Any] = np.asarray(keys, dtype=None if keys else np.int64)
        made.key_type = int(DataType(array.dtype))
        made.keys.extend(keys)
    else:
        raise TypeError("the keys of a map must be all integers, or all texts")
    made.values.CopyFrom(_sequence(list(values.values())))
    return made


def _optional(value: Any) -> Message:
    made = _core.new("OptionalProto", elem_type=0)
    if value is not None:
        kind = _kind_of(value)
        made.elem_type = kind
        getattr(made, f"{_FIELDS[kind]}_value").CopyFrom(_message_of(value))
    return made
