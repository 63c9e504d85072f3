"""Commands of the system, each a process of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from bench.tasks import Task, model_file, other_file


def cmp(folder: Path) -> Task:
    """Whether the bytes of two files are the same."""
    command = ["cmp", "--silent", model_file(folder), other_file(folder)]

    def run() -> int:
        return subprocess.run(command, check=False).returncode

    return Task(run, lambda status, _: {"same": str(status == 0)})
