"""Reads DLPack capsules with ctypes alone, as a consumer in C would.

Source: dlpack.h, DLManagedTensorVersioned and DLManagedTensor.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

READ_ONLY, IS_COPIED, SUBBYTE_PADDED = 1, 2, 4
# The type code and bits of each ONNX type. Source: dlpack.h, DLDataTypeCode.
CODES: dict[str, tuple[int, int]] = {
    "FLOAT": (2, 32), "UINT8": (1, 8), "INT8": (0, 8), "UINT16": (1, 16), "INT16": (0, 16),
    "INT32": (0, 32), "INT64": (0, 64), "BOOL": (6, 8), "FLOAT16": (2, 16), "DOUBLE": (2, 64),
    "UINT32": (1, 32), "UINT64": (1, 64), "COMPLEX64": (5, 64), "COMPLEX128": (5, 128),
    "BFLOAT16": (4, 16), "FLOAT8E4M3FN": (10, 8), "FLOAT8E4M3FNUZ": (11, 8), "FLOAT8E5M2": (12, 8),
    "FLOAT8E5M2FNUZ": (13, 8), "FLOAT8E8M0": (14, 8), "UINT4": (1, 4), "INT4": (0, 4),
    "FLOAT4E2M1": (17, 4), "UINT2": (1, 2), "INT2": (0, 2), "FLOAT6E2M3": (15, 6),
    "FLOAT6E3M2": (16, 6),
}  # fmt: skip


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


class _Legacy(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


_api = ctypes.pythonapi
_api.PyCapsule_GetName.restype = ctypes.c_char_p
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

_CONSUMED = {b"dltensor_versioned": b"used_dltensor_versioned", b"dltensor": b"used_dltensor"}


@dataclass
class Exported:
    """The content of a capsule. A consumer first calls `consume()`, and later `release()`."""

    capsule: Any
    name: bytes
    version: tuple[int, int] | None
    flags: int
    device: tuple[int, int]
    code: tuple[int, int]
    lanes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    address: int
    _pointer: int

    def data(self, nbytes: int) -> bytes:
        return ctypes.string_at(self.address, nbytes)

    def write(self, data: bytes) -> None:
        """Write like a consumer that ignores the flags."""
        ctypes.memmove(self.address, data, len(data))

    def consume(self) -> None:
        """Take over the tensor. The capsule's destructor then does nothing."""
        assert _api.PyCapsule_SetName(self.capsule, _CONSUMED[self.name]) == 0

    def release(self) -> None:
        managed = (_Versioned if self.version else _Legacy).from_address(self._pointer)
        managed.deleter(self._pointer)


def read(capsule: Any) -> Exported:
    name = _api.PyCapsule_GetName(capsule)
    pointer = _api.PyCapsule_GetPointer(capsule, name)
    versioned = name == b"dltensor_versioned"
    managed = (_Versioned if versioned else _Legacy).from_address(pointer)
    tensor = managed.tensor
    return Exported(
        capsule=capsule,
        name=name,
        version=(managed.major, managed.minor) if versioned else None,
        flags=managed.flags if versioned else 0,
        device=(tensor.device_type, tensor.device_id),
        code=(tensor.code, tensor.bits),
        lanes=tensor.lanes,
        shape=tuple(tensor.shape[: tensor.ndim]),
        strides=tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None,
        address=(tensor.data or 0) + tensor.byte_offset,
        _pointer=pointer,
    )
