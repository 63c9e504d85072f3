"""A model file is cut off while it is mapped. Reads of its structure raise FileChangedError."""

from __future__ import annotations

import mmap
import os
import sys
from pathlib import Path

import pytest
from support import wire_bytes as wire
from support.processes.subprocesses import facts_from
from support.readers.structure import EDITS, STEPS
from support.readers.tensors import excused
from support.run_options import EXHAUSTIVE, SANITIZED

import onnxmap

READ_ALL = """
from support.readers.structure import outcomes
folder, way, watch = sys.argv[1:]
report(**outcomes(folder, way, watch == "watch"))
"""
WHOLE_COLUMNS = {
    "op_types", "op_counts", "node_names", "node_inputs", "node_outputs", "names", "shapes",
    "dtypes", "nbytes", "views",
}  # fmt: skip


RUNS = [
    (way, watch)
    for way in (["mmap"] if SANITIZED else ["mmap", "buffer", "read"])
    for watch in ("watch", "no watch")
    if EXHAUSTIVE or (way, watch) != ("buffer", "watch")  # a buffer has no file to watch
]


@pytest.mark.parametrize(("way", "watch"), RUNS)
def test_every_part_of_a_cut_model(tmp_path: Path, way: str, watch: str) -> None:
    found = facts_from(READ_ALL, str(tmp_path), way, watch)
    for cut, answers in found.items():
        assert list(answers) == [*STEPS, *EDITS]
        for step, answer in answers.items():
            # Values before the cut are still right, and so are values that were read on loading.
            gone = cut == "nothing" and way == "mmap"
            allowed = {"changed"} if gone else {"changed", "right"}
            assert answer in allowed or excused(way, cut, answer), (cut, step, answer)
            if watch == "watch" and way == "mmap" and step in WHOLE_COLUMNS:
                assert answer == "changed", (cut, step)
    assert {answers["text"] for answers in found.values()} == {"changed"} or way == "read"


def test_commands(tmp_path: Path) -> None:
    found = facts_from(
        """
        from support.readers.structure import commands
        report(**commands(sys.argv[1]))
        """,
        str(tmp_path),
    )
    assert len(found) == 6
    for words, (status, told) in found.items():
        assert status == 2, words
        assert told.startswith("onnxmap: "), words
        assert told.count("\n") == 1, words
        assert str(tmp_path / "model.onnx") in told


def test_a_buffer_that_is_refused_keeps_no_tensor(tmp_path: Path) -> None:
    """The lost bytes are dims, and read as zeros: only the guard notices that they are lost."""
    path = tmp_path / "model.onnx"
    tensor = wire.scalar(2, 1) + wire.blob(8, b"w") + wire.blob(9, b"") + wire.blob(1, bytes(40))
    rest = wire.blob(5, tensor)
    text = bytes(mmap.PAGESIZE + 20 - len(rest) - 9)  # the last 20 bytes have a page of their own
    model = wire.blob(7, wire.blob(2, b"g") + wire.blob(10, text) + rest)
    assert len(model) == mmap.PAGESIZE + 20
    path.write_bytes(model)
    handle = onnxmap.load(path, io="mmap").initializers["w"]
    before = sys.getrefcount(handle)
    os.truncate(path, mmap.PAGESIZE)
    with pytest.raises(onnxmap.FileChangedError):
        memoryview(handle)  # type: ignore[arg-type]
    assert sys.getrefcount(handle) == before
