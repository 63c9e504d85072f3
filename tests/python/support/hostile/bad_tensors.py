"""Tensors whose type, shape and data disagree, each with its code and parts of its message.

Their bytes are written by hand, because no library would write such tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from support import wire_bytes as wire
from support.oracles import tensor_encoder as encoder
from support.oracles.tensor_encoder import ELEMENT_TYPES, NUMBER_OF_FIELD, ElementType

ONE = b"\0\0\x80\x3f"
TYPED_FIELDS = [name for name in NUMBER_OF_FIELD if name != "raw_data"]
LOCATION = b"".join(encoder.external_fields("w.bin", 0, None))


@dataclass(frozen=True)
class Bad:
    fields: bytes  # of the TensorProto, without its name
    code: str
    says: tuple[str, ...] = ()  # parts of the message, also numbers


def dims(*shape: int) -> bytes:
    return b"".join(wire.scalar(encoder.DIMS, dim) for dim in shape)


def typed(name: str, *shape: int) -> bytes:
    return dims(*shape) + wire.scalar(encoder.DATA_TYPE, ELEMENT_TYPES[name].number)


def raw(data: bytes) -> bytes:
    return wire.blob(NUMBER_OF_FIELD["raw_data"], data)


def one_value(field: str) -> bytes:
    """One entry of a typed field."""
    number = NUMBER_OF_FIELD[field]
    forms = {
        "float_data": wire.tag(number, wire.FIXED32) + ONE,
        "double_data": wire.tag(number, wire.FIXED64) + bytes(8),
        "string_data": wire.blob(number, b"a"),
    }
    return forms.get(field, wire.scalar(number, 1))


def entries(field: str, *values: int) -> bytes:
    return wire.blob(NUMBER_OF_FIELD[field], b"".join(wire.varint(value) for value in values))


def numbers(expected: int, found: int) -> tuple[str, ...]:
    return (f"expected {expected} ", f"found {found}")


def _shapes() -> dict[str, Bad]:
    negative = {
        "-1": [-1], "-4": [-4], "-2, -2": [-2, -2], "2, -1": [2, -1], "0, -1": [0, -1],
        "lowest": [-(1 << 63)],
    }  # fmt: skip
    overflow: dict[str, tuple[str, Sequence[int]]] = {
        "elements": ("FLOAT", [1 << 32, 1 << 32]), "three dims": ("UINT8", [1 << 31] * 3),
        "largest twice": ("INT8", [(1 << 63) - 1] * 2), "bytes": ("FLOAT", [1 << 62]),
        "bytes of 16 bits": ("INT16", [1 << 62]), "bytes of 64 bits": ("DOUBLE", [1 << 60]),
        "bytes of 128 bits": ("COMPLEX128", [1 << 59]), "pointers": ("STRING", [1 << 60]),
        "none in a shape NumPy cannot hold": ("FLOAT", [0, 1 << 62]),
        "none in a product NumPy cannot hold": ("FLOAT", [1 << 32, 1 << 32, 0]),
    }  # fmt: skip
    bad = {
        f"negative dim {name}": Bad(
            typed("FLOAT", *shape) + raw(ONE), "tensor.negative_dim", (str(min(shape)),)
        )
        for name, shape in negative.items()
    }
    bad |= {
        f"overflow of {name}": Bad(typed(kind, *shape), "tensor.size_overflow")
        for name, (kind, shape) in overflow.items()
    }
    bad["rank 65"] = Bad(typed("FLOAT", *[1] * 65) + raw(ONE), "tensor.rank", ("65", "64"))
    return bad


def _types() -> dict[str, Bad]:
    absent = {"no data_type": Bad(dims(1) + raw(ONE), "tensor.dtype", ("0",))}
    return absent | {
        f"data_type {number}": Bad(
            dims(1) + wire.scalar(encoder.DATA_TYPE, number) + raw(ONE),
            "tensor.dtype", (str(number),),
        )
        for number in (0, 29, 99, -1, (1 << 31) - 1)
    }  # fmt: skip


def zeros(kind: ElementType, count: int) -> bytes:
    """Typed entries that are all zero."""
    widths = {"float_data": 4, "double_data": 8}
    if kind.is_text:
        return wire.blob(NUMBER_OF_FIELD["string_data"], b"") * count
    return wire.blob(kind.number_of_field, bytes(widths.get(kind.field, 1) * count))


def _sizes(kind: ElementType) -> dict[str, Bad]:
    """Too few and too many bytes or entries of each type, raw and typed."""
    code, head, name = "tensor.data_size", typed(kind.name, 5), kind.name
    needed = 5 if kind.is_text else len(encoder.typed_values(kind, [0] * 5))
    bad = {
        f"{name} one entry short": Bad(
            head + zeros(kind, needed - 1), code, numbers(needed, needed - 1)
        ),
        f"{name} one entry long": Bad(
            head + zeros(kind, needed + 1), code, numbers(needed, needed + 1)
        ),
        f"{name} without data": Bad(head, code, ("found 0",)),
        f"{name} scalar without data": Bad(typed(name), code, ("found 0",)),
        f"{name} typed data of no elements": Bad(
            typed(name, 0) + zeros(kind, 1), code, numbers(0, 1)
        ),
    }
    if kind.is_text:
        return bad
    size = len(encoder.raw_bytes(kind, [0] * 5))
    found = {"one byte short": size - 1, "one byte long": size + 1, "twice as long": 2 * size}
    bad |= {
        f"{name} raw_data {how}": Bad(head + raw(bytes(n)), code, numbers(size, n))
        for how, n in found.items()
    }
    bad[f"{name} raw_data empty"] = Bad(head + raw(b""), code, numbers(size, 0))
    bad[f"{name} raw_data of no elements"] = Bad(
        typed(name, 3, 0) + raw(bytes(4)), code, numbers(0, 4)
    )
    return bad


def _packed_sizes() -> dict[str, Bad]:
    """Sub-byte types. A byte too few or too many could be taken for padding."""
    code = "tensor.data_size"
    return {
        "int4 [3] in 1 byte": Bad(typed("INT4", 3) + raw(b"\x21"), code, numbers(2, 1)),
        "uint2 [5] in 1 byte": Bad(typed("UINT2", 5) + raw(b"\xe4"), code, numbers(2, 1)),
        "float6 [4] in 2 bytes": Bad(typed("FLOAT6E2M3", 4) + raw(b"ab"), code, numbers(3, 2)),
        "int4 [4] in 3 bytes": Bad(typed("INT4", 4) + raw(b"abc"), code, numbers(2, 3)),
        "float6 [1] in 2 bytes": Bad(typed("FLOAT6E3M2", 1) + raw(b"\1\0"), code, numbers(1, 2)),
        "8 int4 in one entry": Bad(  # onnx 1.23's checker takes 8 elements for an entry
            typed("INT4", 8) + entries("int32_data", 1), code, numbers(4, 1)
        ),
        "an entry for each int4": Bad(
            typed("INT4", 4) + entries("int32_data", 1, 2, 3, 4), code, numbers(2, 4)
        ),
        "an entry for each two int2": Bad(
            typed("INT2", 4) + entries("int32_data", 1, 2), code, numbers(1, 2)
        ),
        "float6 entries packed": Bad(
            typed("FLOAT6E2M3", 4) + entries("int32_data", 1, 2, 3), code, numbers(4, 3)
        ),
    }


def _complex_odd() -> dict[str, Bad]:
    return {
        f"{name} with {count} components": Bad(
            typed(name, 2) + zeros(ELEMENT_TYPES[name], count), "tensor.data_size", (str(count),)
        )
        for name in ("COMPLEX64", "COMPLEX128")
        for count in (1, 3, 5)
    }


def _places() -> dict[str, Bad]:
    """Data in two places or in the wrong one, and strings in a place that cannot hold them."""
    ambiguous, head = "tensor.ambiguous_data", typed("FLOAT", 1)
    bad = {
        f"raw_data and {f}": Bad(head + raw(ONE) + one_value(f), ambiguous) for f in TYPED_FIELDS
    }
    bad |= {
        f"external and {f}": Bad(head + LOCATION + one_value(f), ambiguous) for f in TYPED_FIELDS
    }
    bad |= {
        f"float_data and {f}": Bad(head + one_value("float_data") + one_value(f), ambiguous)
        for f in TYPED_FIELDS[1:]
    }
    bad["external and raw_data"] = Bad(head + LOCATION + raw(ONE), ambiguous)
    bad["all at once"] = Bad(
        head + LOCATION + raw(ONE) + b"".join(map(one_value, TYPED_FIELDS)), ambiguous
    )
    bad["strings in raw_data"] = Bad(typed("STRING", 1) + raw(b"a"), "tensor.string_raw")
    bad["strings in empty raw_data"] = Bad(typed("STRING", 1) + raw(b""), "tensor.string_raw")
    bad["no strings in raw_data"] = Bad(typed("STRING", 0) + raw(b""), "tensor.string_raw")
    bad["strings in a file"] = Bad(typed("STRING", 1) + LOCATION, "tensor.string_external")
    return bad | {
        f"{kind.name} in {field}": Bad(
            typed(kind.name, 1) + one_value(field), "tensor.wrong_field", (kind.name, kind.field)
        )
        for kind in ELEMENT_TYPES.values()
        for field in TYPED_FIELDS
        if field != kind.field
    }  # fmt: skip


def _ranges() -> dict[str, Bad]:
    bad: dict[str, Bad] = {}
    for kind in ELEMENT_TYPES.values():
        low, high = accepted_entries(kind)
        for value in (low - 1, high + 1, -(1 << 31), (1 << 31) - 1):
            if kind.field == "int32_data" and kind.bits < 32 and not low <= value <= high:
                count = 8 // kind.bits if kind.bits in (2, 4) else 1
                bad[f"{kind.name} entry {value}"] = Bad(
                    typed(kind.name, count) + entries("int32_data", value), "tensor.value_range"
                )
    for value in (1 << 32, (1 << 64) - 1):
        bad[f"UINT32 entry {value}"] = Bad(
            typed("UINT32", 1) + entries("uint64_data", value), "tensor.value_range"
        )
    bad["one of many UINT8 entries"] = Bad(
        typed("UINT8", 300) + entries("int32_data", *[7] * 298, 256, 7), "tensor.value_range"
    )
    return bad


def accepted_entries(kind: ElementType) -> tuple[int, int]:
    """The range of an entry of `int32_data`: both signs of its width, because onnx wrote both."""
    if kind.bits == 6:
        return 0, 63
    width = min(max(kind.bits, 8), 32)
    return -(1 << (width - 1)), (1 << width) - 1


def _padding() -> dict[str, Bad]:
    """The bits after the last FLOAT6 element: 2, 4 or 6 of them."""
    last = {1: b"\x40", 2: b"\0\x10", 3: b"\0\0\x04", 5: b"\0\0\0\x80"}
    return {
        f"{name} [{count}] with padding": Bad(
            typed(name, count) + raw(data), "tensor.padding"
        )
        for name in ("FLOAT6E2M3", "FLOAT6E3M2")
        for count, data in last.items()
    }  # fmt: skip


_SIZES = {key: bad for kind in ELEMENT_TYPES.values() for key, bad in _sizes(kind).items()}
BAD_TENSORS: dict[str, Bad] = (
    _shapes() | _types() | _SIZES | _packed_sizes() | _complex_odd() | _places() | _ranges()
    | _padding()
)  # fmt: skip

# Valid tensors that look like refused ones: fields and values.
GOOD_TENSORS: dict[str, tuple[bytes, list[object]]] = {
    "a typed field and an empty run of another": (
        typed("FLOAT", 1) + one_value("float_data") + entries("int32_data"), [1.0],
    ),
    "raw_data and an empty run": (typed("FLOAT", 1) + raw(ONE) + entries("int64_data"), [1.0]),
    "int4 padding": (typed("INT4", 3) + raw(b"\xf1\xa2"), [1, -1, 2]),
    "uint2 padding": (typed("UINT2", 1) + raw(b"\xfd"), [1]),
    "typed int4 padding": (typed("UINT4", 1) + entries("int32_data", 0xF3), [3]),
    "int8 entries of both signs": (
        typed("INT8", 4) + entries("int32_data", -128, 127, 128, 255), [-128, 127, -128, -1],
    ),
    "uint16 entries of both signs": (
        typed("UINT16", 3) + entries("int32_data", -32768, -1, 65535), [32768, 65535, 65535],
    ),
    "packed entries of both signs": (
        typed("UINT4", 4) + entries("int32_data", -2, 0x21), [14, 15, 1, 2],
    ),
    "external_data without EXTERNAL": (
        typed("FLOAT", 1) + raw(ONE) + LOCATION.replace(wire.scalar(encoder.DATA_LOCATION, 1), b""),
        [1.0],
    ),
    "a string that is not UTF-8": (
        typed("STRING", 3) + b"".join(wire.blob(6, text) for text in (b"a", b"\xff", b"")),
        ["a", b"\xff", ""],
    ),
    "no elements, no data": (typed("FLOAT", 0, 3), []),
    "no elements, empty raw_data": (typed("COMPLEX128", 0) + raw(b""), []),
    "no strings": (typed("STRING", 0), []),
    "rank 64": (
        typed("UINT8", *[1] * 63, 2) + raw(b"ab"),
        np.array(bytearray(b"ab")).reshape((1,) * 63 + (2,)).tolist(),
    ),
}  # fmt: skip
