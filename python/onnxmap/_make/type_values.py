"""New TypeProtos of the classes of `onnxmap.types`, and the shape of a value."""

from __future__ import annotations

from typing import Any

from onnxmap import _core
from onnxmap._base.enums import DataType
from onnxmap._show.wrong_values import wrong_message
from onnxmap.types import (
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
)

ElementType = Any  # a DataType, its number or name, or a NumPy type

_FIELDS = {
    TensorType: "tensor_type",
    SparseTensorType: "sparse_tensor_type",
    SequenceType: "sequence_type",
    MapType: "map_type",
    OptionalType: "optional_type",
    OpaqueType: "opaque_type",
}
_MOST_LEVELS = 100  # the core refuses more
_INNER = {SequenceType: "elem_type", OptionalType: "elem_type", MapType: "value_type"}


def element_type(given: ElementType) -> int:
    """Return the number of an element type that is given as number, name or NumPy type.

    Raises:
        ValueError: ONNX has no such type.
    """
    if isinstance(given, int):
        return int(given)
    try:
        return int(DataType(given))
    except ValueError as error:
        hint = "use a DataType, such as DataType.FLOAT, or a NumPy type"
        raise ValueError(f"{error}; {hint}") from error


def class_of(given: Any) -> Any:
    """Return the class of onnxmap.types that an object has, such as TensorType, or None."""
    for cls in _FIELDS:  # Python ignores a Ctrl-C while it closes a generator
        if issubclass(type(given), cls):
            return cls
    return None


def type_message(given: Any) -> Any:
    """Return the TypeProto of one of onnxmap.types, or of a pair of element type and shape.

    Anything else, such as a TypeProto, is returned as it is.

    Raises:
        TypeError, ValueError: ONNX has no such type.
        LimitError: `limit.depth`: types are nested too deeply.
    """
    if type(given) is tuple and len(given) == 2:
        given = TensorType(*given)
    around = []  # a loop, since types may be nested as deeply as a caller likes
    while (cls := class_of(given)) is not None:
        around.append((cls, given))
        given = getattr(given, _INNER[cls]) if cls in _INNER else None
        if len(around) > _MOST_LEVELS:
            given = _core.new("TypeProto")
    if around and around[-1][0] in _INNER:
        inner = _core.find_message("TypeProto", given)
        if inner is None:
            raise wrong_message("TypeProto", given)
        given = inner
    for cls, each in reversed(around):
        fields = {_FIELDS[cls]: _fields(each, given), "denotation": each.denotation}
        given = _core.new("TypeProto", **fields)
    return given


def _fields(given: Any, inside: Any) -> dict[str, Any]:
    match given:
        case TensorType() | SparseTensorType():
            return _tensor_fields(*given[:3])
        case SequenceType() | OptionalType():
            return {"elem_type": inside}
        case MapType(key):
            return {"key_type": element_type(key), "value_type": inside}
    for each in given[:2]:  # None would leave the field out
        if not isinstance(each, str):
            raise TypeError(f"expected a str, not {type(each).__name__}")
    return {"domain": given.domain, "name": given.name}


def _tensor_fields(kind: ElementType, shape: Any, denotations: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"elem_type": element_type(kind)}
    denotations = tuple(denotations)
    if shape is not None:
        sizes = _sizes(shape)
        if denotations and len(denotations) != len(sizes):
            raise ValueError(f"{len(denotations)} denotations for {len(sizes)} dimensions")
        fields["shape"] = {"dim": _dims(sizes, denotations)}
    return fields


def _sizes(shape: Any) -> list[Any]:
    try:
        sizes = None if isinstance(shape, str | bytes) else iter(shape)
    except Exception:  # noqa: BLE001 -- whatever it is, it is no sequence
        sizes = None
    if sizes is None:
        raise TypeError(
            f"a shape is a sequence of dimensions, such as (1, 'n'), not {type(shape).__name__}"
        )
    return list(sizes)


def _dims(sizes: list[Any], denotations: Any) -> list[dict[str, Any]]:
    """The fields of each dimension, with what it means if there is a denotation for each."""
    dims = [_dim(size) for size in sizes]
    if len(dims) != len(denotations):
        return dims
    return [dim | {"denotation": each} for dim, each in zip(dims, denotations, strict=True)]


def _dim(size: Any) -> dict[str, Any]:
    if size is None:
        return {}
    if isinstance(size, str):
        return {"dim_param": size}
    if isinstance(size, bool):
        raise TypeError("a dimension is an int, a str or None, not bool")
    if not hasattr(size, "__index__"):
        raise ValueError(f"a dimension is an int, a str or None, not {type(size).__name__}")
    return {"dim_value": size}


def set_shape(info: _core.ValueInfo, shape: Any) -> None:
    """Set the shape of a tensor. What its dimensions mean stays if there are as many as before."""
    before = getattr(info.type, "shape_denotation", ())
    made = None if shape is None else {"dim": _dims(_sizes(shape), before)}
    info._set_of_tensor("shape", made)
