"""docs/rules has what tools/generate_rules.py writes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from onnxmap import _core

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs/rules"
GENERATOR = ROOT / "tools/generate_rules.py"


def test_the_pages_are_up_to_date() -> None:
    result = subprocess.run(
        [sys.executable, str(GENERATOR), "--check"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_pages_have_every_rule() -> None:
    text = "\n".join(page.read_text() for page in PAGES.glob("*.md"))
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert sorted(headings) == sorted(rule[0] for rule in _core.rules())


def test_advice_names_nothing_that_an_installation_lacks() -> None:
    """A finding is read where no page of this repository is, and no commit's files are."""
    advice = {rule[0]: rule[-1] for rule in _core.rules()}
    assert len(advice) > 100
    assert {name for name, text in advice.items() if re.search(r"docs|\.md|\.py", text)} == set()


def test_the_pages_are_linked() -> None:
    assert "(docs/rules/index.md)" in (ROOT / "README.md").read_text()
