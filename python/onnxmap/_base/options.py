"""The options that decide how a file is opened, from the arguments of `load`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

from onnxmap import _core
from onnxmap._base.limits import Limits

# For type checkers. The core decides which names there are.
Io = Literal["auto", "mmap", "read"]
Check = Literal["full", "lazy"]
LinkPolicy = Literal["contained", "strict", "trusted"]

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxmap._base.paths import Path

    class FileOptions(TypedDict, total=False):
        """Arguments of `load` that also tensors take. What is left out has the default."""

        link_policy: LinkPolicy
        allow_hardlinks: bool
        io: Io
        watch: bool
        lenient: bool
        limits: Limits | None

    class LoadOptions(FileOptions, total=False):
        """The arguments of `load` after the path."""

        external_root: Path | None
        check: Check
        storage_options: Mapping[str, object] | None


_NAMES = _core.option_names()
_DEFAULT_LIMITS = Limits()


class Options:
    """The checked arguments that `load` and its variants share, as the core takes them.

    Nothing changes them later.
    """

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

    def unusual(self) -> dict[str, Any]:
        """Return the arguments that are not the defaults, to load again with the same options."""
        usual = vars(Options())
        return {name: value for name, value in vars(self).items() if value != usual[name]}


def options_of(view: _core.ProtoView) -> Options:
    """Return the options with which the document of a message was opened."""
    policy: Any
    _, policy, lenient, limits = view._reading()
    links, hardlinks, io, watch = policy
    return Options(links, hardlinks, io, watch=watch, lenient=lenient, limits=Limits(**limits))


def _choice(name: str, value: object) -> str:
    # Another class may claim to equal every text.
    text = str.__str__(value) if isinstance(value, str) else ""
    if text in (known := _NAMES[name]):
        return text
    raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}")


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return value
