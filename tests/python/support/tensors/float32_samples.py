"""float32 codes that a conversion to a narrower type could get wrong."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

Codes = np.ndarray[Any, np.dtype[np.uint32]]
MANTISSA_BITS = 23


def _mantissas() -> list[int]:
    """Mantissas around every tie: the tie, its neighbours, and even and odd bits above it."""
    top = (1 << MANTISSA_BITS) - 1
    found = {0, 1, top, top - 1, 0x2AAAAA, 0x555555}
    for bit in range(MANTISSA_BITS):
        half = 1 << bit
        above = (top >> (bit + 1)) << (bit + 1)  # all bits set, so that rounding up carries
        for kept in (0, 2 * half, above, above - 2 * half, 0x2AAAAA & above, 0x555555 & above):
            for below in (0, 1, half - 1, half, half + 1, 2 * half - 1):
                found.add((kept + below) & top)
    return sorted(found)


def _between(codes: Codes, step: int) -> Codes:
    """The codes, the codes halfway to the next, and the neighbours of each; `step` codes apart."""
    starts = (codes, codes + np.uint32(step // 2))
    return np.concatenate(
        [start + np.uint32(change) for start in starts for change in (0, 1, -1 % 2**32)]
    )


@functools.cache
def stratified_codes() -> Codes:
    """About two million codes, the same on every run.

    They have all signs and exponents with each of `_mantissas`, so there are NaN payloads of only
    low bits. They also have all float16 and bfloat16 numbers, all ties between two of them, the
    neighbours of these, and 2^20 random codes. The number of codes is odd. They are shuffled, so
    that the lanes of a vector differ.
    """
    exponents = np.arange(1 << 9, dtype=np.uint32) << MANTISSA_BITS  # including the sign
    strata = (exponents[:, None] | np.array(_mantissas(), np.uint32)).reshape(-1)
    every = np.arange(1 << 16, dtype=np.uint16)
    halves = every.view(np.float16).astype(np.float32).view(np.uint32)
    ties = _between(halves, 1 << (MANTISSA_BITS - 10))
    brain_ties = _between(every.astype(np.uint32) << 16, 1 << 16)
    rng = np.random.default_rng(0)
    anything = rng.integers(0, 1 << 32, 1 << 20, np.uint32)
    codes = np.unique(np.concatenate([strata, ties, brain_ties, anything]))
    rng.shuffle(codes)
    return codes[: codes.size // 2 * 2 - 1]
