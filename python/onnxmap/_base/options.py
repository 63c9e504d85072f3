"""The options that decide how a file is opened, from the arguments of `load`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from onnxmap import _core
from onnxmap._base.limits import Limits
from onnxmap._base.paths import absolute_or_url

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


@dataclass
class Options:
    """The checked arguments that `load` and its variants share, as the core takes them.

    Nothing changes them later.
    """

    link_policy: LinkPolicy = "contained"
    allow_hardlinks: bool = False
    io: Io = "auto"
    check: Check = "full"
    watch: bool = True
    lenient: bool = False
    limits: Any = None  # becomes a Limits
    external_root: Any = None  # becomes an absolute path, or a URL, as a str
    storage_options: Mapping[str, object] | None = field(default=None, repr=False)  # passwords

    def __post_init__(self) -> None:
        for name, known in _NAMES.items():
            given = getattr(self, name)
            # Another class may claim to equal every text.
            text = str.__str__(given) if isinstance(given, str) else ""
            if text not in known:
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, known))}, not {given!r}"
                )
            setattr(self, name, text)
        for name in ("allow_hardlinks", "watch", "lenient"):
            if not isinstance(given := getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, not {given!r}")
        if not isinstance(self.limits, Limits | None):
            raise TypeError(f"limits must be an onnxmap.Limits, not {type(self.limits).__name__}")
        if self.limits is None:
            self.limits = _DEFAULT_LIMITS
        if self.external_root is not None:
            self.external_root = absolute_or_url(self.external_root)

    def unusual(self) -> dict[str, Any]:
        """Return the arguments that are not the defaults, to load again with the same options.

        `storage_options` are left out: they may hold passwords.
        """
        usual = {**vars(Options()), "storage_options": self.storage_options}
        return {name: value for name, value in vars(self).items() if value != usual[name]}


def options_of(view: _core.ProtoView) -> Options:
    """Return the options with which the document of a message was opened."""
    policy: Any
    _, policy, lenient, limits = view._reading()
    links, hardlinks, io, watch = policy
    return Options(links, hardlinks, io, watch=watch, lenient=lenient, limits=Limits(**limits))
