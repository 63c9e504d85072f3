"""The bar of a command's long work: only on a terminal, and only if tqdm is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Literal

# Shorter work shows no bar.
SECONDS_BEFORE_A_BAR = 1.0


@contextmanager
def progress_bar(what: str = "saving") -> Iterator[Callable[[int, int], None] | Literal[False]]:
    """Return an argument `progress=`. The bar vanishes when the `with` block ends."""
    if sys.stderr is None or not sys.stderr.isatty() or find_spec("tqdm") is None:
        yield False
        return
    from tqdm import tqdm

    # By default tqdm starts a thread.
    bars: Any = type("Bar", (tqdm,), {"monitor_interval": 0})
    drawn = bars(
        desc=what, unit="B", unit_scale=True, delay=SECONDS_BEFORE_A_BAR, leave=False,
        mininterval=0, miniters=1, dynamic_ncols=True,
    )  # fmt: skip

    def show(done: int, total: int) -> None:
        drawn.total = total
        drawn.update(done - drawn.n)

    with drawn:
        yield show
