"""Methods of lists. A change of a list is one step for other threads, and therefore in C++."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload

from onnxmap import _core
from onnxmap._show.shown import Displayed, Tabled

Message = TypeVar("Message")
Value = TypeVar("Value")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self


class MessageList(MutableSequence[Message], Tabled):
    """What a MessageList of `_core` gets."""

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: SupportsIndex | str) -> Message: ...
        @overload
        def __getitem__(self, index: slice) -> list[Message]: ...
        def __getitem__(self, index: Any) -> Any: ...
        @overload
        def __setitem__(
            self, index: SupportsIndex | str, message: Message | _core.ProtoView
        ) -> None: ...
        @overload
        def __setitem__(
            self, index: slice, messages: Iterable[Message | _core.ProtoView]
        ) -> None: ...
        def __setitem__(self, index: Any, messages: Any) -> None: ...
        def __delitem__(self, index: SupportsIndex | slice | str) -> None: ...
        def __iadd__(self, messages: Iterable[Message | _core.ProtoView]) -> Self: ...
        def __deepcopy__(self, memo: Any) -> Self: ...
        def __len__(self) -> int: ...
        def MergeFrom(self, messages: Iterable[Message | _core.ProtoView]) -> None: ...
        def add(self, **fields: Any) -> Message: ...
        def append(self, message: Message | _core.ProtoView) -> None: ...
        def extend(self, messages: Iterable[Message | _core.ProtoView]) -> None: ...
        def insert(self, index: SupportsIndex, message: Message | _core.ProtoView) -> None: ...
        def pop(self, index: SupportsIndex | str = -1) -> Message: ...
        def remove(self, message: Message | _core.ProtoView, *, rewire: bool = False) -> None: ...
        def sort(
            self, *, key: Callable[[Message], Any] | None = None, reverse: bool = False
        ) -> None: ...
        @property
        def type_name(self) -> str: ...
        def _equal(self, message: object, start: int, stop: int, most: int) -> list[int]: ...
        def _ipython_key_completions_(self) -> list[str]: ...

    def __eq__(self, other: object) -> bool:
        return _is_equal(self, other)

    def __add__(
        self, other: Sequence[Message | _core.ProtoView]
    ) -> list[Message | _core.ProtoView]:
        return list(self) + list(other)

    def __radd__(self, other: list[Message]) -> list[Message]:
        return other + list(self)

    def index(
        self, value: object, start: SupportsIndex = 0, stop: SupportsIndex | None = None
    ) -> int:
        """Return the position of the first message that is equal.

        Raises:
            ValueError: there is none.
        """
        bounds = range(len(self))[index(start) : None if stop is None else index(stop)]
        for position in self._equal(value, bounds.start, bounds.stop, 1):
            return position
        raise ValueError("the list has no such message")

    def count(self, value: object) -> int:
        """Return how many messages are equal to `value`."""
        return len(self._equal(value, 0, len(self), len(self)))


class UnknownFieldList(Sequence[_core.UnknownField], Displayed):
    """What an UnknownFieldList of `_core` gets."""

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: SupportsIndex) -> _core.UnknownField: ...
        @overload
        def __getitem__(self, index: slice) -> list[_core.UnknownField]: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __len__(self) -> int: ...

    def __eq__(self, other: object) -> bool:
        return _is_equal(self, other)


def _is_equal(this: Sequence[Any], other: object) -> bool:
    """Compare element by element with `==`, as Python's lists do."""
    if not isinstance(other, list | type(this)):
        return NotImplemented
    return len(this) == len(other) and all(a == b for a, b in zip(this, other, strict=False))


class ValueList(MutableSequence[Value], Tabled):
    """What a ValueList of `_core` gets."""

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: SupportsIndex) -> Value: ...
        @overload
        def __getitem__(self, index: slice) -> list[Value]: ...
        def __getitem__(self, index: Any) -> Any: ...
        @overload
        def __setitem__(self, index: SupportsIndex, value: Value) -> None: ...
        @overload
        def __setitem__(self, index: slice, value: Iterable[Value]) -> None: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __delitem__(self, index: SupportsIndex | slice) -> None: ...
        def __len__(self) -> int: ...
        def insert(self, index: SupportsIndex, value: Value) -> None: ...
        def MergeFrom(self, values: Iterable[Value]) -> None: ...
        def sort(
            self, *, key: Callable[[Value], Any] | None = None, reverse: bool = False
        ) -> None: ...

    def __eq__(self, other: object) -> bool:
        return list(self) == _operand(other)

    def __ne__(self, other: object) -> bool:  # an array answers with an array
        return list(self) != _operand(other)

    def __add__(self, other: Sequence[Value]) -> list[Value]:
        return list(self) + _operand(other)

    def __radd__(self, other: list[Value]) -> list[Value]:
        return other + list(self)

    def __contains__(self, value: object) -> bool:
        return value in list(self)

    def __reversed__(self) -> Iterator[Value]:
        return reversed(list(self))

    def __reduce__(self) -> Any:
        """A copy or a pickle is a list."""
        return list, (list(self),)

    def copy(self) -> list[Value]:
        """Return the values as a new list."""
        return list(self)

    def count(self, value: Any) -> int:
        return list(self).count(value)

    def index(self, value: Any, *bounds: SupportsIndex) -> int:
        return list(self).index(value, *bounds)


def _operand(other: Any) -> Any:
    return list(other) if isinstance(other, _core.ValueList) else other
