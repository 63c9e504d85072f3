"""`Task`: a peer module has functions that take a model's folder and return one."""

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

    Everything that comes before the timer (imports, perhaps loading a model) is done when the task
    exists. After the timer, `witness` gets what `run` returned, and whether to read every byte.
    """

    run: Callable[[], Any]
    witness: Witness = lambda _result, _full: {}


def model_file(folder: Path) -> str:
    """Return the path of the model in its folder."""
    return str(folder / "model.onnx")


def tensor_file(folder: Path) -> str:
    """Return the path of the serialized TensorProto in its folder."""
    return str(folder / "tensor.pb")


def touched_array(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """Return an array whose memory has been written before."""
    array = np.empty(shape, dtype)
    array.view(np.uint8).fill(0x5A)
    return array


def manifest(folder: Path) -> list[dict[str, Any]]:
    """Return where the initializers are; see models.py."""
    lines: list[dict[str, Any]] = json.loads((folder / "manifest.json").read_text())
    return lines


def data_file(folder: Path) -> Path:
    """Return the path of the file that holds the bytes of the initializers."""
    external = folder / "weights.safetensors"
    return external if external.exists() else folder / "model.onnx"


@dataclass(frozen=True)
class Place:
    """An initializer, and where its bytes are in `data_file`."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


def places(folder: Path) -> list[Place]:
    """Return where the initializers are, from the manifest."""
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
