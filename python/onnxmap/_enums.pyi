# Written by tools/generate_stubs.py (make stubs); changes are lost.
# ruff: noqa

from enum import IntEnum
from typing import Any

import numpy

class DataType(IntEnum):
    """Element types, with the names and numbers of `TensorProto.DataType`."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
    UINT4 = 21
    INT4 = 22
    FLOAT4E2M1 = 23
    FLOAT8E8M0 = 24
    UINT2 = 25
    INT2 = 26
    FLOAT6E2M3 = 27
    FLOAT6E3M2 = 28

    @property
    def bits(self) -> int:
        """Bits of one element; 0 for STRING, whose elements have no fixed width."""
    def numpy(self) -> numpy.dtype[Any]:
        """The NumPy dtype: NumPy's own where it has one, otherwise from `ml_dtypes`.

        Raises:
            TypeError: for UNDEFINED.
        """

class AttributeType(IntEnum):
    """Kinds of attribute, as in `AttributeProto.AttributeType`."""

    UNDEFINED = 0
    FLOAT = 1
    INT = 2
    STRING = 3
    TENSOR = 4
    GRAPH = 5
    SPARSE_TENSOR = 11
    TYPE_PROTO = 13
    FLOATS = 6
    INTS = 7
    STRINGS = 8
    TENSORS = 9
    GRAPHS = 10
    SPARSE_TENSORS = 12
    TYPE_PROTOS = 14
