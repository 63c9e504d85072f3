"""The table of operators in the core has what tools/generate_operators.py writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[3] / "tools/generate_operators.py"


def test_the_table_is_that_of_the_installed_onnx() -> None:
    ran = subprocess.run(
        [sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "")
