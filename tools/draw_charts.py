"""Draw docs/pictures/*.svg: the charts of docs/benchmarks.md, from the tables of bench/README.md.

    python tools/draw_charts.py            # draws the charts
    python tools/draw_charts.py --check    # has exit status 1 if a chart would change

The bars have a logarithmic scale. Their colours can be read on white and on black.
"""

from __future__ import annotations

import math
import runpy
import sys
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs/pictures"

# The charts by name: the questions of the benchmarks, and what each is called in its chart.
CHARTS = {
    "open": {
        "P1": "Open a model of 1.8 GB",
        "P2": "Open it, and get all weights as arrays",
        "P4": "The same for 3.4 GB of external data",
    },
    "graph": {
        "P15 load": "Open a graph of 200 000 nodes",
        "P24 index": "Index its nodes, producers and uses",
    },
    "read": {
        "P9": "Read every byte of 3.4 GB through views",
        "P8": "The same with nothing in the page cache",
        "P11": "Fresh, writable copies of all weights",
    },
    "save": {
        "P14": "Add a metadata key to a model of 1.8 GB",
        "P22 attribute saved": "Set one attribute in it, and save",
        "P12 to safetensors": "Write 3.4 GB of weights as safetensors",
        "P27": "Store 3.4 GB of float32 as float16",
    },
    "look": {
        "P25": "Load and check a model of 1.8 GB",
        "diff": "Compare two models of 1.8 GB",
        "stats": "Statistics of 3.4 GB of weights",
    },
    "serve": {"P23": "Open a session of onnxruntime on 1.74 GB"},
    "slower": {
        "P22 edits": "1 000 edits of a loaded model",
        "P17 int4 to float32": "Convert int4 to float32",
        "P19": "Import",
    },
}
NAMES = {
    "onnx2": "onnx-extended",
    "onnx2 skip_raw_data": "onnx-extended",
    "NumPy and ml_dtypes, in blocks": "NumPy, in blocks",
    "NumPy and ml_dtypes, whole arrays": "NumPy, whole arrays",
}
LEFT, BAR, RIGHT = 205, 190, 145  # widths of the names, of the bars, and of the figures
HEAD, LINE = 34, 24  # heights
UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
TEXT, OURS, OTHERS = "#7a7a7a", "#2f81f7", "#9a9a9a"


class Bar(NamedTuple):
    """One contender of a question."""

    name: str
    time: str
    seconds: float
    peak: str


def bars(rows: list[str]) -> list[Bar]:
    """Return the contenders of a question that are programs, the fastest first."""
    found = []
    for row in rows:
        _, name, _, time, _, peak, *_ = (cell.strip() for cell in row.strip("|").split(" | "))
        number, _, unit = time.partition(" ")
        if unit in UNITS and not name.startswith(("floor", "onnxmap,")):
            found.append(Bar(NAMES.get(name, name), time, float(number) * UNITS[unit], peak))
    return sorted(found, key=lambda bar: bar.seconds)


def chart(questions: dict[str, str], contenders: dict[str, list[str]]) -> str:
    """Return a chart as SVG."""
    groups = {title: bars(contenders[key]) for key, title in questions.items()}
    seconds = [bar.seconds for group in groups.values() for bar in group]
    least = math.floor(math.log10(min(seconds)))
    most = math.log10(max(seconds))
    drawn = []
    y = 0
    for title, group in groups.items():
        y += HEAD
        drawn.append(f'<text x="0" y="{y - 10}" class="title">{escape(title)}</text>')
        for bar in group:
            length = max(2.0, BAR * (math.log10(bar.seconds) - least) / (most - least))
            colour = OURS if bar.name == "onnxmap" else OTHERS
            figure = f"{bar.time}, {bar.peak} MB" if bar.peak else bar.time
            drawn += [
                f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end">{escape(bar.name)}</text>',
                f'<rect x="{LEFT}" y="{y + 3}" width="{length:.1f}" height="16" fill="{colour}"/>',
                f'<text x="{LEFT + length + 6:.1f}" y="{y + 15}">{figure}</text>',
            ]
            y += LINE
    spoken = "; ".join(
        f"{title}: " + ", ".join(f"{bar.name} {bar.time}" for bar in group)
        for title, group in groups.items()
    )
    width, height = LEFT + BAR + RIGHT, y + 6
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">',
        f"<title>{escape(spoken)}</title>",
        "<style>",
        f"text {{ font: 13px sans-serif; fill: {TEXT} }}",
        ".title { font-weight: bold }",
        "</style>",
        *drawn,
        "</svg>\n",
    ])  # fmt: skip


def main() -> int:
    """Draw or check the charts; return 1 if one is stale."""
    report = runpy.run_path(str(ROOT / "bench/report.py"))
    page = (ROOT / "bench/README.md").read_text()
    written = page.partition(report["BEGIN"])[2].partition(report["END"])[0]
    contenders = report["Tables"].of_text(written).contenders
    stale = []
    for name, questions in CHARTS.items():
        path, drawn = PICTURES / f"{name}.svg", chart(questions, contenders)
        if not path.exists() or path.read_text() != drawn:
            stale.append(path.name)
            if "--check" not in sys.argv[1:]:
                path.write_text(drawn)
    if stale and "--check" in sys.argv[1:]:
        print(f"docs/pictures: {', '.join(stale)} would change; run tools/draw_charts.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
