"""Enums of onnx.proto, made from the core's tables."""

from __future__ import annotations

from enum import EnumMeta, IntEnum
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from onnxmap import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

# Two of these have the same size and equal dtypes, like np.longlong and np.int64 on Linux.
_C_INTEGERS = (np.intc, np.long, np.longlong, np.uintc, np.ulong, np.ulonglong)


class _NamedInt(IntEnum):
    """An IntEnum whose text is the name of the member. As a number it formats like an int."""

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(int(self) if spec[-1:] in set("bcdeEfFgGnoxX%") else self.name, spec)


class _Suggesting(EnumMeta):
    """Lets the error for a wrong name, like DataType.FLOAT32, say which member is meant."""

    if not TYPE_CHECKING:  # a type checker reports a wrong name by itself

        def __getattr__(cls, name: str) -> NoReturn:
            text = f"{cls.__name__} has no member {name[:80]!r}"
            meant = None if name.startswith("_") else _data_type_of(cls, name.lower())
            if meant is None:
                raise AttributeError(text)
            # With a name, the error gets no second suggestion from Python.
            raise AttributeError(f"{text}; use .{meant.name}", name=name)


def _data_type_of(members: Iterable[_DataTypeFacts], given: object) -> _DataTypeFacts | None:
    """The member that a name of ONNX or NumPy, a usual spelling, or a type of NumPy means."""
    if isinstance(given, str):
        given = _core.data_type_named(given) or None
    elif not isinstance(given, (type, np.dtype)):
        return None
    for each in members:  # an interrupt of a generator would be reported once more
        if each == given:
            return each
    return None


class _DataTypeFacts(_NamedInt, metaclass=_Suggesting):
    """Element types, with the names and numbers of `TensorProto.DataType`.

    A member equals NumPy's type of its elements, too: `tensor.dtype == np.float32`.
    `DataType("FLOAT")`, `DataType("float32")` and `DataType(np.float32)` are members, too, and so
    are the spellings "fp64", "fp32", "fp16", "half" and "bf16".
    """

    @classmethod
    def _missing_(cls, value: object) -> _DataTypeFacts | None:
        return _data_type_of(cls, value)

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
        if isinstance(other, np.dtype):
            return bool(self) and bool(self.numpy() == other)
        if not isinstance(other, type) or not issubclass(other, np.generic):
            return NotImplemented
        if not self:
            return False
        own = self.numpy()
        # NumPy may warn about, or refuse, the dtype of other types: some are abstract.
        return own.type is other or (other in _C_INTEGERS and bool(own == np.dtype(other)))

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)  # int's own method knows only numbers
        return equal if equal is NotImplemented else not equal

    __hash__ = IntEnum.__hash__


def _enum(of_schema: str, doc: str | None, base: type[IntEnum] = _NamedInt) -> type[IntEnum]:
    name = of_schema.rpartition(".")[2]
    made = base(name, _core.enum_values(of_schema), module="onnxmap", qualname=name)  # type: ignore[call-overload]
    made.__doc__ = doc
    return made  # type: ignore[no-any-return]


DataType = _enum("TensorProto.DataType", _DataTypeFacts.__doc__, _DataTypeFacts)
AttributeType = _enum(
    "AttributeProto.AttributeType", "Kinds of attribute, as in `AttributeProto.AttributeType`."
)
DataLocation = _enum(
    "TensorProto.DataLocation",
    "Where the values of a tensor are, as in `TensorProto.DataLocation`.",
)
OperatorStatus = _enum("OperatorStatus", "The stability of an operator or function.")
Version = _enum("Version", "The versions of the ONNX format (`ir_version`).")

# For the core.
ENUMS = {each.__name__: each for each in (DataType, AttributeType, OperatorStatus)}
