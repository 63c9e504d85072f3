"""A data file, or its folder, is swapped again and again while models are read.

Every reading gives the right bytes or is refused. It reads nothing else, and never hangs.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.containment.child import NO_OPENAT2, NO_PROC, facts_after
from support.containment.tree import CANARY, VALUES, model_bytes, write
from support.faults.swapping import swapping
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

pytestmark = pytest.mark.skipif(SANITIZED, reason="contained_open_test does the same in C++")

SECONDS = 10.0 if LONG else 1.0 if EXHAUSTIVE else 0.2

READER = """
import time
from collections import Counter
from contextlib import closing
from support.containment.tree import VALUES
from support.processes.file_watch import FileWatch
seconds = float(arguments[0])
wanted = set(arguments[1:])  # outcomes that must be seen, however busy the machine is
outcomes = Counter()

def outcome(tensor):
    try:
        values = tensor.numpy().tolist()
    except onnxmap.OnnxMapError as error:
        return error.code
    return "right" if values == VALUES else repr(values)

with closing(FileWatch([folder / "outside", *folder.glob("outside/canary*")])) as watch:
    begun = time.monotonic()
    while time.monotonic() < begun + (seconds if wanted <= outcomes.keys() else 60):
        for io in ("auto", "read"):
            model = onnxmap.load(folder / "model/model.onnx", io=io)
            outcomes.update(map(outcome, model.initializers.all()))
    report(outcomes=outcomes, opened=sorted(watch.opened()))
"""

WAYS = {
    "openat2": (),
    "no openat2": (NO_OPENAT2,),
    "nor proc": (NO_OPENAT2, NO_PROC),
}


@dataclass(frozen=True)
class Swap:
    first: str
    second: str
    make: Callable[[Path], None]  # the second one
    code: str | None  # of the refusals, of which there are some; None: there must not be any
    location: str = "w.bin"
    in_full: bool = True


def link_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def hard_link_to(target: str) -> Callable[[Path], None]:
    return lambda path: os.link(path.parent / target, path)


def good_file(path: Path) -> None:
    write(path, VALUES)


SWAPS = {
    "link out": Swap("model/w.bin", "model/x", link_to("../outside/canary.bin"), "ext.unsafe_path"),
    "pipe": Swap("model/w.bin", "model/x", os.mkfifo, "ext.not_regular"),
    "hard link out": Swap(
        "model/w.bin", "model/x", hard_link_to("../outside/canary.bin"), "ext.unsafe_path"
    ),
    "folder": Swap("model/w.bin", "model/x", Path.mkdir, "ext.location"),
    "link of the folder out": Swap(
        "model/sub", "model/x", link_to("../outside"), "ext.unsafe_path", "sub/w.bin"
    ),
    "link that changes its target": Swap(
        "model/link", "model/x", link_to("../outside/canary.bin"), "ext.unsafe_path", "link"
    ),
    "another good file": Swap("model/w.bin", "model/x", good_file, None, in_full=False),
    "link to a good file": Swap(
        "model/w.bin", "model/x", link_to("sub/w.bin"), None, in_full=False
    ),
    "something else, and the way goes up": Swap(
        "model/y", "model/x", good_file, None, "sub/../w.bin", False
    ),
    "folder that the way comes up from": Swap(
        "model/sub/below", "outside/x", Path.mkdir, None, "sub/below/../../w.bin", False
    ),
}


# The other ways get a file and a folder that are swapped; all swaps in a large run.
RACES = [
    (name, way)
    for name, way in itertools.product(SWAPS, WAYS)
    if EXHAUSTIVE or way == "openat2" or name in ("link out", "link of the folder out")
]


@pytest.mark.parametrize(("name", "way"), RACES)
def test_swapped_while_it_is_opened(tmp_path: Path, name: str, way: str) -> None:
    swap = SWAPS[name]
    for folder in ("model/sub/below", "outside"):
        (tmp_path / folder).mkdir(parents=True)
    for good in ("model/w.bin", "model/sub/w.bin", "model/y"):
        write(tmp_path / good, VALUES)
    for canary in ("outside/canary.bin", "outside/w.bin", "w.bin"):
        write(tmp_path / canary, CANARY)
    (tmp_path / "model/link").symlink_to("w.bin")
    swap.make(tmp_path / swap.second)
    spellings = {f"w{i}": b"./" * i + swap.location.encode() for i in range(20)}
    (tmp_path / "model/model.onnx").write_bytes(model_bytes(spellings))
    refusals = {swap.code} - {None}
    seconds = SECONDS if swap.in_full and way != "nor proc" else SECONDS / 4
    with swapping(tmp_path / swap.first, tmp_path / swap.second):
        wanted = () if way == "nor proc" else ("right", *refusals)
        facts = facts_after(WAYS[way], READER, tmp_path, str(seconds), *wanted, timeout=90)
    outcomes = facts["outcomes"]
    if way == "nor proc":  # there a file is opened by name, and refused if it was swapped by then
        assert set(outcomes) <= {"right", "ext.unsafe_path", *refusals}
    else:
        assert set(outcomes) == {"right", *refusals}
    if way != "nor proc" or name != "hard link out":
        assert facts["opened"] == []
