"""Types of values, as `TypeProto` describes them, and small records."""

from __future__ import annotations

from typing import NamedTuple

from onnxmap._enums import DataType

Shape = tuple["int | str | None", ...]


class ExternalData(NamedTuple):
    """Where a tensor's values are, as the model says it.

    Attributes:
        location: path relative to the model's folder.
        offset: in bytes.
        length: in bytes; None where the model leaves it to shape and type.
        checksum: SHA-1 of the whole file in hexadecimal digits, or None.
    """

    location: str
    offset: int
    length: int | None
    checksum: str | None


class TensorType(NamedTuple):
    """A dense tensor. `shape` is None where the rank is unknown."""

    dtype: DataType | int
    shape: Shape | None


class SparseTensorType(NamedTuple):
    """A sparse tensor. `shape` is None where the rank is unknown."""

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
