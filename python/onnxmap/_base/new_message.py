"""New messages, and what they are called in annotations."""

from __future__ import annotations

from typing import Any

from onnxmap import _core
from onnxmap._base.schema import message_rows

# A message that can be edited.
Message = _core.ProtoView


def new_message(message_type: str, required: dict[str, Any], /, **optional: Any) -> Message:
    """Return a new message with these fields, in the order of onnx.proto; see `_core.new`.

    Raises:
        TypeError: a required field is None.
    """
    for field, value in required.items():
        if value is None:
            raise TypeError(f"{field} must not be None")
    fields = required | optional
    in_order = {name: fields[name] for name in message_rows(message_type) if name in fields}
    return _core.new(message_type, **in_order)
