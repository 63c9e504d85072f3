"""What has a description. The module that makes descriptions is imported with the first of them."""

from __future__ import annotations

from onnxmap._base.later import import_module


class Displayed:
    """What has a line that describes it."""

    __slots__ = ()

    def __repr__(self) -> str:
        text: str = import_module("onnxmap._show.display").describe(self)
        return text


class Tabled(Displayed):
    """What notebooks show as a table, too."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        table: str = import_module("onnxmap._show.display").describe_html(self)
        return table
