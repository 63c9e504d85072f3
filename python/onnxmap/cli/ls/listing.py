"""What `onnxmap ls` prints: entries, and how they are drawn."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from onnxmap.cli.outcome import UsageError

if TYPE_CHECKING:
    from onnxmap.cli.columns import Column


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Entry = TypeVar("Entry", bound=_Named)


class Listing(ABC, Generic[Entry]):
    """Entries of one kind. Each is a dataclass with a `name`.

    Attributes:
        what: what an entry is, in one word.
        sort_keys: the key of an entry for each order that the user may ask for.
    """

    what: ClassVar[str]
    sort_keys: ClassVar[Mapping[str, Callable[[Any], Any]]]

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries

    @abstractmethod
    def columns(self) -> list[Column]:
        """Return the table of the entries."""

    @abstractmethod
    def totals(self) -> str:
        """Return the line below the table."""

    def names(self) -> Mapping[str, Collection[int]]:
        """Return each name that the command line may have, with the positions of what it means."""
        return positions(entry.name for entry in self.entries)

    def chosen(self, wanted: Collection[int]) -> Listing[Entry]:
        """Return the entries at these positions."""
        return type(self)([entry for i, entry in enumerate(self.entries) if i in wanted])

    def sorted(self, key: str) -> Listing[Entry]:
        """Return the entries in another order.

        Raises:
            UsageError: entries of this kind have no such order.
        """
        if key not in self.sort_keys:
            known = ", ".join(sorted(self.sort_keys))
            raise UsageError(f"this list cannot be sorted by {key}; choose from {known}")
        return type(self)(sorted(self.entries, key=self.sort_keys[key]))


def positions(names: Iterable[str]) -> dict[str, list[int]]:
    """Return where each name stands in a list of names."""
    found: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        found.setdefault(name, []).append(number)
    return found


def natural(name: str) -> list[tuple[int, str]]:
    """Return the key by which names are sorted: numbers in them by value, `w.2` before `w.10`."""
    return [
        (int(part), part) if part.isascii() and part.isdigit() else (-1, part)
        for part in re.split(r"([0-9]{1,18})", name)
    ]
