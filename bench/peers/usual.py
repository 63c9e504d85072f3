"""Tasks that mean the same for every library, made of what a library can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench import witness
from bench.tasks import Task, data_file, model_file

Arrays = Mapping[str, np.ndarray[Any, Any]]
Outline = tuple[list[str], int]


class Files(NamedTuple):
    """A model, and the files that hold its external data."""

    model: str
    data: Sequence[str]


@dataclass(frozen=True)
class Peer:
    """What a library can do, each in its usual way. A function is None if it cannot do it.

    Attributes:
        open: reads the structure and returns an object for the model.
        outline: takes the object of `open`; returns the names of the initializers and the number
            of nodes.
        arrays: returns every initializer as an array, by name.
        copies: the same, but each array is writable and has its own memory.
        each: yields one array after another, and keeps none.
    """

    open: Callable[[Files], Any] | None = None
    outline: Callable[[Any], Outline] | None = None
    arrays: Callable[[Files], Arrays] | None = None
    copies: Callable[[Files], Arrays] | None = None
    each: Callable[[Files], Iterator[np.ndarray[Any, Any]]] | None = None


def _checksum(result: int, _full: bool) -> dict[str, str]:
    return {"checksum": str(result)}


def _files(folder: Path) -> Files:
    model, data = model_file(folder), str(data_file(folder))
    return Files(model, [data] if data != model else [])


class Usual:
    """The tasks of one library."""

    def __init__(self, peer: Peer) -> None:
        self._peer: Any = peer  # a task of what it cannot do fails

    def load(self, folder: Path) -> Task:
        """The model, with as few of its weights as the library can read."""
        files, outline = _files(folder), self._peer.outline
        if outline is None:
            return Task(lambda: self._peer.open(files))
        return Task(
            lambda: self._peer.open(files), lambda model, _: witness.outline(*outline(model))
        )

    def views(self, folder: Path) -> Task:
        """The model, then every initializer as an array."""
        files = _files(folder)
        return Task(lambda: self._peer.arrays(files), witness.arrays)

    def touch(self, folder: Path) -> Task:
        """The same, then every byte."""
        files = _files(folder)
        return Task(lambda: witness.touched(self._peer.arrays(files).values()), _checksum)

    def touch_only(self, folder: Path) -> Task:
        """Every byte of arrays that exist already."""
        arrays = self._peer.arrays(_files(folder))
        return Task(lambda: witness.touched(arrays.values()), _checksum)

    def touch_and_hold(self, folder: Path) -> Task:
        """The same as `touch`, but the arrays are kept."""
        files = _files(folder)
        return Task(lambda: witness.touched_and_held(self._peer.arrays(files)), witness.held)

    def touch_each(self, folder: Path) -> Task:
        """Every byte of one array after another; none is kept."""
        files = _files(folder)
        return Task(lambda: witness.touched(self._peer.each(files)), _checksum)

    def arrays(self, folder: Path) -> Task:
        """Every initializer as a writable array with its own memory."""
        files = _files(folder)
        return Task(lambda: self._peer.copies(files), witness.arrays)
