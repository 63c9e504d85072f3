"""The form of the pages: a sentence a line, at most 120 columns, links that lead somewhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
OWN = ["*.md", "docs/**/*.md", "bench/*.md", "tests/**/*.md"]
PAGES = sorted(path for pattern in OWN for path in ROOT.glob(pattern))
COLUMNS = 120
HEADING = re.compile(r"#+ (.*)")
WIDE_TABLES = {ROOT / "bench/README.md"}  # its tables of measurements have many columns
LINK = re.compile(r"\]\(([^)\s]*)\)")
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


def anchors(text: str) -> set[str]:
    """The anchors that a forge gives to the headings of a page."""
    headings = [found[1].lower() for line in prose(text) if (found := HEADING.match(line))]
    return {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in headings}


def broken_links(page: Path, text: str) -> list[str]:
    """The links of a page to files or headings that are not there."""
    broken = []
    for link in LINK.findall("\n".join(outside_of_code(text))):
        file, _, heading = link.partition("#")
        target = page.parent / file if file else page
        if "://" not in link and not (
            target.exists() and (not heading or heading in anchors(target.read_text()))
        ):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text()) == []


def test_broken_links_are_found() -> None:
    text = "# Two `words`\n[a](#two-words) [b](#three) [c](README.md) [d](no.md) [e](http://f)\n"
    assert broken_links(ROOT / "README.md", text) == ["#two-words", "#three", "no.md"]
    assert anchors(text) == {"two-words"}


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
