"""Forks a process while its threads are in calls that take a lock, or import something.

For child processes.
"""

from __future__ import annotations

import contextlib
import faulthandler
import inspect
import itertools
import os
import pickle
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np

import onnxmap
from support import wire_bytes as wire

PATIENCE = 60  # seconds that a child may take
_COUNT = 16  # external tensors, and tensors in two segments
_TYPED = 4
_VALUES = 1 << 19
_KEYS = _TYPED + 2 * _COUNT


def _named(name: str, message: bytes) -> bytes:
    return message + wire.blob(8, name.encode())  # if a field is given twice, the last one counts


def _segment(name: str, begin: int) -> bytes:
    head = wire.scalar(1, 4) + wire.scalar(2, 1)  # dims are the shape of the whole tensor
    place = wire.blob(3, wire.scalar(1, begin) + wire.scalar(2, begin + 2))
    values = np.arange(begin, begin + 2, dtype=np.float32)
    return _named(name, head + place + wire.blob(9, values.tobytes()))


def write_model(folder: Path) -> Path:
    """A model with tensors of all kinds that are read under a lock."""
    # It imports ml_dtypes, which the core imports in a first call.
    from support.models.paged import FLOAT, INT64, external_entries, model_of, tensor_message

    varints = (np.arange(_VALUES) % 127).astype(np.uint8).tobytes()
    typed = [
        _named(f"typed{i}", tensor_message(INT64, _VALUES, wire.blob(7, varints)))
        for i in range(_TYPED)
    ]
    outside = [
        _named(f"outside{i}", tensor_message(FLOAT, 1, external_entries(b"w%d.bin" % i, 0, 4)))
        for i in range(_COUNT)
    ]
    segments = [_segment(f"segments{i}", begin) for i in range(_COUNT) for begin in (2, 0)]
    for i in range(_COUNT):
        (folder / f"w{i}.bin").write_bytes(np.float32(7).tobytes())
    path = folder / "model.onnx"
    path.write_bytes(model_of(*typed, *outside, *segments))
    return path


_SLOW = {"columns", "arrays", "stream"}  # run rarely, so that the other threads get turns


def _check(value: bool) -> None:
    if not value:
        raise AssertionError("a wrong value")


class Calls:
    """All calls that take a lock, on models that all threads share and on models of their own."""

    def __init__(self, path: Path, mode: Literal["mmap", "read"]) -> None:
        self.path = path
        self.mode = mode
        self.turn = itertools.count()
        self.load()

    def _one(self, kind: str, count: int) -> onnxmap.Tensor:
        return self.shared.initializers[f"{kind}{next(self.turn) % count}"]

    def load(self) -> None:
        """Replace the shared model by a new one that no thread has read."""
        self.shared = onnxmap.load(self.path, io=self.mode)

    def typed(self) -> None:
        _check(int(self._one("typed", _TYPED).numpy()[128]) == 1)

    def segments(self) -> None:
        _check(self._one("segments", _COUNT).numpy().tolist() == [0, 1, 2, 3])

    def outside(self) -> None:
        _check(self._one("outside", _COUNT).numpy(copy=True)[0] == 7)

    def columns(self) -> None:
        _check(len(self.shared.views()) == _KEYS)
        _check(len(self.shared.initializers.keys()) == _KEYS)

    def arrays(self) -> None:
        _check(len(self.shared.arrays()) == _KEYS)

    def stream(self) -> None:
        _check(sum(1 for _ in self.shared.stream()) == _KEYS)

    def pickled(self) -> None:
        again = pickle.loads(pickle.dumps(self._one("outside", _COUNT)))
        _check(again.numpy()[0] == 7)

    def pages(self) -> None:
        self.shared.prefetch()
        self.shared.residency()

    def all(self) -> list[Callable[[], None]]:
        return [
            self.load,
            self.typed,
            self.segments,
            self.outside,
            self.columns,
            self.arrays,
            self.stream,
            self.pickled,
            self.pages,
        ]


def _fault_of(calls: list[Callable[[], None]]) -> str:
    signal.alarm(PATIENCE)
    faulthandler.dump_traceback_later(PATIENCE - 2)  # where it waits
    try:
        for call in calls:
            call()
    except Exception as error:  # noqa: BLE001 -- the parent gets the error
        return repr(error)
    return ""


def _forked(calls: list[Callable[[], None]]) -> str:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        fault = _fault_of(calls)
        os.write(write, fault.encode()[:1000])
        os._exit(1 if fault else 0)
    os.close(write)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    fault = os.read(read, 1000).decode()
    os.close(read)
    return "good" if status == 0 else f"ended with {status} {fault}".strip()


def fork_while_busy(path: Path, mode: Literal["mmap", "read"], forks: int) -> dict[str, int]:
    """Return how many children ended in each way. Each child makes every call of the threads."""
    warnings.simplefilter("ignore", DeprecationWarning)  # a fork in a process with threads
    calls = Calls(path, mode)
    for call in calls.all():
        call()  # so that Python has imported everything it needs
    stop = threading.Event()

    def work(call: Callable[[], None]) -> None:
        while not stop.is_set():
            call()
            time.sleep(0.02 if call.__name__ in _SLOW else 0)

    sys.setswitchinterval(1e-4)
    busy = [*calls.all(), calls.typed, calls.segments]
    threads = [threading.Thread(target=work, args=[call], daemon=True) for call in busy]
    for thread in threads:
        thread.start()
    ends: Counter[str] = Counter()
    for turn in range(forks):
        time.sleep(0.0007 * (turn % 7))
        ends[_forked(calls.all())] += 1
        if ends["good"] <= turn - 3:
            break  # the other children would hang as well
    stop.set()
    for thread in threads:
        thread.join()
    return dict(ends)


_LIBRARIES = {"proto", "ir", "text", "bar", "url"}  # calls that import another library


class FirstCalls:
    """Calls that import something when a process makes them for the first time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with tempfile.TemporaryDirectory():  # the first one takes a lock, which a child inherits
            pass
        half = wire.scalar(1, 2) + wire.scalar(2, 16) + wire.blob(8, b"w") + wire.blob(9, bytes(4))
        self.half = wire.blob(7, wire.blob(5, half))

    @property
    def model(self) -> onnxmap.Model:
        return onnxmap.load(self.path)

    def arrays(self) -> None:
        _check(len(self.model.arrays()) == _KEYS)

    def stream(self) -> None:
        _check(sum(1 for _ in self.model.stream()) == _KEYS)

    def check(self) -> None:
        self.model.check()

    def stats(self) -> None:
        self.model.stats("outside*")

    def names(self) -> None:
        _check(len(self.model.views("typed*")) == _TYPED)

    def wrong_name(self) -> None:
        _check(not hasattr(self.model, "initialisers"))

    def shown(self) -> None:
        _check("<table>" in self.model.initializers._repr_html_())

    def save(self) -> None:
        with tempfile.TemporaryDirectory(dir=self.path.parent) as folder:
            onnxmap.save(onnxmap.loads(self.half), Path(folder, "saved.onnx"))

    def weights(self) -> None:
        with tempfile.TemporaryDirectory(dir=self.path.parent) as folder:
            onnxmap.save_safetensors(onnxmap.loads(self.half), Path(folder, "w.safetensors"))
            onnxmap.load_safetensors(Path(folder, "w.safetensors"))

    def pickled(self) -> None:
        pickle.loads(pickle.dumps(self.model.initializers["outside0"]))
        pickle.loads(pickle.dumps(onnxmap.loads(self.half)))

    def verify(self) -> None:
        onnxmap.verify_files(self.model.data_files())

    def diff(self) -> None:
        _check(onnxmap.diff(self.path, self.path).same)

    def node(self) -> None:
        onnxmap.make_node("Neg", ["x"], ["y"])

    def prune(self) -> None:
        onnxmap.loads(self.half).prune()

    def to_dict(self) -> None:
        onnxmap.loads(self.half).proto.to_dict()

    def bfloat16(self) -> None:
        _check(onnxmap.loads(self.half).initializers["w"].numpy().nbytes == 4)

    def proto(self) -> None:
        onnxmap.loads(self.half).to_proto()

    def ir(self) -> None:
        with contextlib.suppress(ImportError):
            onnxmap.loads(self.half).to_ir()

    def text(self) -> None:
        onnxmap.from_text("ir_version: 8 graph { }", "ModelProto")

    def bar(self) -> None:
        with contextlib.suppress(ImportError):
            self.model.arrays(progress=True)

    def url(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            onnxmap.load("memory://no_file.onnx")

    def all(self, with_libraries: bool) -> list[Callable[[], None]]:
        names = [name for name, value in vars(FirstCalls).items() if inspect.isfunction(value)]
        left_out = {"__init__", "all"} | (set() if with_libraries else _LIBRARIES)
        return [getattr(self, name) for name in names if name not in left_out]


class Importing:
    """Makes the import of one module slow, and says when it has begun."""

    def __init__(self, module: str) -> None:
        self._module = module
        self.began = threading.Event()

    def find_spec(self, name: str, *_: object) -> None:
        if name == self._module:
            self.began.set()
            time.sleep(0.3)


def fork_in_import(path: Path, call: str, module: str) -> str:
    """Fork while another thread imports a module for a call. The child makes the same call.

    Return how it ended.
    """
    warnings.simplefilter("ignore", DeprecationWarning)
    finder = Importing(module)
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    work = getattr(FirstCalls(path), call)
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    if not finder.began.wait(PATIENCE):
        return f"{call} does not import {module}"
    end = _forked([work])
    thread.join()
    return end


def fork_in_first_calls(path: Path, seed: int, *, with_libraries: bool) -> str:
    """Fork while two threads make first calls, at a random moment. Return how the child ended.

    The calls are first ones only if the process has imported nothing but onnxmap.
    """
    warnings.simplefilter("ignore", DeprecationWarning)  # a fork in a process with threads
    drawn = random.Random(seed)
    calls = FirstCalls(path).all(with_libraries)

    def work(order: list[Callable[[], None]]) -> None:
        for call in order:
            call()

    sys.setswitchinterval(1e-4)
    threads = [
        threading.Thread(target=work, args=[drawn.sample(calls, len(calls))], daemon=True)
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    time.sleep(drawn.random() * drawn.choice((0.02, 0.1, 0.4, 2.0 if with_libraries else 0.4)))
    end = _forked(drawn.sample(calls, len(calls)))
    for thread in threads:
        thread.join()
    return end


def fork_in_first_calls_of_children(
    path: Path, seed: int, forks: int, *, with_libraries: bool
) -> dict[str, int]:
    """Return how the children of many processes ended, each of which forks once."""
    ends: Counter[str] = Counter()
    for turn in range(forks):
        read, write = os.pipe()
        process = os.fork()
        if process == 0:
            end = fork_in_first_calls(path, seed + turn, with_libraries=with_libraries)
            os.write(write, f"{end}".encode())
            os._exit(0)
        os.close(write)
        os.waitpid(process, 0)
        ends[os.read(read, 1000).decode() or "the process ended"] += 1
        os.close(read)
        if ends["good"] <= turn - 3:
            break  # the other children would hang as well
    return dict(ends)
