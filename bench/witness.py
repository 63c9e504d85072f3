"""Proof of equal work: what a sample read, reduced to checksums that must agree between peers.

Taken after the timer has stopped. The bytes themselves are compared once per contender and model,
in a warm-up sample; the rest in every sample.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def digest(value: object) -> str:
    """A checksum of names, shapes and the like."""
    return f"{zlib.crc32(repr(value).encode('utf-8', 'surrogateescape')):08x}"


def outline(names: Iterable[str], node_count: int) -> dict[str, str]:
    """That the structure was read: the initializers' names in order and the number of nodes."""
    return {"outline": digest((list(names), node_count))}


def arrays(found: Mapping[str, np.ndarray[Any, Any]], full: bool) -> dict[str, str]:
    """That every initializer is there: names, types and shapes; with `full` every byte."""
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
    """That one tensor is there, as `arrays`."""
    return arrays({"": found}, full)


def touched(found: Iterable[np.ndarray[Any, Any]]) -> int:
    """The sum of all bytes read as 64-bit integers: the cheapest work that touches every byte."""
    total = 0
    for array in found:
        stored = array.reshape(-1).view(np.uint8)
        whole = len(stored) // 8 * 8
        total += int(np.add.reduce(stored[:whole].view(np.uint64)))
        total += int(np.add.reduce(stored[whole:], dtype=np.uint64))
    return total % 2**64


Held = tuple[int, Mapping[str, np.ndarray[Any, Any]]]


def touched_and_held(found: Mapping[str, np.ndarray[Any, Any]]) -> Held:
    """The sum of all bytes, and the arrays."""
    return touched(found.values()), found


def held(result: Held, _full: bool) -> dict[str, str]:
    """That every byte was touched, and that every array is still there."""
    return {"checksum": str(result[0]), **arrays(result[1], full=False)}


def walked(nodes: Iterable[Any], inputs_of: str) -> int:
    """A Python walk that reads the operator and every input of every node; returns their length.

    Args:
        nodes: what the peer gives for a graph's nodes.
        inputs_of: the name of the attribute that holds a node's inputs, as strings.
    """
    length = 0
    for node in nodes:
        length += len(node.op_type)
        for name in getattr(node, inputs_of):
            length += len(name)
    return length
