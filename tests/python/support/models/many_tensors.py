"""Models of many tensors for tests of bulk reads: all types in all storages, and plain ones."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

import onnxmap
from support import wire_bytes as wire
from support.models.sample import external, floats, model_of, write
from support.oracles.tensor_encoder import ELEMENT_TYPES, SEGMENT
from support.tensors.examples import example_of, storages_of, store

SHAPES: tuple[tuple[int, ...], ...] = ((), (0, 4), (7,), (5, 3, 3))
PLACES = ("mmap", "read", "loads")


@dataclass(frozen=True)
class Folder:
    """A model in a folder, and the expected arrays of its tensors."""

    path: Path
    expected: Mapping[str, np.ndarray]

    def open(self, place: str) -> onnxmap.Model:
        if place == "loads":
            return onnxmap.loads(self.path.read_bytes(), external_root=self.path.parent)
        return onnxmap.load(self.path, io="read" if place == "read" else "mmap")


def write_every_type(folder: Path) -> Folder:
    """Each type in each storage and shape, and one in two segments. Each type has a data file."""
    expected, messages = {}, []
    for kind in ELEMENT_TYPES.values():
        data = b"."  # the tensors begin at an odd offset
        for storage in storages_of(kind):
            for shape in SHAPES:
                example = example_of(kind, shape, storage)
                name = f"{kind.name} {storage} {'x'.join(map(str, shape))}"
                stored = store(example, f"{kind.name}.bin")
                message = stored.message
                if stored.file is not None:
                    message += entry("offset", len(data)) + entry("length", len(stored.raw))
                    message = without_entries(message)
                    data += stored.raw + b".."
                expected[name] = example.array
                messages.append(message + wire.blob(8, name.encode()))
        (folder / f"{kind.name}.bin").write_bytes(data)
    messages += [
        wire.blob(8, b"segmented") + wire.scalar(1, 5) + wire.scalar(2, 2) + values
        + wire.blob(SEGMENT, wire.scalar(1, begin) + wire.scalar(2, end))
        for begin, end, values in [(3, 5, wire.blob(9, b"\4\5")), (0, 3, wire.blob(5, b"\1\2\3"))]
    ]  # fmt: skip
    expected["segmented"] = np.arange(1, 6, dtype=np.uint8)
    path = folder / "model.onnx"
    path.write_bytes(wire.blob(7, b"".join(wire.blob(5, one) for one in messages)))
    return Folder(path, expected)


def entry(key: str, value: int) -> bytes:
    return wire.blob(13, wire.blob(1, key.encode()) + wire.blob(2, str(value).encode()))


def without_entries(message: bytes) -> bytes:
    """Only the last `offset` and `length` are kept, because no key may occur twice."""
    tensor = onnx.TensorProto.FromString(message)
    last = {one.key: one.value for one in tensor.external_data}
    del tensor.external_data[:]
    for key, value in last.items():
        tensor.external_data.add(key=key, value=value)
    return tensor.SerializeToString()


def write_floats(path: Path, counts: Iterable[int], data_files: int = 0) -> list[str]:
    """FLOAT tensors "0", "1", …; tensor i has the values i, i + 1, …; the data files alternate.

    Returns:
        The names in stored order.
    """
    tensors = []
    files: list[list[int]] = [[] for _ in range(data_files)]
    contents = [bytearray() for _ in range(data_files)]
    for i, count in enumerate(counts):
        tensor = floats(str(i), count, start=i)
        if data_files:
            number = i % data_files
            place = {"offset": str(len(contents[number])), "length": str(4 * count)}
            contents[number] += tensor.raw_data
            files[number].append(i)
            tensor = external(str(i), [count], {"location": f"{number}.bin", **place})
        tensors.append(tensor)
    for number, content in enumerate(contents):
        (path.parent / f"{number}.bin").write_bytes(content)
    write(model_of(tensors), path)
    if not data_files:
        return [str(i) for i in range(len(tensors))]
    return [str(i) for one in files for i in one]


def is_float_run(name: str, array: np.ndarray) -> bool:
    """Whether these are the values that `write_floats` wrote under the name."""
    start = int(name)
    return bool((array == np.arange(start, start + array.size, dtype=np.float32)).all())


def threads_of_process() -> set[int]:
    return {int(one.name) for one in Path("/proc/self/task").iterdir()}


def threads_left(before: set[int]) -> set[int]:
    """The threads of this process that were not there before, and have not just ended.

    The system lists a thread for a moment after another one has joined it.
    """
    end = time.monotonic() + 20
    while (left := threads_of_process() - before) and time.monotonic() < end:
        time.sleep(0.001)
    return left


def spans(messages: Iterable[tuple[str, int, int]], location: str) -> Iterator[onnx.TensorProto]:
    """UINT8 tensors of (name, offset, length) in one data file; they may overlap."""
    for name, offset, length in messages:
        place = {"location": location, "offset": str(offset), "length": str(length)}
        yield external(name, [length], place, data_type=2)
