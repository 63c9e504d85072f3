"""Tensors with enough elements for vector registers, threads and huge pages, and an odd rest.

The encoder for single elements would take minutes here. This one writes columns with NumPy.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from support import wire_bytes as wire
from support.oracles import tensor_encoder as encoder
from support.oracles.tensor_encoder import ELEMENT_TYPES, ElementType
from support.processes.subprocesses import growth_kib
from support.run_options import EXHAUSTIVE, SANITIZED

import onnxmap

COUNT = 50_021 if SANITIZED else 2_200_017
HUGE_PAGES = 5 << 20  # an array may begin and end inside one, and threads have stacks
NAMES = [name for name in ELEMENT_TYPES if name != "STRING"]
if not EXHAUSTIVE:  # one of the types that are stored and checked alike
    NAMES = list(
        {
            (kind.field, kind.bits, kind.is_packed, name.startswith("INT"), name == "BOOL"): name
            for name, kind in ELEMENT_TYPES.items()
            if name in NAMES
        }.values()
    )


def random_bytes(kind: ElementType) -> np.ndarray:
    """The bytes of COUNT elements of random bits, as NumPy and ml_dtypes store them."""
    rng = np.random.default_rng(kind.number)
    data = rng.integers(0, 256, COUNT * kind.dtype.itemsize, np.uint8)
    return data & ((1 << kind.bits) - 1) if kind.is_packed else data


def raw_bytes(kind: ElementType, data: np.ndarray) -> bytes:
    """`raw_data`: the bits of all elements as one stream, in each byte from the lowest bit on."""
    if not kind.is_packed:
        return data.tobytes()
    bits = np.unpackbits(data[:, None], axis=1, bitorder="little")[:, : kind.bits]
    return np.packbits(bits.ravel(), bitorder="little").tobytes()


def entries(kind: ElementType, data: np.ndarray, raw: bytes) -> tuple[bytes, np.ndarray]:
    """The entries of the typed field in a row, and the end of each."""
    if kind.field in ("float_data", "double_data"):
        width = 4 if kind.field == "float_data" else 8
        return data.tobytes(), np.arange(width, data.size + 1, width)
    if kind.bits in (2, 4):
        values = np.frombuffer(raw, np.uint8).astype(np.int64)
    elif kind.name.startswith("INT"):
        values = data.view(kind.dtype).astype(np.int64)  # negative values take ten bytes
    elif kind.bits >= 32:
        values = data.view(kind.dtype).astype(np.uint64)
    else:
        values = data.view(np.uint16 if kind.bits == 16 else np.uint8).astype(np.int64)
    return varints(values.view(np.uint64))


def varints(values: np.ndarray) -> tuple[bytes, np.ndarray]:
    lengths = np.ones(values.size, np.int64)
    for position in range(1, 10):
        lengths += values >> np.uint64(7 * position) != 0
    ends = lengths.cumsum()
    starts = ends - lengths
    out = np.empty(int(ends[-1]), np.uint8)
    for position in range(10):
        here = lengths > position
        low = (values[here] >> np.uint64(7 * position)).astype(np.uint8) & 0x7F
        out[starts[here] + position] = low | (lengths[here] > position + 1) * np.uint8(0x80)
    return out.tobytes(), ends


def in_pieces(kind: ElementType, data: bytes, ends: np.ndarray) -> bytes:
    """Runs of very different lengths, and single entries between them."""
    number, count = kind.number_of_field, len(ends)
    cuts = [0, 0, 1, 7, count // 3, count // 3 + 1, count - 64, count - 1, count]
    fields = []
    for begin, end in itertools.pairwise(cuts):
        start = int(ends[begin - 1]) if begin else 0
        piece = data[start : int(ends[end - 1]) if end else 0]
        alone = end - begin == 1
        fields.append(encoder.single(kind, piece) if alone else wire.blob(number, piece))
    return b"".join(fields)


@pytest.mark.parametrize("name", NAMES)
def test_many_elements(name: str, tmp_path: Path) -> None:
    kind = ELEMENT_TYPES[name]
    data = random_bytes(kind)
    raw = raw_bytes(kind, data)
    stored, ends = entries(kind, data, raw)
    forms = {
        "raw": wire.blob(9, raw),
        "packed": wire.blob(kind.number_of_field, stored),
        "in pieces": in_pieces(kind, stored, ends),
        "external": b"".join(encoder.external_fields("w.bin", 3, len(raw))),
    }
    (tmp_path / "w.bin").write_bytes(b"..." + raw)
    head = wire.scalar(1, COUNT) + wire.scalar(2, kind.number) + wire.blob(8, b"w")
    expected = data.tobytes()
    for form, fields in forms.items():
        model = onnxmap.loads(
            wire.blob(7, wire.blob(5, head + fields)), external_root=tmp_path
        )  # fmt: skip
        tensor = model.initializers["w"]
        assert tensor.numpy().tobytes() == expected, form
        assert tensor.tobytes() == raw, form
        out = np.empty(COUNT, kind.dtype)
        assert tensor.numpy(out=out).tobytes() == expected, form
        assert tensor[-5:].tobytes() == expected[-5 * kind.dtype.itemsize :], form


def test_one_wrong_entry_among_many_is_found() -> None:
    """In a run that several threads may share, one value is out of range, missing or too many."""
    head = wire.scalar(1, COUNT) + wire.scalar(2, 2) + wire.blob(8, b"w")
    good = b"\x7f" * (COUNT - 1)
    cases = {
        good + wire.varint(256): "tensor.value_range",
        wire.varint(-129) + good: "tensor.value_range",
        good: "tensor.data_size",
        good + b"\1\1": "tensor.data_size",
    }
    for stored, code in cases.items():
        data = wire.blob(7, wire.blob(5, head + wire.blob(5, stored)))
        with pytest.raises(onnxmap.TensorError) as caught:
            onnxmap.loads(data).initializers["w"].numpy()
        assert caught.value.code == code


DECODED = {
    # the fields of a tensor, with the number of bytes of its array
    "wire.scalar(1, 5_000_000) + wire.scalar(2, 7) + wire.blob(7, bytes(5_000_000))": 40_000_000,
    "wire.scalar(1, 9_000_000) + wire.scalar(2, 2) + wire.blob(5, bytes(9_000_000))": 9_000_000,
    "wire.scalar(1, 9_000_000) + wire.scalar(2, 22) + wire.blob(9, bytes(4_500_000))": 9_000_000,
    "wire.scalar(1, 8_000_000) + wire.scalar(2, 27) + wire.blob(9, bytes(6_000_000))": 8_000_000,
    "wire.scalar(1, 3_000_000) + wire.scalar(2, 10) + wire.scalar(5, 1) * 3_000_000": 6_000_000,
}


@pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")
@pytest.mark.parametrize("make", DECODED)
def test_decoding_takes_one_array_and_no_more(make: str) -> None:
    facts = growth_kib(
        f"wire.blob(7, wire.blob(5, {make}))",
        """
    tensor = next(iter(onnxmap.loads(data).initializers.all()))
    array = tensor.numpy()
    """,
    )
    assert facts["growth"] * 1024 < DECODED[make] + HUGE_PAGES


@pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")
def test_a_packed_run_takes_no_array() -> None:
    facts = growth_kib(
        "wire.blob(7, wire.blob(5, wire.scalar(1, 10_000_000) + wire.scalar(2, 1) + "
        "wire.blob(4, bytes(40_000_000))))",
        """
    tensor = next(iter(onnxmap.loads(data).initializers.all()))
    array = tensor.numpy()
    assert array.size == 10_000_000
    """,
    )
    assert facts["growth"] < 1024
