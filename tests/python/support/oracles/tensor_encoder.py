"""Writes tensors of every element type in every storage, from the comments of onnx.proto alone.

This is an oracle. It shares no code with onnxmap or the official package. An element is a bit
pattern: an int of the type's width, or the bytes of a STRING. Therefore nothing on the way can
round, quiet or normalize it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from support import wire_bytes as wire

Element = int | bytes
Elements = Sequence[Element]

NUMBER_OF_FIELD = {
    "float_data": 4, "int32_data": 5, "string_data": 6, "int64_data": 7, "raw_data": 9,
    "double_data": 10, "uint64_data": 11,
}  # fmt: skip
DIMS, DATA_TYPE, SEGMENT, NAME, EXTERNAL_DATA, DATA_LOCATION = 1, 2, 3, 8, 13, 14
UNKNOWN = 999


@dataclass(frozen=True)
class ElementType:
    """A line of TensorProto.DataType, and the typed field that its comments name."""

    name: str
    number: int
    bits: int  # 0: strings
    field: str
    numpy: str

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(getattr(ml_dtypes, self.numpy, self.numpy))

    @property
    def is_text(self) -> bool:
        return self.bits == 0

    @property
    def is_packed(self) -> bool:
        """Whether several elements share a byte of `raw_data`."""
        return 0 < self.bits < 8

    @property
    def signed(self) -> bool:
        return self.name.startswith("INT")

    @property
    def number_of_field(self) -> int:
        return NUMBER_OF_FIELD[self.field]


ELEMENT_TYPES = {
    name: ElementType(name, number, bits, field, numpy)
    for name, number, bits, field, numpy in [
        ("FLOAT", 1, 32, "float_data", "float32"),
        ("UINT8", 2, 8, "int32_data", "uint8"),
        ("INT8", 3, 8, "int32_data", "int8"),
        ("UINT16", 4, 16, "int32_data", "uint16"),
        ("INT16", 5, 16, "int32_data", "int16"),
        ("INT32", 6, 32, "int32_data", "int32"),
        ("INT64", 7, 64, "int64_data", "int64"),
        ("STRING", 8, 0, "string_data", "object"),
        ("BOOL", 9, 8, "int32_data", "bool"),
        ("FLOAT16", 10, 16, "int32_data", "float16"),
        ("DOUBLE", 11, 64, "double_data", "float64"),
        ("UINT32", 12, 32, "uint64_data", "uint32"),
        ("UINT64", 13, 64, "uint64_data", "uint64"),
        ("COMPLEX64", 14, 64, "float_data", "complex64"),
        ("COMPLEX128", 15, 128, "double_data", "complex128"),
        ("BFLOAT16", 16, 16, "int32_data", "bfloat16"),
        ("FLOAT8E4M3FN", 17, 8, "int32_data", "float8_e4m3fn"),
        ("FLOAT8E4M3FNUZ", 18, 8, "int32_data", "float8_e4m3fnuz"),
        ("FLOAT8E5M2", 19, 8, "int32_data", "float8_e5m2"),
        ("FLOAT8E5M2FNUZ", 20, 8, "int32_data", "float8_e5m2fnuz"),
        ("UINT4", 21, 4, "int32_data", "uint4"),
        ("INT4", 22, 4, "int32_data", "int4"),
        ("FLOAT4E2M1", 23, 4, "int32_data", "float4_e2m1fn"),
        ("FLOAT8E8M0", 24, 8, "int32_data", "float8_e8m0fnu"),
        ("UINT2", 25, 2, "int32_data", "uint2"),
        ("INT2", 26, 2, "int32_data", "int2"),
        ("FLOAT6E2M3", 27, 6, "int32_data", "float6_e2m3fn"),
        ("FLOAT6E3M2", 28, 6, "int32_data", "float6_e3m2fn"),
    ]
}


def expected_array(kind: ElementType, shape: Sequence[int], elements: Elements) -> np.ndarray:
    """These elements as an array: bit patterns in the layout of NumPy and ml_dtypes."""
    if kind.is_text:
        array = np.empty(len(elements), object)
        for index, text in enumerate(elements):
            array[index] = text_value(text)
        return array.reshape(tuple(shape))
    width = max(kind.bits // 8, 1)  # one byte for each element that ONNX packs tighter
    data = b"".join(code.to_bytes(width, "little") for code in elements)
    return np.frombuffer(bytearray(data), kind.dtype).reshape(tuple(shape))


def text_value(text: bytes) -> str | bytes:
    try:
        return text.decode("utf-8", "strict")
    except UnicodeDecodeError:
        return text


def raw_bytes(kind: ElementType, elements: Elements, padding: int = 0) -> bytes:
    """`raw_data` of these elements; `padding` are the bits after the last element.

    "Elements MUST be stored in as fixed-width, little-endian order". Elements of 2, 4 and 6 bits
    follow each other from the least significant bit of each byte: they are one little-endian
    number.
    """
    if not kind.is_packed:
        return b"".join(code.to_bytes(kind.bits // 8, "little") for code in elements)
    group = 24 // kind.bits  # elements in three bytes; no element goes past their end
    parts = []
    for start in range(0, len(elements), group):
        codes = elements[start : start + group]
        used = len(codes) * kind.bits
        stream = sum(code << index * kind.bits for index, code in enumerate(codes))
        if start + group >= len(elements):
            stream |= padding << used
        size = -(-used // 8)
        parts.append((stream & ((1 << 8 * size) - 1)).to_bytes(size, "little"))
    return b"".join(parts)


def typed_values(kind: ElementType, elements: Elements, padding: int = 0) -> list[int]:
    """What the entries of the typed field hold, as bit patterns of 8, 16, 32 or 64 bits.

    "For data types with a bit-width of 8 or greater, each `int32_data` stores one element. For
    4-bit data types, each `int32_data` stores two elements. For 2-bit data types, each `int32_data`
    stores four elements. For FLOAT6E2M3 and FLOAT6E3M2, each `int32_data` entry stores one
    element's unsigned 6-bit encoding in bits 0-5". A complex number is its real, then its imaginary
    component.
    """
    if kind.name.startswith("COMPLEX"):
        half = kind.bits // 2
        return [
            part for code in elements for part in (code & ((1 << half) - 1), code >> half)
        ]  # fmt: skip
    if kind.bits in (2, 4):
        return list(raw_bytes(kind, elements, padding))
    return list(elements)


def entry(kind: ElementType, value: int, form: int = 0) -> bytes:
    """One entry of the typed field. `form` chooses how its varint is written."""
    if kind.field in ("float_data", "double_data"):
        return value.to_bytes(4 if kind.field == "float_data" else 8, "little")
    if kind.field != "int32_data":
        return wire.varint(value, form % 11)
    width = min(max(kind.bits, 8), 32)
    if kind.bits == 6:
        width = 32  # these have no other sign
    negative = value - (1 << width) if value >> (width - 1) else value
    natural = negative if kind.signed or width == 32 else value
    # An int32 has the low 32 bits of any varint. In ten bytes, the upper bits are the sign or
    # nothing.
    forms = [natural, value, negative, natural & 0xFFFF_FFFF, natural & 0xFFFF_FFFF | form << 32]
    return wire.varint(forms[form % len(forms)], form % 11)


def run(kind: ElementType, entries: Sequence[bytes]) -> bytes:
    """A packed run of the typed field."""
    return wire.blob(kind.number_of_field, b"".join(entries))


def single(kind: ElementType, one: bytes) -> bytes:
    """One entry of the typed field outside a run."""
    wire_type = {"float_data": wire.FIXED32, "double_data": wire.FIXED64}.get(
        kind.field, wire.VARINT
    )
    return wire.tag(kind.number_of_field, wire_type) + one


def typed_fields(
    kind: ElementType, elements: Elements, storage: str, rng: random.Random, padding: int = 0
) -> list[bytes]:
    """The pieces of the typed field. `storage` is "packed", "unpacked" or "mixed" (both)."""
    if kind.is_text:
        return [wire.blob(NUMBER_OF_FIELD["string_data"], text) for text in elements]
    values = typed_values(kind, elements, padding)
    entries = [entry(kind, value, rng.randrange(256)) for value in values]
    if storage == "packed":
        return [run(kind, entries)] if entries or rng.random() < 0.5 else []
    if storage == "unpacked":
        return [single(kind, one) for one in entries]
    pieces, done = [run(kind, [])] * rng.randrange(2), 0
    while done < len(entries):
        count = rng.randrange(4)
        pieces.append(run(kind, entries[done : done + count]))
        pieces += [single(kind, one) for one in entries[done + count : done + count + 1]]
        done += count + 1
    return pieces


def dims_fields(shape: Sequence[int], rng: random.Random) -> list[bytes]:
    """The shape as single entries, as a packed run, or mixed."""
    cut = rng.choice([0, len(shape), rng.randrange(len(shape) + 1)])
    single_ones = [wire.scalar(DIMS, dim) for dim in shape[:cut]]
    rest = b"".join(wire.varint(dim, rng.randrange(11)) for dim in shape[cut:])
    return [*single_ones, wire.blob(DIMS, rest)] if rest else single_ones


def external_fields(location: str, offset: int, length: int | None) -> list[bytes]:
    entries = {"location": location, "offset": str(offset)}
    if length is not None:
        entries["length"] = str(length)
    pairs = [
        wire.blob(EXTERNAL_DATA, wire.blob(1, key.encode()) + wire.blob(2, value.encode()))
        for key, value in entries.items()
    ]
    return [wire.scalar(DATA_LOCATION, 1), *pairs]


def interleave(groups: Sequence[Sequence[bytes]], rng: random.Random) -> bytes:
    """The fields of all groups in a random order that keeps the order within each group."""
    return b"".join(_interleaved([list(group) for group in groups if group], rng))


def _interleaved(groups: list[list[bytes]], rng: random.Random) -> Iterator[bytes]:
    while groups:
        group = rng.choice(groups)
        yield group.pop(0)
        if not group:
            groups.remove(group)
