"""The types that a save gives initializers: `dtype=`."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnxmap._base.enums import DataType
from onnxmap._base.text import nearest, suggestion
from onnxmap.errors import UnknownNameError, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxmap._write.options import ElementType

# FLOAT to FLOAT8E5M2FNUZ: those between which the core converts.
_TYPES = [DataType(number) for number in (1, 10, 11, 16, 17, 18, 19, 20)]
_LEAST_LIKE = 0.4  # a pattern is only a part of a name


class TypesByPattern:
    """Chooses the type of each initializer, for the core."""

    def __init__(self, dtype: ElementType | Mapping[str, ElementType]) -> None:
        given = dtype if isinstance(dtype, Mapping) else {"*": dtype}
        self._types = {pattern: _checked_type(each) for pattern, each in given.items()}
        self._unmatched = list(given) if isinstance(dtype, Mapping) else []
        self._names: list[str] = []

    def __call__(self, names: Sequence[str]) -> list[int | None]:
        """Return the type of each name, by the first pattern that matches it; None: as it is."""
        self._names += names
        chosen: dict[str, int] = {}
        known = set(names)
        for pattern, number in self._types.items():
            matching = [pattern] if pattern in known else fnmatch.filter(known, pattern)
            if matching and pattern in self._unmatched:
                self._unmatched.remove(pattern)
            for name in matching:
                chosen.setdefault(name, number)
        return [chosen.get(name) for name in names]

    def check_patterns(self) -> None:
        """Raise UnknownNameError for a pattern that no initializer of all models matches."""
        for pattern in self._unmatched:
            near = nearest(pattern.replace("*", ""), self._names, _LEAST_LIKE)
            text = f"no floating-point initializer matches {printable(repr(pattern))}"
            raise UnknownNameError(
                text + suggestion(near), code="name.unknown", name=pattern, nearest=tuple(near)
            )


def _checked_type(given: ElementType) -> int:
    try:
        found = DataType(given)  # type: ignore[arg-type]
    except ValueError:
        found = DataType.UNDEFINED
    if found not in _TYPES:
        names = ", ".join(each.numpy().name for each in _TYPES)
        raise ValueError(f"dtype must be one of {names}, not {given!r}")
    return int(found)
