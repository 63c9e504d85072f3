"""docs/rules.md is what tools/generate_rules.py writes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from onnxmap import _core

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/rules.md"
GENERATOR = ROOT / "tools/generate_rules.py"


def test_the_page_is_up_to_date() -> None:
    result = subprocess.run(
        [sys.executable, str(GENERATOR), "--check"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_page_has_every_rule() -> None:
    headings = re.findall(r"^### (.*)$", PAGE.read_text(), re.MULTILINE)
    assert headings == [rule[0] for rule in _core.rules()]


def test_the_page_is_linked() -> None:
    assert "(docs/rules.md)" in (ROOT / "README.md").read_text()
