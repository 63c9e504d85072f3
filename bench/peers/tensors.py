"""safetensors: the same bytes, read through the safetensors header of the external data file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  for bfloat16
import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file

from bench import witness
from bench.peers.usual import Arrays, Files, Peer, Usual
from bench.tasks import Task, data_file


def _copies(files: Files) -> Arrays:
    return {name: array for path in files.data for name, array in load_file(path).items()}


arrays = Usual(Peer(copies=_copies)).arrays


def _arrays(path: str) -> dict[str, np.ndarray[Any, Any]]:
    with safe_open(path, framework="numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 not a dict


def views(folder: Path) -> Task:
    """Every tensor as an array; this peer copies."""
    path = str(data_file(folder))
    return Task(lambda: _arrays(path), witness.arrays)


def touch(folder: Path) -> Task:
    """The same, then every byte."""
    path = str(data_file(folder))
    return Task(
        lambda: witness.touched(_arrays(path).values()),
        lambda result, _: {"checksum": str(result)},
    )
