"""Enums of onnx.proto, made from the core's tables."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from onnxmap import _core

if TYPE_CHECKING:
    import numpy as np


class _NamedInt(IntEnum):
    """An IntEnum whose text is the name of the member. As a number it formats like an int."""

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(int(self) if spec[-1:] in set("bcdeEfFgGnoxX%") else self.name, spec)


class _DataTypeFacts(_NamedInt):
    @property
    def bits(self) -> int:
        """Bits of one element; 0 for STRING, whose elements have no fixed width."""
        return _core.data_type_bits(self.value)

    def numpy(self) -> np.dtype:
        """The NumPy dtype: NumPy's own where it has one, otherwise from `ml_dtypes`.

        Raises:
            TypeError: for UNDEFINED.
        """
        return _core.numpy_dtype(self.value)

    def __eq__(self, other: object) -> bool:
        """Whether `other` is this member, its number, or NumPy's type or dtype of its elements."""
        if isinstance(other, int):
            return int(self) == int(other)
        import numpy as np

        if isinstance(other, np.dtype):
            return bool(self) and bool(self.numpy() == other)
        if not isinstance(other, type) or not issubclass(other, np.generic):
            return NotImplemented
        try:
            theirs = np.dtype(other)
        except TypeError:  # an abstract type, like numpy.floating
            return False
        # Older releases of NumPy take an abstract type for one of its types.
        return theirs.type is other and self == theirs

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)  # int's own method knows only numbers
        return equal if equal is NotImplemented else not equal

    __hash__ = IntEnum.__hash__


def _enum(name: str, of_schema: str, base: type[IntEnum], doc: str) -> type[IntEnum]:
    made = base(name, _core.enum_values(of_schema), module="onnxmap", qualname=name)  # type: ignore[call-overload]
    made.__doc__ = doc
    return made  # type: ignore[no-any-return]


DataType = _enum(
    "DataType",
    "TensorProto.DataType",
    _DataTypeFacts,
    """Element types, with the names and numbers of `TensorProto.DataType`.

    A member equals NumPy's type of its elements, too: `tensor.dtype == np.float32`.
    """,
)
AttributeType = _enum(
    "AttributeType",
    "AttributeProto.AttributeType",
    _NamedInt,
    "Kinds of attribute, as in `AttributeProto.AttributeType`.",
)
DataLocation = _enum(
    "DataLocation",
    "TensorProto.DataLocation",
    _NamedInt,
    "Where the values of a tensor are, as in `TensorProto.DataLocation`.",
)
OperatorStatus = _enum(
    "OperatorStatus", "OperatorStatus", _NamedInt, "The stability of an operator or function."
)
Version = _enum("Version", "Version", _NamedInt, "The versions of the ONNX format (`ir_version`).")
