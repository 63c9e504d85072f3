"""A model file is written while it is loaded: an error or a right model, and never a crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.processes.subprocesses import facts_from
from support.run_options import EXHAUSTIVE, LONG

SECONDS = 10 if LONG else 1 if EXHAUSTIVE else 0.4
# The errors if the file stays half written during the whole load.
REFUSALS = ("wire.", "model.", "tensor.", "limit.")

WRITE_AND_LOAD = """
import os, threading, time
from collections import Counter
import numpy as np
import onnxmap
from support import wire_bytes as wire
from support.models.paged import FLOAT, model_of, tensor_message

folder, how, io, seconds = sys.argv[1:]
path = folder + "/model.onnx"

def model(letter, count):
    # Names, types and values all tell which model they are of.
    tensors = []
    for number in range(count):
        values = np.full(64, ord(letter), np.float32).tobytes()
        name = f"{letter}{number}".encode() * 3
        tensors.append(tensor_message(FLOAT, 64, wire.blob(9, values)) + wire.blob(8, name))
    nodes = wire.blob(7, wire.blob(1, wire.blob(4, letter.encode())) * count)
    return model_of(*tensors) + nodes

OLD, NEW = model("a", 400), model("b", 400 if how == "same size" else 300)
assert (len(OLD) == len(NEW)) == (how == "same size")

def write_by_rename(data):
    with open(path + ".new", "wb") as file:
        file.write(data)
    os.replace(path + ".new", path)

def write_in_place(data):
    with open(path, "r+b") as file:
        file.truncate(len(data))
        for begin in range(0, len(data), 10_000):
            os.pwrite(file.fileno(), data[begin : begin + 10_000], begin)

def write_anew(data):
    with open(path, "wb") as file:
        file.write(data)

def touch(data):
    os.utime(path)

write = {"rename": write_by_rename, "same size": write_in_place, "in place": write_in_place,
         "anew": write_anew, "touch": touch}[how]
write_by_rename(OLD)
stop = threading.Event()

def keep_writing():
    while not stop.is_set():
        for data in (NEW, OLD):
            write(data)

def use(model):
    letters = set(model.graph.op_types()) | {name[0] for name in model.initializers.names()}
    letters |= {chr(int(view[0])) for view in model.views().values()}
    return "right" if letters in ({"a"}, {"b"}) else f"mixed: {sorted(letters)}"

sys.setswitchinterval(1e-4)
writer = threading.Thread(target=keep_writing)
writer.start()
counts = Counter()
end = time.monotonic() + float(seconds)
while time.monotonic() < end:
    try:
        model = onnxmap.load(path, io=io)
        answer = use(model) if how in ("rename", "touch") else "loaded"
    except onnxmap.OnnxMapError as error:
        answer = error.code
    counts[answer] += 1
stop.set()
writer.join()
write_by_rename(OLD)
report(counts=counts, after=use(onnxmap.load(path, io=io)))
"""


def counts(folder: Path, how: str, io: str) -> dict[str, int]:
    facts = facts_from(WRITE_AND_LOAD, str(folder), how, io, str(SECONDS))
    assert facts["after"] == "right"
    found: dict[str, int] = facts["counts"]
    return found


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("how", ["same size", "in place", "anew"])
def test_a_file_that_is_written_all_the_time(tmp_path: Path, how: str, io: str) -> None:
    found = counts(tmp_path, how, io)
    assert found.get("file.changed", 0) > 0
    for answer in found:
        assert answer in ("loaded", "file.changed") or answer.startswith(REFUSALS), found


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_a_file_that_is_touched_all_the_time(tmp_path: Path, io: str) -> None:
    """Its content does not change, but onnxmap cannot know that."""
    found = counts(tmp_path, "touch", io)
    assert set(found) <= {"right", "file.changed"}
    assert found["file.changed"] > 0


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_a_file_that_is_replaced_all_the_time(tmp_path: Path, io: str) -> None:
    """Each load reads either the one file or the other, as a whole."""
    assert set(counts(tmp_path, "rename", io)) == {"right"}
