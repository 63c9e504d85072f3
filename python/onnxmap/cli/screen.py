"""What the commands draw on: a terminal with colours, or a pipe without."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace

# Wider than any line of a command, so that nothing is cut if a program reads it.
_PIPE_WIDTH = 100_000
# ECMA-48, "select graphic rendition".
_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "blue": 34, "cyan": 36}


@dataclass(frozen=True)
class Screen:
    """Standard output.

    Attributes:
        width: characters in a line.
        is_terminal: whether a person reads it; then lines are cut to the width.
        has_colours: whether it shows styles.
    """

    width: int
    is_terminal: bool
    has_colours: bool

    def codes(self, style: str) -> tuple[str, str]:
        """Return the escape codes before and after a text of a style, like "bold cyan"."""
        if not self.has_colours or not style:
            return "", ""
        return "".join(f"\x1b[{_CODES[word]}m" for word in style.split()), "\x1b[0m"

    def styled(self, text: str, style: str) -> str:
        """Return the text in a style."""
        before, after = self.codes(style)
        return f"{before}{text}{after}"

    def narrowed(self, by: int) -> Screen:
        """Return the same screen with less room, for text that begins further right."""
        return replace(self, width=max(self.width - by, 1))


def open_screen() -> Screen:
    """Return standard output: as wide as a terminal; without colours in a pipe.

    The environment variable NO_COLOR turns colours off. Source: no-color.org.
    """
    if not sys.stdout.isatty():
        return Screen(_PIPE_WIDTH, is_terminal=False, has_colours=False)
    colours = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(shutil.get_terminal_size().columns, is_terminal=True, has_colours=colours)


def draw(lines: Iterable[str]) -> None:
    """Print lines, without the spaces at their ends."""
    for line in lines:
        sys.stdout.write(line.rstrip() + "\n")
