"""onnxruntime: a session is the least it can make of a model."""

from __future__ import annotations

from pathlib import Path

import onnxruntime

from bench.tasks import Task, model_file


def load(folder: Path) -> Task:
    """A session without optimisations, which is how a runtime loads a model."""
    path = model_file(folder)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4  # its failures are recorded as failures, not on the terminal
    return Task(
        lambda: onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    )
