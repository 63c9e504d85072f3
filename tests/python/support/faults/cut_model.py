"""A model whose file is cut off, for child processes that then read it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

import onnxmap
from support.models.paged import PAGE, stored


class CutModel:
    """An open model in `folder`. Only the first pages of its file are left."""

    def __init__(self, folder: str, pages: int = 0, kind: str = "raw") -> None:
        self.one = stored(kind)
        path = self.one.write(Path(folder))
        self.model = onnxmap.load(Path(folder, "model.onnx"), io="mmap", watch=False)
        self.tensor = self.model.initializers["t"]
        self.view: np.ndarray[Any, Any] = self.tensor.numpy()
        os.truncate(path, pages * PAGE)

    def read(self) -> str:
        """Read lost bytes with onnxmap; return the name of the error, or "no error"."""
        try:
            self.tensor.numpy(copy=True)
        except onnxmap.FileChangedError:
            return "changed"
        return "no error"
