"""Mappings of a message that change it: attributes, metadata and versions by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, TypeVar

from onnxmap import _core
from onnxmap.errors import warn_repeated

if TYPE_CHECKING:
    from typing_extensions import Self

V = TypeVar("V")

# So many look-ups in one state of a small message find one entry each. More are worth all of them.
_FEW = 8


class FieldMapping(MutableMapping[str, V]):
    """The entries of a repeated field by name. It always shows the field as it is now.

    Its keys complete with Tab. A copy or a pickle is a dict.
    """

    __slots__ = ("_asked", "_asked_at", "_count", "_field", "_items", "_proto")

    def __init__(self, proto: _core.ProtoView, field: str) -> None:
        self._proto = proto
        self._field = field
        self._count = -1  # of edits when the items were read
        self._items: dict[str, V] = {}
        self._asked = 0  # look-ups of one entry when there were so many edits:
        self._asked_at = -1

    @property
    def _entries(self) -> Any:
        return getattr(self._proto, self._field)

    @abstractmethod
    def _read(self) -> dict[str, V]:
        """The values by name, as they are stored now."""

    @abstractmethod
    def _value(self, positions: list[int]) -> V:
        """The value of the entries of one name, by their positions."""

    @abstractmethod
    def _new(self, name: str, value: V) -> _core.ProtoView:
        """A new entry."""

    @abstractmethod
    def _write(self, name: str, value: V) -> None:
        """Give the entry of a name, which exists, a value; or add an entry."""

    def _now(self) -> dict[str, V]:
        count = _core.edit_count(self._proto)
        if count != self._count:
            self._items = self._read()
            self._count = count
        return self._items

    def _finds_one(self) -> bool:
        """Whether to find one entry: after an edit, reading all for each look-up takes too long."""
        count = _core.edit_count(self._proto)
        if count in (0, self._count):
            return False
        if count != self._asked_at:
            self._asked, self._asked_at = 0, count
        self._asked += 1
        return self._asked <= _FEW or _core.is_indexed(self._proto)

    def _positions(self, name: object) -> list[int]:
        """The positions of the entries of a name, ascending."""
        return _core.entries_named(self._proto, self._field, name)

    def _last(self, name: str) -> Any:
        """The last entry of a name, which is the one that counts; None if there is none."""
        found = self._positions(name)
        return self._entries[found[-1]] if found else None

    def __getitem__(self, key: str) -> V:
        if not self._finds_one():
            return self._now()[key]
        found = self._positions(key)
        if not found:
            raise KeyError(key)
        return self._value(found)

    def __contains__(self, key: object) -> bool:
        return bool(self._positions(key)) if self._finds_one() else key in self._now()

    def __setitem__(self, key: str, value: V) -> None:
        self._write(_checked(key), value)

    def __delitem__(self, key: str) -> None:
        found = self._positions(key)
        if not found:
            raise KeyError(key)
        self._proto._splice(self._field, [], found)

    def clear(self) -> None:
        """Remove all entries."""
        self._replace([])

    def _replace(self, entries: list[_core.ProtoView]) -> None:
        self._proto._splice(self._field, entries, list(range(len(self._entries))))

    def setdefault(self, key: str, default: Any = None) -> V:
        """Return the value of a key; if there is none, give it the default first."""
        if key not in self:
            self[key] = default
        return self[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        if self._finds_one():
            return _core.entry_count(self._proto, self._field)
        return len(self._now())

    def __repr__(self) -> str:
        return repr(self._now())

    def __or__(self, other: Mapping[str, V]) -> dict[str, V]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, V]) -> dict[str, V]:
        return {**other, **self}

    def __ior__(self, other: Mapping[str, V]) -> Self:
        self.update(other)
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return dict, (self._now(),)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._now())


class StringMapping(FieldMapping[str]):
    """Texts by key, such as `metadata_props`.

    If a key is repeated, its last value counts, and you get a RepeatedKeyWarning.
    """

    __slots__ = ()

    def _read(self) -> dict[str, str]:
        return _core.string_entries(self._proto, self._field)

    def _value(self, positions: list[int]) -> str:
        entry = self._entries[positions[-1]]
        if len(positions) > 1:
            warn_repeated(self._field, entry.key)
        return entry.value

    def _new(self, name: str, value: str) -> _core.ProtoView:
        if not isinstance(value, str):
            raise TypeError(f"the value of {name!r} must be a str, not {type(value).__name__}")
        return _core.new("StringStringEntryProto", key=name, value=value)

    def _write(self, name: str, value: str) -> None:
        made = self._new(name, value)
        entry = self._last(name)
        if entry is None:
            self._entries.append(made)
        else:
            entry.value = value


class OpsetMapping(FieldMapping[int]):
    """Versions of operator sets by domain.

    If a domain is repeated, its highest version counts.
    """

    __slots__ = ()

    def _read(self) -> dict[str, int]:
        return _core.opset_versions(self._proto)

    def _value(self, positions: list[int]) -> int:
        return max(self._entries[position].version for position in positions)

    def _new(self, name: str, value: int) -> _core.ProtoView:
        made = _core.new("OperatorSetIdProto", domain=name)
        made.version = value
        return made

    def _write(self, name: str, value: int) -> None:
        found = self._positions(name)
        made = [] if found else [self._new(name, value)]
        for position in found:
            changed = _core.new("OperatorSetIdProto")
            changed.CopyFrom(self._entries[position])
            changed.version = value
            made.append(changed)
        self._proto._splice(self._field, made, found)


class AttributeMapping(FieldMapping["_core.Attribute"]):
    """Attributes by name, in file order.

    A new value is a number, text, bytes, list, array, Tensor, Graph or type, or an Attribute, which
    is copied. If a name is repeated, its last attribute counts, and you get a RepeatedKeyWarning.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __setitem__(self, key: str, value: Any) -> None: ...

    def _read(self) -> dict[str, _core.Attribute]:
        return _core.attribute_entries(self._proto, self._field)

    def _value(self, positions: list[int]) -> _core.Attribute:
        attribute = _core.wrap(self._entries[positions[-1]])
        if len(positions) > 1:
            warn_repeated(self._field, attribute.name)
        return attribute

    def _new(self, name: str, value: Any) -> _core.ProtoView:
        from onnxmap._new_attributes import attribute_of

        return attribute_of(name, value, self._proto)

    def _write(self, name: str, value: Any) -> None:
        from onnxmap._new_attributes import attribute_of

        entry = self._last(name)
        made = attribute_of(name, value, self._proto, entry)
        if entry is None:
            self._entries.append(made)
        else:
            entry.CopyFrom(made)


def set_entries(mapping: FieldMapping[Any], items: Mapping[str, Any]) -> None:
    """Replace all entries of a mapping."""
    new = dict(items)
    if new == mapping:
        return  # `node.metadata_props |= {...}` assigns the mapping that it has changed
    mapping._replace([mapping._new(_checked(name), value) for name, value in new.items()])


def _checked(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key is a str, not {type(key).__name__}")
    return key
