"""A file is cut off while it is mapped. Reads of its tensors raise FileChangedError."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.paged_models import KINDS, stored
from support.run_options import SANITIZED
from support.subprocesses import facts_from
from support.tensor_readings import excused, readings_of

READ_ALL = """
from support.tensor_readings import outcomes
folder, kind, way = sys.argv[1:]
report(**{watch: outcomes(folder, kind, way, watch == "watch") for watch in ("watch", "no watch")})
"""
Answers = dict[tuple[str, str, str], str]  # by watch, cut and reading


def answers(folder: Path, kind: str, way: str) -> Answers:
    names = readings_of(stored(kind))
    found = facts_from(READ_ALL, str(folder), kind, way)
    for by_cut in found.values():
        assert all(list(by_name) == list(names) for by_name in by_cut.values())
    return {
        (watch, cut, name): by_name[name]
        for watch, by_cut in found.items()
        for cut, by_name in by_cut.items()
        for name in names
    }


@pytest.mark.parametrize("way", ["mmap"] if SANITIZED else ["mmap", "buffer"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_reading_of_a_cut_file(tmp_path: Path, kind: str, way: str) -> None:
    shows_file = readings_of(stored(kind))
    found = answers(tmp_path, kind, way)
    for (watch, cut, name), answer in found.items():
        # Making a view reads nothing. If the core reads, it must notice lost bytes.
        allowed = {"changed", "view"} if shows_file[name] else {"changed"}
        assert answer in allowed or excused(way, cut, answer), (watch, cut, name, answer)
        # This call waits until the file is checked again, and then gives no view of it.
        if watch == "watch" and name == "numpy" and way == "mmap":
            assert answer == "changed", (watch, cut, name)


@pytest.mark.skipif(
    SANITIZED, reason="nothing is read in place; test_bulk_truncated reads such files"
)
@pytest.mark.parametrize("kind", KINDS)
def test_files_that_are_read_instead_of_mapped(tmp_path: Path, kind: str) -> None:
    """Values that were read before may still be right, and no wrong values may appear."""
    found = answers(tmp_path, kind, "read")
    assert set(found.values()) <= {"changed", "right"}
    if stored(kind).shows_file:
        for watch in ("watch", "no watch"):
            assert found[watch, "nothing", "copy"] == found[watch, "a page", "numpy"] == "changed"
    if stored(kind).data is None:
        assert {found["watch", cut, "numpy"] for cut in ("nothing", "a page")} == {"changed"}
