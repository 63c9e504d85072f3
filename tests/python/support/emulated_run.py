"""What qemu-user cannot do, where wheels of another architecture are tested: it is skipped.

Tests of each name here failed in Debian 12 for arm64 under qemu 7.2, and pass without it.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from pathlib import Path

import pytest

_LOST_PAGES = "a fault in a mapping does not reach the handler as on a real machine"
_MINCORE = "mincore fails for mappings without access rights"
_SECCOMP = "there is no seccomp"
_MEMORY = "memory and address space are those of the emulator"
_SLOW = "the emulator takes too long, or cannot fork while threads run"
_FILES = "the emulator opens the program, and files that are closed, on its own"

_LEFT_OUT = {
    "bulk/test_bulk_endings.py::test_a_file_loses_typed_tensors": _LOST_PAGES,
    "bulk/test_page_cache.py": _MINCORE,
    "changes/test_truncated_": _LOST_PAGES,
    "check/test_check_hostile.py::test_a_file_that_is_cut_off": _LOST_PAGES,
    "cli/test_bench.py": _MINCORE,
    "cli/test_extras.py::test_without_any_of_them": _MINCORE,
    "cli/test_failures.py::test_a_closed_standard_input_is_one_line": _FILES,
    "cli/test_mv_syncs.py::test_no_file_can_be_synced": _SECCOMP,
    "cli/test_opening.py::test_bench_opens_as_it_is_told": _MINCORE,
    "compare/test_diff_hostile.py::test_a_file_that_is_cut_meanwhile": _LOST_PAGES,
    "compare/test_stats_reading.py::test_a_file_that_is_cut": _LOST_PAGES,
    "edit/test_weights_of_other_models.py::test_a_file_that_is_cut": _LOST_PAGES,
    "external_data/test_containment_fallbacks.py": _SECCOMP,
    "external_data/test_containment_races.py": _SECCOMP,
    "external_data/test_containment_random.py::test_without_openat2": _SECCOMP,
    "external_data/test_large_data_files.py": _MEMORY,
    "interop/test_dlpack.py::test_ten_thousand_exports_leave_nothing": _MEMORY,
    "interop/test_interop_dask.py::test_schedulers": _SLOW,
    "loading/test_large_files.py::test_one_field_of_any_size": _MEMORY,
    "loading/test_mapping_refused.py": _SECCOMP,
    "processes/test_fork.py::test_every_call_works_in_the_child": _SLOW,
    "save/test_append_files.py::test_a_file_that_may_not_be_written": _FILES,
    "save/test_save_faults.py::test_a_failed_sync": _SECCOMP,
    "tensor/test_array_memory.py::test_dropped_arrays": _MEMORY,
    "tensor/test_histogram.py::test_a_file_that_is_cut": _LOST_PAGES,
    "tensor/test_many_elements.py::test_decoding_takes_one_array": _MEMORY,
    "tensor/test_sparse.py::test_nothing_is_allocated": _MEMORY,
    "tensor/test_tensor_errors.py::test_declared_elements_allocate": _MEMORY,
    "tensor/test_writable.py::test_only_written_pages": _MEMORY,
}


def is_emulated() -> bool:
    """Whether this is Python for aarch64 on an x86-64 machine, which cpuinfo shows."""
    if platform.machine() != "aarch64":
        return False
    processor = Path("/proc/cpuinfo").read_text()
    return "GenuineIntel" in processor or "AuthenticAMD" in processor


def skip_what_fails(items: Iterable[pytest.Item]) -> None:
    """Skip the tests that fail under emulation."""
    for item in items:
        place = item.nodeid.removeprefix("tests/python/")
        for start, reason in _LEFT_OUT.items():
            if place.startswith(start):
                item.add_marker(pytest.mark.skip(reason=f"qemu: {reason}"))
