"""Writing tensors, values of test data, and operator sets."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxmap import _core
from onnxmap._base.enums import DataType
from onnxmap._files.load_values import message_of_kind
from onnxmap._make.tensor_values import tensor_of, text_bytes
from onnxmap._write.documents import write_message
from onnxmap._write.options import SaveReport

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnxmap._base.new_message import Message
    from onnxmap._base.paths import Path
    from onnxmap._files.load_values import Kind

# Of the values of sequences; those of optionals have the same numbers.
_NUMBERS = _core.enum_values("SequenceProto.DataType")


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
    made = tensor_of(array, copy=False)
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
    message_of_kind(kind)
    made = _MAKERS[kind](value)
    return write_message(made, path, overwrite, replace_read_only, sync)


def save_operator_set(
    operator_set: _core.OperatorSet | Any,
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


def _kind_of(value: object) -> Kind:
    """The kind of a value in a list, a dict or an optional."""
    if isinstance(value, Mapping):
        return "map"
    return "sequence" if isinstance(value, list | tuple) else "tensor"


def _sequence(values: Any) -> Message:
    if not isinstance(values, list | tuple):
        raise TypeError(f"a sequence is a list, not {type(values).__name__}")
    kinds = {_kind_of(value) for value in values} or {_kind_of(None)}
    if len(kinds) > 1:
        raise TypeError("all values of a sequence must be arrays, or all lists, or all dicts")
    kind = kinds.pop()
    made = {f"{kind}_values": map(_MAKERS[kind], values)}
    return _core.new("SequenceProto", elem_type=_NUMBERS[kind.upper()], **made)


def _map(values: Any) -> Message:
    if not isinstance(values, Mapping):
        raise TypeError(f"a map is a dict, not {type(values).__name__}")
    keys = list(values)
    made = _core.new("MapProto")
    if all(isinstance(key, str | bytes) for key in keys) and keys:
        made.key_type = int(DataType.STRING)
        made.string_keys.extend(map(text_bytes, keys))
    elif all(isinstance(key, int | np.integer) and not isinstance(key, bool) for key in keys):
        array: np.ndarray[Any, Any] = np.asarray(keys, dtype=None if keys else np.int64)
        made.key_type = int(DataType(array.dtype))
        made.keys.extend(keys)
    else:
        raise TypeError("the keys of a map must be all integers, or all strings")
    made.values.CopyFrom(_sequence(list(values.values())))
    return made


def _optional(value: Any) -> Message:
    if value is None:
        return _core.new("OptionalProto", elem_type=0)
    kind = _kind_of(value)
    made = {f"{kind}_value": _MAKERS[kind](value)}
    return _core.new("OptionalProto", elem_type=_NUMBERS[kind.upper()], **made)


_MAKERS: dict[Kind, Callable[[Any], Message]] = {
    "tensor": partial(tensor_of, copy=False), "sequence": _sequence, "map": _map,
    "optional": _optional,
}  # fmt: skip
