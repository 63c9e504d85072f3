"""New types and value infos, as the functions of `onnx.helper` make them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from onnxmap import _core
from onnxmap._enums import DataType
from onnxmap._messages import Message, copy_into, new_message
from onnxmap._text import escape
from onnxmap.types import (
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
)

_TYPES = (TensorType, SparseTensorType, SequenceType, MapType, OptionalType, OpaqueType)
ShapeArgument = Sequence["int | str | None"]
ElementType = Any  # a DataType, its number or name, or a NumPy type


def is_type(given: object) -> bool:
    """Return whether a value is one of the types of `onnxmap.types`."""
    return isinstance(given, _TYPES)


def as_type_proto(given: Any) -> Message:
    """Return the TypeProto of a type of `onnxmap.types`; anything else as it is."""
    match given:
        case TensorType(dtype, shape):
            return make_tensor_type_proto(dtype, shape)
        case SparseTensorType(dtype, shape):
            return make_sparse_tensor_type_proto(dtype, shape)
        case SequenceType(element):
            return make_sequence_type_proto(element)
        case OptionalType(element):
            return make_optional_type_proto(element)
        case MapType(key, value):
            return make_map_type_proto(key, value)
        case OpaqueType(domain, name):
            made = new_message("TypeProto")
            made.opaque_type.domain = domain
            made.opaque_type.name = name
            return made
        case _:
            return given


def element_type(given: ElementType) -> int:
    """Return the number of an element type that is given as number, name or NumPy type."""
    return int(given) if isinstance(given, int) else int(DataType(given))


def make_tensor_type_proto(
    elem_type: ElementType,
    shape: ShapeArgument | None,
    shape_denotation: Sequence[str] | None = None,
) -> Message:
    """Return a new TypeProto of a tensor.

    Args:
        elem_type: the element type: a DataType, its number or name, or a NumPy type.
        shape: for each dimension its size, its name, or None if it is unknown; None if the rank is
            unknown.
        shape_denotation: what each dimension means, as `TypeProto.denotation` says it.

    Raises:
        ValueError: ONNX has no such element type, a dimension is neither a number, a name nor None,
            or out of the range of int64, or there are not as many denotations as dimensions.
        TypeError: a dimension is a bool.
    """
    made = new_message("TypeProto")
    _fill(made.tensor_type, elem_type, shape, shape_denotation)
    return made


def make_sparse_tensor_type_proto(
    elem_type: ElementType,
    shape: ShapeArgument | None,
    shape_denotation: Sequence[str] | None = None,
) -> Message:
    """Return a new TypeProto of a sparse tensor.

    Args:
        elem_type: as for `make_tensor_type_proto`.
        shape: as for `make_tensor_type_proto`.
        shape_denotation: as for `make_tensor_type_proto`.

    Raises:
        The errors of `make_tensor_type_proto`.
    """
    made = new_message("TypeProto")
    _fill(made.sparse_tensor_type, elem_type, shape, shape_denotation)
    return made


def _fill(
    tensor: Message,
    elem_type: ElementType,
    shape: ShapeArgument | None,
    denotation: Sequence[str] | None,
) -> None:
    tensor.elem_type = element_type(elem_type)
    _fill_shape(tensor, shape, denotation)


def _fill_shape(
    tensor: Message, shape: ShapeArgument | None, denotation: Sequence[str] | None = None
) -> None:
    if shape is None:
        return
    tensor.shape.SetInParent()  # no dimensions is another shape than none
    if denotation and len(denotation) != len(shape):
        raise ValueError(f"{len(denotation)} denotations for {len(shape)} dimensions")
    size: Any  # callers may give what no shape has
    for number, size in enumerate(shape):
        dimension = tensor.shape.dim.add()
        if isinstance(size, str):
            dimension.dim_param = size
        elif isinstance(size, bool):
            raise TypeError("a dimension is an int, a str or None, not bool")
        elif hasattr(size, "__index__"):
            dimension.dim_value = operator.index(size)
        elif size is not None:
            raise ValueError(f"a dimension is an int, a str or None, not {type(size).__name__}")
        if denotation:
            dimension.denotation = denotation[number]


def make_sequence_type_proto(inner_type_proto: Any) -> Message:
    """Return a new TypeProto of a sequence of values of one type.

    Args:
        inner_type_proto: the type of the elements: a TypeProto, which is copied, or one of
            `onnxmap.types`.

    Raises:
        TypeError: the type is neither.
    """
    made = new_message("TypeProto")
    copy_into(made.sequence_type.elem_type, as_type_proto(inner_type_proto))
    return made


def make_optional_type_proto(inner_type_proto: Any) -> Message:
    """Return a new TypeProto of an optional: a value of one type, or nothing.

    Args:
        inner_type_proto: the type of the value: a TypeProto, which is copied, or one of
            `onnxmap.types`.

    Raises:
        TypeError: the type is neither.
    """
    made = new_message("TypeProto")
    copy_into(made.optional_type.elem_type, as_type_proto(inner_type_proto))
    return made


def make_map_type_proto(key_type: ElementType, value_type: Any) -> Message:
    """Return a new TypeProto of a map.

    Args:
        key_type: the element type of the keys: a DataType, its number or name, or a NumPy type.
        value_type: the type of the values: a TypeProto, which is copied, or one of `onnxmap.types`.

    Raises:
        ValueError: ONNX has no such element type.
        TypeError: the type of the values is neither.
    """
    made = new_message("TypeProto")
    made.map_type.key_type = element_type(key_type)
    copy_into(made.map_type.value_type, as_type_proto(value_type))
    return made


def make_value_info(name: str, type_proto: Any, doc_string: str = "") -> Message:
    """Return a new ValueInfoProto.

    Args:
        name: the name of the value.
        type_proto: its type: a TypeProto, which is copied, one of `onnxmap.types`, or a pair of the
            element type and the shape of a tensor.
        doc_string: its documentation.

    Raises:
        TypeError: the type is none of them, or a name is no text.
        ValueError: see `make_tensor_type_proto`.

    Example:
        >>> onnxmap.make_value_info("ids", ("int64", ["batch", 128]))  # doctest: +SKIP
    """
    made = new_message("ValueInfoProto")
    made.name = name
    if doc_string:
        made.doc_string = doc_string
    if type(type_proto) is tuple:
        type_proto = TensorType(*type_proto)
    copy_into(made.type, as_type_proto(type_proto))
    return made


def make_tensor_value_info(
    name: str,
    elem_type: ElementType,
    shape: ShapeArgument | None,
    doc_string: str = "",
    shape_denotation: Sequence[str] | None = None,
) -> Message:
    """Return a new ValueInfoProto of a tensor.

    Args:
        name: the name of the value.
        elem_type: as for `make_tensor_type_proto`.
        shape: as for `make_tensor_type_proto`.
        doc_string: the documentation of the value.
        shape_denotation: as for `make_tensor_type_proto`.

    Raises:
        TypeError: the name is no text.
        The errors of `make_tensor_type_proto`.
    """
    kind = make_tensor_type_proto(elem_type, shape, shape_denotation)
    return make_value_info(name, kind, doc_string)


def make_sparse_tensor_value_info(
    name: str,
    elem_type: ElementType,
    shape: ShapeArgument | None,
    doc_string: str = "",
    shape_denotation: Sequence[str] | None = None,
) -> Message:
    """Return a new ValueInfoProto of a sparse tensor.

    Args:
        name: the name of the value.
        elem_type: as for `make_tensor_type_proto`.
        shape: as for `make_tensor_type_proto`.
        doc_string: the documentation of the value.
        shape_denotation: as for `make_tensor_type_proto`.

    Raises:
        TypeError: the name is no text.
        The errors of `make_tensor_type_proto`.
    """
    kind = make_sparse_tensor_type_proto(elem_type, shape, shape_denotation)
    return make_value_info(name, kind, doc_string)


def make_tensor_sequence_value_info(
    name: str,
    elem_type: ElementType,
    shape: ShapeArgument | None,
    doc_string: str = "",
    elem_shape_denotation: Sequence[str] | None = None,
) -> Message:
    """Return a new ValueInfoProto of a sequence of tensors.

    Args:
        name: the name of the value.
        elem_type: as for `make_tensor_type_proto`.
        shape: as for `make_tensor_type_proto`.
        doc_string: the documentation of the value.
        elem_shape_denotation: as `shape_denotation` of `make_tensor_type_proto`.

    Raises:
        TypeError: the name is no text.
        The errors of `make_tensor_type_proto`.
    """
    kind = make_tensor_type_proto(elem_type, shape, elem_shape_denotation)
    return make_value_info(name, make_sequence_type_proto(kind), doc_string)


def set_type(value_info: Message, value: Any) -> None:
    """Give a ValueInfoProto another type, or none.

    `value` is a TypeProto, one of `onnxmap.types`, a pair of the element type and the shape of a
    tensor, or None.
    """
    made = None
    if type(value) is tuple:
        value = TensorType(*value)
    if value is not None:
        made = new_message("TypeProto")
        copy_into(made, as_type_proto(value))
    _core.set_friendly(value_info, "type", made)


def set_dtype(value_info: Message, value: ElementType) -> None:
    """Give the tensor of a ValueInfoProto another element type; its shape stays."""
    number = element_type(value)
    _tensor_in(value_info).elem_type = number


def set_shape(value_info: Message, value: ShapeArgument | None) -> None:
    """Give the tensor of a ValueInfoProto another shape, or none; its element type stays."""
    tensor = _tensor_in(value_info)
    if not tensor.elem_type:
        raise ValueError(
            f"value {escape(repr(value_info.name))} has no element type; assign .dtype first"
        )
    made = new_message(tensor.message_type)
    _fill_shape(made, value)
    _core.set_friendly(tensor, "shape", None if value is None else made.shape)


def _tensor_in(value_info: Message) -> Message:
    kind = value_info.type.WhichOneof("value") or "tensor_type"
    if kind not in ("tensor_type", "sparse_tensor_type"):
        raise ValueError(
            f"value {escape(repr(value_info.name))} is no tensor but a {kind}; assign .type"
        )
    return getattr(value_info.type, kind)
