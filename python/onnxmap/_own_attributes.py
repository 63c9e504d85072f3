"""Assignments to wrong names: the same error as for reading them, which says which name to use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class OwnAttributes:
    """Objects with a fixed set of attributes, whose `__getattr__` raises the error for others."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker reports a wrong name by itself

        def __setattr__(self, name: str, value: Any) -> None:
            try:
                object.__setattr__(self, name, value)
            except AttributeError:
                if hasattr(type(self), name):
                    raise  # it cannot be assigned to
            else:
                return
            getattr(self, name)
