"""The site: each page fits in its window, and the search finds what people look for."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "tools/check_site.py"
BROWSERS = runpy.run_path(str(SCRIPT))["BROWSERS"]

needs_browser = pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="needs a browser")


def check(site: Path) -> tuple[int, list[str]]:
    ran = subprocess.run(
        [sys.executable, SCRIPT, site], capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    return ran.returncode, ran.stdout.splitlines()


def build(page: str, folder: Path) -> Path:
    """The site, with this page alone."""
    pytest.importorskip("furo")
    pytest.importorskip("myst_parser")
    sphinx = [sys.executable, "-m", "sphinx", "-Q", "-c", ROOT / "docs", "-d", folder / "cache"]
    options = ["-D", f"root_doc={page}", "-D", f"include_patterns={page}.md"]
    subprocess.run([*sphinx, *options, ROOT, folder / "site"], check=True)
    assert (folder / "site" / f"{page}.html").exists()
    return folder / "site"


@needs_browser
def test_what_is_too_wide_or_cut_off_is_named(tmp_path: Path) -> None:
    page = '<!doctype html><body style="margin: 0"><div class="content">{}</div>'
    box = '<p style="width: {}px; margin: 0">words</p>'
    (tmp_path / "index.html").write_text(page.format(box.format(300)))
    (tmp_path / "code.html").write_text(
        page.format(f'<pre style="overflow: auto">{box.format(2000)}</pre>')
    )
    (tmp_path / "wide.html").write_text(page.format(box.format(1100)))
    (tmp_path / "inside.html").write_text(
        page.format(f'<div style="overflow: auto">{box.format(500)}</div>')
    )
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images/chart.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 50" width="100">'
        '<text x="50" y="20" text-anchor="end">a long name</text>'
        '<text x="5" y="40">short</text></svg>'
    )
    assert check(tmp_path) == (
        1,
        [
            "_images/chart.svg cut off: a long name",
            'inside.html at 375 px: <p class=""> words',
            "wide.html at 375 px: the page has 1100 px",
            "wide.html at 768 px: the page has 1100 px",
            "wide.html at 1024 px: the page has 1100 px",
        ],
    )


@needs_browser
def test_a_page_with_a_wide_table_fits(tmp_path: Path) -> None:
    assert check(build("docs/overview", tmp_path)) == (0, ["every page fits in its window"])


def test_the_search_finds_the_recipe_by_the_names_of_half_precision(tmp_path: Path) -> None:
    index = (build("docs/cookbook/weights", tmp_path) / "searchindex.js").read_text()
    titles = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))["alltitles"]
    for word in ("fp16", "half", "bf16"):
        (title,) = [title for title in titles if word in title.lower()]
        assert title.startswith("Store weights")


def test_the_site_has_an_icon(tmp_path: Path) -> None:
    site = build("docs/stability", tmp_path)
    assert (
        'rel="shortcut icon" href="../_static/icon.svg"'
        in (site / "docs/stability.html").read_text()
    )
    assert (site / "_static/icon.svg").exists()
