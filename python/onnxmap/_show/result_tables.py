"""Results by the names of tensors."""

from __future__ import annotations

from typing import TypeVar

from onnxmap._show.shown import Tabled

Each = TypeVar("Each")


class ByName(dict[str, Each]):
    """A dict whose `_headings` and `_rows` are its table in a notebook."""

    __slots__ = ()

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    _repr_html_ = Tabled._repr_html_
