"""The page cache: which bytes of a model's tensors are in memory, and how to change that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from onnxmap._display import describe_html
from onnxmap._text import bytes_in_words, counted

if TYPE_CHECKING:
    from onnxmap._graph import Initializers

Names = Sequence[str] | str | None


class ResidentBytes(NamedTuple):
    """How many of a tensor's stored bytes are in memory."""

    resident: int  # bytes in memory
    total: int  # all stored bytes

    @property
    def share(self) -> float:
        """The resident part, from 0 to 1; 1 if there are no bytes."""
        return self.resident / self.total if self.total else 1.0


class Residency(Mapping[str, ResidentBytes]):
    """What `Model.residency()` found: ResidentBytes by name, in file order.

    `resident` and `total` are sums over the tensors, in bytes. Bytes that two tensors share count
    twice.
    """

    __slots__ = ("_tensors", "resident", "total")

    def __init__(self, tensors: dict[str, ResidentBytes]) -> None:
        self._tensors = tensors
        self.resident = sum(tensor.resident for tensor in tensors.values())
        self.total = sum(tensor.total for tensor in tensors.values())

    @property
    def share(self) -> float:
        """The resident part, from 0 to 1; 1 if there are no bytes."""
        return ResidentBytes(self.resident, self.total).share

    def __getitem__(self, name: str) -> ResidentBytes:
        return self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._tensors)

    def __repr__(self) -> str:
        amount = (
            f"{bytes_in_words(self.resident)} of {bytes_in_words(self.total)}, {self.share:.0%}"
        )
        return f"<onnxmap.Residency of {counted(len(self), 'tensor')}: {amount}>"

    def _repr_html_(self) -> str:
        return describe_html(self)


def prefetch(initializers: Initializers, names: Names) -> None:
    """See `Model.prefetch`."""
    initializers._core.prefetch(initializers._chosen(names))


def evict(initializers: Initializers, names: Names) -> None:
    """See `Model.evict`."""
    initializers._core.evict(initializers._chosen(names))


def residency(initializers: Initializers, names: Names) -> Residency:
    """See `Model.residency`."""
    absent = initializers._core.absent_pages()  # first: finding the tensors reads pages
    positions = {name: initializers._names.position(name) for name in initializers._select(names)}
    found = initializers._core.residency(list(positions.values()), absent)
    return Residency(
        {name: ResidentBytes(*pair) for name, pair in zip(positions, found, strict=True)}
    )
