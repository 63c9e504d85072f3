"""An assigned array is a mapping of a file that is truncated before the save: no crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.models.sample import floats, model_of, write
from support.processes.subprocesses import facts_from
from support.saves.judges import contents

SAVE = """
import io
import os
from pathlib import Path
import numpy as np
import onnxmap

folder, nbytes, how = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
np.zeros(1 << 20, np.uint8).tofile(folder / "array")
model = onnxmap.load(folder / "model.onnx")
array = np.memmap(folder / "array", np.uint8, "r")
model.initializers["new"] = array[1 << 19 : (1 << 19) + nbytes]
model.initializers["newer"] = array[(1 << 18) : (1 << 18) + nbytes]
os.truncate(folder / "array", 1)
saved = folder / "saved.onnx"
ways = {
    "as it is": lambda: model.save(saved),
    "aligned": lambda: model.save(saved, alignment=64),
    "a file object": lambda: model.save(io.BytesIO()),
    "a data file": lambda: model.save(saved, external_data="w", size_threshold_bytes=1),
    "checksums": lambda: model.save(saved, external_data="w", checksum=True),
    "equal values": lambda: model.save(saved, external_data="w", dedupe=True),
}
told = None
try:
    ways[how]()
except onnxmap.FileChangedError as error:
    told = [error.code, error.path, str(error)]
report(told=told)
"""


@pytest.mark.parametrize(
    "how", ["as it is", "aligned", "a file object", "a data file", "checksums", "equal values"]
)
@pytest.mark.parametrize("nbytes", [9_000, 200_000])  # gathered, and passed on
def test_the_file_of_an_array_was_truncated(how: str, nbytes: int, tmp_path: Path) -> None:
    write(model_of([floats("w", 3)]), tmp_path / "model.onnx")
    before = contents(tmp_path)
    code, path, text = facts_from(SAVE, str(tmp_path), str(nbytes), how)["told"]
    assert (code, path) == ("file.changed", str(tmp_path / "array"))
    assert text == f"{path!r} has lost bytes that were mapped"
    assert contents(tmp_path) == {**before, "array": b"\0"}
