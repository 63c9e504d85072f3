"""Tests count work. A clock judges in `support/processes/work.py` alone."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
# An end to waiting is a minute away or more.
CLOCK = re.compile(r"process_time|thread_time|perf_counter|assert (?![^\n]*\+ 60)[^\n]*monotonic\(")


def test_no_test_judges_by_a_clock() -> None:
    found = {
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("*.py")
        if CLOCK.search(path.read_text())
    }
    assert found == {"project/test_clocks.py", "support/processes/work.py"}
