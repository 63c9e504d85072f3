"""What a peer module offers: functions that take a model's folder and return a `Task`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Witness = Callable[[Any, bool], dict[str, str]]


@dataclass(frozen=True)
class Task:
    """One piece of work of one peer.

    What must happen before the timer starts (imports, a model that is already loaded) has happened
    when the task exists. `witness` gets what `run` returned, after the timer has stopped, and
    whether every byte shall be read.
    """

    run: Callable[[], Any]
    witness: Witness = lambda _result, _full: {}


def model_file(folder: Path) -> str:
    """The model in its folder."""
    return str(folder / "model.onnx")


def tensor_file(folder: Path) -> str:
    """The serialized TensorProto in its folder."""
    return str(folder / "tensor.pb")


def touched_array(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """An array whose memory has been written before."""
    array = np.empty(shape, dtype)
    array.view(np.uint8).fill(0x5A)
    return array


def manifest(folder: Path) -> list[dict[str, Any]]:
    """Where the initializers are; see models.py."""
    lines: list[dict[str, Any]] = json.loads((folder / "manifest.json").read_text())
    return lines


def data_file(folder: Path) -> Path:
    """The file that holds the initializers' bytes."""
    external = folder / "weights.safetensors"
    return external if external.exists() else folder / "model.onnx"


@dataclass(frozen=True)
class Place:
    """An initializer and where in `data_file` its bytes are."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


def places(folder: Path) -> list[Place]:
    """Where the manifest says that the initializers are."""
    return [
        Place(
            line["name"],
            np.dtype(line["dtype"]),
            tuple(line["shape"]),
            line["data_offset"],
            line["data_offset"] + line["nbytes"],
        )
        for line in manifest(folder)
    ]
