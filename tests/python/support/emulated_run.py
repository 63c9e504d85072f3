"""What qemu-user cannot do, where wheels of another architecture are tested: it is skipped.

Each test that is named here failed in Debian 12 for arm64 under qemu 7.2, and passes without it.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from pathlib import Path

import pytest

_FOREIGN = {
    "aarch64": ("GenuineIntel", "AuthenticAMD")
}  # what cpuinfo says where a test is emulated

_LOST_PAGES = "a fault in a mapping does not reach the handler as on a real machine"
_MINCORE = "mincore fails for mappings without access rights"
_SECCOMP = "there is no seccomp"
_THREADS = "the threads of the emulator count, too"
_MEMORY = "the address space is the emulator's: its limit and its size are not those of a process"

_LEFT_OUT = {
    "changes/test_truncated_": _LOST_PAGES,
    "check/test_check_hostile.py::test_a_file_that_is_cut_off": _LOST_PAGES,
    "bulk/test_bulk_endings.py::test_a_file_loses_typed_tensors": _LOST_PAGES,
    "bulk/test_page_cache.py": _MINCORE,
    "cli/test_bench.py": _MINCORE,
}


def is_emulated() -> bool:
    """Whether this machine's processor is of another architecture than the program."""
    try:
        processor = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return any(maker in processor for maker in _FOREIGN.get(platform.machine(), ()))


def skip_what_fails(items: Iterable[pytest.Item]) -> None:
    """Skip the tests that fail under emulation."""
    for item in items:
        place = item.nodeid.removeprefix("tests/python/")
        for start, reason in _LEFT_OUT.items():
            if place.startswith(start):
                item.add_marker(pytest.mark.skip(reason=f"qemu: {reason}"))
