"""How objects of `_core` are shown."""

from __future__ import annotations

from onnxmap._show.display import describe, describe_html


class Displayed:
    """What has a line that describes it."""

    def __repr__(self) -> str:
        return describe(self)


class Tabled(Displayed):
    """What notebooks show as a table, too."""

    def _repr_html_(self) -> str:
        return describe_html(self)
