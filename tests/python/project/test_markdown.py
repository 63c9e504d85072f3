"""The form of the pages: one sentence a line, no line of prose or of a table over 120 columns."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
OWN = ["*.md", "docs/*.md", "bench/*.md", "tests/**/*.md"]
PAGES = sorted(path for pattern in OWN for path in ROOT.glob(pattern))
COLUMNS = 120
WIDE_TABLES = {ROOT / "bench/README.md"}  # its tables of measurements have many columns
NEXT_SENTENCE = re.compile(r"[a-z)`]{3}[.!?] [A-Z]")


def outside_of_code(text: str) -> list[str]:
    """The lines of a page that are outside of code blocks."""
    lines = []
    in_block = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            in_block = not in_block
        elif not in_block:
            lines.append(line)
    return lines


def prose(text: str) -> list[str]:
    """The lines of a page that are outside of code blocks and tables."""
    return [line for line in outside_of_code(text) if not line.startswith("|")]


def tables(text: str) -> list[str]:
    """The lines of the tables of a page."""
    return [line for line in outside_of_code(text) if line.startswith("|")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_one_sentence_a_line(page: Path) -> None:
    for line in prose(page.read_text()):
        assert len(line) <= COLUMNS, line
        assert not NEXT_SENTENCE.search(re.sub(r"`[^`]*`", "`", line)), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tables_are_not_too_wide(page: Path) -> None:
    if page not in WIDE_TABLES:
        assert [line for line in tables(page.read_text()) if len(line) > COLUMNS] == []


def test_the_check_finds_faults() -> None:
    text = (
        "A short line. And another one.\n"
        "```\nIn code. All is well.\n```\n| A cell. It may have two. |\n"
    )
    assert prose(text) == ["A short line. And another one."]
    assert tables(text) == ["| A cell. It may have two. |"]
    assert NEXT_SENTENCE.search(prose(text)[0])


def test_the_tables_of_figures_are_read_back_whole():
    """New figures are put between old ones, which are read from the page."""
    report = runpy.run_path(str(ROOT / "bench/report.py"))
    page = (ROOT / "bench/README.md").read_text()
    written = page.partition(report["BEGIN"])[2].partition(report["END"])[0]
    assert report["Tables"].of_text(written).text().strip() == written.strip()
