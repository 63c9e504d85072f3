"""Every way in which onnxmap reads a tensor, tried on a file that was cut off after loading.

For child processes, because SIGBUS ends the process if the core is wrong.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import onnxmap
from support.models.paged import KINDS, PAGE, Stored, stored
from support.run_options import EXHAUSTIVE

Reading = Callable[[onnxmap.Tensor], Any]
WATCHED_AGAIN_S = 0.015  # a file is checked every 10 ms at most


def _out(tensor: onnxmap.Tensor, dtype: Any) -> Any:
    return tensor.numpy(out=np.empty(tensor.shape, dtype))


def _written_to_a_path(tensor: onnxmap.Tensor) -> bytes:
    with tempfile.NamedTemporaryFile() as file:
        tensor.tofile(file.name)
        return file.read()


def _written_to_a_file(tensor: onnxmap.Tensor) -> bytes:
    with tempfile.TemporaryFile(buffering=0) as file:
        tensor.tofile(file)
        file.seek(0)
        return file.read()


def _written_to_memory(tensor: onnxmap.Tensor) -> bytes:
    memory = io.BytesIO()
    tensor.tofile(memory)
    return memory.getvalue()


# Calls that must read the values in any storage.
READS: dict[str, Reading] = {
    "copy": lambda t: t.numpy(copy=True),
    "out": lambda t: _out(t, t.dtype.numpy()),
    "pickle": lambda t: pickle.loads(pickle.dumps(t)).numpy(copy=True),
    "fancy index": lambda t: t[[0, t.size - 1]],
    "element": lambda t: t[-1],
    "iteration": lambda t: list(t)[-1],
}
READS_OF_NUMBERS: dict[str, Reading] = {
    "float64": lambda t: t.numpy(dtype=np.float64),
    "float16": lambda t: t.numpy(dtype=np.float16),
    "int32": lambda t: t.numpy(dtype=np.int32),
    "array of another type": lambda t: np.asarray(t, dtype=np.float64),
    "out of another type": lambda t: _out(t, np.float64),
    "tobytes": lambda t: t.tobytes(),
    "histogram": lambda t: t.histogram([-9, 0, 9])[0],
    "tofile of a path": _written_to_a_path,
    "tofile of a file": _written_to_a_file,
    "tofile to memory": _written_to_memory,
    "contains": lambda t: -1 in t,
}
# Calls that give a view of the file if possible. Then they read nothing.
VIEWS: dict[str, Reading] = {
    "numpy": lambda t: t.numpy(),
    "array": np.asarray,
    "slice": lambda t: t[5:-5],
    "slice with steps": lambda t: t[::7],
    "reversed slice": lambda t: t[::-1],
    "writable": lambda t: t.numpy(writable=True),
}
VIEWS_OF_NUMBERS: dict[str, Reading] = {
    "DLPack": np.from_dlpack,
    "DLPack copy": lambda t: np.from_dlpack(t, copy=True),
}
PACKED: dict[str, Reading] = {"packed": lambda t: t.packed()}
IN_PLACE: dict[str, Reading] = {"memoryview": memoryview}

WAYS = ("mmap", "read", "buffer")


def readings_of(one: Stored) -> dict[str, bool]:
    """The names of the calls that this tensor has, and whether each gives a view of the file."""
    names = dict.fromkeys(READS, False) | dict.fromkeys(VIEWS, one.shows_file)
    if one.values.dtype != object:
        names |= dict.fromkeys(READS_OF_NUMBERS, False)
        names |= dict.fromkeys(VIEWS_OF_NUMBERS, one.shows_file)
    if one.values.dtype == ml_dtypes.int4:  # unknown to NumPy's DLPack and memoryview
        names = {name: shows for name, shows in names.items() if name not in VIEWS_OF_NUMBERS}
        names |= dict.fromkeys(PACKED, one.shows_packed)
    if one.shows_file:
        names |= dict.fromkeys(IN_PLACE, True)
        for of_numpy in ("iteration", "array of another type"):  # over the file that `out` shows
            del names[of_numpy]
    return names


_ALL = READS | READS_OF_NUMBERS | VIEWS | VIEWS_OF_NUMBERS | PACKED | IN_PLACE
_CUTS = ("nothing", "a page", "whole pages", "part of a page")
# Of a file that is not watched, other calls have one cut for each kind, unless the run is large.
WITH_EVERY_CUT = ("copy", "numpy")


def cuts_of(size: int) -> dict[str, int]:
    """Sizes to which a file is cut, so that its values go past the end."""
    middle = size // 2 // PAGE * PAGE
    return dict(zip(_CUTS, (0, PAGE, middle, middle + 100), strict=True))


def opened(path: Path, way: str, **options: Any) -> onnxmap.Model:
    if way != "buffer":
        return onnxmap.load(path, io=way, **options)
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return onnxmap.loads(mapped, external_root=path.parent, **options)


def comparable(value: Any) -> Any:
    """Equal to an equal answer, without holding anything of the file."""
    if isinstance(value, (memoryview, np.ndarray, np.generic)):
        array = np.asarray(value)
        exact = array.tolist() if array.dtype == object else array.tobytes()
        return str(array.dtype), array.shape, exact
    return value


def complaint(error: Exception, file: Path | None, sizes: tuple[int, ...]) -> str:
    """Return "changed" for a FileChangedError with the right file, old size and new size."""
    if isinstance(error, BufferError) and error.__cause__ is not None:
        error = error.__cause__  # memoryview() raises no other error
    if not isinstance(error, onnxmap.FileChangedError):
        return f"{type(error).__name__}: {error}"
    complete = all(str(size) in str(error) for size in sizes)
    if file is not None:
        complete = complete and str(file) in str(error) and error.path == str(file)
    return "changed" if complete else f"changed, but it says: {error}"


def excused(way: str, cut: str, answer: str) -> bool:
    """A page that is partly lost has zeros, and a buffer has no file that could be checked."""
    return way == "buffer" and cut == "part of a page" and answer.startswith("ParseError")


def answer_of(
    read: Callable[[], Any], right: Any, file: Path | None, sizes: tuple[int, ...]
) -> str:
    """Return "right", "changed" for a complete error, "wrong", or what else happened."""
    try:
        value = comparable(read())
    except Exception as error:  # noqa: BLE001  (any error is reported)
        return complaint(error, file, sizes)
    return "right" if value == right else "wrong"


def view_of(read: Callable[[], Any], file: Path | None, sizes: tuple[int, ...]) -> str:
    """Like `answer_of`, for an array that must not be read: "view" if there is one."""
    answer = answer_of(lambda: type(read()).__name__, "", file, sizes)
    return "view" if answer in ("right", "wrong") else answer


def outcomes(folder: str, kind: str, way: str, watch: bool) -> dict[str, dict[str, str]]:
    """The answer of each call after each cut: {cut: {call: answer}}."""
    one, found = stored(kind), {}
    own_cut = {name: _CUTS[(i + KINDS.index(kind)) % len(_CUTS)] for i, name in enumerate(_ALL)}
    size = one.write(Path(folder)).stat().st_size
    right = {
        name: comparable(_ALL[name](opened(Path(folder, "model.onnx"), way).initializers["t"]))
        for name in readings_of(one)
    }
    assert right["copy"] == comparable(one.values)
    for cut, length in cuts_of(size).items():
        found[cut] = {}
        for name, shows_file in readings_of(one).items():
            if not (watch or EXHAUSTIVE or name in WITH_EVERY_CUT or cut == own_cut[name]):
                continue
            # After a crash, the last line names the call.
            sys.stderr.write(f"{kind}, {way}, watch={watch}, cut to {cut}: {name}\n")
            file = one.write(Path(folder))
            tensor = opened(Path(folder, "model.onnx"), way, watch=watch).initializers["t"]
            if one.data is not None:
                tensor.numpy()  # opens the data file
            os.truncate(file, length)
            if watch and name in ("numpy", "copy"):
                time.sleep(WATCHED_AGAIN_S)
            told = None if way == "buffer" and one.data is None else file
            sizes = (size, length) if told else ()
            read = partial(_ALL[name], tensor)
            if shows_file and way != "read":
                found[cut][name] = view_of(read, told, sizes)
            else:
                found[cut][name] = answer_of(read, right[name], told, sizes)
    return found
