"""Compares the functions that make new messages with those of `onnx.helper`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from onnx import helper

import onnxmap
from support.oracles.canonical import message_class


def ours(name: str) -> Callable[..., Any]:
    """Our function of a name of onnx.helper."""
    found: Callable[..., Any] = getattr(onnxmap, name)
    return found


def form(message: Any) -> bytes:
    """Equal for equal messages."""
    view = getattr(message, "proto", message)
    is_ours = isinstance(view, onnxmap.ProtoView)
    name = view.message_type if is_ours else view.DESCRIPTOR.full_name.removeprefix("onnx.")
    parsed = message_class(name).FromString(view.SerializeToString())
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
