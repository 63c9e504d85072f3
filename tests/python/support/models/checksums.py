"""Models that declare checksums, their data files, and a `hashlib` that counts."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto

import onnxmap
from support.models.sample import external, model_of, write

DATA = np.arange(16, dtype=np.float32).tobytes()
WRONG = "0123456789" * 4
MIB = 1 << 20
_SHA1 = hashlib.sha1


def data_file(path: Path, content: bytes = DATA) -> str:
    """Write a file with an old time, so that a later change is noticed; return its digest."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    return _SHA1(content).hexdigest()


def declared(name: str, location: str, checksum: str | None, **entries: str) -> TensorProto:
    extra = {} if checksum is None else {"checksum": checksum}
    return external(name, [1], {"location": location, **extra, **entries})


def load(folder: Path, *tensors: TensorProto, **options: Any) -> onnxmap.Model:
    return onnxmap.load(write(model_of(list(tensors)), folder / "model.onnx"), **options)


class Hashed:
    """Replaces `hashlib.sha1`: counts files and bytes, and can act at each of them."""

    def __init__(self, at_update: Callable[[], object] = lambda: None) -> None:
        self.files = 0
        self.nbytes = 0
        self._at_update = at_update
        self._lock = threading.Lock()

    def __call__(self, *, usedforsecurity: bool) -> Any:
        assert not usedforsecurity  # otherwise a system in FIPS mode refuses it
        outer, real = self, _SHA1()
        with self._lock:
            self.files += 1

        class Counting:
            hexdigest = real.hexdigest

            def update(self, piece: memoryview) -> None:
                outer._at_update()
                real.update(piece)
                with outer._lock:
                    outer.nbytes += len(piece)

        return Counting()
