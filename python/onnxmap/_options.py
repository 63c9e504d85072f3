"""The options that decide how a file is opened, from the arguments of `load`."""

from __future__ import annotations

import dataclasses
from typing import Literal

from onnxmap import _core
from onnxmap._limits import Limits

# For type checkers. The core decides which names there are.
Io = Literal["auto", "mmap", "read"]
Check = Literal["full", "lazy"]
LinkPolicy = Literal["contained", "strict", "trusted"]

_NAMES = _core.option_names()
_DEFAULT_LIMITS = Limits()


@dataclasses.dataclass(frozen=True)
class Options:
    """The checked arguments that `load` and its variants share, as the core takes them."""

    link_policy: LinkPolicy = "contained"
    allow_hardlinks: bool = False
    io: Io = "auto"
    check: Check = "full"
    watch: bool = True
    lenient: bool = False
    limits: Limits | None = None

    def __post_init__(self) -> None:
        for name, choices in _NAMES.items():
            value = getattr(self, name)
            # `in` would call __eq__ of the value, which may claim to equal every text.
            found = [choice for choice in choices if _is_text(value, choice)]
            if not found:
                wanted = ", ".join(map(repr, choices))
                raise ValueError(f"{name} must be one of {wanted}, not {value!r}")
            object.__setattr__(self, name, found[0])
        for name in ("allow_hardlinks", "watch", "lenient"):
            flag = getattr(self, name)
            if not isinstance(flag, bool):
                raise TypeError(f"{name} must be True or False, not {flag!r}")
        limits: object = self.limits
        if limits is None:
            object.__setattr__(self, "limits", _DEFAULT_LIMITS)
        elif not isinstance(limits, Limits):
            raise TypeError(f"limits must be an onnxmap.Limits, not {type(limits).__name__}")


def _is_text(value: object, text: str) -> bool:
    return isinstance(value, str) and str.__eq__(text, value)
