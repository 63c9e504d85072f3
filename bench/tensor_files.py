"""Makes the tensors for decoding and converting: one serialized TensorProto in each folder.

Element types with NaN or infinity have two kinds of values. Times are measured on `ordinary`
values. Random `bits` hold every special value, and show that a conversion is exact. For the other
types, every code is an ordinary number. All values are made from a seed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  gives NumPy the names of the types that it lacks
import numpy as np

from bench.recipe import Recipe
from bench.wire import LENGTH_DELIMITED, Message, packed_varints, varint, write_pieces

NUMBERS = {  # TensorProto.DataType
    "float32": 1,
    "int64": 7,
    "float16": 10,
    "bfloat16": 16,
    "float8_e4m3fn": 17,
    "float8_e4m3fnuz": 18,
    "float8_e5m2": 19,
    "int4": 22,
    "float4_e2m1fn": 23,
    "float8_e8m0fnu": 24,
    "int2": 26,
    "float6_e2m3fn": 27,
}
PACKED_BITS = {"int2": 2, "int4": 4, "float4_e2m1fn": 4, "float6_e2m3fn": 6}
WITH_SPECIAL_VALUES = [name for name in NUMBERS if name not in {*PACKED_BITS, "int64"}]
INT64_DATA, RAW_DATA = 7, 9  # fields of TensorProto

SHAPE, SMOKE_SHAPE = (8192, 8192), (64, 8192)  # 64 Mi elements
BITS_SHAPE = (512, 8192)  # 4 Mi elements: enough for every code of 16 bits
VARINTS, SMOKE_VARINTS = 10_000_000, 10_000
LONGEST_VARINT = 10
BLOCK_ELEMENTS = 4 << 20  # made once and repeated; too long for branch predictors to learn

Block = np.ndarray[Any, np.dtype[np.uint8]]


def ordinary(dtype: str, count: int, generator: np.random.Generator) -> Block:
    """Return values like those of weights: normally distributed; or any code if none is special."""
    if dtype in PACKED_BITS:
        return random_bits(dtype, count, generator)
    if dtype == "float8_e8m0fnu":  # scales: powers of two around one, whose code is 127
        return generator.integers(119, 136, count, dtype=np.uint8)
    return generator.standard_normal(count, np.float32).astype(dtype).view(np.uint8)


def random_bits(dtype: str, count: int, generator: np.random.Generator) -> Block:
    """Return random bit patterns."""
    return np.frombuffer(generator.bytes(stored_bytes(dtype, count)), np.uint8)


def stored_bytes(dtype: str, count: int) -> int:
    """Return how many bytes `count` elements take as raw_data."""
    return -(-count * PACKED_BITS.get(dtype, 8 * np.dtype(dtype).itemsize) // 8)


def write_raw(
    folder: Path,
    dtype: str,
    shape: tuple[int, int],
    values: Callable[[str, int, np.random.Generator], Block],
) -> None:
    """Write a tensor whose elements are stored as raw_data."""
    count = shape[0] * shape[1]
    block = values(dtype, min(count, BLOCK_ELEMENTS), np.random.default_rng(NUMBERS[dtype]))
    nbytes = stored_bytes(dtype, count)
    repeats, rest = divmod(nbytes, len(block))
    write_tensor(folder, dtype, shape, RAW_DATA, [block] * repeats + [block[:rest]])


def mixed_integers(count: int, generator: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return integers of one to ten bytes, equally many of each, shuffled. Ten bytes: negative."""
    lengths = np.arange(count) % LONGEST_VARINT + 1
    generator.shuffle(lengths)
    most_bits = np.minimum(7 * lengths, 64).astype(np.uint64)
    least = np.where(lengths == 1, 0, 1 << np.uint64(7) * (lengths.astype(np.uint64) - 1))
    drawn = generator.integers(0, 2**64, count, dtype=np.uint64) >> (64 - most_bits)
    return drawn | least.astype(np.uint64)


def small_integers(count: int, generator: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return integers of one byte."""
    return generator.integers(0, 128, count, dtype=np.uint64)


def write_varints(
    folder: Path, count: int, values: Callable[[int, np.random.Generator], np.ndarray[Any, Any]]
) -> None:
    """Write a tensor whose elements are packed in int64_data."""
    data = packed_varints(values(count, np.random.default_rng(count)))
    write_tensor(folder, "int64", (count,), INT64_DATA, [data])


def write_tensor(
    folder: Path, dtype: str, shape: tuple[int, ...], field: int, data: list[Block]
) -> None:
    """Write `tensor.pb` and `manifest.json`, with the fields in protobuf's order."""
    nbytes = sum(len(piece) for piece in data)
    header = Message()
    for extent in shape:
        header.integer(1, extent)
    header.integer(2, NUMBERS[dtype])
    tag = varint(field << 3 | LENGTH_DELIMITED) + varint(nbytes)
    path = folder / "tensor.pb"
    with path.open("wb") as file:
        write_pieces(file, [*header.pieces, tag, *map(memoryview, data)])
    line = {
        "name": "",
        "dtype": dtype,
        "shape": shape,
        "header_offset": 0,
        "data_offset": path.stat().st_size - nbytes,
        "nbytes": nbytes,
    }
    (folder / "manifest.json").write_text(json.dumps([line]))


def _raw(dtype: str, values: Callable[..., Block], shape: tuple[int, int] = SHAPE) -> Recipe:
    return Recipe(
        partial(write_raw, dtype=dtype, shape=shape, values=values),
        partial(write_raw, dtype=dtype, shape=SMOKE_SHAPE, values=values),
    )


def _varints(values: Callable[[int, np.random.Generator], np.ndarray[Any, Any]]) -> Recipe:
    return Recipe(
        partial(write_varints, count=VARINTS, values=values),
        partial(write_varints, count=SMOKE_VARINTS, values=values),
    )


TENSOR_RECIPES: dict[str, Recipe] = {
    **{f"{name}_ordinary": _raw(name, ordinary) for name in NUMBERS if name != "int64"},
    **{f"{name}_bits": _raw(name, random_bits, BITS_SHAPE) for name in WITH_SPECIAL_VALUES},
    "int64_mixed": _varints(mixed_integers),
    "int64_small": _varints(small_integers),
}
