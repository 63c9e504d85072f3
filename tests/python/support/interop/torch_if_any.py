"""torch, which is too large to be in the extra `test`: without it, a file of tests is skipped."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from support.run_options import TORCH_REQUIRED


def torch_or_skip() -> Any:
    """The module, for a test file's first lines."""
    if TORCH_REQUIRED:
        return importlib.import_module("torch")
    return pytest.importorskip("torch", reason="not of the extra `test` (ONNXMAP_TEST_TORCH=1)")
