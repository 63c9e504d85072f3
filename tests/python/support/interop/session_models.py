"""Models with weights that are large enough to stay in their files, and sessions of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto

from support.models.sample import write
from support.saves.models import made_external, matmul_model, weight

SESSION = onnxruntime.InferenceSession  # tests replace it
CPU = ["CPUExecutionProvider"]
SIDE = 160  # of a square matrix of float32: 100 KiB, so it stays in its file
ONES = {"x": np.ones((2, SIDE), np.float32)}


def weights(count: int = 3) -> list[TensorProto]:
    return [weight(f"w{i}", SIDE, SIDE, seed=i) for i in range(count)]


def inline_model(folder: Path) -> Path:
    return write(matmul_model(weights()), folder / "model.onnx")


def external_model(folder: Path) -> Path:
    data = bytearray()
    tensors = [made_external(one, "sub/w.data", data, 3) for one in weights()]
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/w.data").write_bytes(data)
    return write(matmul_model(tensors), folder / "model.onnx")


def run(session: Any, feed: dict[str, Any] = ONES) -> list[bytes]:
    return [output.tobytes() for output in session.run(None, feed)]


def run_file(path: Path, feed: dict[str, Any] = ONES, *, prepack: bool = True) -> list[bytes]:
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_prepacking", "0" if prepack else "1")
    return run(SESSION(str(path), options, providers=CPU), feed)
