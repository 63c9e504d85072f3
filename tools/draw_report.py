"""Draw docs/pictures/report.png, the picture in README: the page that `onnxmap report` writes.

    python tools/draw_report.py

It needs the extra `report`, Pillow, and Chromium.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

PICTURE = Path(__file__).resolve().parents[1] / "docs/pictures/report.png"
WIDTH, HEIGHT = 1040, 1370  # the page down to its histograms
COLOURS = 64  # a picture of few colours is small


def main() -> None:
    """Draw the picture."""
    with tempfile.TemporaryDirectory() as folder:
        for words in (
            [sys.executable, "-m", "onnxmap", "demo", "--keep", ".", "--json"],
            [sys.executable, "-m", "onnxmap", "report", "demo.onnx", "-o", "page.html"],
            ["chromium", "--headless=new", "--no-sandbox", "--hide-scrollbars",
             f"--window-size={WIDTH},{HEIGHT}", "--screenshot=page.png", "page.html"],
        ):  # fmt: skip
            subprocess.run(words, cwd=folder, check=True, capture_output=True)
        with Image.open(f"{folder}/page.png") as page:
            few = page.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
