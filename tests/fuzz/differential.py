"""onnxmap against upb, mutant by mutant: the same verdict and the same canonical form.

The native half (differential.cpp) makes the mutants and lets onnxmap judge them. It writes each
accepted one as upb would. This half asks upb in the same process. If they differ on an input, the
input is made small and written to a file, with both verdicts beside it.
`make differential MUTANTS=...` builds and runs both.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import google.protobuf
from google.protobuf.internal import api_implementation
from google.protobuf.message import Message

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "python"))

from support.models.full_messages import full_message
from support.models.small import SMALL_MODELS
from support.oracles.canonical import DESCRIPTORS, message_class, short_name
from support.oracles.upb import Reading, form_of, outcome

BATCH = 512
REPORT_EVERY = 1_000_000
LARGE = 32 << 10  # from this size on a message is read by an index
MINIMISE_SECONDS = 20
AGREED = ("accepted", "rejected", "deviation")


class Native:
    """The shared library."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._library.differential_root_name.restype = ctypes.c_char_p
        self._library.differential_reduce.restype = ctypes.c_bool
        for name in ("new", "output"):
            getattr(self._library, f"differential_{name}").restype = ctypes.c_void_p
        for name in ("root_count", "output_size"):
            getattr(self._library, f"differential_{name}").restype = ctypes.c_size_t
        self._run = ctypes.c_void_p(self._library.differential_new())
        count = self._library.differential_root_count()
        self.roots = [self._library.differential_root_name(i).decode() for i in range(count)]
        self._numbers = {root: ctypes.c_size_t(i) for i, root in enumerate(self.roots)}

    def _output(self) -> bytes:
        size = self._library.differential_output_size(self._run)
        return ctypes.string_at(self._library.differential_output(self._run), size)

    def _readings(self) -> Iterator[Reading]:
        output, at = self._output(), 0
        while at < len(output):
            root, *sizes = struct.unpack_from("<4I", output, at)
            at += 16
            parts = []
            for size in sizes:
                parts.append(output[at : at + size])
                at += size
            yield Reading(self.roots[root], parts[0], parts[1].decode(), parts[2])

    def add_seed(self, root: str, data: bytes) -> None:
        size = ctypes.c_size_t(len(data))
        self._library.differential_add_seed(self._run, self._numbers[root], data, size)

    def mutants(self, first: int, count: int) -> Iterator[Reading]:
        number = ctypes.c_uint64(first)
        self._library.differential_read_mutants(self._run, number, ctypes.c_size_t(count))
        return self._readings()

    def read(self, root: str, data: bytes) -> Reading:
        size = ctypes.c_size_t(len(data))
        self._library.differential_read(self._run, self._numbers[root], data, size)
        return next(self._readings())

    def smaller(self, root: str, data: bytes) -> Iterator[bytes]:
        """The same message with less in it: without some fields, or half of a field's bytes."""
        size = ctypes.c_size_t(len(data))
        for siblings in (1024, 128, 16, 4, 1, 0):
            index = 0
            while self._library.differential_reduce(
                self._run, self._numbers[root], data, size, ctypes.c_size_t(index), siblings
            ):
                yield self._output()
                index += 1


def seeds() -> Iterator[tuple[str, bytes]]:
    """(root, bytes) of the small models and their messages, the corpus, full messages."""
    for data in SMALL_MODELS.values():
        yield "ModelProto", data
        yield from parts_of(message_class("ModelProto").FromString(data), 2)
    for path in sorted((TESTS / "corpus").glob("*.onnx")):
        if path.stat().st_size <= LARGE:
            yield "ModelProto", path.read_bytes()
    for name, descriptor in DESCRIPTORS.items():
        yield name, b""
        for depth in (0, 2):
            yield name, full_message(descriptor, depth)


def parts_of(message: Message, depth: int) -> Iterator[tuple[str, bytes]]:
    if depth == 0:
        return
    for described, value in message.ListFields():
        if described.message_type is not None:
            for inner in value if described.is_repeated else [value]:
                yield short_name(described.message_type), inner.SerializePartialToString()
                yield from parts_of(inner, depth - 1)


def minimised(native: Native, reading: Reading, what: str) -> Reading:
    """The smallest input found in time that differs in the same way."""

    def candidates(data: bytes) -> Iterator[bytes]:
        yield from native.smaller(reading.root, data)
        size = len(data)
        while size >= 1:
            for at in range(0, len(data), size):
                yield data[:at] + data[at + size :]
            size //= 2

    deadline = time.monotonic() + MINIMISE_SECONDS
    found = True
    while found:
        found = False
        for data in candidates(reading.data):
            if time.monotonic() > deadline:
                return reading
            smaller = native.read(reading.root, data)
            if len(data) < len(reading.data) and outcome(smaller, native.read) == what:
                reading, found = smaller, True
                break
    return reading


def write_out(folder: Path, reading: Reading, what: str) -> Path:
    """The input as a file, and a text beside it with both verdicts and both canonical forms."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{reading.root}-{hashlib.sha256(reading.data).hexdigest()[:12]}"
    path = folder / f"{name}.bin"
    path.write_bytes(reading.data)
    form = form_of(reading.root, reading.data)
    theirs = "refuses" if form is None else f"accepts\n{form.hex()}"
    ours = f"refuses: {reading.verdict}" if reading.verdict else f"accepts\n{reading.form.hex()}"
    parts = (f"{reading.root}: {what}", reading.data.hex(), f"upb {theirs}", f"onnxmap {ours}")
    path.with_suffix(".txt").write_text("\n\n".join(parts) + "\n")
    return path


class Run:
    """Counts what was judged, and writes out what differs."""

    def __init__(self, native: Native, out: Path) -> None:
        self.native = native
        self.out = out
        self.seen: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.roots: Counter[str] = Counter()
        self.count = 0
        self.disagreements = 0
        self.started = time.monotonic()

    def judge(self, reading: Reading) -> None:
        found = outcome(reading, self.native.read)
        self.count += 1
        self.seen[found] += 1
        self.verdicts[reading.verdict or "accepted"] += 1
        self.roots[reading.root] += 1
        if len(reading.data) >= LARGE:
            self.seen["large"] += 1
            self.seen["large and accepted"] += not reading.verdict
        if self.count % REPORT_EVERY == 0:
            self.report()
        if found not in AGREED:
            self.disagreements += 1
            path = write_out(self.out, minimised(self.native, reading, found), found)
            print(f"DISAGREEMENT: {found}: {path}", flush=True)

    def report(self) -> None:
        count, seconds, seen = self.count, time.monotonic() - self.started, self.seen
        print(
            f"{count} inputs in {seconds / 3600:.2f} h, {count / max(seconds, 1e-9):.0f}/s; "
            f"{100 * seen['accepted'] / max(count, 1):.1f} % accepted; "
            f"{seen['large']} of 32 KiB and more, {seen['large and accepted']} of them accepted; "
            f"{len(self.roots)} types of message; {seen['deviation']} stated deviations; "
            f"{self.disagreements} disagreements",
            flush=True,
        )


def root_of(path: Path, roots: list[str]) -> str:
    """The root in a name that `write_out` gave; other files are models."""
    name = path.name.partition("-")[0]
    return name if name in roots else "ModelProto"


def readings(native: Native, arguments: argparse.Namespace) -> Iterator[Reading]:
    """Readings of the given files, or else of the seeds and then of their mutants."""
    for path in arguments.files:
        yield native.read(root_of(path, native.roots), path.read_bytes())
    if arguments.files:
        return
    for root, data in seeds():
        native.add_seed(root, data)
        yield native.read(root, data)
    for done in range(0, arguments.mutants, BATCH):
        count = min(BATCH, arguments.mutants - done)
        yield from native.mutants(arguments.first + done, count)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path, help="libonnxmap_differential.so")
    parser.add_argument("files", nargs="*", type=Path, help="to judge, instead of mutants")
    parser.add_argument("--mutants", type=int, default=300_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--out", type=Path, default=Path("build/disagreements"))
    parser.add_argument("--most", type=int, default=10, help="disagreements, then it stops")
    arguments = parser.parse_args()

    engine = api_implementation.Type()
    assert engine == "upb", f"the oracle is upb, not {engine}"
    print(f"protobuf {google.protobuf.__version__}, {engine}")
    native = Native(arguments.library)
    run = Run(native, arguments.out)
    for reading in readings(native, arguments):
        run.judge(reading)
        if run.disagreements == arguments.most:
            break
    run.report()
    print(*(f"{verdict}: {n}" for verdict, n in run.verdicts.most_common()), sep="\n")
    return 1 if run.disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
