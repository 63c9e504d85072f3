"""Processes that write the same files at once. Run alone: python -m support.faults.rival_writers.

They are forked from a process that has loaded the package once, so a trial takes a tenth of a
second. The counts are in memory that all of them share.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import onnxmap

# Elements of each tensor, so that a mixture shows at once. A and B save pairs, C edits the values
# of what is there, so that they go to a side file, and D renames a model with its values over it.
LENGTHS = {"A": 3000, "B": 5000, "C": 4000, "D": 6000}
PAIR = "pair.onnx"
OUTCOMES = ("pure", "changed", "missing", "no data", "mixed", "other")


def make_sources(folder: Path) -> None:
    """One model for each writer, with tensors of the same names in another order."""
    for who, length in LENGTHS.items():
        names = "ab" if who in "AC" else "ba"
        tensors = [
            onnx.numpy_helper.from_array(np.full(length, ord(who), np.float32), name)
            for name in names
        ]
        graph = onnx.helper.make_graph([], "graph", [], [], tensors)
        onnx.save(onnx.helper.make_model(graph, producer_name=who), folder / f"{who}.onnx")


class Counts:
    """Numbers that processes share; each process has its own row."""

    def __init__(self, rows: int, columns: int) -> None:
        self._columns = columns
        self._memory = mmap.mmap(-1, 8 * rows * columns)

    def add(self, row: int, column: int) -> None:
        at = 8 * (row * self._columns + column)
        (now,) = struct.unpack_from("q", self._memory, at)
        struct.pack_into("q", self._memory, at, now + 1)

    def total(self, column: int) -> int:
        numbers = struct.unpack(f"{len(self._memory) // 8}q", self._memory)
        return sum(numbers[column :: self._columns])


def forked(work: Callable[[], None]) -> int:
    """Start a child; it ends after `work`, or when it is killed."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except (onnxmap.OnnxMapError, OSError) as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    """Wait for a child. Return its exit code, or minus its signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def save_for_ever(folder: Path, who: str, sync: bool) -> None:
    write = partial(WRITERS.get(who, save_a_pair), folder, who, sync)
    while True:
        with suppress(onnxmap.FileChangedError, FileNotFoundError):  # another one was faster
            write()


def save_a_pair(folder: Path, who: str, sync: bool) -> None:
    model = onnxmap.load(folder / f"{who}.onnx")
    model.save(folder / PAIR, external_data="w.data", size_threshold_bytes=0, sync=sync)


def edit_values(folder: Path, who: str, sync: bool) -> None:
    with onnxmap.load(folder / PAIR) as model:
        model.producer_name = who
        for name in "ab":
            values = np.full(LENGTHS[who], ord(who), np.float32)
            model.initializers[name] = onnxmap.make_tensor(name, 1, values.shape, values, raw=True)
        model.save(folder / PAIR, size_threshold_bytes=0, sync=sync)


def rename_over(folder: Path, who: str, sync: bool) -> None:
    del sync
    new = folder / f"{who}.new"
    shutil.copyfile(folder / f"{who}.onnx", new)
    new.replace(folder / PAIR)


WRITERS = {"C": edit_values, "D": rename_over}


def outcome_of_read(path: Path, pause: float = 0) -> str:
    """What a reader finds that reads the values after a pause, in which names may change."""
    try:
        model = onnxmap.load(path)
        time.sleep(pause)
        who = model.proto.producer_name
        for name in "ab":
            array = model.initializers[name].numpy()
            if array.shape != (LENGTHS[who],) or not (array == ord(who)).all():
                return "mixed"
    except onnxmap.FileChangedError:
        return "changed"
    except onnxmap.MissingDataError:
        return "no data"
    except FileNotFoundError:
        return "missing"
    except onnxmap.OnnxMapError:
        return "other"
    return "pure"


def read_for_ever(path: Path, counts: Counts, row: int) -> None:
    rng = random.Random(row)
    while True:
        pause = rng.choice((0, rng.random() / 1000))
        counts.add(row, OUTCOMES.index(outcome_of_read(path, pause)))


def savers(trials: int, seconds: float, readers: int, seed: int) -> dict[str, Any]:
    """Trials in which writers save one model until all are killed, beside readers."""
    rng = random.Random(seed)
    counts = Counts(readers, len(OUTCOMES))
    left: Counter[str] = Counter()
    root = Path(tempfile.mkdtemp(prefix="rivals_"))
    for trial in range(trials):
        folder = root / str(trial)
        folder.mkdir()
        make_sources(folder)
        writers = rng.choice(("AB", "ABD", "ACD", "CCD"))
        if "A" not in writers:
            save_a_pair(folder, "A", sync=False)
        children = [
            forked(partial(save_for_ever, folder, who, rng.random() < 0.3)) for who in writers
        ]
        read = [
            forked(partial(read_for_ever, folder / PAIR, counts, row)) for row in range(readers)
        ]
        for child in children:
            time.sleep(rng.random() * seconds)
            os.kill(child, signal.SIGKILL)
            left["writers"] += 1
            left[f"ended by {ended(child)}"] += 1
        left[outcome_of_read(folder / PAIR)] += 1
        for child in read:
            os.kill(child, signal.SIGKILL)
            left["readers"] += 1
            left[f"ended by {ended(child)}"] += 1
        # What the dead have left keeps nobody from saving.
        who = rng.choice("AB")
        model = onnxmap.load(folder / f"{who}.onnx")
        model.save(folder / PAIR, external_data="w.data", size_threshold_bytes=0, sync=False)
        assert outcome_of_read(folder / PAIR) == "pure"
        shutil.rmtree(folder)
    shutil.rmtree(root)
    return {
        "trials": trials,
        "left": dict(left),
        "reads": {name: counts.total(i) for i, name in enumerate(OUTCOMES)},
    }


def append_and_save(path: Path, me: int, steps: int, log: Path, seed: int) -> None:
    """Append keys and save over the file in turn. The log has the keys whose append returned."""
    rng = random.Random(seed)
    with log.open("a") as done:
        for step in range(steps):
            key = f"{me}.{step}"
            try:
                if rng.random() < 0.5:
                    onnxmap.append(path, metadata_props={key: "x"}, sync=False)
                    done.write(f"{key}\n")
                    continue
                model = onnxmap.load(path)
                for _ in range(rng.randrange(1, 3)):
                    model.graph.doc_string = key
                    model.save(path, sync=False)
            except (onnxmap.FileChangedError, FileNotFoundError):
                done.write(f"#{key}\n")


def appends(writers: int, steps: int, seed: int) -> dict[str, Any]:
    """Writers append to one file and save over it. Return which appends are missing at the end."""
    folder = Path(tempfile.mkdtemp(prefix="rivals_"))
    make_sources(folder)
    path = folder / "A.onnx"
    children = [
        forked(partial(append_and_save, path, me, steps, folder / f"{me}.log", seed + me))
        for me in range(writers)
    ]
    codes = [ended(child) for child in children]
    lines = [line for log in folder.glob("*.log") for line in log.read_text().split()]
    done = {line for line in lines if not line.startswith("#")}
    with onnxmap.load(path) as model:
        there = {entry.key for entry in model.proto.metadata_props}
    shutil.rmtree(folder)
    return {
        "codes": codes,
        "appended": len(done),
        "changed": len(lines) - len(done),
        "missing": sorted(done - there),
        "unknown": sorted(there - {line.lstrip("#") for line in lines}),
    }


if __name__ == "__main__":
    way, *numbers = sys.argv[1:]
    report = (
        savers(int(numbers[0]), float(numbers[1]), int(numbers[2]), int(numbers[3]))
        if way == "savers"
        else appends(*map(int, numbers))
    )
    sys.stdout.write(json.dumps(report))
