"""New types and value infos, as the functions of `onnx.helper` make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxmap._base.new_message import Message, new_message
from onnxmap._make.type_values import ElementType, type_message
from onnxmap.types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType

ShapeArgument = Sequence["int | str | None"]


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
    return _tensor_type(TensorType, elem_type, shape, shape_denotation)


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
    return _tensor_type(SparseTensorType, elem_type, shape, shape_denotation)


def _tensor_type(cls: Any, elem_type: Any, shape: Any, denotation: Any) -> Message:
    return type_message(cls(elem_type, shape, denotation or ()))


def make_sequence_type_proto(inner_type_proto: Any) -> Message:
    """Return a new TypeProto of a sequence of values of one type.

    Args:
        inner_type_proto: the type of the elements: a TypeProto, which is copied, or one of
            `onnxmap.types`.

    Raises:
        TypeError: the type is neither.
    """
    return type_message(SequenceType(inner_type_proto))


def make_optional_type_proto(inner_type_proto: Any) -> Message:
    """Return a new TypeProto of an optional: a value of one type, or nothing.

    Args:
        inner_type_proto: the type of the value: a TypeProto, which is copied, or one of
            `onnxmap.types`.

    Raises:
        TypeError: the type is neither.
    """
    return type_message(OptionalType(inner_type_proto))


def make_map_type_proto(key_type: ElementType, value_type: Any) -> Message:
    """Return a new TypeProto of a map.

    Args:
        key_type: the element type of the keys: a DataType, its number or name, or a NumPy type.
        value_type: the type of the values: a TypeProto, which is copied, or one of `onnxmap.types`.

    Raises:
        ValueError: ONNX has no such element type.
        TypeError: the type of the values is neither.
    """
    return type_message(MapType(key_type, value_type))


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
    kind = type_message(type_proto)
    required = {"name": name, "type": kind}
    return new_message("ValueInfoProto", required, doc_string=doc_string or None)


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
