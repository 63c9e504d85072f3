"""A file is cut off while threads read it: they get right values or FileChangedError."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.processes.subprocesses import facts_from
from support.run_options import EXHAUSTIVE, LONG

READ = """
from support.readers.in_threads import left_of, read_while_cut
folder, cut, mib, cuts, watch = sys.argv[1:]
facts = read_while_cut(folder, cut, int(mib), int(cuts), watch == "watch")
report(**facts, left=left_of(folder))
"""
MIB, CUTS = (32, 1_000) if LONG else (16, 50) if EXHAUSTIVE else (4, 12)


@pytest.mark.parametrize("watch", ["watch", "no watch"])
@pytest.mark.parametrize("cut", ["model.onnx", "w.bin"])
def test_threads_that_copy_while_the_file_is_cut(tmp_path: Path, cut: str, watch: str) -> None:
    facts = facts_from(READ, str(tmp_path), cut, str(MIB), str(CUTS), watch, timeout=900)
    counts = facts["counts"]
    assert set(counts) <= {"right", "changed", "short"}, counts
    assert counts["changed"] > 0
    assert counts["right"] > 0
    assert facts["right_afterwards"]
    assert facts["left"] == []
