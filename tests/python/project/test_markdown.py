"""The form of the pages: one sentence a line, no line of prose over 120 columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
OWN = ["*.md", "docs/*.md", "bench/*.md", "tests/**/*.md"]
PAGES = sorted(path for pattern in OWN for path in ROOT.glob(pattern))
COLUMNS = 120
NEXT_SENTENCE = re.compile(r"[a-z)`]{3}[.!?] [A-Z]")


def prose(text: str) -> list[str]:
    """The lines of a page outside of code blocks and tables."""
    lines = []
    in_block = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            in_block = not in_block
        elif not in_block and not line.startswith("|"):
            lines.append(line)
    return lines


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_one_sentence_a_line(page: Path) -> None:
    for line in prose(page.read_text()):
        assert len(line) <= COLUMNS, line
        assert not NEXT_SENTENCE.search(re.sub(r"`[^`]*`", "`", line)), line


def test_the_check_finds_faults() -> None:
    text = "A short line. And another one.\n```\nIn code. All is well.\n```\n| A cell. It may have two. |\n"
    assert prose(text) == ["A short line. And another one."]
    assert NEXT_SENTENCE.search(prose(text)[0])
