"""Shared by the tests of the commands: a runner in this process, and models to read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.models.hard_names import EVIL_NAME, LONG_NAME, save, save_hidden, tensor
from support.models.weighted import Values, save_weighted
from support.processes.command_line import Ran, Run, piped

from onnxmap.cli import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line in this process."""

    def run_here(*arguments: object) -> Ran:
        status = main([str(argument) for argument in arguments])
        return Ran(status, *capsys.readouterr())

    return run_here


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.onnx"
    save(
        path,
        tensor("b.weight", np.ones((4, 5), np.float32)),
        tensor("a.weight", np.ones((100,), np.float16)),
        tensor("a.bias", np.ones((), np.int64)),
        tensor(EVIL_NAME, np.ones(3, np.int8)),
        tensor(LONG_NAME, np.ones((2, 2), np.uint8)),
    )
    return path


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    """A model without initializers. Its weights are in nodes, subgraphs and a function."""
    path = tmp_path / "hidden.onnx"
    save_hidden(path)
    return path


@pytest.fixture
def values(tmp_path: Path) -> Values:
    """Of the model `m.onnx`, which has a weight in `w.bin`, one inside, and the key `author`."""
    return save_weighted(tmp_path / "m.onnx", {"outside": "w.bin", "inside": None})


@pytest.fixture
def model(tmp_path: Path, values: Values) -> Path:
    return tmp_path / "m.onnx"


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    assert piped("demo", "--keep", folder, "--json").returncode == 0
    return folder / "demo.onnx"
