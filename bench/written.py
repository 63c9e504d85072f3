"""Proof of equal work for what a sample wrote: the files, read by a reader of their own.

Neither onnxmap nor a peer reads them back. The reader knows just the fields that `models.py` writes
and that the works change.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench import witness
from bench.models import NUMPY_NAME
from bench.wire import LENGTH_DELIMITED, VARINT

GRAPH, METADATA = 7, 14  # fields of ModelProto
NODE, INITIALIZER = 1, 5  # of GraphProto
DIMS, DATA_TYPE, NAME, RAW_DATA, EXTERNAL_DATA = 1, 2, 8, 9, 13  # of TensorProto
KEY, VALUE = 1, 2  # of StringStringEntryProto

SAFETENSORS_NAME = {
    "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I8": "int8", "U8": "uint8", "F64": "float64", "BOOL": "bool",
}  # fmt: skip

Block = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass
class Fields:
    """The fields of a message, in the order of the bytes: integers, and pieces of the file."""

    data: Block

    def __iter__(self) -> Iterator[tuple[int, int | Block]]:
        position = 0
        while position < len(self.data):
            tag, position = self._varint(position)
            value, position = self._varint(position)
            if tag & 7 == VARINT:
                yield tag >> 3, value
            elif tag & 7 == LENGTH_DELIMITED:
                if position + value > len(self.data):
                    raise ValueError(f"field {tag >> 3} ends behind its message")
                yield tag >> 3, self.data[position : position + value]
                position += value
            else:
                raise ValueError(f"field {tag >> 3} has wire type {tag & 7}")

    def _varint(self, position: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            byte = int(self.data[position])
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, position
            shift += 7


@dataclass
class Written:
    """A model that was written."""

    arrays: dict[str, Block] = field(default_factory=dict)
    nodes: list[str] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)


def model(path: Path, full: bool) -> dict[str, str]:
    """Prove what a model file holds: nodes, metadata, and tensors, wherever their values are."""
    found = _read(path)
    return {
        "nodes": witness.digest(found.nodes),
        "metadata": witness.digest(sorted(found.metadata.items())),
        **witness.arrays(found.arrays, full),
    }


def weights(path: Path, full: bool) -> dict[str, str]:
    """Prove what a file of weights holds: safetensors, or an archive of NumPy."""
    if path.suffix == ".npz":
        with np.load(path) as archive:
            return witness.arrays(dict(archive), full)
    data = np.memmap(path, np.uint8, "r")
    begin = 8 + int.from_bytes(data[:8].tobytes(), "little")
    header = json.loads(data[8:begin].tobytes())
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        first, end = entry["data_offsets"]
        stored = data[begin + first : begin + end]
        found[name] = stored.view(SAFETENSORS_NAME[entry["dtype"]]).reshape(entry["shape"])
    return witness.arrays(found, full)


def arrays(path: Path, full: bool, suffix: str = "") -> dict[str, str]:
    """Prove what the tensors of a model are, wherever their values are; names without `suffix`."""
    found = _read(path).arrays
    return witness.arrays({name.removesuffix(suffix): a for name, a in found.items()}, full)


def file(path: Path, _full: bool = True) -> dict[str, str]:
    """Prove what a file holds: all of its bytes."""
    return {"file": f"{zlib.crc32(np.memmap(path, np.uint8, 'r')):08x}"}


def _read(path: Path) -> Written:
    found = Written()
    for number, value in Fields(np.memmap(path, np.uint8, "r")):
        if number == METADATA:
            found.metadata |= _entry(value)
        elif number == GRAPH:
            for part, content in Fields(_piece(value)):
                if part == NODE:
                    found.nodes.append(f"{zlib.crc32(_piece(content)):08x}")
                elif part == INITIALIZER:
                    found.arrays |= _tensor(path.parent, _piece(content))
    return found


def _tensor(folder: Path, data: Block) -> dict[str, Block]:
    shape, name, kind, stored = [], "", 0, data[:0]
    places: dict[str, str] = {}
    for number, value in Fields(data):
        if number == DIMS:
            shape.append(value)
        elif number == DATA_TYPE:
            kind = value
        elif number == NAME:
            name = _text(value)
        elif number == RAW_DATA:
            stored = _piece(value)
        elif number == EXTERNAL_DATA:
            places |= _entry(value)
    if places:
        begin = int(places.get("offset", "0"))
        content = np.memmap(folder / places["location"], np.uint8, "r")
        stored = content[begin : begin + int(places["length"])]
    return {name: stored.view(NUMPY_NAME[kind]).reshape(shape)}


def _entry(value: int | Block) -> dict[str, str]:
    texts = {number: _text(part) for number, part in Fields(_piece(value))}
    return {texts[KEY]: texts[VALUE]}


def _text(value: int | Block) -> str:
    return _piece(value).tobytes().decode()


def _piece(value: int | Block) -> Block:
    if isinstance(value, int):
        raise TypeError("an integer stands for a message, text or bytes")
    return value
