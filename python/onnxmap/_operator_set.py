"""Operator sets."""

from __future__ import annotations

from typing import Any

from onnxmap import _core
from onnxmap._display import describe


class OperatorSet:
    """A set of operators: an OperatorSetProto."""

    __slots__ = ("proto",)

    def __init__(self, proto: _core.ProtoView) -> None:
        self.proto = proto

    @property
    def operators(self) -> _core.MessageList[_core.Operator]:
        """The operators of the set."""
        return _core.friendly(self.proto, "operator")

    def __getattr__(self, name: str) -> Any:
        # The fields of OperatorSetProto. `proto` gets here if __init__ was never called.
        if name.startswith("_") or name == "proto":
            raise AttributeError(name)
        return _core.friendly(self.proto, name)

    def __dir__(self) -> list[str]:
        return [*dir(type(self)), *dir(self.proto)]

    def __repr__(self) -> str:
        return describe(self)
