"""docs/pictures has what the scripts of tools draw."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PICTURES = ROOT / "docs/pictures"


def words(text: str) -> list[str]:
    """The words of a page of `onnxmap show`, without the bars and the time of loading."""
    text = re.sub(r"opened in \S+ \S+", "", text.replace("\xa0", " "))
    return re.sub(r"[^\w.:/-]+", " ", text).split()


def test_the_charts_are_those_of_the_figures() -> None:
    script = [sys.executable, ROOT / "tools/draw_charts.py", "--check"]
    ran = subprocess.run(script, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_no_text_of_a_chart_is_cut_off() -> None:
    """In a wide font, a character of a name takes 7.3 px, and one of a figure 6.9."""
    for path in PICTURES.glob("*.svg"):
        chart = path.read_text()
        names = re.findall(r'<text x="(\d+)" y="\d+" text-anchor="end">(.*?)</text>', chart)
        figures = re.findall(r'<text x="([\d.]+)" y="\d+">(.*?)</text>', chart)
        assert len(names) == len(figures)
        assert bool(names) == (path.stem != "show")
        for x, name in names:
            assert len(html.unescape(name)) * 7.3 <= float(x), (path.name, name)
        for x, figure in figures:
            assert float(x) + len(figure) * 6.9 <= float(re.search(r' width="(\d+)"', chart)[1])


def test_the_page_that_readme_shows_is_that_of_the_command(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    onnxmap = [sys.executable, "-m", "onnxmap"]
    subprocess.run(
        [*onnxmap, "demo", "--keep", tmp_path, "--json"], check=True, capture_output=True
    )
    shown = subprocess.run(
        [*onnxmap, "show", "demo.onnx"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    svg = (PICTURES / "show.svg").read_text()
    drawn = "\n".join(re.findall(r"<text[^>]*>(.*?)</text>", svg.partition("</defs>")[2]))
    title = {"onnxmap", "show"}
    assert set(words(html.unescape(drawn))) - title == set(words(shown.stdout)) - title


def test_pictures_are_small_and_load_nothing() -> None:
    pictures = list(PICTURES.iterdir())
    assert len(list(PICTURES.glob("*.svg"))) > 5
    assert {picture.suffix for picture in pictures} == {".svg", ".png"}
    for picture in pictures:
        assert picture.stat().st_size < 100_000
    for picture in PICTURES.glob("*.svg"):
        assert not re.search(r"@font-face|href=|url\((?!#)", picture.read_text())
