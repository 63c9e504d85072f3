"""Methods of mappings. What changes a model makes a message first, and is then one call of C++."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from onnxmap import _core
from onnxmap._base.later import import_module
from onnxmap._show.shown import Tabled

Item = TypeVar("Item")

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    import numpy as np

    from onnxmap._base.enums import DataType


# The methods of the core itself, which take messages. Those below get the same names.
_SET_ATTRIBUTE: Any = _core.AttributeMapping.__setitem__
_ATTRIBUTE_OR: Any = _core.AttributeMapping.setdefault
_SET_INITIALIZER: Any = _core.Initializers.__setitem__
_INITIALIZER_OR: Any = _core.Initializers.setdefault


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


class AttributeMapping(FieldMapping[_core.Attribute]):
    """What attributes by name get. The core takes attributes, and Python makes them of values."""

    def __setitem__(self, key: str, value: Any) -> None:
        _SET_ATTRIBUTE(self, key, _attribute_values().entry_of(self, key, value))

    def setdefault(self, key: str, default: Any = None) -> _core.Attribute:
        """Return the attribute of a name; if there is none, make one of the default first."""
        found = self.get(key)
        if found is not None:
            return found
        return _ATTRIBUTE_OR(self, key, _attribute_values().entry_of(self, key, default))


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
        def views(
            self, names: Sequence[str] | str | None = None
        ) -> dict[str, np.ndarray[Any, Any]]: ...
        def _evict(self, names: Any) -> None: ...
        def _rename(self, new_names: dict[str, str]) -> None: ...
        def _replace(self, name: str, made: _core.ProtoView) -> bool: ...
        def _prefetch(self, names: Any) -> None: ...
        def _residency(self, names: Any) -> dict[str, tuple[int, int]]: ...
        def _selected(self, names: Any) -> Iterable[str]: ...
        @property
        def _stored_nbytes(self) -> int: ...

    def __setitem__(self, key: str, values: Any) -> None:
        _SET_INITIALIZER(self, key, _initializer_values().values_for(self, key, values))

    def setdefault(self, name: str, values: Any = None) -> _core.Tensor:
        """Return the initializer of a name; if there is none, add one with these values first."""
        found = self.get(name)
        if found is not None:
            return found
        return _INITIALIZER_OR(self, name, _initializer_values().values_for(self, name, values))

    @overload
    def rename(self, old: Mapping[str, str]) -> None: ...
    @overload
    def rename(self, old: str, new: str) -> None: ...
    def rename(self, old: Any, new: Any = None) -> None:
        """Rename an initializer, with everything that refers to it.

        That is: inputs of nodes and their sharding specs, inputs, outputs and value_infos of the
        graph, annotations, and subgraphs that have no value of their own of that name; in the main
        graph, training algorithms and bindings as well.

        Args:
            old: the name; or the new names of many initializers by their old ones, which takes
                little more time than one.
            new: the new name.

        Raises:
            KeyError: there is no initializer of the old name.
            ValueError: the new name is taken: in the graph, in a subgraph, or in a graph around it;
                two initializers would get it; or the graph is in a function that has a graph as the
                default of an attribute, which may use the name.
        """
        self._rename(new_names(old, new))

    def replace(self, name: str, values: Any) -> None:
        """Replace the values of an initializer, whose type and shape stay.

        Args:
            name: the name of the initializer.
            values: as for an assignment. Numbers of another type are converted as by NumPy's
                `astype`; large arrays of the same type are not copied.

        Raises:
            KeyError: there is no initializer of this name.
            ValueError: the values have another shape.
            TypeError: the initializer has integers or strings, and the values do not.
        """
        made = _initializer_values().replacement_for(self, name, values)
        while not self._replace(name, made):  # another thread gave it another type or shape
            made = _initializer_values().replacement_for(self, name, values)


def new_names(old: Any, new: Any) -> dict[str, str]:
    """Return the new names by the old ones: `old` is one name, or a mapping of such names."""
    if isinstance(old, str):
        if new is None:
            raise TypeError("rename() needs the new name")
        return {old: new}
    if not isinstance(old, Mapping):
        raise TypeError(f"expected a name or a mapping of names, not {type(old).__name__}")
    if new is not None:
        raise TypeError("a mapping has the new names already")
    return dict(old)


def _attribute_values() -> Any:
    return import_module("onnxmap._make.attribute_values")


def _initializer_values() -> Any:
    return import_module("onnxmap._make.initializer_values")
