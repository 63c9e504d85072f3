"""How a model folder is made: in full size, or small for a smoke run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import page_cache


@dataclass(frozen=True)
class Recipe:
    """Two ways to fill a folder with files."""

    full: Callable[[Path], None]
    smoke: Callable[[Path], None]
    payload_is_read: bool = True  # False: the payload is a hole, and need not be in the page cache

    def make(self, folder: Path, smoke: bool) -> None:
        """Make the model in `folder`. After a failure `folder` does not exist."""
        partial_folder = folder.with_name(folder.name + ".part")
        shutil.rmtree(partial_folder, ignore_errors=True)
        partial_folder.mkdir(parents=True)
        (self.smoke if smoke else self.full)(partial_folder)
        for path in partial_folder.iterdir():
            page_cache.drop(path)
        partial_folder.rename(folder)
