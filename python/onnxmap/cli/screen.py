"""The console of rich that the commands draw on, for terminals and pipes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from onnxmap.cli.outcome import UsageError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# Wider than any line of a command, so that nothing is cut or wrapped if a program reads it.
_PIPE_WIDTH = 100_000


def open_screen() -> Console:
    """Return a console on standard output: as wide as a terminal; without colours in a pipe.

    Raises:
        UsageError: rich is not installed; the message says how to install it.
    """
    try:
        from rich.console import Console
    except ImportError:
        raise UsageError("tables need rich: pip install 'onnxmap[cli]', or use --json") from None
    # Names from files are data: rich must not read [markup] or :emoji: in them, nor colour numbers.
    if sys.stdout.isatty():
        return Console(markup=False, emoji=False, highlight=False)
    return Console(width=_PIPE_WIDTH, color_system=None, markup=False, emoji=False, highlight=False)


def draw(screen: Console, content: RenderableType) -> None:
    """Print `content`; in a pipe, without the spaces at the ends of lines."""
    if screen.is_terminal:
        screen.print(content)
        return
    with screen.capture() as drawn:
        screen.print(content)
    for line in drawn.get().splitlines():
        screen.file.write(line.rstrip() + "\n")
