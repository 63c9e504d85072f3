"""Threads that read tensors of a file while it is cut off and mended. For child processes."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import onnxmap
from support import wire_bytes as wire
from support.faults.cutting import kept_cutting
from support.models.paged import FLOAT, INT4, INT64, external_entries, model_of, tensor_message

THREADS = 8
# The error codes for a file that is too short when it is opened.
SHORT = {"ext.bounds", "wire.truncated", "wire.length_overrun", "model.empty"}


def _named(name: bytes, message: bytes) -> bytes:
    return message + wire.blob(8, name)  # if a field is given twice, the last one counts


def write_model(folder: Path, mib: int) -> dict[str, Any]:
    """Write a model with tensors of `mib` MiB inside and outside; return the values by name."""
    floats = np.arange(mib << 18, dtype=np.float32) % 9_973 + 1
    codes = (np.arange(mib << 20, dtype=np.uint32) % 251 + 1).astype(np.uint8)
    small = codes & 0x7F  # varints of one byte each
    outside = external_entries(b"w.bin", 0, floats.nbytes)
    nibbles = external_entries(b"w.bin", floats.nbytes, codes.nbytes)
    (folder / "w.bin").write_bytes(floats.tobytes() + codes.tobytes())
    (folder / "model.onnx").write_bytes(
        model_of(
            _named(b"inside", tensor_message(FLOAT, floats.size, wire.blob(9, floats.tobytes()))),
            _named(b"varints", tensor_message(INT64, small.size, wire.blob(7, small.tobytes()))),
            _named(b"outside", tensor_message(FLOAT, floats.size, outside)),
            _named(b"nibbles", tensor_message(INT4, 2 * codes.size, nibbles)),
        )
    )
    pairs = np.stack([codes & 15, codes >> 4], axis=1).reshape(-1)
    signed = (pairs ^ 8).astype(np.int8) - 8
    return {"inside": floats, "outside": floats, "varints": small, "nibbles": signed}


def _equal(found: Any, expected: Any) -> bool:
    return bool(np.array_equal(found, expected))


# Each reads one tensor by one of our loops: copy, kernel, unpacking, NumPy's cast, decoding.
READS: list[tuple[str, Callable[[onnxmap.Tensor], Any]]] = [
    ("inside", lambda t: t.numpy(copy=True)),
    ("outside", lambda t: t.numpy(copy=True)),
    ("outside", lambda t: np.frombuffer(t.tobytes(), np.float32)),
    ("outside", lambda t: t.numpy(dtype=np.float64)),
    ("nibbles", lambda t: t.numpy().astype(np.int8)),
    ("nibbles", lambda t: t.numpy(dtype=np.float32)),
    ("varints", lambda t: t.numpy()),
]


def read_while_cut(folder: str, cut: str, mib: int, cuts: int, watch: bool) -> dict[str, Any]:
    """Count the results of reads in THREADS threads while the file `cut` is cut `cuts` times.

    With `watch`, a model cannot be read after its file has changed, so each read loads it again.
    """
    path, values = Path(folder, "model.onnx"), write_model(Path(folder), mib)
    counts: Counter[str] = Counter()
    kept = onnxmap.load(path, io="mmap", watch=False)
    kept.views()  # opens the data file

    def read_one(number: int) -> str:
        name, read = READS[number % len(READS)]
        try:
            model = onnxmap.load(path, io="mmap", watch=True) if watch else kept
            found = read(model.initializers[name])
        except onnxmap.FileChangedError:
            return "changed"
        except onnxmap.OnnxMapError as error:
            return "short" if watch and error.code in SHORT else f"{error.code}: {error}"
        except Exception as error:  # noqa: BLE001  (counted, or it would be lost with its thread)
            return f"{type(error).__name__}: {error}"
        return "right" if _equal(found, values[name]) else f"wrong: {name}"

    def work(first: int, more: Callable[[], bool]) -> None:
        number = first
        while more():
            counts[read_one(number)] += 1
            number += 1

    with kept_cutting(Path(folder, cut), cuts) as more:
        threads = [threading.Thread(target=work, args=(n, more)) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    whole = onnxmap.load(path, io="mmap")
    right = all(_equal(read(whole.initializers[name]), values[name]) for name, read in READS)
    return {"counts": dict(counts), "right_afterwards": right}


def left_of(folder: str) -> list[str]:
    """The mappings and descriptors that this process still has of files in `folder`."""
    gc.collect()
    left = [line for line in Path("/proc/self/maps").read_text().splitlines() if folder in line]
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the descriptor that lists them
            left.append(str(descriptor.readlink()))
    return [one for one in left if folder in one]
