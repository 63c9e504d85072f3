"""Models that tests put behind URLs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from support import wire_bytes as wire
from support.models.paged import FLOAT, external_entries, model_of, tensor_message

Array = np.ndarray[Any, Any]


def named_tensor(name: bytes, data_type: int, count: int, *data: bytes) -> bytes:
    head = wire.blob(8, name) + wire.scalar(2, data_type) + wire.scalar(1, count)
    return head + b"".join(data)


def floats(count: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).random(count, np.float32) + 1


def write_inline(path: Path, tensors: dict[str, Array]) -> Path:
    """A model with float tensors of its own."""
    messages = [
        named_tensor(name.encode(), FLOAT, values.size, wire.blob(9, values.tobytes()))
        for name, values in tensors.items()
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model_of(*messages))
    return path


def write_external(path: Path, values: Array, location: bytes, data: Path | None = None) -> Path:
    """A model with a tensor "t". Its values are in a file, which is written if a path is given."""
    entries = external_entries(location, 0, values.nbytes)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model_of(tensor_message(FLOAT, values.size, entries)))
    if data is not None:
        data.parent.mkdir(parents=True, exist_ok=True)
        data.write_bytes(values.tobytes())
    return path


def write_sparse_inline(path: Path, count: int, nbytes: int) -> None:
    """A model of `count` tensors of `nbytes` each. Their values are holes in the file."""
    heads = [
        named_tensor(f"layer.{i}.weight".encode(), FLOAT, nbytes // 4)
        + wire.tag(9, 2)
        + wire.varint(nbytes)
        for i in range(count)
    ]
    fields = [wire.tag(5, 2) + wire.varint(len(head) + nbytes) + head for head in heads]
    graph = sum(map(len, fields)) + count * nbytes
    with path.open("wb") as file:
        file.write(wire.scalar(1, 10) + wire.tag(7, 2) + wire.varint(graph))
        for field in fields:
            file.write(field)
            file.seek(nbytes, 1)
        file.truncate(file.tell())
