"""Draw docs/pictures/show.svg, the picture in README: what `onnxmap show` prints on a terminal.

    python tools/draw_show.py

It needs the extra `cli`: rich draws the page, and the picture of it.
"""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

PICTURE = Path(__file__).resolve().parents[1] / "docs/pictures/show.svg"
COLUMNS = 88


def printed() -> str:
    """Return what the command prints for the demo's model on a terminal, with its colours."""
    with tempfile.TemporaryDirectory() as folder:
        onnxmap = [sys.executable, "-m", "onnxmap"]
        subprocess.run(
            [*onnxmap, "demo", "--keep", folder, "--json"], check=True, capture_output=True
        )
        ours, theirs = pty.openpty()
        environment = os.environ | {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
        with subprocess.Popen(
            [*onnxmap, "show", "demo.onnx"], cwd=folder, env=environment, stdout=theirs
        ):
            os.close(theirs)
            parts = []
            while part := _read(ours):
                parts.append(part)
        os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""


def main() -> None:
    """Draw the picture."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(printed().rstrip()))
    svg = console.export_svg(title="onnxmap show demo.onnx", theme=MONOKAI, unique_id="show")
    # Fonts from a server: a picture in a page never loads them.
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    PICTURE.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n")


if __name__ == "__main__":
    main()
