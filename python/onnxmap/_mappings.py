"""Read-only mappings: attributes, metadata and versions by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

T_co = TypeVar("T_co", covariant=True)


class ReadOnlyDict(Mapping[str, T_co]):
    """A dict that cannot be changed. Its keys complete with Tab. Copies and pickles are dicts."""

    __slots__ = ("_items",)

    def __init__(self, items: dict[str, T_co]) -> None:
        self._items = items

    def __getitem__(self, key: str) -> T_co:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return repr(self._items)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return dict, (self._items,)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._items)
