"""Enums of onnx.proto, made from the core's tables."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from onnxmap import _core

if TYPE_CHECKING:
    import numpy as np


class _DataTypeFacts(IntEnum):
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


DataType = _DataTypeFacts(  # type: ignore[call-overload]
    "DataType", _core.enum_values("TensorProto.DataType"), module="onnxmap", qualname="DataType"
)
DataType.__doc__ = "Element types, with the names and numbers of `TensorProto.DataType`."

AttributeType = IntEnum(  # type: ignore[misc]
    "AttributeType",
    _core.enum_values("AttributeProto.AttributeType"),
    module="onnxmap",
    qualname="AttributeType",
)
AttributeType.__doc__ = "Kinds of attribute, as in `AttributeProto.AttributeType`."
