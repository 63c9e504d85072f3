"""No callable of the extension ends the process, whatever its arguments are.

A child process makes the calls of each callable; see `support/api_fuzz/private.py`. The short form
takes every twentieth callable; the form for large changes takes all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.run_options import EXHAUSTIVE, SANITIZED

HERE = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer ends a child that lacks memory")


def test_no_arguments_end_the_process() -> None:
    command = [sys.executable, "-m", "support.api_fuzz.private", *([] if EXHAUSTIVE else ["20"])]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=1800, check=False,
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(HERE)},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-3000:]
    facts = json.loads(result.stdout)
    assert facts["calls"] > 130 * facts["callables"]
    assert facts["faults"] == {}
