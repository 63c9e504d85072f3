"""Methods of mappings. A change is one step for other threads, and therefore in C++."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from onnxmap import _core
from onnxmap._methods.display import Tabled

Item = TypeVar("Item")

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    import numpy as np

    from onnxmap._base.enums import DataType


class Named(MutableMapping[str, Item], Tabled):
    """What every mapping of `_core` gets."""

    if TYPE_CHECKING:

        def __getitem__(self, key: str) -> Item: ...
        def __setitem__(self, key: str, value: Any) -> None: ...
        def __delitem__(self, key: str) -> None: ...
        def __iter__(self) -> Iterator[str]: ...
        def __len__(self) -> int: ...
        def setdefault(self, key: str, default: Any = None) -> Item: ...

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


class FieldMapping(Named[Item]):
    """What the entries of a field get. A copy or a pickle is a dict."""

    def __or__(self, other: Mapping[str, Item]) -> dict[str, Item]:
        return dict(self) | dict(other) if hasattr(other, "keys") else NotImplemented

    def __ror__(self, other: Mapping[str, Item]) -> dict[str, Item]:
        return dict(other) | dict(self) if hasattr(other, "keys") else NotImplemented

    def __ior__(self, other: Mapping[str, Item]) -> Self:
        self.update(other)
        return self

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class ByName(Named[Item]):
    """What the initializers of a graph get."""

    if TYPE_CHECKING:

        def all(self) -> Iterator[Item]: ...


class Initializers(ByName[_core.Tensor]):
    """What the dense initializers get."""

    if TYPE_CHECKING:

        def dtypes(self) -> list[DataType | int]: ...
        def names(self) -> list[str]: ...
        def nbytes(self) -> list[int]: ...
        def shapes(self) -> list[tuple[int, ...]]: ...
        @overload
        def rename(self, old: Mapping[str, str]) -> None: ...
        @overload
        def rename(self, old: str, new: str) -> None: ...
        def rename(self, old: Any, new: Any = None) -> None: ...
        def replace(self, name: str, values: Any) -> None: ...
        def views(
            self, names: Sequence[str] | str | None = None
        ) -> dict[str, np.ndarray[Any, Any]]: ...
        def _evict(self, names: Any) -> None: ...
        def _prefetch(self, names: Any) -> None: ...
        def _residency(self, names: Any) -> dict[str, tuple[int, int]]: ...
        def _selected(self, names: Any) -> Iterable[str]: ...
        @property
        def _stored_nbytes(self) -> int: ...
