"""How work grows with its input: by reads that the processor counts, or by Python's instructions.

A clock judges in long runs only, and where work that should take tenths of a second takes a minute.
"""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

import numpy as np
import pytest

from support.run_options import LONG

Work = Callable[[], object]
Reads = list[int]  # how often each of some words of a file was read

AT_A_TIME = 4  # words that a processor has registers for; work is repeated for others
WORD = 8
LONGER = 20  # times as many elements in long runs, where time is compared as well
# Less time for the larger input is not judged, in seconds. Quadratic work takes as long for 800
# elements, if it takes 5 ns for each pair of them.
SHORTEST = 0.003
TRIES = 20  # the fastest counts: other processes may take the cache or the processor for a second
MINUTE = 60

_BREAKPOINT, _READ_OR_WRITTEN = 5, 3  # from linux/perf_event.h and linux/hw_breakpoint.h
_NEW_THREADS_TOO, _NOT_THE_KERNEL, _NOT_THE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}


def _counter(address: int) -> int:
    """A file with the number of times that a word was read. Skips where the system forbids it."""
    flags = _NEW_THREADS_TOO | _NOT_THE_KERNEL | _NOT_THE_HYPERVISOR
    layout = "IIQQQQQIIQQ"
    event = struct.pack(
        layout, _BREAKPOINT, struct.calcsize(layout), 0, 0, 0, 0, flags, 0, _READ_OR_WRITTEN,
        address, WORD,
    )  # fmt: skip
    libc = ctypes.CDLL(None, use_errno=True)
    file: int = libc.syscall(_PERF_EVENT_OPEN.get(platform.machine(), -1), event, 0, -1, -1, 0)
    if file < 0:
        pytest.skip(f"perf_event_open: {os.strerror(ctypes.get_errno())}")
    return file


def places_in(data: bytes, names: list[bytes] | None = None) -> list[list[int]]:
    """Words of a file to watch, in lists of four: some everywhere, or those of some names.

    A name in a file is often an element of one list at its first place, and of another at its last.
    """
    if names is None:
        places = [len(data) * part // 100 for part in (7, 31, 57, 83, 19, 43, 71, 94)]
    else:
        found = [(find(name), name) for name in names for find in (data.index, data.rindex)]
        places = [start + len(name) - 1 for start, name in found]
    return [places[i : i + AT_A_TIME] for i in range(0, len(places), AT_A_TIME)]


@contextmanager
def counting_reads(data: bytes, places: list[int]) -> Iterator[Callable[[], Reads]]:
    """Give a function that returns how often words of `data` were read since its last call."""
    start = np.frombuffer(data, np.uint8).ctypes.data
    before = [0] * len(places)
    with ExitStack() as opened:
        files = [_counter((start + place) // WORD * WORD) for place in places]
        for file in files:
            opened.callback(os.close, file)

        def reads() -> Reads:
            nonlocal before
            now = [struct.unpack("Q", os.read(file, 8))[0] for file in files]
            since, before = [new - old for old, new in zip(before, now, strict=True)], now
            return since

        yield reads


def _is_more(few: int, many: int) -> bool:
    """Whether a word of a larger file is read more often. Linear work reads it equally often."""
    return many > 2 * few + 20


def more_reads(small: Reads, large: Reads) -> bool:
    """The same for the median of words that are everywhere in a file.

    Linear work may read a few words for each element: those in the middle, if it bisects.
    """
    return _is_more(*(sorted(reads)[len(reads) // 2] for reads in (small, large)))


def too_steep(
    prepare: Callable[[int], tuple[bytes, Work]],
    sizes: tuple[int, int],
    names: Callable[[int], list[bytes]] | None = None,
) -> bool:
    """Whether work on the larger of two files takes more than linear time.

    `prepare` makes a file with so many elements, and work on it that can be repeated. If it has
    elements of several kinds, `names` returns the name of one element of each kind.
    """
    counts = []
    for size in sizes:
        reads: Reads = []
        for places in places_in(prepare(size)[0], names and names(size)):
            data, work = prepare(size)
            with counting_reads(data, places) as since:
                work()
                reads += since()
        counts.append(reads)
    if any(map(_is_more, *counts)) if names else more_reads(*counts):
        return True
    small, large = sizes
    return LONG and takes_steep_time(lambda n: prepare(n)[1], (LONGER * small, LONGER * large))


def _seconds(work: Work) -> float:
    gc.collect(0)
    gc.disable()  # the time of a collection depends on all objects of the process
    try:
        started = time.process_time()
        work()
        return time.process_time() - started
    finally:
        gc.enable()


def takes_steep_time(prepare: Callable[[int], Work], sizes: tuple[int, int]) -> bool:
    """The same by the clock. Only for long runs, because other processes can change the result."""
    assert LONG
    small, large = map(prepare, sizes)
    most_times = (sizes[1] / sizes[0]) ** 1.5  # as far from linear as from quadratic work
    least_small = least_large = float("inf")
    for _ in range(TRIES):
        least_large = min(least_large, _seconds(large))
        least_small = min(least_small, _seconds(small))
        if least_large < max(SHORTEST, most_times * least_small):
            return False
    return True


def takes_minutes(work: Work) -> bool:
    """Whether work that should take tenths of a second takes a minute of the processor."""
    return _seconds(work) > MINUTE


def instructions_of(work: Work) -> int:
    """How many instructions Python runs. What the core does is not counted."""
    instructions = 0

    def note(frame: FrameType, event: str, _argument: object) -> object:
        nonlocal instructions
        frame.f_trace_opcodes = True
        instructions += event == "opcode"
        return note

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 looks for it when the tracing begins
    sys.settrace(note)
    try:
        work()
    finally:
        sys.settrace(before)
    return instructions
