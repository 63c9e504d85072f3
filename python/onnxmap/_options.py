"""The options that decide how a file is opened, from the arguments of `load`."""

from __future__ import annotations

from typing import Literal

from onnxmap import _core
from onnxmap._limits import Limits

# For type checkers. The core decides which names there are.
Io = Literal["auto", "mmap", "read"]
Check = Literal["full", "lazy"]
LinkPolicy = Literal["contained", "strict", "trusted"]

_NAMES = _core.option_names()
_DEFAULT_LIMITS = Limits()


class Options:
    """The checked arguments that `load` and its variants share, as the core takes them.

    Nothing changes them later.
    """

    __slots__ = ("allow_hardlinks", "check", "io", "lenient", "limits", "link_policy", "watch")

    def __init__(
        self,
        link_policy: LinkPolicy = "contained",
        allow_hardlinks: bool = False,
        io: Io = "auto",
        check: Check = "full",
        watch: bool = True,
        lenient: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self.link_policy = _choice("link_policy", link_policy)
        self.allow_hardlinks = _flag("allow_hardlinks", allow_hardlinks)
        self.io = _choice("io", io)
        self.check = _choice("check", check)
        self.watch = _flag("watch", watch)
        self.lenient = _flag("lenient", lenient)
        given: object = limits
        if not isinstance(given, Limits | None):
            raise TypeError(f"limits must be an onnxmap.Limits, not {type(given).__name__}")
        self.limits = _DEFAULT_LIMITS if given is None else given


def _choice(name: str, value: object) -> str:
    if type(value) is str and value in _NAMES[name]:
        return value
    # `in` would call __eq__ of another value, which may claim to equal every text.
    for choice in _NAMES[name]:
        if _is_text(value, choice):
            return choice
    wanted = ", ".join(map(repr, _NAMES[name]))
    raise ValueError(f"{name} must be one of {wanted}, not {value!r}")


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return value


def _is_text(value: object, text: str) -> bool:
    return isinstance(value, str) and str.__eq__(text, value)
