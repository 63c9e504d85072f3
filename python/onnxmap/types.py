"""The types of values, as `TypeProto` describes them, and `ExternalData`."""

from __future__ import annotations

from typing import NamedTuple

from onnxmap import _core
from onnxmap._enums import DataType

Shape = tuple["int | str | None", ...]


class ExternalData(NamedTuple):
    """Where the values of a tensor are, according to the model.

    Attributes:
        location: the path relative to the model's folder.
        offset: the offset of the values in the file, in bytes.
        length: their length in bytes; None if shape and type imply it.
        checksum: the SHA-1 of the whole file in hexadecimal digits, or None.
    """

    location: str
    offset: int
    length: int | None
    checksum: str | None


class TensorType(NamedTuple):
    """A dense tensor. `shape` is None if the rank is unknown."""

    dtype: DataType | int
    shape: Shape | None


class SparseTensorType(NamedTuple):
    """A sparse tensor. `shape` is None if the rank is unknown."""

    dtype: DataType | int
    shape: Shape | None


class SequenceType(NamedTuple):
    """A sequence of values of one type."""

    elem_type: object


class MapType(NamedTuple):
    """A map from keys of one element type to values of one type."""

    key_type: DataType | int
    value_type: object


class OptionalType(NamedTuple):
    """A value or nothing."""

    elem_type: object


class OpaqueType(NamedTuple):
    """A type that only an operator's domain understands."""

    domain: str
    name: str


def make_type(proto: _core.ProtoView) -> object:
    """The type that a TypeProto describes, or None where it says nothing."""
    which = proto.WhichOneof("value")
    if which is None:
        return None
    inner = getattr(proto, which)
    if which == "tensor_type":
        return TensorType(_dtype(inner.elem_type), _shape(inner))
    if which == "sparse_tensor_type":
        return SparseTensorType(_dtype(inner.elem_type), _shape(inner))
    if which == "sequence_type":
        return SequenceType(make_type(inner.elem_type))
    if which == "map_type":
        return MapType(_dtype(inner.key_type), make_type(inner.value_type))
    if which == "optional_type":
        return OptionalType(make_type(inner.elem_type))
    return OpaqueType(inner.domain, inner.name)


def _dtype(number: int) -> DataType | int:
    try:
        return DataType(number)
    except ValueError:
        return number


def _shape(tensor_type: _core.ProtoView) -> Shape | None:
    if not tensor_type.HasField("shape"):
        return None
    return tuple(_dimension(dim) for dim in tensor_type.shape.dim)


def _dimension(dim: _core.ProtoView) -> int | str | None:
    if dim.HasField("dim_value"):
        return dim.dim_value
    return dim.dim_param or None
