"""Changes that another library made to a message, applied to the message of a model as edits.

Only what differs is edited, and all other messages keep their bytes. Elements of a repeated field
are matched by what identifies them: a node by its outputs, most others by their name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message as GoogleMessage

from onnxmap import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onnxmap._base.new_message import Message

_IDENTITIES = ("name", "key", "domain", "overload", "tensor_name")


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
    if before.DESCRIPTOR.name == "TensorProto":  # the values may be in any field
        target.CopyFrom(_copy_of(after, target, complete))
        return
    known, old, new = (
        {field.name: value for field, value in each.ListFields()} for each in (given, before, after)
    )
    changed = {}  # fields of numbers and text
    for field in before.DESCRIPTOR.fields:
        name, value = field.name, new.get(field.name)
        if value == old.get(name):
            continue
        if value is None:
            target.ClearField(name)
        elif field.message_type is None:
            target.ClearField(name)
            changed[name] = value
        elif not isinstance(value, GoogleMessage):
            _edit_list(target, name, known.get(name, ()), old.get(name, ()), value, complete)
        elif name in old and name in known:
            apply_differences(getattr(target, name), known[name], old[name], value, complete)
        else:
            getattr(target, name).CopyFrom(_copy_of(value, target, complete))
    if changed:
        target.MergeFromString(type(after)(**changed).SerializeToString())


def _edit_list(
    target: Message,
    field: str,
    given: Sequence[Any],
    before: Sequence[Any],
    after: Sequence[Any],
    complete: Callable[[Message], None],
) -> None:
    """Edit a list of messages as another one was changed."""
    place = getattr(target, field)
    end_old, end_new = len(before), len(after)
    if len(given) == end_old == end_new and not any(map(_identity, [*before, *after])):
        pairs = [(i, i) for i in range(end_old)]
    else:  # only the elements of `given` have the positions of the target
        known: dict[bytes, list[Any]] = {}  # of a repeated key, the last first
        for key, each in zip(_keys(before)[::-1], before[::-1], strict=True):
            known.setdefault(key, []).append(each)
        made = [(known.get(key), each) for key, each in zip(_keys(given), given, strict=True)]
        before = [same.pop() if same else each for same, each in made]
        pairs, end_old = _core.match_lists(_keys(before), _keys(after)), len(before)
    # From the end, so that the positions before it stay.
    for i, j in [*reversed(pairs), (-1, -1)]:
        del place[i + 1 : end_old]
        for message in reversed(after[j + 1 : end_new]):
            place.insert(i + 1, _copy_of(message, target, complete))
        if i >= 0 and before[i] != after[j]:
            apply_differences(place[i], given[i], before[i], after[j], complete)
        end_old, end_new = i, j


def _copy_of(message: Any, target: Message, complete: Callable[[Message], None]) -> Message:
    made = _core.new_beside(target, message.DESCRIPTOR.full_name.removeprefix("onnx."))
    made.ParseFromString(message.SerializeToString())
    complete(made)
    return made


def _keys(messages: Sequence[Any]) -> list[bytes]:
    """What identifies each message: the outputs of a node, or a name; else its content."""
    return [_identity(each) or each.SerializeToString(deterministic=True) for each in messages]


def _identity(message: Any) -> bytes:
    fields = message.DESCRIPTOR.fields_by_name
    if "op_type" in fields and "output" in fields:
        found = list(message.output)
    else:
        found = [getattr(message, name) for name in _IDENTITIES if name in fields]
    # The usual domain of operators is named by an empty string.
    return repr(found).encode() if any(found) or len(found) == 1 else b""
