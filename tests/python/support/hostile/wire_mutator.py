"""Random changes to a message's tree of fields, and to its bytes, for differential tests.

After a change of the tree, the lengths are written anew, so most mutants are readable deep inside.
A random byte would mostly break the outermost length.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass

from google.protobuf.descriptor import Descriptor

from support import wire_bytes as wire

INTERESTING = [
    0, 1, 2, 7, 99, 127, 128, 255, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 32) + 1,
    (1 << 63) - 1, 1 << 63, (1 << 64) - 1,
]  # fmt: skip
NUMBERS = [*range(1, 30), 999, 19000, (1 << 29) - 1]


@dataclass
class Field:
    """One field. Its widths may make the tag, length or value over-long."""

    number: int
    wire_type: int
    value: int | bytes | list[Field]
    tag_width: int = 0
    length_width: int = 0
    value_width: int = 0
    length_error: int = 0

    def encode(self) -> bytes:
        head = wire.tag(self.number, self.wire_type, self.tag_width)
        value = self.value
        if self.wire_type == wire.VARINT and isinstance(value, int):
            return head + wire.varint(value, self.value_width)
        payload = (
            value if isinstance(value, bytes) else encode(value) if isinstance(value, list) else b""
        )
        if self.wire_type == wire.START_GROUP:
            return head + payload + wire.tag(self.number, wire.END_GROUP)
        if self.wire_type == wire.LENGTH:
            length = max(len(payload) + self.length_error, 0)
            return head + wire.varint(length, self.length_width) + payload
        return head + payload


def encode(fields: list[Field]) -> bytes:
    return b"".join(field.encode() for field in fields)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at


def read_tree(data: bytes, message: Descriptor | None) -> list[Field]:
    """The fields of a valid message. Fields that `message` declares as messages become lists."""
    return _read_fields(data, 0, message)[0]


def _read_fields(data: bytes, at: int, message: Descriptor | None) -> tuple[list[Field], int]:
    fields: list[Field] = []
    while at < len(data):
        key, at = _read_varint(data, at)
        number, wire_type = key >> 3, key & 7
        value: int | bytes | list[Field]
        if wire_type == wire.END_GROUP:
            break
        if wire_type == wire.VARINT:
            value, at = _read_varint(data, at)
        elif wire_type == wire.START_GROUP:
            value, at = _read_fields(data, at, None)
        else:
            size = {wire.FIXED32: 4, wire.FIXED64: 8}.get(wire_type)
            if size is None:
                size, at = _read_varint(data, at)
            value, at = data[at : at + size], at + size
            declared = message.fields_by_number.get(number) if message else None
            if wire_type == wire.LENGTH and declared and declared.message_type:
                value = read_tree(value, declared.message_type)
        fields.append(Field(number, wire_type, value))
    return fields, at


def _lists(fields: list[Field]) -> list[list[Field]]:
    found = [fields]
    for field in fields:
        if isinstance(field.value, list):
            found += _lists(field.value)
    return found


Change = Callable[[random.Random, list[Field]], None]
_CHANGES: list[Change] = []


def _change(function: Change) -> Change:
    _CHANGES.append(function)
    return function


def _random_field(rng: random.Random) -> Field:
    number = rng.choice(NUMBERS)
    wire_type = rng.choice([wire.VARINT, wire.FIXED64, wire.LENGTH, wire.START_GROUP, wire.FIXED32])
    if wire_type == wire.VARINT:
        return Field(number, wire_type, rng.choice(INTERESTING))
    if wire_type == wire.START_GROUP:
        return Field(
            number, wire_type, [Field(rng.choice(NUMBERS), wire.VARINT, 5)][: rng.randint(0, 1)]
        )
    sizes = {wire.FIXED32: 4, wire.FIXED64: 8}
    return Field(number, wire_type, rng.randbytes(sizes.get(wire_type, rng.randint(0, 6))))


@_change
def insert(rng: random.Random, fields: list[Field]) -> None:
    fields.insert(rng.randint(0, len(fields)), _random_field(rng))


@_change
def delete(rng: random.Random, fields: list[Field]) -> None:
    if fields:
        del fields[rng.randrange(len(fields))]


@_change
def duplicate(rng: random.Random, fields: list[Field]) -> None:
    if fields:
        fields.insert(rng.randint(0, len(fields)), copy.deepcopy(rng.choice(fields)))


@_change
def reorder(rng: random.Random, fields: list[Field]) -> None:
    rng.shuffle(fields)


@_change
def split(rng: random.Random, fields: list[Field]) -> None:
    """Split a message or a run of bytes into two occurrences, which merge, append or replace."""
    at = [i for i, field in enumerate(fields) if field.wire_type == wire.LENGTH]
    if at:
        first = fields[index := rng.choice(at)]
        assert isinstance(first.value, bytes | list)
        cut = rng.randint(0, len(first.value))
        second = Field(first.number, wire.LENGTH, first.value[cut:])
        first.value = first.value[:cut]
        fields.insert(rng.randint(index + 1, len(fields)), second)


@_change
def wrap_in_group(rng: random.Random, fields: list[Field]) -> None:
    if fields:
        index = rng.randrange(len(fields))
        fields[index] = Field(
            rng.choice([999, fields[index].number]), wire.START_GROUP, [fields[index]]
        )


@_change
def repack(rng: random.Random, fields: list[Field]) -> None:
    """Turn a scalar into a packed run of two, or a packed run into scalars."""
    if not fields:
        return
    index = rng.randrange(len(fields))
    field = fields[index]
    if isinstance(field.value, int):
        run = wire.varint(field.value) + wire.varint(rng.choice(INTERESTING), rng.randint(0, 10))
        fields[index] = Field(field.number, wire.LENGTH, run)
    elif isinstance(field.value, bytes) and field.wire_type != wire.LENGTH:
        fields[index] = Field(field.number, wire.LENGTH, field.value * rng.randint(0, 3))
    elif isinstance(field.value, bytes):
        kind, size = rng.choice([(wire.VARINT, 1), (wire.FIXED32, 4), (wire.FIXED64, 8)])
        pieces = [field.value[i : i + size] for i in range(0, len(field.value), size)]
        fields[index : index + 1] = [
            Field(field.number, kind, piece[0] if kind == wire.VARINT else piece.ljust(size, b"\0"))
            for piece in pieces[:4]
        ]


@_change
def change_number(rng: random.Random, fields: list[Field]) -> None:
    if fields:
        rng.choice(fields).number = rng.choice(NUMBERS)


@_change
def change_wire_type(rng: random.Random, fields: list[Field]) -> None:
    if fields:
        index = rng.randrange(len(fields))
        number, fields[index] = fields[index].number, _random_field(rng)
        fields[index].number = number


@_change
def change_value(rng: random.Random, fields: list[Field]) -> None:
    numbers = [field for field in fields if isinstance(field.value, int)]
    if numbers:
        rng.choice(numbers).value = rng.choice([*INTERESTING, rng.getrandbits(64)])


@_change
def make_overlong(rng: random.Random, fields: list[Field]) -> None:
    if fields:
        field = rng.choice(fields)
        field.tag_width = rng.choice([0, 0, 2, 5, 6])
        field.length_width = rng.choice([0, 0, 2, 5, 6])
        field.value_width = rng.choice([0, 2, 5, 9, 10, 11])


@_change
def lie_about_length(rng: random.Random, fields: list[Field]) -> None:
    if fields:
        rng.choice(fields).length_error = rng.choice([-2, -1, 1, 2, 1 << 31, 1 << 32])


def _change_bytes(rng: random.Random, data: bytes) -> bytes:
    at = rng.randint(0, max(len(data) - 1, 0))
    kind = rng.randrange(4)
    if kind == 0:
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    if kind == 1:
        return data[:at] + rng.randbytes(rng.randint(1, 3)) + data[at:]
    if kind == 2:
        return data[:at] + data[at + rng.randint(1, 3) :]
    return data[:at]


def mutant(rng: random.Random, seeds: list[bytes], message: Descriptor) -> bytes:
    """One mutant: one to four changes to a seed's tree. A quarter of them also change bytes."""
    fields = read_tree(rng.choice(seeds), message)
    if rng.random() < 0.1:  # two models in a row are merged
        fields += read_tree(rng.choice(seeds), message)
    for _ in range(rng.randint(1, 4)):
        rng.choice(_CHANGES)(rng, rng.choice(_lists(fields)))
    data = encode(fields)
    return _change_bytes(rng, data) if rng.random() < 0.25 else data


def without_zero_in_groups(data: bytes, message: Descriptor) -> bytes | None:
    """The message with number 1 for each field number 0 in unknown groups; None if it is not valid.

    This is the only deviation from upb that a small input can show: onnxmap refuses such messages.
    """
    tree = read_tree(data, message)
    found = False

    def renumber(fields: list[Field], in_group: bool) -> None:
        nonlocal found
        for field in fields:
            if in_group and field.number == 0:
                field.number, found = 1, True
            if isinstance(field.value, list):
                renumber(field.value, in_group or field.wire_type == wire.START_GROUP)

    renumber(tree, False)
    return encode(tree) if found else None
