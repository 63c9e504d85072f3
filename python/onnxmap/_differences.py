"""Changes that another library made to a message, applied to the message of a model as edits.

Only what differs is edited, and all other messages keep their bytes. Elements of a repeated field
are matched if they are equal, and else by what identifies them: a node by its outputs, most others
by their name.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from onnxmap import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from onnxmap._messages import Message

_IDENTITIES = ("name", "key", "domain", "tensor_name")
# Of a tensor: what does not say where its values are.
_SAID = frozenset({"dims", "data_type", "name", "doc_string", "metadata_props"})
_Pair = tuple[int, int]


def apply_differences(
    target: Message, given: Any, before: Any, after: Any, complete: Callable[[Message], None]
) -> None:
    """Edit a message as another one was changed.

    Args:
        target: the message to edit.
        given: a message of protobuf with the fields of `target`. Its texts are bytes, which need
            not be UTF-8, as in the class `message_class(name, texts_as_bytes=True)`.
        before: what the other library makes of `given` if it changes nothing. What it forgets is
            not a change. `given` itself, if the library forgets nothing.
        after: what it made of `given`.
        complete: called with each message that is added, before it is added.
    """
    _Work(complete).edit(target, given, before, after)


class _Work:
    def __init__(self, complete: Callable[[Message], None]) -> None:
        self._complete = complete

    def edit(self, target: Message, given: Any, before: Any, after: Any) -> None:
        if before == after:
            return
        if before.DESCRIPTOR.name == "TensorProto" and _values_of(before) != _values_of(after):
            target.CopyFrom(self._copy_of(after, target))  # it may store them in any field
            return
        fields = before.DESCRIPTOR.fields
        # A oneof may get another member: the old one goes first.
        for field in fields:
            name = field.name
            if not _is_repeated(field) and before.HasField(name) and not after.HasField(name):
                target.ClearField(name)
        for field in fields:
            name = field.name
            if _is_repeated(field):
                self._edit_list(field, target, given, before, after)
            elif after.HasField(name):
                self._edit_field(field, target, given, before, after)

    def _edit_field(self, field: Any, target: Message, given: Any, before: Any, after: Any) -> None:
        name = field.name
        new = getattr(after, name)
        is_there = before.HasField(name) and given.HasField(name)
        if field.message_type is None:
            if not (before.HasField(name) and getattr(before, name) == new):
                _merge_value(target, field, after)
        elif is_there:
            self.edit(getattr(target, name), getattr(given, name), getattr(before, name), new)
        else:
            getattr(target, name).CopyFrom(self._copy_of(new, target))

    def _edit_list(self, field: Any, target: Message, given: Any, before: Any, after: Any) -> None:
        old, new = getattr(before, field.name), getattr(after, field.name)
        if old == new:
            return
        place = getattr(target, field.name)
        if field.message_type is None:
            target.ClearField(field.name)
            _merge_value(target, field, after)
            return
        known = getattr(given, field.name)
        old = _in_the_order_of(known, old)
        pairs = _pairs(old, new)
        # From the end, so that the positions before it stay.
        end_old, end_new = len(old), len(new)
        for i, j in [*reversed(pairs), (-1, -1)]:
            if i + 1 < end_old:
                del place[i + 1 : end_old]
            if j + 1 < end_new:
                made = [self._copy_of(one, target) for one in new[j + 1 : end_new]]
                _insert(place, i + 1, made)
            if i >= 0:
                self.edit(place[i], known[i], old[i], new[j])
            end_old, end_new = i, j

    def _copy_of(self, message: Any, target: Message) -> Message:
        made = _core.new_beside(target, message.DESCRIPTOR.full_name.removeprefix("onnx."))
        made.ParseFromString(message.SerializeToString())
        self._complete(made)
        return made


def _in_the_order_of(known: Any, old: Any) -> Any:
    """The elements of `old`, each at the position of the same one in `known`.

    If they are not the same elements, they are those of `known`: only these have the positions of
    the target.
    """
    names, old_names = [_identity(one) for one in known], [_identity(one) for one in old]
    if names == old_names:
        return old
    by_name = dict(zip(old_names, old, strict=True))
    if len(by_name) == len(old) == len(known) and by_name.keys() == set(names):
        return [by_name[name] for name in names]
    return known


def _values_of(tensor: Any) -> bytes:
    values = type(tensor)()
    values.CopyFrom(tensor)
    for name in _SAID:
        values.ClearField(name)
    return bytes(values.SerializeToString(deterministic=True))


def _merge_value(target: Message, field: Any, message: Any) -> None:
    """Set a field of numbers or text to what it is in another message."""
    part = type(message)()
    if _is_repeated(field):
        getattr(part, field.name).extend(getattr(message, field.name))
    else:
        setattr(part, field.name, getattr(message, field.name))
    target.MergeFromString(part.SerializeToString())


def _is_repeated(field: Any) -> bool:
    # protobuf 7 has no `label`, and protobuf 5 has no `is_repeated`.
    found = getattr(field, "is_repeated", None)
    return field.label == field.LABEL_REPEATED if found is None else bool(found)


def _insert(place: Any, position: int, messages: list[Message]) -> None:
    if position == len(place):
        place.extend(messages)
        return
    for message in reversed(messages):
        place.insert(position, message)


def _pairs(old: Any, new: Any) -> list[_Pair]:
    """The positions of elements that are the same one before and after, ascending in both."""
    keys = [[one.SerializeToString(deterministic=True) for one in each] for each in (old, new)]
    equal = _matched(keys[0], keys[1])
    pairs: list[_Pair] = []
    begin = (0, 0)
    for i, j in [*equal, (len(old), len(new))]:
        pairs += _pairs_between(old, new, begin, (i, j))
        pairs.append((i, j))
        begin = (i + 1, j + 1)
    return pairs[:-1]


def _pairs_between(old: Any, new: Any, begin: _Pair, end: _Pair) -> list[_Pair]:
    """The pairs in a gap, where no element is equal to one of the other side."""
    if begin[0] == end[0] or begin[1] == end[1]:
        return []
    olds = [_identity(one) for one in old[begin[0] : end[0]]]
    news = [_identity(one) for one in new[begin[1] : end[1]]]
    if len(olds) == len(news) and (olds == news or not any(map(any, [*olds, *news]))):
        found = [(i, i) for i in range(len(olds))]
    else:
        found = [(i, j) for i, j in _matched(olds, news) if any(olds[i])]
    return [(begin[0] + i, begin[1] + j) for i, j in found]


def _identity(message: Any) -> tuple[bytes, ...]:
    fields = message.DESCRIPTOR.fields_by_name
    if "output" in fields and "op_type" in fields:
        return tuple(message.output)
    return tuple(getattr(message, name) for name in _IDENTITIES if name in fields)


def _matched(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[_Pair]:
    """Pairs of equal keys, ascending in both: the ends, and as many as possible between.

    Between the ends, a key that occurs twice on a side counts as different from all others.
    """
    least = min(len(old), len(new))
    head = 0
    while head < least and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < least - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    between = _ascending(_unique_pairs(old[head : len(old) - tail], new[head : len(new) - tail]))
    return [
        *((i, i) for i in range(head)),
        *((head + i, head + j) for i, j in between),
        *((len(old) - i, len(new) - i) for i in range(tail, 0, -1)),
    ]


def _unique_pairs(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[_Pair]:
    places = [_places(old), _places(new)]
    return [
        (i, j)
        for key, i in places[0].items()
        if i is not None and (j := places[1].get(key)) is not None
    ]


def _places(keys: Sequence[Hashable]) -> dict[Hashable, int | None]:
    """The position of each key; None if it occurs twice."""
    found: dict[Hashable, int | None] = {}
    for i, key in enumerate(keys):
        found[key] = None if key in found else i
    return found


def _ascending(pairs: list[_Pair]) -> list[_Pair]:
    """The longest part of pairs, ascending in the first, that also ascends in the second."""
    ends: list[int] = []  # by length, the smallest second of a last pair
    lasts: list[int] = []  # by length, the index of that pair
    before: list[int] = []
    for index, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        ends[length : length + 1] = [j]
        lasts[length : length + 1] = [index]
        before.append(lasts[length - 1] if length else -1)
    chosen: list[_Pair] = []
    index = lasts[-1] if lasts else -1
    while index >= 0:
        chosen.append(pairs[index])
        index = before[index]
    return chosen[::-1]
