"""What the commands draw on: rich's console, set up once for terminals and pipes alike."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from onnxmap.cli.outcome import UsageError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# Wider than anything a command draws, so that nothing is cut or wrapped where a program reads it.
_PIPE_WIDTH = 100_000


def open_screen() -> Console:
    """A console on standard output: as wide as the terminal, or without colour and limits in a pipe.

    Raises:
        UsageError: rich is not installed; the text says how to get it.
    """
    try:
        from rich.console import Console
    except ImportError:
        raise UsageError("tables need rich: pip install 'onnxmap[cli]', or use --json") from None
    # Names from files are data: no [markup], no :emoji:, no guessing at what looks like a number.
    if sys.stdout.isatty():
        return Console(markup=False, emoji=False, highlight=False)
    return Console(width=_PIPE_WIDTH, color_system=None, markup=False, emoji=False, highlight=False)


def draw(screen: Console, content: RenderableType) -> None:
    """Prints `content`; without the spaces at the ends of lines where a program reads it."""
    if screen.is_terminal:
        screen.print(content)
        return
    with screen.capture() as drawn:
        screen.print(content)
    for line in drawn.get().splitlines():
        screen.file.write(line.rstrip() + "\n")
