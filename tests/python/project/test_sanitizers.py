"""A run under sanitizers really has sanitizers: they must report an overrun made on purpose."""

from __future__ import annotations

import ctypes
import itertools
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.processes.subprocesses import run_python
from support.run_options import SANITIZED
from support.sanitized_run import MEMORY, MOST_CASES, left_out_cases

import onnxmap._core


@pytest.mark.skipif(not SANITIZED, reason="only in a sanitizer build (ONNXMAP_SANITIZE)")
def test_the_planted_overrun_is_reported() -> None:
    code = (
        "import ctypes, onnxmap._core\n"
        "ctypes.CDLL(onnxmap._core.__file__).onnxmap_planted_overrun(8)\n"
        "print('survived')"
    )
    result = run_python(code, fresh=True)
    assert result.returncode != 0
    assert "AddressSanitizer" in result.stderr
    assert "overflow" in result.stderr
    assert "survived" not in result.stdout


@pytest.mark.skipif(SANITIZED, reason="only in an ordinary build")
def test_an_ordinary_build_has_no_planted_overrun() -> None:
    library = ctypes.CDLL(onnxmap._core.__file__)
    assert not hasattr(library, "onnxmap_planted_overrun")


def test_the_folders_of_a_short_sanitizer_run_are_there() -> None:
    here = Path(__file__).parents[1]
    assert [name for name in MEMORY if not list((here / name).glob("test_*.py"))] == []


class Case(NamedTuple):
    path: Path
    nodeid: str


@pytest.mark.parametrize("count", [1, 49, 50, 51, 99, 100, 101, 1710])
def test_the_cases_of_a_sanitizer_run_are_spread_evenly(count: int) -> None:
    def cases(file: str) -> list[Any]:
        return [Case(Path(file), f"{file}::test[{i}]") for i in range(count)]

    sweep, hostile = cases("tests/edit/test_a.py"), cases("tests/wire/test_b.py")
    left_out = left_out_cases([*sweep, *hostile])
    places = [i for i, case in enumerate(sweep) if case not in left_out]
    assert len(places) == min(count, MOST_CASES)
    assert len(left_out) == count - len(places)
    gaps = [after - before for before, after in itertools.pairwise([*places, count])]
    assert max(gaps) - min(gaps) <= 1
