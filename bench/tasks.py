"""`Task`: a peer module has functions that take a model's folder and return one."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Witness = Callable[[Any, bool], dict[str, str]]

NEW_DATA = "weights.data"  # the data file of a model that is saved
NEW_KEY, NEW_VALUE = "onnxmap.bench.reviewed", "yes"  # a metadata entry that is added
NEW_OPERATOR = "Gelu"  # what nodes become
NEW_NAME = "onnxmap.bench.renamed"  # of a value
EDITED_NODES = 1_000
REMOVED_NODES = 4_000


@dataclass(frozen=True)
class Task:
    """One piece of work of one peer.

    Everything that comes before the timer (imports, perhaps loading a model) is done when the task
    exists. `just_before` is called between the last preparation of the worker and the timer: after
    waiting, a processor has lost from its caches what a program has there that goes straight on.
    After the timer, `witness` gets what `run` returned, and whether to read every byte.
    At last, `clean` removes what was written.
    """

    run: Callable[[], Any]
    witness: Witness = lambda _result, _full: {}
    clean: Callable[[], None] = lambda: None
    just_before: Callable[[], None] = lambda: None


def model_file(folder: Path) -> str:
    """Return the path of the model in its folder."""
    return str(folder / "model.onnx")


def other_file(folder: Path) -> str:
    """Return the path of the second model in the folder of two."""
    return str(folder / "other.onnx")


def writing(
    folder: Path, write: Callable[[Path], Any], witness: Callable[[Path, bool], dict[str, str]]
) -> Task:
    """Return a task that writes a file in a new, empty folder beside the model's folder.

    Args:
        write: gets the path of the file. What it returns is kept, so that the time to free a loaded
            model is not in the figures.
        witness: gets the same path, and whether to read every byte.
    """
    # Both folders are on one file system, and the model's own files stay what they are.
    made = Path(tempfile.mkdtemp(prefix=f"{folder.name}-written-", dir=folder.parent))
    path = made / "model.onnx"

    def clean() -> None:
        shutil.rmtree(made)
        os.sync()  # so that the next sample does not wait for the disk

    return Task(lambda: write(path), lambda _, full: witness(path, full), clean)


def edited_nodes(count: int) -> list[int]:
    """Return the positions of the nodes that are edited one after another, of `count` nodes."""
    return [i * count // EDITED_NODES for i in range(EDITED_NODES)]


def removed_nodes(count: int) -> list[int]:
    """Return the positions of the nodes that are taken out of a chain of `count`: no neighbours."""
    return list(range(1, min(2 * REMOVED_NODES, count - 1), 2))


def renamed_value(graph: Any) -> str:
    """Return the name of an inner value, of a graph of onnx or onnxmap."""
    nodes = graph.node if hasattr(graph, "node") else graph.nodes
    outputs = (
        nodes[len(nodes) // 2].output if hasattr(graph, "node") else nodes[len(nodes) // 2].outputs
    )
    return str(outputs[0])


def surgery_ends(graph: Any) -> tuple[list[str], list[str]]:
    """Return the inputs of a part of a graph, and half of the outputs."""
    outputs = graph.output if hasattr(graph, "node") else graph.outputs
    return [], [value.name for value in outputs][::2]


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
