"""A small protobuf writer whose payloads are made only while they are written.

The benchmarks do not make their models with onnxmap or a peer. A contender would decide what is in
the file, and would hold all weights in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

VARINT, LENGTH_DELIMITED = 0, 2
BLOCK_BYTES = 32 << 20  # random bytes, made once; every payload is a part of them


@dataclass
class Payload:
    """The bytes of a weight, made from a seed when they are written.

    A sparse payload is a hole in the file, with a length but no disk blocks. It is for payloads
    that are never read. `numbers` is "float32" or "bfloat16" if the bytes are numbers of that type,
    of such a size that products with square matrices of them neither grow nor shrink. If it is
    empty, the bytes are random. `offset` is the place in the file, set when it is written.
    """

    nbytes: int
    seed: int
    sparse: bool = False
    numbers: str = ""
    offset: int = -1


@dataclass
class Mark:
    """A place in the file, for example where an initializer's header begins."""

    offset: int = -1


def varint(value: int) -> bytes:
    """Return the base-128 form of a non-negative integer."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def packed_varints(
    values: np.ndarray[Any, np.dtype[np.uint64]],
) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the base-128 forms of many integers one after another, as in a packed field."""
    lengths = np.ones(len(values), np.int64)
    for bits in range(7, 64, 7):
        lengths += values >= np.uint64(1 << bits)
    begins = np.cumsum(lengths) - lengths
    encoded = np.empty(int(lengths.sum()), np.uint8)
    for place in range(int(lengths.max(initial=1))):
        chosen = lengths > place
        groups = (values[chosen] >> np.uint64(7 * place)).astype(np.uint8) & 0x7F
        more = (lengths[chosen] > place + 1).astype(np.uint8) << 7
        encoded[begins[chosen] + place] = groups | more
    return encoded


class Message:
    """A message under construction: an ordered list of bytes, payloads and marks."""

    def __init__(self) -> None:
        self.pieces: list[bytearray | Payload | Mark] = []
        self.nbytes = 0

    def _append(self, data: bytes | bytearray) -> None:
        if not self.pieces or not isinstance(self.pieces[-1], bytearray):
            self.pieces.append(bytearray())
        last = self.pieces[-1]
        assert isinstance(last, bytearray)
        last += data
        self.nbytes += len(data)

    def integer(self, number: int, value: int) -> Message:
        """Append a varint field."""
        self._append(varint(number << 3 | VARINT) + varint(value))
        return self

    def text(self, number: int, value: str | bytes) -> Message:
        """Append a string or bytes field."""
        data = value.encode() if isinstance(value, str) else value
        self._append(varint(number << 3 | LENGTH_DELIMITED) + varint(len(data)) + data)
        return self

    def message(self, number: int, child: Message) -> Message:
        """Append a message field. Its payloads are still made while writing."""
        self._append(varint(number << 3 | LENGTH_DELIMITED) + varint(child.nbytes))
        for piece in child.pieces:
            if isinstance(piece, bytearray):
                self._append(piece)
            else:
                self.pieces.append(piece)
                self.nbytes += piece.nbytes if isinstance(piece, Payload) else 0
        return self

    def payload(self, number: int, payload: Payload) -> Message:
        """Append a bytes field whose content is made while it is written."""
        self._append(varint(number << 3 | LENGTH_DELIMITED) + varint(payload.nbytes))
        self.pieces.append(payload)
        self.nbytes += payload.nbytes
        return self

    def mark(self, mark: Mark) -> Message:
        """Mark where the next field begins in the file."""
        self.pieces.append(mark)
        return self

    def write(self, path: Path) -> None:
        """Write the file, and set the offsets of payloads and marks."""
        with path.open("wb") as file:
            write_pieces(file, self.pieces)


def write_pieces(
    file: BinaryIO, pieces: Iterable[bytearray | bytes | memoryview | Payload | Mark]
) -> None:
    """Write pieces one after another, with the memory of one block for payloads of any size."""
    blocks: dict[str, memoryview] = {}
    position = file.tell()
    for piece in pieces:
        if isinstance(piece, Mark):
            piece.offset = position
        elif isinstance(piece, Payload):
            piece.offset = position
            position += piece.nbytes
            if piece.sparse:
                file.seek(position)
                continue
            if piece.numbers not in blocks:
                blocks[piece.numbers] = _block(piece.numbers)
            _write_stretch(file, blocks[piece.numbers], piece)
        else:
            file.write(piece)
            position += len(piece)
    file.flush()
    os.truncate(file.fileno(), position)  # a hole at the end has no byte that makes the file longer


def _block(numbers: str) -> memoryview:
    random = np.random.default_rng(2026)
    if not numbers:
        return memoryview(random.bytes(BLOCK_BYTES))
    itemsize = 2 if numbers == "bfloat16" else 4
    values = random.standard_normal(BLOCK_BYTES // itemsize, np.float32) / np.float32(64)
    if itemsize == 2:  # the upper half of a float32 is a bfloat16
        return memoryview((values.view(np.uint32) >> 16).astype(np.uint16).tobytes())
    return memoryview(values.tobytes())


def _write_stretch(file: BinaryIO, block: memoryview, payload: Payload) -> None:
    # A prime step, so that no two tensors begin alike; between numbers.
    start = payload.seed * 1_000_003 * (4 if payload.numbers else 1) % len(block)
    remaining = payload.nbytes
    while remaining:
        stretch = block[start : start + remaining]
        file.write(stretch)
        remaining -= len(stretch)
        start = 0
