"""Tensors of given bytes: what the bytes mean, and buffers and files that contain them.

This is independent of onnxmap. ml_dtypes and NumPy say what a code means, and packing follows
onnx.proto.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from support import wire_bytes as wire
from support.oracles.tensors import FIXED_WIDTH

Array = np.ndarray[Any, Any]

PACKED_BITS = {
    "INT2": 2, "UINT2": 2, "INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4, "FLOAT6E2M3": 6, "FLOAT6E3M2": 6,
}  # fmt: skip
NUMERIC = [*FIXED_WIDTH, *PACKED_BITS]  # every type but STRING


def number_of(type_name: str) -> int:
    return int(TensorProto.DataType.Value(type_name))


def dtype_of(type_name: str) -> np.dtype[Any]:
    return np.dtype(helper.tensor_dtype_to_np_dtype(number_of(type_name)))


def bits_of(type_name: str) -> int:
    return PACKED_BITS.get(type_name, 8 * dtype_of(type_name).itemsize)


def code_type(type_name: str) -> np.dtype[Any]:
    """The unsigned integer type of an element's width; 16 bare bytes if there is none."""
    itemsize = dtype_of(type_name).itemsize
    return np.dtype("V16" if itemsize == 16 else f"u{itemsize}")


def values_of(type_name: str, codes: Array) -> Array:
    """The elements that have these bits."""
    return np.ascontiguousarray(codes, code_type(type_name)).view(dtype_of(type_name))


def pack(codes: Array, bits: int) -> bytes:
    """Codes of `bits` bits as a stream. The first code is in the lowest bits of the first byte.

    Source: onnx.proto, TensorProto.raw_data.
    """
    each = np.unpackbits(codes.astype(np.uint8).reshape(-1, 1), axis=1, bitorder="little")
    return np.packbits(each[:, :bits], bitorder="little").tobytes()


def stored(type_name: str, codes: Array) -> bytes:
    """These codes in the layout of raw_data."""
    if type_name in PACKED_BITS:
        return pack(codes, PACKED_BITS[type_name])
    return codes.astype(code_type(type_name)).tobytes()


def random_codes(type_name: str, count: int, seed: int = 0) -> Array:
    """Random bits, NaN payloads included; for BOOL 0 and 1."""
    rng = np.random.default_rng([seed, number_of(type_name), count])
    if type_name == "BOOL":
        return rng.integers(0, 2, count, np.uint8)
    if type_name in PACKED_BITS:
        return rng.integers(0, 1 << PACKED_BITS[type_name], count, np.uint8)
    return np.frombuffer(rng.bytes(count * dtype_of(type_name).itemsize), code_type(type_name))


def model_head(type_name: str, shape: Sequence[int], nbytes: int, name: bytes = b"t") -> bytes:
    """A model with one initializer of `nbytes` bytes of raw_data. The caller appends the bytes."""
    tensor = wire.blob(8, name) + wire.scalar(2, number_of(type_name))
    tensor += b"".join(wire.scalar(1, dim) for dim in shape)
    tensor += wire.tag(9, wire.LENGTH) + wire.varint(nbytes)
    graph = wire.tag(5, wire.LENGTH) + wire.varint(len(tensor) + nbytes) + tensor
    start = wire.scalar(1, 10) + wire.tag(7, wire.LENGTH)
    return start + wire.varint(len(graph) + nbytes) + graph


def in_buffer(
    type_name: str, shape: Sequence[int], data: bytes | Array, offset: int = 0
) -> tuple[Array, int]:
    """A model in memory whose raw_data begins `offset` bytes past a multiple of 64.

    Returns:
        The buffer, and the offset of the raw_data in it.
    """
    payload = np.frombuffer(data, np.uint8)
    head = np.frombuffer(model_head(type_name, shape, payload.size), np.uint8)
    room = np.empty(head.size + payload.size + 63, np.uint8)
    begin = (offset - head.size - room.ctypes.data) % 64
    buffer = room[begin : begin + head.size + payload.size]
    buffer[: head.size] = head
    buffer[head.size :] = payload
    return buffer, head.size


def at_offset(count: int, dtype: Any, offset: int) -> tuple[Array, Array]:
    """A writable array that begins `offset` bytes past a multiple of 64, and all bytes around it.

    There are at least 64 bytes on each side. Each of them is 0xA5.
    """
    nbytes = count * np.dtype(dtype).itemsize
    room = np.full(nbytes + 256, 0xA5, np.uint8)
    begin = 64 + (offset - room.ctypes.data) % 64
    return room[begin : begin + nbytes].view(dtype), room


def write_sparse(path: Path, type_name: str, shape: Sequence[int], edge: bytes) -> int:
    """A model whose raw_data are a hole, except for `edge` at both ends: gigabytes without disk.

    Returns:
        The offset of the raw_data in the file.
    """
    nbytes = -(-math.prod(shape) * bits_of(type_name) // 8)
    head = model_head(type_name, shape, nbytes)
    with path.open("wb") as file:
        file.write(head + edge)
        file.truncate(len(head) + nbytes)
        file.seek(len(head) + nbytes - len(edge))
        file.write(edge)
    return len(head)
