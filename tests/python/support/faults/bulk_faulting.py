"""Random ends of `arrays` and `stream`, and what they leave behind. For a child process."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto

import onnxmap
from support.models.many_tensors import threads_left, threads_of_process
from support.models.sample import external, model_of, write
from support.tensors.stored import dtype_of, number_of, random_codes, stored, values_of

Array = np.ndarray[Any, Any]
# Values as stored bytes, unpacked, and in a typed field; large and small ones.
TYPES = ["FLOAT", "FLOAT16", "INT4", "UINT8", "INT64"]
TENSORS = 60
LARGE, SMALL = 1_500_000, 1000  # elements


class Ended(Exception):
    """Raised by a progress callable."""


def write_model(folder: Path) -> tuple[Path, dict[str, Array]]:
    """A model of about 60 MB, half of it in a data file, and the values of its tensors."""
    rng = random.Random(0)
    tensors, values, data = [], {}, bytearray()
    for i in range(TENSORS):
        type_name = TYPES[i % len(TYPES)]
        typed = type_name == "INT64"
        count = rng.randrange(1, SMALL if typed or i % 2 else LARGE)
        codes = random_codes(type_name, count, i)
        name = f"t{i}"
        values[name] = values_of(type_name, codes)
        nbytes = stored(type_name, codes)
        message = TensorProto(name=name, dims=[count], data_type=number_of(type_name))
        if typed:
            message.int64_data.extend(values[name].tolist())
        elif i % 3:
            message.raw_data = nbytes
        else:
            entries = {"location": "w.bin", "offset": str(len(data)), "length": str(len(nbytes))}
            message = external(name, [count], entries, number_of(type_name))
            data += nbytes
        tensors.append(message)
    (folder / "w.bin").write_bytes(data)
    return write(model_of(tensors), folder / "model.onnx"), values


def left_behind(folder: Path, threads: set[int]) -> dict[str, int]:
    """The new threads, the descriptors and the mappings of the model's files in this process."""
    gc.collect()
    maps = Path("/proc/self/maps").read_text().splitlines()
    return {
        "threads": len(threads_left(threads)),
        "descriptors": len(os.listdir("/proc/self/fd")),  # noqa: PTH208 -- a count of names
        "mappings": sum(str(folder) in line for line in maps),
    }


class Faults:
    """Rounds of random work with random ends. Each round checks what is left behind."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.path, self.values = write_model(folder)
        self.rng = random.Random(seed)
        self.happened: Counter[str] = Counter()
        self.longest_wait = 0.0  # between a signal and its KeyboardInterrupt
        begun = time.monotonic()
        self.check(onnxmap.load_arrays(self.path))
        self.seconds = time.monotonic() - begun  # to read everything once
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        self.threads = threads_of_process()
        self.before = left_behind(folder, self.threads)

    def run(self, rounds: int) -> None:
        ways: list[Callable[[], None]] = [
            self.interrupt, self.leave, self.fail_in_progress, self.close_elsewhere,
            self.drop_in_a_cycle, self.kill,
        ]  # fmt: skip
        for i in range(rounds):
            way = ways[i % len(ways)]
            with np.errstate(all="ignore"):  # random bits may also be infinities and NaNs
                way()
            left = left_behind(self.folder, self.threads)
            assert left == self.before, (i, way.__name__, left, self.before)
        self.check(onnxmap.load_arrays(self.path))

    def check(self, arrays: dict[str, Array], dtype: Any = None) -> None:
        for name, array in arrays.items():
            self.check_one(name, array, dtype)
        assert len(arrays) == len(self.values)

    def check_one(self, name: str, array: Array, dtype: Any = None) -> None:
        expected = self.values[name]
        if dtype is not None and expected.dtype.kind == "f":
            expected = expected.astype(dtype)
            assert np.array_equal(array, expected, equal_nan=True), name
        else:
            assert array.tobytes() == expected.tobytes(), name
        assert array.dtype == expected.dtype, name

    def model(self) -> onnxmap.Model:
        return onnxmap.load(self.path, io=self.rng.choice(["mmap", "read"]))

    def options(self) -> dict[str, Any]:
        return {
            "dtype": self.rng.choice([None, None, np.float32, dtype_of("BFLOAT16")]),
            "threads": self.rng.choice([None, 1, 2, 5]),
        }

    def stream(self, model: onnxmap.Model, options: dict[str, Any], **more: Any) -> Any:
        window = self.rng.choice(["100kB", "1MiB", "8MiB", "1GiB"])
        return model.stream(window=window, copy=self.rng.random() < 0.5, **options, **more)

    def moment(self) -> float:
        """A random part of the time of a whole read, and sometimes more."""
        return self.rng.uniform(1e-5, 1.2 * self.seconds)

    def work(self) -> None:
        """Read all tensors in one of the two ways, and compare each."""
        options = self.options()
        if self.rng.random() < 0.5:
            self.check(self.model().arrays(**options), options["dtype"])
        else:
            for name, array in self.stream(self.model(), options):
                self.check_one(name, array, options["dtype"])

    def interrupt(self) -> None:
        moment = self.moment()
        begun = time.monotonic()
        try:
            signal.setitimer(signal.ITIMER_REAL, moment)
            self.work()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            self.longest_wait = max(self.longest_wait, time.monotonic() - begun - moment)
            self.happened["interrupt"] += 1

    def leave(self) -> None:
        options = self.options()
        last = self.rng.randrange(TENSORS)
        for i, (name, array) in enumerate(self.stream(self.model(), options)):
            self.check_one(name, array, options["dtype"])
            if i == last:
                self.happened["leave"] += 1
                break

    def fail_in_progress(self) -> None:
        calls = self.rng.randrange(2)

        def progress(done: int, total: int) -> None:
            nonlocal calls
            calls -= 1
            if calls < 0:
                raise Ended

        options = self.options()
        with contextlib.suppress(Ended):
            if self.rng.random() < 0.5:
                self.model().arrays(**options, progress=progress)
            else:
                for name, array in self.stream(self.model(), options, progress=progress):
                    self.check_one(name, array, options["dtype"])
            return
        self.happened["fail_in_progress"] += 1

    def close_elsewhere(self) -> None:
        options = self.options()
        stream = self.stream(self.model(), options)
        begun = threading.Event()
        closer = threading.Thread(target=lambda: (begun.wait(), stream.close()))
        closer.start()
        last, seen = self.rng.randrange(TENSORS), 0
        kept: list[tuple[str, Array]] = []
        for i, (name, array) in enumerate(stream):
            if i == last:
                begun.set()
            kept.append((name, array))
            seen += 1
        closer.join()
        for name, array in kept:  # arrays that outlive their stream are checked again
            self.check_one(name, array, options["dtype"])
        if seen < TENSORS:
            self.happened["close_elsewhere"] += 1

    def drop_in_a_cycle(self) -> None:
        cycle: list[Any] = [self.stream(self.model(), self.options())]
        for _ in range(self.rng.randrange(1, TENSORS)):
            next(cycle[0])
        cycle.append(cycle)
        del cycle
        self.happened["drop_in_a_cycle"] += 1

    def kill(self) -> None:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                os.write(writer, b"x")
                while True:
                    self.work()
            os._exit(1)
        os.read(reader, 1)
        os.close(reader)
        os.close(writer)
        time.sleep(self.moment())  # a random moment, so nothing is awaited
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL, status
        self.happened["kill"] += 1
