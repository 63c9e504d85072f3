"""Proof of equal work: checksums of what a sample read. They must agree between contenders.

They are computed after the timer has stopped. The bytes are compared once per contender and model,
in a warm-up sample. Everything else is compared in every sample.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np


def digest(value: object) -> str:
    """Return a checksum of names, shapes or other small values."""
    return f"{zlib.crc32(repr(value).encode('utf-8', 'surrogateescape')):08x}"


def outline(names: Iterable[str], node_count: int) -> dict[str, str]:
    """Prove that the structure was read: names of initializers in order, number of nodes."""
    return {"outline": digest((list(names), node_count))}


def arrays(found: Mapping[str, np.ndarray[Any, Any]], full: bool) -> dict[str, str]:
    """Prove that every initializer was found: name, type and shape; with `full` every byte."""
    described = [(name, a.dtype.name, a.shape) for name, a in sorted(found.items())]
    seen = {"arrays": digest(described)}
    if full:
        checksum = 0
        for name in sorted(found):
            checksum = zlib.crc32(
                memoryview(np.ascontiguousarray(found[name]).reshape(-1).view("u1")), checksum
            )
        seen["bytes"] = f"{checksum:08x}"
    return seen


def array(found: np.ndarray[Any, Any], full: bool) -> dict[str, str]:
    """Prove that one tensor was found, as `arrays` does."""
    return arrays({"": found}, full)


def touched(found: Iterable[np.ndarray[Any, Any]]) -> int:
    """Return the sum of all bytes as 64-bit integers: the cheapest work that reads every byte."""
    total = 0
    for array in found:
        stored = array.reshape(-1).view(np.uint8)
        whole = len(stored) // 8 * 8
        total += int(np.add.reduce(stored[:whole].view(np.uint64)))
        total += int(np.add.reduce(stored[whole:], dtype=np.uint64))
    return total % 2**64


Held = tuple[int, Mapping[str, np.ndarray[Any, Any]]]


def touched_and_held(found: Mapping[str, np.ndarray[Any, Any]]) -> Held:
    """Return the sum of all bytes, and the arrays."""
    return touched(found.values()), found


def held(result: Held, _full: bool) -> dict[str, str]:
    """Prove that every byte was read, and that every array still exists."""
    return {"checksum": str(result[0]), **arrays(result[1], full=False)}


def total(result: int, _full: bool) -> dict[str, str]:
    """Prove that a loop has read what it counts."""
    return {"total": str(result)}


def walked(nodes: Iterable[Any], inputs_of: str) -> int:
    """Read the operator and every input of every node in Python, and return their total length.

    Args:
        nodes: the nodes of the graph, as the peer gives them.
        inputs_of: the name of the attribute that holds a node's inputs, as strings.
    """
    length = 0
    for node in nodes:
        length += len(node.op_type)
        for name in getattr(node, inputs_of):
            length += len(name)
    return length


# For the name of a node: the producer of its first input, and the uses of its first output.
Neighbours = Callable[[str], object]


def neighbours(find: Neighbours, names: Sequence[str]) -> dict[str, str]:
    """Prove that nodes, producers and uses are found: those of 2 000 nodes, and of the last one."""
    some = [*names[:: max(1, len(names) // 2_000)], names[-1]]
    return {"neighbours": digest([(name, find(name)) for name in some])}
