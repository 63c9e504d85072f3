"""The requests of a process to Linux about the pages of a file, from a trace of its system calls.

The kernel decides what a request does. It may bring pages late or never, evict others at any
moment, and keep pages that it was advised to drop. Therefore the tests check the requests.
"""

from __future__ import annotations

import mmap
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.processes.subprocesses import PRELUDE
from support.run_options import IN_CI, SANITIZED

PAGE = mmap.PAGESIZE
_CALLS = "mmap,munmap,madvise,fadvise64,mincore,preadv2,pread64,truncate"
# The phase begins after this call.
_PHASE = """
import os
def phase(name):
    try:
        os.truncate("/phase/" + name, 0)
    except OSError:
        pass
"""
Span = tuple[int, int]


@dataclass
class Requests:
    """The requests for one file: ranges of bytes, in the order of the calls."""

    asked: list[Span] = field(default_factory=list)  # to be read, without waiting
    mapped: list[Span] = field(default_factory=list)  # to be read and mapped
    released: list[Span] = field(default_factory=list)  # from this process's memory
    dropped: list[Span] = field(default_factory=list)  # from the page cache
    read: list[Span] = field(default_factory=list)
    looks: list[tuple[int, bool]] = field(default_factory=list)  # where, and whether it was there
    calls: list[str] = field(default_factory=list)  # the names of all of the above
    first_seen: dict[int, bool] = field(default_factory=dict)  # by page: whether it was there

    def absent(self, size: int) -> np.ndarray:
        """Pages that were absent when the process first asked about them."""
        return self._seen(size, there=False)

    def present(self, size: int) -> np.ndarray:
        """Pages that were present when the process first asked about them."""
        return self._seen(size, there=True)

    def _seen(self, size: int, *, there: bool) -> np.ndarray:
        pages = np.zeros(-(-size // PAGE), bool)
        pages[[page for page, was_there in self.first_seen.items() if was_there is there]] = True
        return pages


def pages_of(spans: Iterable[Span], size: int) -> np.ndarray:
    """For each page of a file of this size, whether one range covers the whole page."""
    pages = np.zeros(-(-size // PAGE), bool)
    for begin, end in spans:
        pages[-(-begin // PAGE) : -(-size // PAGE) if end >= size else end // PAGE] = True
    return pages


def joined(spans: Iterable[Span]) -> list[Span]:
    """Join ranges that follow each other without a gap."""
    found: list[Span] = []
    for begin, end in spans:
        if found and found[-1][1] == begin:
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return found


@cache
def _can_trace() -> bool:
    """Whether strace works here. Containers may forbid it."""
    strace = shutil.which("strace")
    if strace is None:
        return False
    return subprocess.run([strace, "-o", "/dev/null", "true"], check=False).returncode == 0


class Trace:
    """Run `code` in a process. There, `phase(name)` begins a phase and `report()` returns facts."""

    def __init__(self, folder: Path, code: str, *arguments: str, inject: str | None = None) -> None:
        if SANITIZED:
            pytest.skip("tests/cpp count the same calls under sanitizers")
        if not IN_CI and not _can_trace():
            pytest.skip("no strace, or it may not trace here")
        log = folder / "trace"
        only = ["-e", f"trace={_CALLS}", "-e", "abbrev=none", "-s", "0"]
        # The first method is faster, but strace 6.1 does not inject signals with it.
        only += ["-e", f"inject={inject}"] if inject else ["--seccomp-bpf"]
        source = (
            PRELUDE.format(here=str(Path(__file__).parents[2])) + _PHASE + textwrap.dedent(code)
        )
        ran = subprocess.run(
            ["strace", "-f", "-y", *only, "-o", str(log), sys.executable, "-c", source, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        self.output = ran.stdout
        self._found: dict[str, dict[Path, Requests]] = {}
        _Reader(self._found).read(log.read_text())
        log.unlink()

    def of(self, path: Path, phase: str = "") -> Requests:
        return self._found.get(phase, {}).get(path, Requests())


class _Reader:
    """Reads the log of strace, and tracks the mappings of files."""

    def __init__(self, found: dict[str, dict[Path, Requests]]) -> None:
        self.found = found
        self.phase = ""
        self.mappings: list[tuple[int, int, Path | None, int]] = []  # the newest mapping first
        self.readers: dict[str, Any] = {
            "mmap": self.mmap, "madvise": self.madvise, "fadvise64": self.fadvise,
            "mincore": self.mincore,
            "preadv2": self.preadv2, "pread64": self.pread, "truncate": self.truncate,
        }  # fmt: skip

    def read(self, log: str) -> None:
        begun: dict[str, str] = {}
        for line in log.splitlines():
            thread, _, call = line.partition(" ")
            call = call.strip()
            if call.endswith("<unfinished ...>"):
                begun[thread] = call.removesuffix("<unfinished ...>")
                continue
            if call.startswith("<..."):
                call = begun.pop(thread) + call.partition("resumed>")[2]
                call = re.sub(r"\s*([,)])\s*", r"\1 ", call)
            if (name := call.partition("(")[0]) in self.readers:
                self.readers[name](call)

    def of(self, path: str | Path, name: str) -> Requests:
        one = self.found.setdefault(self.phase, {}).setdefault(Path(path), Requests())
        one.calls.append(name)
        return one

    def truncate(self, call: str) -> None:
        if match := re.match(r'truncate\("/phase/(\w+)"', call):
            self.phase = match[1]

    def mmap(self, call: str) -> None:
        if match := re.match(r"mmap\(\w+, (\d+), .*, (?:-1|\d+<(.*)>), (\w+)\) += (0x\w+)", call):
            begin = int(match[4], 16)
            path = Path(match[2]) if match[2] else None
            self.mappings.insert(0, (begin, begin + int(match[1]), path, int(match[3], 0)))

    def place(self, address: str) -> tuple[Path, int] | None:
        at = int(address, 16)
        for begin, end, path, offset in self.mappings:
            if begin <= at < end:
                return (path, at - begin + offset) if path else None
        return None

    def madvise(self, call: str) -> None:
        match = re.match(r"madvise\((0x\w+), (\d+), (\w+)", call)
        assert match, call
        kinds = {"MADV_WILLNEED": "asked", "MADV_POPULATE_READ": "mapped", "0x16": "mapped"}
        kinds["MADV_DONTNEED"] = "released"
        if match[3] in kinds and (place := self.place(match[1])):
            path, begin = place
            spans = getattr(self.of(path, "madvise"), kinds[match[3]])
            spans.append((begin, begin + int(match[2])))

    def fadvise(self, call: str) -> None:
        match = re.match(r"fadvise64\(\d+<(.*)>, (\d+), (\d+), (\w+)\)", call)
        assert match, call
        begin, nbytes = int(match[2]), int(match[3])
        one = self.of(match[1], match[4])
        if match[4] == "POSIX_FADV_WILLNEED":
            one.asked.append((begin, begin + nbytes))
        elif match[4] == "POSIX_FADV_DONTNEED":
            one.dropped.append((begin, begin + nbytes))

    def mincore(self, call: str) -> None:
        match = re.match(r"mincore\((0x\w+), \d+, \[([01, ]*)\]", call)
        if match and (place := self.place(match[1])):
            path, begin = place
            first_seen = self.of(path, "mincore").first_seen
            for i, state in enumerate(match[2].split(", ")):
                first_seen.setdefault(begin // PAGE + i, state == "1")

    def preadv2(self, call: str) -> None:
        match = re.match(
            r"preadv2\(\d+<(.*)>, .*, 1, (\d+), RWF_NOWAIT\) += (-?\d+)(?: (\w+))?", call
        )
        assert match, call
        self.of(match[1], "preadv2").looks.append((int(match[2]), match[4] != "EAGAIN"))

    def pread(self, call: str) -> None:
        if match := re.match(r"pread64\(\d+<(.*)>, .*, (\d+), (\d+)\) += ", call):
            begin = int(match[3])
            self.of(match[1], "pread64").read.append((begin, begin + int(match[2])))
