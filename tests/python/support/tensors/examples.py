"""Random tensors for tests of element types: type, shape, bit patterns and storage."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from support import wire_bytes as wire
from support.oracles import tensor_encoder as encoder
from support.oracles.tensor_encoder import ELEMENT_TYPES, Element, ElementType

STORAGES = ("raw", "packed", "unpacked", "mixed", "external")
MOST_ELEMENTS = 70
HIGHEST_RANK = 64

# Patterns that a careless conversion would change: signalling NaNs, NaN payloads, -0.0, subnormals.
DELICATE = {
    "FLOAT": (0x7F800001, 0xFFC12345, 0x80000000, 0x00000001, 0xFF800000),
    "DOUBLE": (0x7FF0000000000001, 0xFFF8000000012345, 1 << 63, 1, 0x7FF << 52),
    "FLOAT16": (0x7C01, 0xFE55, 0x8000, 0x0001, 0xFC00),
    "BFLOAT16": (0x7F81, 0xFFD5, 0x8000, 0x0001, 0xFF80),
    "COMPLEX64": (0x7F800001_FFC12345, 0x80000000_80000000, 0x7F800000_7F800001),
    "COMPLEX128": ((0x7FF0000000000001 << 64) | 0xFFF8000000012345, 1 << 127 | 1 << 63),
}


@dataclass(frozen=True)
class Example:
    """A tensor, and all facts about its storage that a test needs."""

    kind: ElementType
    shape: tuple[int, ...]
    elements: tuple[Element, ...]
    storage: str
    seed: int  # the seed of all other choices: varint forms, runs, order of fields, padding
    rng: random.Random = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Small seeds occur often. The rest of the example goes into the seed, too.
        words = f"{self.seed} {self.kind.name} {self.shape} {self.storage}"
        object.__setattr__(self, "rng", random.Random(words))

    @property
    def array(self) -> np.ndarray:
        return encoder.expected_array(self.kind, self.shape, self.elements)


@dataclass(frozen=True)
class Stored:
    """The bytes of an example: the TensorProto and, if it is external, its data file."""

    message: bytes
    raw: bytes  # the layout of raw_data, whatever the storage
    in_one_run: bool | None  # None: in one piece, though not simply a packed run
    file: bytes | None = None
    offset: int = 0
    to_the_end: bool = False  # the external data have no length, so they reach the end of the file


def store(example: Example, location: str) -> Stored:
    """Writes an example. `location` is the name of its data file, if it is external."""
    kind, rng = example.kind, example.rng
    # For FLOAT6, "the final group is zero-padded". The padding of other types is arbitrary.
    padding = 0 if kind.bits == 6 else rng.randrange(256)
    head = [wire.scalar(encoder.DATA_TYPE, kind.number), wire.blob(encoder.NAME, b"w")]
    unknown = [wire.blob(encoder.UNKNOWN, bytes(rng.randrange(16)))]  # moves all fields behind it
    dims = encoder.dims_fields(example.shape, rng)
    raw = b"" if kind.is_text else encoder.raw_bytes(kind, example.elements, padding)

    def message(data: list[bytes]) -> bytes:
        return encoder.interleave([unknown, head, dims, data], rng)

    if example.storage == "raw":
        earlier = [wire.blob(9, rng.randbytes(3))] * rng.randrange(2)  # the last location counts
        return Stored(message([*earlier, wire.blob(9, raw)]), raw, in_one_run=True)
    if example.storage == "external":
        before, after = rng.randbytes(rng.randrange(40)), rng.randbytes(rng.choice([0, 0, 1, 9]))
        length = rng.choice([None, len(raw), len(raw)])
        data = encoder.external_fields(location, len(before), length)
        return Stored(
            message(data), raw, True, before + raw + after, len(before),
            to_the_end=length is None and not after,
        )  # fmt: skip
    data = encoder.typed_fields(kind, example.elements, example.storage, rng, padding)
    pieces = [one for one in data if one != encoder.run(kind, [])]
    simply = example.storage == "packed" or len(pieces) > 1
    return Stored(message(data), raw, in_one_run=len(pieces) == 1 if simply else None)


def storages_of(kind: ElementType) -> tuple[str, ...]:
    """Strings have one storage; every other type has all storages."""
    return ("unpacked",) if kind.is_text else STORAGES


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, ...]:
    """Scalars, empty shapes and odd sizes. Ones at any place make the rank up to 64."""
    shape = draw(
        st.one_of(
            st.lists(st.integers(0, 4), max_size=3),
            st.lists(st.integers(0, MOST_ELEMENTS), min_size=1, max_size=1),
        )
    )
    ones = draw(st.sampled_from([0, 0, 0, 1, 5, HIGHEST_RANK - len(shape)]))
    place = draw(st.integers(0, len(shape)))
    return tuple(shape[:place] + [1] * ones + shape[place:])


def texts() -> st.SearchStrategy[bytes]:
    return st.one_of(
        st.text(max_size=12).map(lambda text: text.encode()),
        st.binary(max_size=6),
        st.sampled_from([b"\0", b"a\0", b"\xef\xbb\xbfa", b"\xed\xa0\x80", b"\xff" * 3]),
    )


def elements_of(kind: ElementType, data: bytes, rng: random.Random) -> tuple[int, ...]:
    """Bit patterns from `data`. One in eight is one of the delicate patterns."""
    width = max(kind.bits // 8, 1)
    mask = (1 << kind.bits) - 1
    special = DELICATE.get(kind.name, (mask, 1 << (kind.bits - 1), mask >> 1, 1))
    codes = (
        int.from_bytes(data[i : i + width], "little") & mask for i in range(0, len(data), width)
    )
    return tuple(rng.choice(special) if rng.random() < 0.125 else code for code in codes)


@st.composite
def examples(draw: st.DrawFn, storage: str) -> Example:
    names = [name for name, kind in ELEMENT_TYPES.items() if storage in storages_of(kind)]
    kind = ELEMENT_TYPES[draw(st.sampled_from(names))]
    shape = draw(shapes())
    count = int(np.prod(shape, dtype=np.int64))
    seed = draw(st.integers(0, 1 << 32))
    if kind.is_text:
        elements = tuple(draw(st.lists(texts(), min_size=count, max_size=count)))
    else:
        nbytes = count * max(kind.bits // 8, 1)
        data = draw(st.binary(min_size=nbytes, max_size=nbytes))
        elements = elements_of(kind, data, random.Random(seed))
    return Example(kind, shape, elements, storage, seed)


def example_of(kind: ElementType, shape: tuple[int, ...], storage: str) -> Example:
    """A fixed example of random bits: the same on every run."""
    rng = random.Random(f"{kind.name} {shape} {storage}")
    seed = rng.randrange(1 << 32)
    count = int(np.prod(shape, dtype=np.int64))
    if kind.is_text:
        return Example(
            kind, shape, tuple(rng.randbytes(rng.randrange(5)) for _ in range(count)), storage, seed
        )
    data = rng.randbytes(count * max(kind.bits // 8, 1))
    return Example(kind, shape, elements_of(kind, data, rng), storage, seed)
