"""The page cache: which bytes of a model's tensors are in memory, and how to change that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from onnxmap._base.text import bytes_in_words, counted
from onnxmap._show.result_tables import ByName


class ResidentBytes(NamedTuple):
    """How many of a tensor's stored bytes are in memory.

    Attributes:
        resident: the bytes in memory.
        total: all stored bytes.
    """

    resident: int
    total: int

    @property
    def share(self) -> float:
        """The resident part, from 0 to 1; 1 if there are no bytes."""
        return self.resident / self.total if self.total else 1.0


class Residency(ByName[ResidentBytes]):
    """What `Model.residency()` found: ResidentBytes by name, in file order.

    Bytes that two tensors share count twice.

    Attributes:
        resident: the sum over the tensors of the bytes in memory.
        total: the sum over the tensors of all stored bytes.
    """

    __slots__ = ("resident", "total")
    _headings = ("name", "in memory", "size")

    def __init__(self, tensors: Mapping[str, tuple[int, int]]) -> None:
        super().__init__({name: ResidentBytes(*found) for name, found in tensors.items()})
        self.resident = sum(found.resident for found in self.values())
        self.total = sum(found.total for found in self.values())

    @property
    def share(self) -> float:
        """The resident part, from 0 to 1; 1 if there are no bytes."""
        return ResidentBytes(self.resident, self.total).share

    def __repr__(self) -> str:
        amount = f"{bytes_in_words(self.resident)} of {bytes_in_words(self.total)}"
        return f"<onnxmap.Residency of {counted(len(self), 'tensor')}: {amount}, {self.share:.0%}>"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for name, found in self.items():
            yield name, bytes_in_words(found.resident), bytes_in_words(found.total)
