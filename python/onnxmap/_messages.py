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


def copy_into(target: Message, given: Any) -> None:
    """Make an empty message equal to another one, which may be of another library.

    Raises:
        TypeError: the other message is of another type, or is none.
    """
    wanted, found = message_name(target), message_name(given)
    if wanted != found:
        raise TypeError(f"a {wanted} is needed, not {found or type(given).__name__}")
    source = getattr(given, "proto", given)
    if type(source) is type(target):
        target.CopyFrom(source)
    else:
        target.MergeFromString(source.SerializeToString())


def copy_all(target: Message, given: Any) -> None:
    """Append copies of messages to the list of a repeated field."""
    for message in given:
        copy_into(target.add(), message)
