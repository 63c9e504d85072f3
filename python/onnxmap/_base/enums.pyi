# Written by tools/generate_stubs.py (make stubs); changes are lost.
# ruff: noqa

from enum import IntEnum
from typing import Any

import numpy

class DataType(IntEnum):
    """Element types, with the names and numbers of `TensorProto.DataType`.

    A member equals NumPy's type of its elements, too: `tensor.dtype == np.float32`.
    `DataType("FLOAT")`, `DataType("float32")` and `DataType(np.float32)` are members, too, and so
    are the spellings "fp64", "fp32", "fp16", "half" and "bf16".
    """

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
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

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

class DataLocation(IntEnum):
    """Where the values of a tensor are, as in `TensorProto.DataLocation`."""

    DEFAULT = 0
    EXTERNAL = 1

class OperatorStatus(IntEnum):
    """The stability of an operator or function."""

    EXPERIMENTAL = 0
    STABLE = 1

class Version(IntEnum):
    """The versions of the ONNX format (`ir_version`)."""

    _START_VERSION = 0
    IR_VERSION_2017_10_10 = 1
    IR_VERSION_2017_10_30 = 2
    IR_VERSION_2017_11_3 = 3
    IR_VERSION_2019_1_22 = 4
    IR_VERSION_2019_3_18 = 5
    IR_VERSION_2019_9_19 = 6
    IR_VERSION_2020_5_8 = 7
    IR_VERSION_2021_7_30 = 8
    IR_VERSION_2023_5_5 = 9
    IR_VERSION_2024_3_25 = 10
    IR_VERSION_2025_05_12 = 11
    IR_VERSION_2025_08_26 = 12
    IR_VERSION_2025_11_06 = 13
    IR_VERSION = 14
