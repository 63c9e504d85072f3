"""The protobuf wire format written out by hand, so that tests can write bytes no library would.

It is independent of onnxmap and of protobuf on purpose, because it is the oracle for both.
"""

from __future__ import annotations

VARINT, FIXED64, LENGTH, START_GROUP, END_GROUP, FIXED32 = range(6)


def varint(value: int, width: int = 0) -> bytes:
    """`value` as a varint of at least `width` bytes. If more than needed, it is over-long."""
    out = bytearray()
    value &= 0xFFFF_FFFF_FFFF_FFFF
    while True:
        low, value = value & 0x7F, value >> 7
        if value or len(out) + 1 < width:
            out.append(low | 0x80)
        else:
            out.append(low)
            return bytes(out)


def tag(number: int, wire_type: int, width: int = 0) -> bytes:
    return varint(number << 3 | wire_type, width)


def scalar(number: int, value: int) -> bytes:
    return tag(number, VARINT) + varint(value)


def blob(number: int, payload: bytes, length_width: int = 0) -> bytes:
    """A length-delimited field: bytes, a string, a message or a packed run."""
    return tag(number, LENGTH) + varint(len(payload), length_width) + payload


def group(number: int, payload: bytes = b"") -> bytes:
    return tag(number, START_GROUP) + payload + tag(number, END_GROUP)


def nested(numbers: list[int], innermost: bytes = b"") -> bytes:
    """`innermost` wrapped in length-delimited fields; the first of `numbers` is the outermost.

    Tags and lengths are made from the inside out, so 100,000 levels copy nothing twice.
    """
    heads: list[bytes] = []
    size = len(innermost)
    for number in reversed(numbers):
        heads.append(tag(number, LENGTH) + varint(size))
        size += len(heads[-1])
    return b"".join(reversed(heads)) + innermost
