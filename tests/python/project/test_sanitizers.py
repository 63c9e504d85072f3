"""A run under sanitizers really has sanitizers: they must report an overrun made on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.run_options import SANITIZED
from support.sanitized_run import LEFT_OUT
from support.subprocesses import run_python

import onnxmap._core


@pytest.mark.skipif(not SANITIZED, reason="only in a sanitizer build (ONNXMAP_SANITIZE)")
def test_the_planted_overrun_is_reported() -> None:
    result = run_python("import onnxmap._core\nonnxmap._core._planted_overrun()\nprint('survived')")
    assert result.returncode != 0
    assert "AddressSanitizer" in result.stderr
    assert "overflow" in result.stderr
    assert "survived" not in result.stdout


@pytest.mark.skipif(SANITIZED, reason="only in an ordinary build")
def test_an_ordinary_build_has_no_planted_overrun() -> None:
    assert not hasattr(onnxmap._core, "_planted_overrun")


def test_what_a_sanitizer_run_leaves_out_is_there() -> None:
    here = Path(__file__).parents[1]
    assert [name for name in LEFT_OUT if not (here / name).exists()] == []
    assert all(LEFT_OUT.values())
