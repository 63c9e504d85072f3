"""A file changes while `arrays` or `stream` reads it: an error, and no write outside the arrays."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from support import wire_bytes as wire

import onnxmap

INT64, STRING, FLOAT = 7, 8, 1


def tensor(name: bytes, data_type: int, count: int, values: bytes) -> bytes:
    return wire.blob(8, name) + wire.scalar(2, data_type) + wire.scalar(1, count) + values


def model_of(*tensors: bytes) -> bytearray:
    return bytearray(wire.blob(7, b"".join(wire.blob(5, one) for one in tensors)))


def changed(data: bytearray, before: bytes, after: bytes) -> None:
    assert len(before) == len(after)
    assert data.count(before) == 1
    at = data.index(before)
    data[at : at + len(before)] = after


@pytest.mark.parametrize("copy", [False, True])
def test_more_values_than_memory_was_taken_for(copy: bool) -> None:
    """Ten values of ten bytes each become a hundred of one byte, in a message of the same size."""
    ten = wire.scalar(1, 10) + wire.blob(7, wire.varint(2**64 - 1) * 10)
    hundred = wire.scalar(1, 100) + wire.blob(7, b"\x05" * 100)
    data = model_of(wire.blob(8, b"w") + wire.scalar(2, INT64) + ten)
    with onnxmap.loads(data).stream(copy=copy) as stream:
        changed(data, ten, hundred)
        with pytest.raises(onnxmap.FileChangedError):
            next(stream)


def test_another_type_than_memory_was_taken_for() -> None:
    data = model_of(tensor(b"w", INT64, 10, wire.blob(5, b"") + wire.blob(7, b"\x05" * 10)))
    with onnxmap.loads(data).stream() as stream:
        changed(data, wire.scalar(2, INT64), wire.scalar(2, 3))  # INT8, stored as int32_data
        changed(data, wire.blob(7, b"\x05" * 10), wire.blob(5, b"\x05" * 10))
        with pytest.raises(onnxmap.FileChangedError):
            next(stream)


def test_more_strings_than_there_were() -> None:
    text = wire.blob(6, b"four")
    data = model_of(tensor(b"w", STRING, 1, text))
    with onnxmap.loads(data).stream() as stream:
        changed(data, wire.scalar(1, 1) + text, wire.scalar(1, 3) + wire.blob(6, b"") * 3)
        with pytest.raises(onnxmap.FileChangedError):
            next(stream)


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("copy", [False, True])
def test_strings_and_names_that_are_overwritten(tmp_path: Path, io: str, copy: bool) -> None:
    """A minute may pass between the plan of a stream and its last tensor."""
    path = tmp_path / "m.onnx"
    numbers = np.arange(2, dtype=np.float32)
    data = model_of(
        tensor(b"first", FLOAT, 2, wire.blob(9, numbers.tobytes())),
        tensor(b"second", FLOAT, 2, wire.blob(9, numbers.tobytes())),
        tensor(b"third", STRING, 1, wire.blob(6, b"before")),
    )
    for name, before, after in (("first", b"second", b"twelve"), ("second", b"before", b"behind")):
        path.write_bytes(data)
        time.sleep(0.05)  # the file then gets another time of modification
        with onnxmap.load(path, io=io).stream(copy=copy) as stream:
            while next(stream)[0] != name:
                pass
            with path.open("r+b") as file:
                file.seek(data.index(before))
                file.write(after)
            time.sleep(0.05)  # files are checked again after some milliseconds
            with pytest.raises(onnxmap.FileChangedError):
                next(stream)


def test_pieces_in_a_file_of_their_own_do_not_overlap(tmp_path: Path) -> None:
    """Otherwise their bytes would count as many names for the few bytes of the model."""
    piece, count = 1 << 20, 300
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(piece * count)
    pieces = []
    for i in range(count):
        span = wire.scalar(1, i * piece) + wire.scalar(2, (i + 1) * piece)
        entries = b"".join(
            wire.blob(13, wire.blob(1, key) + wire.blob(2, value))
            for key, value in (
                (b"location", b"w.bin"),
                (b"offset", b"%d" % (i * piece)),
                (b"length", b"%d" % piece),
            )
        )
        pieces.append(
            tensor(b"w", 2, piece * count, wire.blob(3, span)) + entries + wire.scalar(14, 1)
        )
    path = tmp_path / "m.onnx"
    path.write_bytes(model_of(*pieces))
    with onnxmap.load(path) as model:
        assert model.initializers["w"].nbytes == piece * count
        model.stream(copy=True).close()
