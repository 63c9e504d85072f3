"""Compares the functions that make new messages with those of `onnx.helper`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from onnx import helper

from onnxmap import _messages, _new_attributes, _new_messages, _new_tensors, _new_types
from support.canonical import message_class

MODULES = (_new_attributes, _new_messages, _new_tensors, _new_types)


def ours(name: str) -> Callable[..., Any]:
    """Our function of a name of onnx.helper."""
    return next(getattr(module, name) for module in MODULES if hasattr(module, name))


def form(message: Any) -> bytes:
    """Equal for equal messages."""
    name = _messages.message_name(message)
    parsed = message_class(name).FromString(message.SerializeToString())
    return bytes(parsed.SerializeToString(deterministic=True))


def assert_same(name: str, /, *arguments: Any, **options: Any) -> None:
    """Assert that both functions make the same message, or raise errors of one class."""
    try:
        expected = getattr(helper, name)(*arguments, **options)
    except (TypeError, ValueError, OverflowError) as error:
        with pytest.raises(type(error)):
            ours(name)(*arguments, **options)
        return
    made = ours(name)(*arguments, **options)
    assert form(made) == form(expected)
