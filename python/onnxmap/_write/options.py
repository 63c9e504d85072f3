"""The options of a save, and its report."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnxmap._base.file_forms import OF_WEIGHTS, check_form
from onnxmap._show.display import describe_html

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal

    import numpy as np

    from onnxmap._base.file_forms import FileForm
    from onnxmap._show.progress import ProgressArgument

    ExternalData = str | bytes | os.PathLike[str] | Literal[False] | None
    # What DataType() takes: a name, a number, a type of NumPy.
    ElementType = str | int | type | np.dtype[Any]
    NewTypes = ElementType | Mapping[str, ElementType] | None


MOST_FOR_PROTOBUF = 2**31 - 1  # bytes of a message
_MOST_INLINE_ALIGNMENT = 1 << 16  # the padding in front of each tensor is up to that long
_LEAST = {"size_threshold_bytes": 0, "alignment": 1, "max_shard_size_bytes": 1}


@dataclass(frozen=True)
class SaveReport:
    """What a save did. Sizes are in bytes.

    Attributes:
        files: the paths of the files that were written: the data files, then the models.
        bytes_written: bytes from memory: structure, padding, and values that no file had. Holes,
            which large alignments leave in a file, do not count.
        bytes_copied: bytes that were copied from file to file.
        bytes_referenced: bytes of files that stay as they are and that the models refer to.
        unused: by the path of each data file that only the saved models may use, or no model: the
            bytes that no tensor uses. Files that the loaded model still needs, or a model in their
            folder or in one of the three above, are left out. Padding between tensors does not
            count.
        left_over: old files that were moved aside and could not be removed.
        vanished: with `dtype`, by the name of each tensor: how many of its values became 0.
    """

    files: list[str] = field(default_factory=list)
    bytes_written: int = 0
    bytes_copied: int = 0
    bytes_referenced: int = 0
    unused: dict[str, int] = field(default_factory=dict)
    left_over: list[str] = field(default_factory=list)
    vanished: dict[str, int] = field(default_factory=dict)
    _repr_html_ = describe_html


@dataclass
class SaveOptions:
    """The arguments of `save`, with the same meaning."""

    external_data: ExternalData = None
    size_threshold_bytes: int = 1024
    alignment: int | None = None
    attributes: bool = False
    checksum: bool = False
    max_shard_size_bytes: int | None = None
    dedupe: bool = False
    dtype: NewTypes = None
    allow_loss: bool = False
    allow_over_2gib: bool = False
    format: FileForm | None = None
    overwrite: bool = True
    replace_read_only: bool = False
    follow_symlinks: bool = False
    sync: bool = True
    progress: ProgressArgument = False

    def __post_init__(self) -> None:
        if isinstance(self.external_data, os.PathLike):
            # As bytes, since the file may be called "view".
            self.external_data = os.fsencode(self.external_data)

    @property
    def kind(self) -> str:
        """What the core calls the meaning of `external_data`."""
        kinds: dict[object, str] = {None: "keep", False: "inlined", "view": "view"}
        return kinds.get(self.external_data, "file")

    @property
    def location(self) -> bytes:
        """The name of the file that `external_data` names, if it names one."""
        return os.fsencode(self.external_data or b"") if self.kind in ("file", "weights") else b""

    def check(self) -> None:
        """Raise TypeError or ValueError if the options of a user do not fit together."""
        check_form(self.format)
        external: object = self.external_data
        if external is True or not isinstance(external, str | bytes | bool | None):
            text = 'external_data must be None, False, the name of a data file, or "view"'
            raise TypeError(f"{text}, not {external!r}")
        if external in ("", b""):
            raise ValueError("external_data must not be empty; without it, values stay in place")
        for name, least in _LEAST.items():
            _check_int(name, getattr(self, name), least)
        to_file = external not in (None, False, "view")
        alignment = self.alignment or 1
        if alignment & (alignment - 1):
            raise ValueError(f"alignment must be a power of two, not {alignment}")
        if not to_file and alignment > _MOST_INLINE_ALIGNMENT:
            text = f"alignment must be at most {_MOST_INLINE_ALIGNMENT} for values in the model"
            raise ValueError(f"{text}, not {alignment}")
        for name in ("checksum", "max_shard_size_bytes", "dedupe"):
            if getattr(self, name) and not to_file:
                raise ValueError(f"{name} needs external_data, the name of a data file")
        name = os.fsdecode(self.location)
        is_safetensors = name.endswith(".safetensors")
        if self.kind == "file" and name.lower().endswith(OF_WEIGHTS) and not is_safetensors:
            raise ValueError(f"external_data must not be the name of another format: {name!r}")
        if self.dedupe and is_safetensors:
            raise ValueError("a safetensors file cannot store equal tensors once; leave out dedupe")
        if self.attributes and external in (None, False):
            raise ValueError('attributes needs external_data=... or external_data="view"')
        for name in ("dtype", "alignment"):
            if external == "view" and getattr(self, name) is not None:
                text = 'has no use with external_data="view": values stay in place'
                raise ValueError(f"{name} {text}")
        if self.allow_loss and self.dtype is None:
            raise ValueError("allow_loss needs dtype")


def _check_int(name: str, value: object, least: int) -> None:
    """Raise TypeError or ValueError if an option is no int of at least that much."""
    if value is None and least == 1:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if value < least:
        rule = "be positive" if least else "not be negative"
        raise ValueError(f"{name} must {rule}, not {value}")
    if value >= 1 << 63:
        raise ValueError(f"{name} must be below 2**63, not {value}")


@dataclass
class WeightsOptions(SaveOptions):
    """The options of `save_safetensors` and `extract_weights`."""

    names: Sequence[str] | None = None
    metadata: bool = True
    for_numpy: bool = False  # .npz or .npy

    def check(self) -> None:
        """See SaveOptions."""
        super().check()
        found = type(self.metadata).__name__
        if found != "bool":
            raise TypeError(f"metadata must be a bool, not {found}; the model has the metadata")

    @property
    def kind(self) -> str:
        """See SaveOptions."""
        return "weights"
