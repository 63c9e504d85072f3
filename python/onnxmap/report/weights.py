"""The weights of a model for its report: the table and the histograms."""

from __future__ import annotations

import heapq
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from onnxmap._base.enums import DataType
from onnxmap._base.extras import extra
from onnxmap._base.schema import type_name
from onnxmap._base.text import shape_in_words
from onnxmap.errors import OnnxMapError, printable

with extra("report"):
    from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from onnxmap._core import Tensor

    Tensors = Sequence[tuple[str, Tensor]]  # with their paths

_MOST_ROWS = 200_000
_LONGEST = 120  # characters of a name in the table
LONGEST_PATH = 300
_IN_NODE = re.compile(r"\]\.(t|tensors\[\d+\])$")  # the path of a tensor that is an attribute
_HISTOGRAMS, _BINS = 12, 48
# A larger tensor is sampled. This takes 50 ms for all histograms.
_SAMPLE = 1 << 20

_UNORDERED = {DataType[name] for name in ("UNDEFINED", "STRING", "COMPLEX64", "COMPLEX128")}
_ORDERED = frozenset(map(int, DataType)) - _UNORDERED


class Row(NamedTuple):
    """A tensor in the table."""

    name: str
    dtype: str
    shape: str
    nbytes: int
    place: str


def table(tensors: Tensors) -> tuple[list[Row], int]:
    """Return a row for each tensor, also in nodes and functions, and how many are left out."""
    ordered = sorted(tensors, key=lambda each: not each[0].startswith("graph.initializer["))
    rows = [_row(path, tensor) for path, tensor in ordered[:_MOST_ROWS]]
    return rows, len(ordered) - len(rows)


def short(name: str, most: int = _LONGEST) -> str:
    """A name from a model, as the tables have it."""
    half = most // 2  # names that are as long often differ at the end
    return printable(name if len(name) <= most else f"{name[:half]}…{name[-half:]}")


def _row(path: str, tensor: Tensor) -> Row:
    name = short(tensor.name) or short(path, LONGEST_PATH)
    dtype = type_name(tensor.proto.data_type)
    try:
        shape = shape_in_words(tensor.shape)
        external = tensor.external
    except OnnxMapError as error:
        return Row(name, dtype, "?", 0, error.code)
    if external is not None:
        place = printable(external.location[-_LONGEST:])
    elif tensor.name and _IN_NODE.search(path):
        place = short(path, LONGEST_PATH)
    else:
        place = "inline"
    return Row(name, dtype, shape, tensor.nbytes, place)


def histograms(
    changed: Collection[str], tensors: Tensors, others: Tensors = ()
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the names and histograms of the largest tensors, first of those that changed.

    With the tensors of another model, each has a second one: that of its tensor of the same name.
    """
    ordered = (each for each in tensors if each[1].proto.data_type in _ORDERED)
    largest = heapq.nlargest(
        _HISTOGRAMS, ordered, key=lambda each: (each[1].name in changed, each[1].nbytes)
    )
    named = {each.name: each for _, each in others}
    charts = []
    for path, tensor in largest:
        pair = [tensor, named.get(tensor.name)] if tensor.name else [tensor]
        charts.append(
            (tensor.name or path, [_histogram(each) for each in pair if each is not None])
        )
    return charts


def _histogram(tensor: Tensor) -> dict[str, Any]:
    """The histogram as an outline, or why there is none."""
    try:
        counts, edges = tensor.histogram(_BINS, sample=_SAMPLE)
        size = tensor.size
    except (OnnxMapError, OSError, TypeError) as error:
        return {"error": str(error)}
    return {
        "error": "",
        "dtype": type_name(tensor.dtype),
        "first": f"{edges[0]:.4g}",
        "last": f"{edges[-1]:.4g}",
        "note": "a sample of " if size > _SAMPLE else "",
        "size": size,
        "nbytes": tensor.nbytes,
        "outline": _outline(counts.tolist()),
    }


def _outline(counts: Sequence[int]) -> Markup:
    """An SVG path of bars, one beside the other, in a box of 480 by 100."""
    most = max(max(counts), 1)
    width = 480 / len(counts)
    tops = (100 - math.ceil(100 * count / most) for count in counts)
    steps = "".join(f"V{top}h{width:g}" for top in tops)
    return Markup(f"M0 100{steps}V100z")
