"""The tensors of a model: name or path, type, shape, bytes, and where the bytes are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxmap._schema import type_name
from onnxmap._text import bytes_in_words, counted, escape
from onnxmap.cli.columns import Column
from onnxmap.cli.ls.listing import Listing, natural, positions
from onnxmap.cli.text import shape_in_words
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
    aligned: bool | None  # None if there is no view
    sparse: bool = False


_ALIGNED = {True: "yes", False: "no", None: "-"}

SORT_KEYS = {
    "size": lambda entry: (-entry.nbytes, natural(entry.name)),
    "name": lambda entry: natural(entry.name),
    "dtype": lambda entry: (entry.dtype, natural(entry.name)),
    "file": lambda entry: (entry.file or "", entry.offset or 0),
}


class Tensors(Listing[Entry]):
    """Initializers as entries."""

    what = "tensor"
    heading = "name"
    sort_keys = SORT_KEYS

    def columns(self) -> list[Column]:
        """See Listing."""
        entries = self.entries
        return [
            Column(
                self.heading,
                [escape(entry.name) for entry in entries],
                style="cyan",
                narrowest=24,
            ),
            Column("type", [_type(entry) for entry in entries]),
            Column("shape", [shape_in_words(entry.shape) for entry in entries], narrowest=14),
            Column("bytes", [f"{entry.nbytes:,}" for entry in entries], right=True),
            Column(
                "in",
                [escape(entry.file or "inline") for entry in entries],
                narrowest=12,
                droppable=True,
            ),
            Column(
                "offset",
                ["-" if entry.offset is None else str(entry.offset) for entry in entries],
                right=True,
                style="dim",
                droppable=True,
            ),
            Column(
                "aligned",
                [_ALIGNED[entry.aligned] for entry in entries],
                style="dim",
                droppable=True,
            ),
        ]

    def totals(self) -> str:
        """See Listing."""
        nbytes = sum(entry.nbytes for entry in self.entries)
        parts = [counted(len(self.entries), "tensor"), bytes_in_words(nbytes)]
        files = Counter(entry.file for entry in self.entries)
        inline = files.pop(None, 0)
        if files:
            others = counted(len(files), "other file")
            parts += [f"{inline:,} inline", f"{files.total():,} in {others}"]
        unaligned = sum(entry.aligned is False for entry in self.entries)
        if unaligned:
            parts.append(f"{unaligned:,} not aligned")
        return " · ".join(parts)


class TensorsByPath(Tensors):
    """Tensors of any place as entries that are named by their paths."""

    heading = "path"

    def __init__(self, entries: Sequence[Entry], own_names: Sequence[str] = ()) -> None:
        """`own_names`: the name of each tensor, by which it is found as well."""
        super().__init__(entries)
        self._own_names = own_names

    def names(self) -> Mapping[str, Collection[int]]:
        """See Listing."""
        found = positions(self._own_names)
        found.pop("", None)
        return {**found, **super().names()}


def listing(model: onnxmap.Model, *, everywhere: bool) -> Tensors:
    """Return the initializers of the graph, or every tensor anywhere by its path."""
    if everywhere:
        found = model.tensors()
        return TensorsByPath(
            [_entry(path, tensor) for path, tensor in found], [tensor.name for _, tensor in found]
        )
    initializers = model.initializers
    columns = zip(
        initializers.names(),
        initializers.dtypes(),
        initializers.shapes(),
        initializers.nbytes(),
        initializers.all(),
        strict=True,
    )
    dense = [
        Entry(name, type_name(dtype), shape, nbytes, *_place(tensor))
        for name, dtype, shape, nbytes, tensor in columns
    ]
    return Tensors(dense + [_sparse(each) for each in model.graph.sparse_initializers.all()])


def _entry(path: str, tensor: onnxmap.Tensor) -> Entry:
    dtype = type_name(tensor.proto.data_type)
    return Entry(path, dtype, tuple(tensor.proto.dims), tensor.nbytes, *_place(tensor))


def _sparse(found: onnxmap.SparseTensor) -> Entry:
    """Its bytes are those of the values and the indices. They are in two places: no offset."""
    return Entry(
        found.name,
        type_name(found.values.proto.data_type),
        tuple(found.proto.dims),
        found.values.nbytes + found.indices.nbytes,
        _place(found.values)[0],
        None,
        None,
        sparse=True,
    )


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


def _type(entry: Entry) -> str:
    """The type in one word, so that a cell is one field for awk and sort."""
    return f"sparse:{entry.dtype}" if entry.sparse else entry.dtype
