"""The tasks that open a session of onnxruntime, for any way to open one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import witness
from bench.tasks import Task, model_file

BATCH = 2
Open = Callable[[str, bool], Any]  # gets the path, and whether to prepack


def session(folder: Path, open_session: Open, *, prepack: bool) -> Task:
    """Return the task to open a session. After the timer, it is run to compare the outputs."""
    path = model_file(folder)
    return Task(lambda: open_session(path, prepack), lambda made, _: _outputs(made, folder))


def session_that_ran(folder: Path, open_session: Open, *, prepack: bool = False) -> Task:
    """Return the task to open a session, and to run it once."""
    path = model_file(folder)

    def run() -> tuple[Any, Any]:
        made = open_session(path, prepack)
        return made, _outputs(made, folder)

    return Task(run, lambda result, _: result[1])


def run_of_session(folder: Path, open_session: Open, *, prepack: bool, batch: int) -> Task:
    """Return the task to run an open session that ran before."""
    made = open_session(model_file(folder), prepack)
    ones = _ones(folder, batch)
    made.run(None, {"x": ones})
    return Task(
        lambda: made.run(None, {"x": ones}), just_before=lambda: made.run(None, {"x": ones})
    )


def _ones(folder: Path, batch: int) -> Any:
    weights = json.loads((folder / "manifest.json").read_text())
    return np.ones((batch, weights[0]["shape"][0]), np.float32)


def _outputs(made: Any, folder: Path) -> dict[str, str]:
    (found,) = made.run(None, {"x": _ones(folder, BATCH)})
    assert np.isfinite(found).all()
    return {"outputs": witness.digest(found.tobytes())}
