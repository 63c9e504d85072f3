"""What the core reads of Python objects, by `attr("name")` in cpp/bindings. For type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onnxmap._base.limits import Limits
    from onnxmap._base.options import Check, Io, LinkPolicy

    LocationsInText = Callable[[bytes], list[bytes] | None]


class LoadOptions(Protocol):
    """How a file is opened; see `Options`."""

    check: Check
    io: Io
    link_policy: LinkPolicy
    allow_hardlinks: bool
    lenient: bool
    watch: bool
    limits: Limits


class SaveOptions(Protocol):
    """How files are written; see `save`."""

    @property
    def kind(self) -> str: ...
    @property
    def location(self) -> bytes: ...

    alignment: int | None
    allow_loss: bool
    allow_over_2gib: bool
    attributes: bool
    dedupe: bool
    follow_symlinks: bool
    max_shard_size_bytes: int | None
    overwrite: bool
    replace_read_only: bool
    size_threshold_bytes: int
    sync: bool


class WeightsOptions(SaveOptions, Protocol):
    """The same for a file of weights."""

    for_numpy: bool
    metadata: bool
    names: Iterable[str] | None


class SaveHooks(Protocol):
    """What a save asks."""

    @property
    def types_of(self) -> Callable[[list[str]], Iterable[int | None]] | None:
        """What returns the numbers of the new element types of tensors, given their names."""

    @property
    def new_sha1(self) -> Callable[[], object] | None:
        """What makes an object of hashlib, if checksums are written."""

    @property
    def locations_in_text(self) -> LocationsInText:
        """What returns the locations of the data files of a model in a text form."""

    def encoder_of(self, i: int, path: bytes) -> Callable[[bytes], bytes] | None:
        """Return what makes the bytes of a file of its message, unless they are the message."""

    def start(self, total: int) -> Callable[[int, int], object] | None:
        """Return what is told of the progress, given the bytes of all."""


class RangeFile(Protocol):
    """A file that is read in ranges, behind a URL."""

    url: str
    state: str
    size: int
    at_once: int

    def read_into(self, offset: int, memory: memoryview) -> None: ...
    def check_unchanged(self) -> None: ...


class RemoteFolder(Protocol):
    """Opens files of external data behind a URL, by their locations."""

    url: str

    def url_of(self, location: bytes) -> str: ...
    def open(self, location: bytes) -> RangeFile: ...
