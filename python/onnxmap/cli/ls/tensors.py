"""The tensors of a model: name or path, type, shape, bytes, and where the bytes are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxmap._schema import type_name
from onnxmap._text import bytes_in_words, escape
from onnxmap.cli.columns import Column
from onnxmap.cli.ls.listing import Listing
from onnxmap.cli.text import count, shape_in_words
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    import onnxmap


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the list. A value is None if the file has none, or a malformed one."""

    name: str  # the path, if all tensors are listed
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    file: str | None  # the location of external data as the model spells it; None for inline
    offset: int | None
    aligned: bool | None


SORT_KEYS = {
    "size": lambda entry: (-entry.nbytes, entry.name),
    "name": lambda entry: entry.name,
    "dtype": lambda entry: (entry.dtype, entry.name),
    "file": lambda entry: (entry.file or "", entry.offset or 0),
}


class Tensors(Listing[Entry]):
    """Tensors as entries."""

    what = "tensor"
    sort_keys = SORT_KEYS

    def __init__(
        self, entries: Sequence[Entry], paths: Mapping[str, Collection[str]] | None = None
    ) -> None:
        """`paths`: for entries by path, the paths of the tensors of each name."""
        super().__init__(entries)
        self._paths = paths or {}

    def names(self) -> Mapping[str, Collection[str]]:
        """See Listing. A tensor is found by its path and by its name."""
        return {**self._paths, **super().names()}

    def columns(self) -> list[Column]:
        """See Listing."""
        entries = self.entries
        offsets = [_offset(entry) for entry in entries]
        return [
            Column("name", [escape(entry.name) for entry in entries], style="cyan", narrowest=24),
            Column("type", [entry.dtype for entry in entries]),
            Column("shape", [shape_in_words(entry.shape) for entry in entries], narrowest=14),
            Column("bytes", [f"{entry.nbytes:,}" for entry in entries], right=True),
            Column("in", [escape(entry.file or "inline") for entry in entries], narrowest=12),
            Column("offset", offsets, right=True, style="dim", droppable=True),
        ]

    def totals(self) -> str:
        """See Listing."""
        nbytes = sum(entry.nbytes for entry in self.entries)
        parts = [count(len(self.entries), "tensor"), bytes_in_words(nbytes)]
        files = Counter(entry.file for entry in self.entries)
        inline = files.pop(None, 0)
        if files:
            others = count(len(files), "other file")
            parts += [f"{inline:,} inline", f"{files.total():,} in {others}"]
        unaligned = sum(entry.aligned is False for entry in self.entries)
        if unaligned:
            parts.append(f"{unaligned:,} not aligned (*)")
        return " · ".join(parts)


def listing(model: onnxmap.Model, *, everywhere: bool) -> Tensors:
    """Return the initializers of the graph, or every tensor anywhere by its path."""
    if everywhere:
        entries = []
        paths: dict[str, list[str]] = {}
        for path, tensor in model.tensors():
            entries.append(_entry(path, tensor))
            if tensor.name:
                paths.setdefault(tensor.name, []).append(path)
        return Tensors(entries, paths)
    initializers = model.initializers
    columns = zip(
        initializers.names(),
        initializers.dtypes(),
        initializers.shapes(),
        initializers.nbytes(),
        initializers.all(),
        strict=True,
    )
    return Tensors(
        [
            Entry(name, type_name(dtype), shape, nbytes, *_place(tensor))
            for name, dtype, shape, nbytes, tensor in columns
        ]
    )


def _entry(path: str, tensor: onnxmap.Tensor) -> Entry:
    dtype = type_name(tensor.proto.data_type)
    return Entry(path, dtype, tuple(tensor.proto.dims), tensor.nbytes, *_place(tensor))


def _place(tensor: onnxmap.Tensor) -> tuple[str | None, int | None, bool | None]:
    """The external file, the offset, and whether a view is aligned; None if unknown."""
    try:
        external = tensor.external
        file = external.location if external else None
    except OnnxMapError:
        return "?", None, None
    try:
        return file, tensor.offset, tensor.is_aligned if tensor.is_view else None
    except OnnxMapError:
        return file, external.offset if external else None, None


def _offset(entry: Entry) -> str:
    """The position in the file, with a star if a view is not aligned to its elements."""
    if entry.offset is None:
        return "- "
    return f"{entry.offset}{'*' if entry.aligned is False else ' '}"
