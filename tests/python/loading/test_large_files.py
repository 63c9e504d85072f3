"""Files and fields of more than 2 and 4 GiB. The files are sparse, so a terabyte needs no disk."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support import wire_bytes as wire

import onnxmap

GIB = 1 << 30
UINT8 = 2
# The places of the nonzero bytes in the big tensor.
MARK = bytes(range(1, 9))


def write_sparse(path: Path, big: int, graphs: int = 1) -> tuple[int, int]:
    """A model with a small tensor, one of `big` bytes (a hole that ends in MARK), and a small one.

    Returns the ranges of the big tensor's bytes and of the last tensor's.
    """
    head = wire.blob(8, b"big") + wire.scalar(2, UINT8) + wire.scalar(1, big)
    head += wire.tag(9, wire.LENGTH) + wire.varint(big)
    first, last = (
        wire.blob(
            5, wire.blob(8, name) + wire.scalar(2, UINT8) + wire.scalar(1, 3) + wire.blob(9, data)
        )
        for name, data in ((b"first", b"abc"), (b"last", b"xyz"))
    )
    tensor = wire.tag(5, wire.LENGTH) + wire.varint(len(head) + big) + head
    size = len(first) + len(tensor) + big + len(last)
    start = wire.scalar(1, 8) + wire.tag(7, wire.LENGTH) + wire.varint(size) + first + tensor
    with path.open("wb") as file:
        file.write(start)
        file.truncate(len(start) + big)
        file.seek(len(start) + big - len(MARK))
        file.write(MARK + last)
    return len(start), len(start) + big + len(last) - 3


SIZES = {
    "just below 2 GiB": 2 * GIB - 1,
    "2 GiB": 2 * GIB,
    "just above 2 GiB": 2 * GIB + 5,
    "just below 4 GiB": 4 * GIB - 1,
    "4 GiB": 4 * GIB,
    "4 GiB and 3": 4 * GIB + 3,
    "33 GiB": 33 * GIB,
    "1 TiB": 1024 * GIB,
}


@pytest.mark.parametrize("io", ["mmap", "read", "auto"])
@pytest.mark.parametrize("name", SIZES)
def test_one_field_of_any_size(tmp_path: Path, name: str, io: str) -> None:
    size, path = SIZES[name], tmp_path / "big.onnx"
    big_at, last_at = write_sparse(path, size)
    assert path.stat().st_blocks * 512 < 1 << 20
    model = onnxmap.load(path, io=io)
    assert model.initializers.names() == ["first", "big", "last"]
    assert model.initializers.shapes() == [(3,), (size,), (3,)]
    assert model.nbytes == size + 6
    big, last = model.initializers["big"], model.initializers["last"]
    assert (big.offset, last.offset) == (big_at, last_at)
    assert (big.nbytes, big.shape, len(big)) == (size, (size,), size)
    assert last.tobytes() == b"xyz"
    assert big[size - 8 :].tobytes() == MARK
    assert big[:4].tolist() == [0, 0, 0, 0]
    if io != "read":
        view = model.views(["big"])["big"]
        assert view.shape == (size,)
        assert view[-8:].tobytes() == MARK
        assert view[size // 2] == 0


def test_external_data_past_4_gib(tmp_path: Path) -> None:
    offset = 5 * GIB + 3
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(offset)
        file.seek(offset)
        file.write(np.float32([1, 2]).tobytes())
    entries = {b"location": b"w.bin", b"offset": str(offset).encode(), b"length": b"8"}
    tensor = wire.blob(8, b"w") + wire.scalar(2, 1) + wire.scalar(1, 2) + wire.scalar(14, 1)
    tensor += b"".join(wire.blob(13, wire.blob(1, k) + wire.blob(2, v)) for k, v in entries.items())
    path = tmp_path / "model.onnx"
    path.write_bytes(wire.blob(7, wire.blob(5, tensor)))
    for io in ("mmap", "read"):
        model = onnxmap.load(path, io=io)
        assert model.initializers["w"].numpy().tolist() == [1.0, 2.0]
        assert model.initializers["w"].offset == offset


def test_a_length_past_the_end_of_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "big.onnx"
    write_sparse(path, 3 * GIB)
    whole = path.stat().st_size
    os.truncate(path, whole - 1)
    for io in ("mmap", "read"):
        with pytest.raises(onnxmap.ParseError) as caught:
            onnxmap.load(path, io=io)
        assert (caught.value.code, caught.value.path) == ("wire.length_overrun", "graph")
        assert caught.value.offset == 2


def test_many_fields_below_2_gib_add_up(tmp_path: Path) -> None:
    """Two graph fields of 1.2 GiB each are merged."""
    path = tmp_path / "two.onnx"
    size = 6 * GIB // 5
    position = 0
    with path.open("wb") as file:
        for name in (b"a", b"b"):
            head = wire.blob(8, name) + wire.scalar(2, UINT8) + wire.scalar(1, size)
            head += wire.tag(9, wire.LENGTH) + wire.varint(size)
            tensor = wire.tag(5, wire.LENGTH) + wire.varint(len(head) + size) + head
            start = wire.tag(7, wire.LENGTH) + wire.varint(len(tensor) + size) + tensor
            file.seek(position)
            file.write(start)
            position += len(start) + size
        file.truncate(position)
    model = onnxmap.load(path)
    assert model.initializers.names() == ["a", "b"]
    assert model.nbytes == 2 * size
    assert model.initializers["b"].offset == position - size
