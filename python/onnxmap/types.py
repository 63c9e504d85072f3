"""The types of values, as `TypeProto` describes them, and `ExternalData`."""

from __future__ import annotations

from typing import NamedTuple

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
