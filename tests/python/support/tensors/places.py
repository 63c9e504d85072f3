"""One tensor, stored as raw_data in each place where its bytes may be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnxmap
from support.models.sample import external, model_of, write
from support.tensors.stored import in_buffer, number_of

# A mapped model, a model that is read piece by piece, a caller's buffer, and a data file.
PLACES = ["mmap", "read", "loads", "external"]


def place(
    where: str, type_name: str, shape: Sequence[int], data: bytes, folder: Path
) -> onnxmap.Tensor:
    """The tensor "t" with these bytes. They begin at an odd place in memory and in the file."""
    if where == "external":
        (folder / "w.bin").write_bytes(b"123" + data + b"4")
        entries = {"location": "w.bin", "offset": "3", "length": str(len(data))}
        message = external("t", list(shape), entries, number_of(type_name))
        path = write(model_of([message]), folder / "model.onnx")
        return onnxmap.load(path).initializers["t"]
    buffer, _ = in_buffer(type_name, shape, data, offset=3)
    if where == "loads":
        return onnxmap.loads(buffer).initializers["t"]
    (folder / "model.onnx").write_bytes(buffer)
    return onnxmap.load(folder / "model.onnx", io=where).initializers["t"]


def file_of(address: int) -> str:
    """The file that is mapped at this address; empty if it is private memory."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        bounds, _, _, _, _, *path = line.split(maxsplit=5)
        begin, end = (int(bound, 16) for bound in bounds.split("-"))
        if begin <= address < end:
            return path[0] if path else ""
    raise AssertionError(f"{address:#x} is not mapped")
