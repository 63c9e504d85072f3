"""How much longer work takes on a larger file, robust against other processes."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

GROWTH = 4
MOST_TIMES = 8  # quadratic work takes 16 times as long; as far from 4 as from 16
TRIES = 20  # the fastest counts: other processes may take the cache or the processor for a second
# Less time for the larger file is not judged, in seconds. Quadratic work takes as long for 800
# elements, if it takes 5 ns for each pair of them.
SHORTEST = 0.003


def _seconds(work: Callable[[], object]) -> float:
    gc.collect(0)
    started = time.process_time()
    work()
    return time.process_time() - started


def too_steep(
    small: Callable[[], object], large: Callable[[], object], shortest: float = SHORTEST
) -> float | None:
    """How many times as long `large` takes; None if one of some tries is within the limit."""
    least_small = least_large = float("inf")
    for _ in range(TRIES):
        least_large = min(least_large, _seconds(large))
        if least_large < shortest:
            return None
        least_small = min(least_small, _seconds(small))
        if least_large < MOST_TIMES * least_small:
            return None
    return least_large / least_small
