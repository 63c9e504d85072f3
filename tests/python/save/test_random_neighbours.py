"""Random saves and commands in a folder of models of any name: each model keeps its values."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.run_options import EXHAUSTIVE, LONG

import onnxmap
from onnxmap.cli import main

SEEDS = 3000 if LONG else 300 if EXHAUSTIVE else 15
STEPS = 12
NAMES = ("m.onnx", "n.onnx", "m.onnx.bak", "m", "m.pb", "m.json", "m.textproto", "x.data", "k.bin")

Values = dict[str, float]


def values_of(path: Path) -> Values:
    return {name: float(array.mean()) for name, array in onnxmap.load_arrays(path).items()}


class Folder:
    """A folder, and what each model in it should say."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.random = random.Random(seed)
        arrays = {name: np.full(300, i, np.float32) for i, name in enumerate("abc")}
        onnxmap.from_arrays(arrays).save(
            path / "m.onnx", "m.data", size_threshold_bytes=0, sync=False
        )
        self.models = {"m.onnx": values_of(path / "m.onnx")}

    def step(self) -> str:
        """Do something, which may be refused. Return what it was."""
        way = self.random.choice(list(WAYS))
        old, new = self.random.choice(sorted(self.models)), self.random.choice(NAMES)
        try:
            WAYS[way](self, old, new)
        except (onnxmap.OnnxMapError, OSError) as error:
            return f"{way} {old} {new}: {error}"
        return f"{way} {old} {new}"

    def edit(self, old: str, _: str) -> None:
        model = onnxmap.load(self.path / old)
        for _ in range(self.random.randrange(1, 3)):
            name, value = self.random.choice("abc"), float(self.random.randrange(1000))
            model.initializers[name] = np.full(300, value, np.float32)
            model.save(self.path / old, sync=False)
            self.models[old] = self.models[old] | {name: value}

    def save(self, old: str, new: str) -> None:
        onnxmap.load(self.path / old).save(self.path / new, sync=False)
        self.models[new] = self.models[old]

    def inline(self, old: str, _: str) -> None:
        onnxmap.load(self.path / old).save(self.path / old, external_data=False, sync=False)

    def named(self, old: str, _: str) -> None:
        data = self.random.choice(["x.data", "k.bin", "m.data"])
        onnxmap.load(self.path / old).save(
            self.path / old, data, size_threshold_bytes=0, sync=False
        )

    def copy(self, old: str, new: str) -> None:
        """As a shell does, which would also overwrite the data of another model."""
        if new != old and (new in self.models or not (self.path / new).exists()):
            shutil.copy(self.path / old, self.path / new)
            self.models[new] = self.models[old]

    def command(self, old: str, new: str) -> None:
        name = self.random.choice(["cp", "mv"])
        if main([name, "--overwrite", str(self.path / old), str(self.path / new)]) == 0:
            self.models[new] = self.models[old]
            if name == "mv":
                del self.models[old]


WAYS: dict[str, Callable[[Folder, str, str], None]] = {
    "edit": Folder.edit,
    "save": Folder.save,
    "inline": Folder.inline,
    "named": Folder.named,
    "copy": Folder.copy,
    "command": Folder.command,
}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_each_model_keeps_its_values(seed: int, tmp_path: Path) -> None:
    folder = Folder(tmp_path, seed)
    steps = []
    for _ in range(STEPS):
        steps.append(folder.step())
        found = {name: values_of(tmp_path / name) for name in folder.models}
        assert found == folder.models, steps
