"""Assignments to attributes that an object lacks."""

from __future__ import annotations

from typing import Any


def set_or_explain(self: Any, name: str, value: object) -> None:
    """Set an attribute, as a `__setattr__`. An unknown name is the same error as if it was read."""
    try:
        object.__setattr__(self, name, value)
    except AttributeError:
        if not hasattr(type(self), name):
            getattr(self, name)  # the class has a `__getattr__`, which raises the error
        raise
