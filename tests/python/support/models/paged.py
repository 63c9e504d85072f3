"""Models with one tensor of many pages, one for each way to store a tensor.

This module does not need onnx, so the child processes that use it start quickly.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from support import wire_bytes as wire

Array = np.ndarray[Any, Any]

PAGE = mmap.PAGESIZE
PAYLOAD = 16 * PAGE  # bytes of values, approximately
FLOAT, INT64, STRING, FLOAT16, INT4 = 1, 7, 8, 10, 22  # onnx.proto, TensorProto.DataType
_BUILDERS: dict[str, Callable[[], Stored]] = {}


@dataclass(frozen=True)
class Stored:
    """A model, the data file that it may need, and the values of its tensor named "t"."""

    model: bytes
    values: Array
    data: bytes | None = None
    shows_file: bool = False  # numpy() is a view of the file
    shows_packed: bool = False  # packed() is a view of the file

    def write(self, folder: Path) -> Path:
        """Write both files; return the file that has the values."""
        path = folder / "model.onnx"
        path.write_bytes(self.model)
        if self.data is None:
            return path
        path.with_name("w.bin").write_bytes(self.data)
        return path.with_name("w.bin")


def _kind(build: Callable[[], Stored]) -> Callable[[], Stored]:
    _BUILDERS[build.__name__] = build
    return build


def tensor_message(data_type: int, count: int, *data: bytes) -> bytes:
    head = wire.blob(8, b"t") + wire.scalar(2, data_type) + wire.scalar(1, count)
    return head + b"".join(data)


def model_of(*tensors: bytes) -> bytes:
    graph = b"".join(wire.blob(5, tensor) for tensor in tensors)
    return wire.scalar(1, 10) + wire.blob(7, graph)


def external_entries(location: bytes, offset: int, nbytes: int) -> bytes:
    entries = {b"location": location, b"offset": b"%d" % offset, b"length": b"%d" % nbytes}
    pairs = (wire.blob(1, key) + wire.blob(2, value) for key, value in entries.items())
    return b"".join(wire.blob(13, pair) for pair in pairs) + wire.scalar(14, 1)


def _floats() -> Array:
    """Never zero, as the rest of a file's last page is. Small enough for all float types."""
    return np.arange(PAYLOAD // 4, dtype=np.float32) % 999 + 1


def _integers() -> Array:
    return np.arange(PAYLOAD // 2, dtype=np.int64) % 4_999 + 200


def _nibbles() -> Array:
    return (np.arange(2 * PAYLOAD, dtype=np.int64) % 7 + 1).astype(ml_dtypes.int4)


def _packed(nibbles: Array) -> bytes:
    codes = nibbles.view(np.uint8) & 15
    return (codes[::2] | codes[1::2] << 4).tobytes()


@_kind
def raw() -> Stored:
    values = _floats()
    message = tensor_message(FLOAT, values.size, wire.blob(9, values.tobytes()))
    return Stored(model_of(message), values, shows_file=True)


@_kind
def external() -> Stored:
    values = _floats()
    entries = external_entries(b"w.bin", 3, values.nbytes)
    model = model_of(tensor_message(FLOAT, values.size, entries))
    return Stored(model, values, b"abc" + values.tobytes(), shows_file=True)


@_kind
def floats_in_one_run() -> Stored:
    values = _floats()
    message = tensor_message(FLOAT, values.size, wire.blob(4, values.tobytes()))
    return Stored(model_of(message), values, shows_file=True)


@_kind
def floats_one_by_one() -> Stored:
    values = _floats()[: PAYLOAD // 8]
    tag = wire.tag(4, wire.FIXED32)
    fields = b"".join(tag + value.tobytes() for value in values)
    return Stored(model_of(tensor_message(FLOAT, values.size, fields)), values)


@_kind
def varints_in_one_run() -> Stored:
    values = _integers()
    run = wire.blob(7, b"".join(wire.varint(int(value)) for value in values))
    return Stored(model_of(tensor_message(INT64, values.size, run)), values)


@_kind
def varints_one_by_one() -> Stored:
    values = _integers()[: PAYLOAD // 6]
    fields = b"".join(wire.scalar(7, int(value)) for value in values)
    return Stored(model_of(tensor_message(INT64, values.size, fields)), values)


@_kind
def strings() -> Stored:
    texts = [f"text {number}" for number in range(PAYLOAD // 12)]
    fields = b"".join(wire.blob(6, text.encode()) for text in texts)
    return Stored(model_of(tensor_message(STRING, len(texts), fields)), np.array(texts, object))


@_kind
def four_bits() -> Stored:
    values = _nibbles()
    message = tensor_message(INT4, values.size, wire.blob(9, _packed(values)))
    return Stored(model_of(message), values, shows_packed=True)


@_kind
def four_bits_external() -> Stored:
    values = _nibbles()
    data = _packed(values)
    entries = external_entries(b"w.bin", 3, len(data))
    model = model_of(tensor_message(INT4, values.size, entries))
    return Stored(model, values, b"abc" + data, shows_packed=True)


@_kind
def four_bits_in_entries() -> Stored:
    values = _nibbles()
    run = wire.blob(5, b"".join(wire.varint(byte) for byte in _packed(values)))
    return Stored(model_of(tensor_message(INT4, values.size, run)), values)


@_kind
def half_floats_in_entries() -> Stored:
    values = np.arange(1, PAYLOAD // 3 + 1).astype(np.uint16) & 0x3FFF | 0x100
    run = wire.blob(5, b"".join(wire.varint(int(bits)) for bits in values))
    message = tensor_message(FLOAT16, values.size, run)
    return Stored(model_of(message), values.view(np.float16))


@_kind
def segments() -> Stored:
    values = _floats()
    half = values.size // 2
    pieces = []
    for begin, end in ((0, half), (half, values.size)):
        bounds = wire.blob(3, wire.scalar(1, begin) + wire.scalar(2, end))
        piece = wire.blob(9, values[begin:end].tobytes())
        pieces.append(tensor_message(FLOAT, values.size, bounds, piece))
    return Stored(model_of(*pieces), values)


KINDS = tuple(_BUILDERS)


def stored(kind: str) -> Stored:
    return _BUILDERS[kind]()
