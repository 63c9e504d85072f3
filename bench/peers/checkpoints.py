"""onnx-safetensors: the weights of a model as a safetensors file, over onnx-ir."""

from __future__ import annotations

from pathlib import Path

import onnx_ir
import onnx_safetensors

from bench import written
from bench.tasks import Task, model_file, writing

WEIGHTS = "weights.safetensors"


def to_safetensors(folder: Path) -> Task:
    """The weights of the model as a safetensors file."""
    return writing(
        folder,
        lambda path: onnx_safetensors.save_file(
            onnx_ir.load(model_file(folder)), WEIGHTS, path.parent, replace_data=False
        ),
        lambda path, full: written.weights(path.with_name(WEIGHTS), full),
    )
