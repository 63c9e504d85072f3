"""Methods of mappings. A change is one step for other threads, and therefore in C++."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from onnxmap import _core
from onnxmap._base.enums import DataType
from onnxmap._methods.display import Tabled

Item = TypeVar("Item")

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    import numpy as np


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
        def views(
            self, names: Sequence[str] | str | None = None
        ) -> dict[str, np.ndarray[Any, Any]]: ...
        def _evict(self, names: Any) -> None: ...
        def _prefetch(self, names: Any) -> None: ...
        def _residency(self, names: Any) -> dict[str, tuple[int, int]]: ...
        def _selected(self, names: Any) -> Iterable[str]: ...
        @property
        def _stored_nbytes(self) -> int: ...

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
        made, old = _core.wrap(_core.tensor_of(values, copy=False)), self[name]
        if made.shape != old.shape:
            has = f"initializer {name!r} has the shape {old.shape}"
            raise ValueError(f"{has}, and the values have {made.shape}")
        to, given = _element_type(old), _element_type(made)
        if to != given:
            is_text = DataType.STRING in (to, given)
            if is_text or ("INT" in to.name and "INT" not in given.name):
                types = f"the initializer is {to.name}, and the values are {given.name}"
                raise TypeError(f"{types}: convert them first")
            made = made.numpy(to.numpy())
        self[name] = made


def _element_type(tensor: _core.Tensor) -> DataType:
    number = tensor.proto.data_type
    if number == DataType.UNDEFINED or number not in tuple(DataType):
        shape = f"{number} of shape {tensor.shape}"
        raise TypeError(f"{shape} does not have an element type of ONNX")
    return DataType(number)
