"""What a view, an object of onnxmap and a message of protobuf have in common: type and copies."""

from __future__ import annotations

from typing import Any

from onnxmap import _core

# A message that can be edited.
Message = _core.ProtoView


def new_message(name: str) -> Message:
    """Return a new, empty message of a type like "NodeProto"."""
    return _core.new(name)


def message_name(given: object) -> str:
    """Return the type of a message, like "NodeProto"; an empty text for anything else.

    The message is a ProtoView, an object of onnxmap that has one (`.proto`), or protobuf's own.
    """
    view: Any = getattr(given, "proto", given)
    if isinstance(view, _core.ProtoView):
        return view.message_type
    if not hasattr(view, "SerializeToString"):
        return ""
    return str(view.DESCRIPTOR.full_name).removeprefix("onnx.")


def copy_into(target: Any, given: Any) -> None:
    """Make an empty message equal to another one, which may be of another library.

    External tensors of an object, such as a Node, become inline ones that refer to their files,
    unless the new message is for the same folder.

    Raises:
        TypeError: the other message is of another type, or is none.
    """
    wanted, found = message_name(target), message_name(given)
    if wanted != found:
        raise TypeError(f"a {wanted} is needed, not {found or type(given).__name__}")
    if isinstance(target, _core.ProtoView):
        _core.copy_into(target, given)
    else:
        target.MergeFromString(getattr(given, "proto", given).SerializeToString())


def copy_all(target: Message, given: Any) -> None:
    """Append copies of messages to the list of a repeated field."""
    for message in given:
        copy_into(target.add(), message)
