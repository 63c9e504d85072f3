"""Statistics of the values of initializers: what `Model.stats` returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._base.arguments import thread_count
from onnxmap._base.schema import type_name
from onnxmap._base.text import counted, shape_in_words, shortened
from onnxmap._show.progress import Progress
from onnxmap._show.result_tables import ByName

if TYPE_CHECKING:
    from onnxmap._base.enums import DataType
    from onnxmap._show.progress import ProgressArgument

Number = int | float
HEADINGS = ("type", "shape", "min", "max", "mean", "std", "zeros", "nan", "inf")

_DELAY = 0.5  # seconds of work before a bar appears
_MOST_ROWS = 50  # lines of a table
_LONGEST = 60  # characters shown of a name


@dataclass(frozen=True, slots=True)
class TensorStats:
    """Statistics of the values of one tensor, or of all tensors together.

    NaN and infinities are counted; `min`, `max`, `mean` and `std` are those of the finite values.
    They are None if no value is finite. Booleans count as 0 and 1.

    Complex numbers have no `min` and `max`. A complex number is NaN if one of its parts is, and
    infinite if one of its parts is, so it may be both.

    Attributes:
        dtype: the element type; None for all tensors together.
        shape: the dimensions; None for all tensors together.
        count: the number of values.
        finite: how many of them are neither NaN nor infinite.
        min: the least finite value: an exact int for integers and booleans, else a float.
        max: the greatest finite value, as `min`.
        mean: the mean, computed in double precision or better; complex for complex numbers.
        std: the standard deviation of the population, like NumPy's `std` with its default `ddof=0`.
        zeros: how many values are 0 or -0.
        nans: how many values are NaN.
        infinities: how many values are infinite, of both signs.
    """

    dtype: DataType | None
    shape: tuple[int, ...] | None
    count: int
    finite: int
    min: Number | None
    max: Number | None
    mean: float | complex | None
    std: float | None
    zeros: int
    nans: int
    infinities: int

    @property
    def zero_share(self) -> float:
        """The part of the values that is zero, from 0 to 1; 0 if there are no values."""
        return self.zeros / self.count if self.count else 0.0

    def __repr__(self) -> str:
        what = " ".join(cells(self)[:2]).strip() or counted(self.count, "value")
        return f"<onnxmap.TensorStats of {what}: {_in_one_line(self)}>"

    def __str__(self) -> str:
        return _table([HEADINGS, cells(self)])


class ModelStats(ByName[TensorStats]):
    """What `Model.stats()` found: TensorStats by name, in the order that was asked for.

    `str()` is a table.

    Attributes:
        total: the TensorStats of all these tensors together.
    """

    __slots__ = ("total",)
    _headings = ("name", *HEADINGS)

    def __init__(self, tensors: Mapping[str, TensorStats], total: TensorStats) -> None:
        super().__init__(tensors)
        self.total = total

    def __repr__(self) -> str:
        return f"<onnxmap.ModelStats of {counted(len(self), 'tensor')}: {_in_one_line(self.total)}>"

    def __str__(self) -> str:
        rows = [
            (shortened(name, _LONGEST), *texts) for name, *texts in islice(self._rows(), _MOST_ROWS)
        ]
        if len(self) > _MOST_ROWS:
            rows.append((f"... {len(self) - _MOST_ROWS:,} more", *[""] * len(HEADINGS)))
        return _table([self._headings, *rows, ("total", *cells(self.total))])

    def _rows(self) -> Iterator[tuple[str, ...]]:
        return ((name, *cells(found)) for name, found in self.items())


def read_stats(plan: _core.Stats, threads: int | None, progress: ProgressArgument) -> ModelStats:
    """See `Model.stats`."""
    with Progress(progress, plan.nbytes, "reading", delay=_DELAY) as shown:
        rows, total = plan.read(thread_count(threads), shown.callback)
    tensors = {name: TensorStats(dtype, shape, *found) for name, dtype, shape, found in rows}
    return ModelStats(tensors, _with_extremes(TensorStats(None, None, *total), tensors.values()))


def _with_extremes(total: TensorStats, tensors: Iterable[Any]) -> TensorStats:
    """The total with the least and the greatest value of all tensors.

    Python compares integers with floats exactly. Complex numbers have no order.
    """
    finite = [found for found in tensors if found.finite]
    if not finite or any(found.min is None for found in finite):
        return total
    least, most = min(found.min for found in finite), max(found.max for found in finite)
    return replace(total, min=least, max=most)


def cells(found: TensorStats) -> tuple[str, ...]:
    """Return the texts of a table's line, under HEADINGS."""
    return (
        "" if found.dtype is None else type_name(found.dtype),
        "" if found.shape is None else shape_in_words(found.shape),
        *map(number_in_words, (found.min, found.max, found.mean, found.std)),
        _share_in_words(found),
        f"{found.nans:,}",
        f"{found.infinities:,}",
    )


def number_in_words(number: complex | None) -> str:
    """Return a number with six significant digits; integers in full, and `-` for None."""
    return "-" if number is None else f"{number:{'d' if isinstance(number, int) else '.6g'}}"


def _share_in_words(found: TensorStats) -> str:
    """`0`, `12.5 %`; a few zeros are never `0`, and a value that is not zero is never `100 %`."""
    if found.zeros in (0, found.count):
        return "100 %" if found.zeros else "0"
    return f"{min(max(100 * found.zero_share, 0.01), 99.99):.2f} %"


def _in_one_line(found: TensorStats) -> str:
    numbers = zip(HEADINGS[2:6], cells(found)[2:6], strict=True)
    told = [f"{heading} {cell}" for heading, cell in numbers]
    return ", ".join([*told, f"{found.nans:,} NaN", f"{found.infinities:,} infinite"])


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Lines with columns of one width: texts at the left, numbers at the right."""
    texts = len(rows[0]) - len(HEADINGS) + 2
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    columns = [f"{{:{'<' if i < texts else '>'}{width}}}" for i, width in enumerate(widths)]
    return "\n".join("  ".join(columns).format(*row).rstrip() for row in rows)
