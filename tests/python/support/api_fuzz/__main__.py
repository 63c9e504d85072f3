"""Random calls of the whole public interface, in a child process: `python -m support.api_fuzz`.

Nothing is listed by hand. The calls begin with the names in `onnxmap.__all__`. Then the members of
the returned objects are called, public ones and those of Python's protocols. A new function, class
or property is therefore called if anything leads to it.

Every call is a line of Python. A sequence of calls depends on its seed alone. Each line is written
to the journal before it runs: a crash leaves the sequence behind as a script.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import json
import os
import shutil
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.api_fuzz import values
from support.api_fuzz.rules import Failure, is_ours
from support.api_fuzz.session import HANGS_AFTER, Session
from support.api_fuzz.values import JunkError

STEPS = 60  # of a sequence


class Journal:
    """A file with the lines of the running sequence, to be read after a crash."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)

    def begin(self, head: str) -> None:
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{head}\n".encode(), 0)
        os.lseek(self._file, 0, os.SEEK_END)

    def add(self, line: str) -> None:
        os.write(self._file, line.encode("utf-8", "backslashreplace") + b"\n")


class Files:
    """The files that the sequences read, in their own folder. A sequence may write only `out`."""

    def __init__(self, scratch: Path, journal: Path) -> None:
        import fsspec

        self.folder = scratch / "models"
        self.folder.mkdir(parents=True)
        (scratch / "cwd").mkdir()
        os.chdir(scratch / "cwd")
        self.scratch = scratch
        self.paths = values.write_files(self.folder)
        self.bytes = {
            name: Path(path).read_bytes()
            for name, path in self.paths.items()
            if Path(path).is_file()
        }
        self.mapped = values.map_file(self.paths["large"])
        memory = fsspec.filesystem("memory")
        self.urls = {"folder": "memory://fuzz"}
        for path in self.folder.iterdir():
            if path.is_file():
                memory.pipe_file(f"/fuzz/{path.name}", path.read_bytes())
                self.urls[path.stem] = f"memory://fuzz/{path.name}"
        self.journal = Journal(journal)
        self._state = self._files()

    def _files(self) -> dict[str, bytes]:
        return {
            str(path): path.read_bytes() for path in self.scratch.rglob("*")
            if path.is_file() and path.parent.name != "cwd"
        }  # fmt: skip

    def check(self) -> None:
        """Raise Failure if a file of the models has changed, or if there is a new file."""
        if self._files() != self._state:
            raise Failure("a file was written")


def resources() -> dict[str, int]:
    """The numbers of descriptors, mapped files and threads of the process."""
    gc.collect()
    descriptors = list(Path("/proc/self/fd").iterdir())
    maps = Path("/proc/self/maps").read_text().splitlines()
    return {
        "descriptors": len(descriptors),
        "mappings": sum("/models/" in line for line in maps),
        "threads": threading.active_count(),
    }


MOST_GROWTH = {"descriptors": 34, "mappings": 0, "threads": 1}  # up to 32 descriptors are pooled


@contextlib.contextmanager
def quiet() -> Iterator[list[BaseException]]:
    """Collects exceptions that no code can catch, such as those of finalizers."""
    raised: list[BaseException] = []

    def note(error: Any) -> None:
        value = error.exc_value
        if value is not None and not isinstance(value, JunkError):
            raised.append(value)

    before = sys.unraisablehook, threading.excepthook
    sys.unraisablehook = threading.excepthook = note
    try:
        yield raised
    finally:
        sys.unraisablehook, threading.excepthook = before


class Run:
    """Many sequences, one after another."""

    def __init__(self, files: Files, seed: str, *, is_tour: bool = False) -> None:
        self.files, self.seed, self.is_tour = files, seed, is_tour
        self.calls: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.kinds: set[str] = set()
        self.lines = 0
        self._held: dict[str, int] | None = None

    def sequence(self, number: int, lines: list[str] | None = None) -> None:
        """Runs one sequence, made from its seed or from these lines."""
        session = Session(self.files, f"{self.seed}:{number}")
        self.files.journal.begin(f"# seed {self.seed}, sequence {number}")
        faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
        try:
            with quiet() as raised:
                if lines is not None:
                    for line in lines:
                        session.run(line)
                elif self.is_tour:
                    session.tour(self.calls)
                else:
                    calls: Counter[str] = Counter()
                    for _ in range(STEPS):
                        session.step(calls)
                    self.calls += calls
                self.kinds |= {
                    type(value).__name__ for value in session.names.values() if is_ours(value)
                }
                session.forget()
                if number % 50 == 0 or self._held is None or lines is not None:
                    self._check_leaks(number)
            if raised:
                raise Failure("raised where nobody can catch it") from raised[0]
        finally:
            faulthandler.cancel_dump_traceback_later()
            self.lines += len(session.lines)
            self.errors += session.errors

    def _check_leaks(self, number: int) -> None:
        self.files.check()
        for left in (self.files.scratch / "cwd").iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        held = resources()
        if held["mappings"] > 1 or (self._held and held["threads"] > self._held["threads"]):
            time.sleep(0.5)  # a background thread may be about to end
            held = resources()
        if self._held is None:
            self._held = held
            gc.freeze()  # skip imported objects: scanning them would take most of the time
            return
        for kind, most in MOST_GROWTH.items():
            if held[kind] > self._held[kind] + most:
                raise Failure(f"{kind}: {held[kind]}, {self._held[kind]} at the beginning")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0, help="number of the first sequence")
    parser.add_argument("--sequences", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=1e9, help="end after that time")
    parser.add_argument("--journal", type=Path, default=None)
    parser.add_argument("--replay", type=Path, help="a journal: run its lines instead")
    parser.add_argument("--tour", action="store_true", help="call every member of every class")
    parser.add_argument("--go-on", action="store_true", help="after a failure, too")
    return parser.parse_args()


def main() -> int:
    """Prints a JSON object: what ran, what was called, and the failure if there is one."""
    given = parse()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    from onnxmap._remote import requests as remote_requests

    remote_requests.PAUSES = (0.0, 0.0, 0.0)
    replayed = None if given.replay is None else given.replay.read_text().splitlines()[1:]
    journal = given.journal.absolute() if given.journal is not None else Path(os.devnull)
    begun = time.monotonic()
    status = 0
    with tempfile.TemporaryDirectory(prefix="api_fuzz") as scratch:
        run = Run(Files(Path(scratch), journal), given.seed, is_tour=given.tour)
        for number in range(given.first, given.first + given.sequences):
            if time.monotonic() - begun > given.seconds:
                break
            try:
                run.sequence(number, replayed)
            except Failure as failure:
                sys.stderr.write(f"seed {given.seed}, sequence {number}\n")
                traceback.print_exception(failure)
                status = 1
                if not given.go_on:
                    break
            if replayed is not None or given.tour:
                break
        os.chdir("/")
    facts = {
        "lines": run.lines, "seconds": round(time.monotonic() - begun, 1), "errors": run.errors,
        "classes": sorted(run.kinds), "calls": run.calls,
    }  # fmt: skip
    sys.stdout.write(f"{json.dumps(facts)}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
