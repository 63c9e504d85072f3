"""Tasks made of the code that the command `onnxmap bench` runs for each library."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from bench import witness
from bench.tasks import Task, data_file, model_file

PEERS_FILE = Path(__file__).parents[2] / "python/onnxmap/cli/bench/peers.py"


def _command_peers() -> ModuleType:
    """The command's `peers.py`, loaded by its path.

    `import onnxmap.cli.bench.peers` would import onnxmap in the process of every library, and its
    time and memory would be in their figures.
    """
    spec = importlib.util.spec_from_file_location("bench.peers.command_peers", PEERS_FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses look up the module of their annotations
    spec.loader.exec_module(module)
    return module


_command = _command_peers()


def _checksum(result: int, _full: bool) -> dict[str, str]:
    return {"checksum": str(result)}


def _files(folder: Path) -> Any:
    model, data = model_file(folder), str(data_file(folder))
    return _command.Files(model, [data] if data != model else [])


class Usual:
    """The tasks of one library, under its name in the command's table."""

    def __init__(self, name: str) -> None:
        self._peer = _command.PEERS[name].make()

    def load(self, folder: Path) -> Task:
        """The model, with as few of its weights as the library can read."""
        files, outline = _files(folder), self._peer.outline
        if outline is None:
            return Task(lambda: self._peer.open(files))
        return Task(
            lambda: self._peer.open(files), lambda model, _: witness.outline(*outline(model))
        )

    def views(self, folder: Path) -> Task:
        """The model, then every initializer as an array."""
        files = _files(folder)
        return Task(lambda: self._peer.arrays(files), witness.arrays)

    def touch(self, folder: Path) -> Task:
        """The same, then every byte."""
        files = _files(folder)
        return Task(lambda: witness.touched(self._peer.arrays(files).values()), _checksum)

    def touch_only(self, folder: Path) -> Task:
        """Every byte of arrays that exist already."""
        arrays: Any = self._peer.arrays(_files(folder))
        return Task(lambda: witness.touched(arrays.values()), _checksum)

    def touch_and_hold(self, folder: Path) -> Task:
        """The same as `touch`, but the arrays are kept."""
        files = _files(folder)
        return Task(lambda: witness.touched_and_held(self._peer.arrays(files)), witness.held)

    def touch_each(self, folder: Path) -> Task:
        """Every byte of one array after another; none is kept."""
        files = _files(folder)
        return Task(lambda: witness.touched(self._peer.each(files)), _checksum)

    def arrays(self, folder: Path) -> Task:
        """Every initializer as a writable array with its own memory."""
        files = _files(folder)
        return Task(lambda: self._peer.copies(files), witness.arrays)
