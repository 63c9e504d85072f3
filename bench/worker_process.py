"""A process of `worker.py`, controlled by its parent."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class WorkerProcess:
    """A process of `worker.py`, which describes what it prints and waits for."""

    def __init__(self, *arguments: str, python: str = "") -> None:
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 closed by __exit__
        self._process = subprocess.Popen(
            [python or sys.executable, "-W", "ignore", "-m", "bench.worker", *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
        )
        self._line = ""

    def __enter__(self) -> WorkerProcess:  # noqa: PYI034 typing.Self is Python 3.11's
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._process.kill()
        self.end()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._complaints.close()

    @property
    def number(self) -> int:
        """The process id."""
        return self._process.pid

    def is_ready(self) -> bool:
        """Wait until it has imported and prepared. False if that failed; its report says why."""
        self._read()
        return self._line.strip() == "ready"

    def go(self) -> None:
        """Let it do the work."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has died; the report says why
            self._process.stdin.write("go\n")
            self._process.stdin.flush()

    def report(self) -> dict[str, Any]:
        """Wait for its report. If it died, the report is its status and last line of errors.

        A process that did not die still holds the result of its work.
        """
        if self._line.strip() in ("", "ready"):
            self._read()
        try:
            report: dict[str, Any] = json.loads(self._line)
        except json.JSONDecodeError:
            self.end()
            self._complaints.seek(0)
            last = self._complaints.read().strip().splitlines()[-1:] or [""]
            return {"error": f"process ended with status {self._process.returncode}: {last[0]}"}
        return report

    def kill(self) -> None:
        """Kill it now. Its report then says how it ended."""
        self._process.kill()

    def end(self) -> None:
        """Let it drop its result, and wait until it has ended."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        self._line = self._process.stdout.readline()
