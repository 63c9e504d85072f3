"""Random changes to a safetensors file: to the tokens of its header, its length, and its data."""

from __future__ import annotations

import json
import random
import re
import struct

TYPES = ["BOOL", "F4", "F6_E2M3", "U8", "F8_E4M3", "I16", "BF16", "F32", "C64", "I64", "F64"]
BITS = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "U8": 8, "F8_E4M3": 8, "I16": 16, "BF16": 16, "F32": 32,
        "C64": 64, "I64": 64, "F64": 64}  # fmt: skip
TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[{}\[\]:,]|\w+|\s+')
PIECES = [
    "{", "}", "[", "]", ":", ",", " ", "\n", "\t", "\x0b", "null", "true", "false", "NaN", "nul",
    "0", "1", "4", "8", "00", "-1", "-0", "1.0", "1e2", "1e999", "2", "12", "4294967296",
    "18446744073709551615", "18446744073709551616", '"F32"', '"U8"', '"X9"', '"dtype"', '"shape"',
    '"data_offsets"', '"__metadata__"', '"a"', '"b"', '"\\u0041"', '"\\ud800"', '"\\ud83d\\ude00"',
    '"\\x"', '"\\/\\b"', '"', "\\", "é", "\x00", "\x1f", "//", '{"a":"b"}', '{"a":1}', "[" * 130,
    '{"x":' * 130 + "1" + "}" * 130, '"other":[1,{"y":null}],',
]  # fmt: skip


def file_of(header: bytes, data: bytes, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def random_file(rng: random.Random) -> tuple[str, bytes]:
    """The header of a valid file, and its data."""
    entries: dict[str, object] = {}
    if rng.random() < 0.5:
        entries["__metadata__"] = {f"k{i}": "v" * i for i in range(rng.randrange(3))}
    offset = 0
    for i in range(rng.randrange(5)):
        kind = rng.choice(TYPES)
        shape = [rng.choice([0, 1, 2, 4, 8]) for _ in range(rng.randrange(4))]
        bits = BITS[kind]
        for dim in shape:
            bits *= dim
        if bits % 8:
            continue
        end = offset + bits // 8
        entries["abcdefgh"[i] * rng.choice([1, 1, 3])] = {
            "dtype": kind, "shape": shape, "data_offsets": [offset, end],
        }  # fmt: skip
        offset = end
    return json.dumps(entries, separators=rng.choice([(",", ":"), (", ", ": ")])), rng.randbytes(
        offset
    )


def mutant(rng: random.Random) -> bytes:
    """A file with a few changes, perhaps none."""
    header, data = random_file(rng)
    tokens = TOKENS.findall(header)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 4])):
        i = rng.randrange(len(tokens))
        change = rng.randrange(6)
        if change == 0:
            tokens.insert(i, rng.choice(PIECES))
        elif change == 1:
            tokens[i] = rng.choice(PIECES)
        elif change == 2 and len(tokens) > 1:
            del tokens[i]
        elif change == 3:
            j = rng.randrange(len(tokens))
            tokens[i], tokens[j] = tokens[j], tokens[i]
        elif change == 4 and tokens[i].isdigit():
            tokens[i] = str(max(0, int(tokens[i]) + rng.choice([-8, -4, -1, 1, 4, 8])))
        else:
            j = rng.randrange(i, min(len(tokens), i + 12))
            tokens[j:j] = tokens[i:j]
    text = "".join(tokens).encode() + b" " * rng.choice([0, 0, 3])
    if rng.random() < 0.1 and text:
        changed = bytearray(text)
        changed[rng.randrange(len(changed))] = rng.randrange(256)
        text = bytes(changed)
    if rng.random() < 0.1:
        data = data[: rng.randrange(len(data) + 1)] + rng.randbytes(rng.randrange(3))
    length = len(text)
    if rng.random() < 0.05:
        length = rng.choice([0, 1, length - 1, length + 1, 100_000_001, 1 << 63, (1 << 64) - 1])
    whole = file_of(text, data, max(length, 0))
    return whole[: rng.randrange(len(whole))] if rng.random() < 0.03 else whole
