"""Ways to choose the folder of external data: the model's path, and `external_root`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import onnxmap
from support.containment.table import POLICIES, differences
from support.containment.tree import Tree, inside
from support.processes.file_watch import FileWatch


@dataclass(frozen=True)
class Base:
    path: str | None  # of the model; None: it is given as a buffer
    root: str | None = None
    current: str = ""  # the working folder meanwhile, below the tree's
    kind: Callable[[str], object] = str  # the type of path and root
    said: str = "{root}/model"  # how a message names the model's folder

    def load(self, tree: Tree, **options: object) -> onnxmap.Model:
        def given(text: str) -> object:
            return self.kind(text.format(root=tree.root))

        if self.root is not None:
            options["external_root"] = given(self.root)
        with inside(tree.root / self.current):
            if self.path is None:
                return onnxmap.loads(tree.path.read_bytes(), **options)
            return onnxmap.load(given(self.path), **options)


ELSEWHERE = "{root}/store/real.onnx"

BASES = {
    "whole path": Base("{root}/model/model.onnx"),
    "whole path as bytes": Base("{root}/model/model.onnx", kind=os.fsencode),
    "whole path as a Path": Base("{root}/model/model.onnx", kind=Path),
    "relative path": Base("model/model.onnx"),
    "relative path, up": Base("../model/model.onnx", current="outside", said="/model"),
    "bare name": Base("model.onnx", current="model"),
    "bare name as bytes": Base("model.onnx", current="model", kind=os.fsencode),
    "bare name behind a dot": Base("./model.onnx", current="model"),
    "through a link": Base("{root}/alias/model.onnx", said="{root}/alias"),
    "relative, through a link": Base("alias/model.onnx", said="{root}/alias"),
    "a link": Base("{root}/model/link.onnx"),
    "bare name of a link": Base("link.onnx", current="model"),
    "root": Base(ELSEWHERE, "{root}/model"),
    "root as bytes": Base(ELSEWHERE, "{root}/model", kind=os.fsencode),
    "root as a Path": Base(ELSEWHERE, "{root}/model", kind=Path),
    "root with a slash": Base(ELSEWHERE, "{root}/model/"),
    "root that is a link": Base(ELSEWHERE, "{root}/alias", said="{root}/alias"),
    "relative root": Base(ELSEWHERE, "model"),
    "empty root": Base(ELSEWHERE, "", current="model"),
    "empty root as bytes": Base(ELSEWHERE, "", current="model", kind=os.fsencode),
    "dot as root": Base(ELSEWHERE, ".", current="model"),
    "two dots as root": Base(ELSEWHERE, "..", current="model/sub", said="/model"),
    "buffer and root": Base(None, "{root}/model"),
    "buffer and root as bytes": Base(None, "{root}/model", kind=os.fsencode),
    "buffer and empty root": Base(None, "", current="model"),
    "buffer and dot as root": Base(None, ".", current="model"),
    "buffer and a root that is a link": Base(None, "{root}/alias", said="{root}/alias"),
}


# One base for each way to find the folder, for tests that read the table many times.
FEW = (
    "whole path",
    "bare name",
    "through a link",
    "a link",
    "root",
    "empty root",
    "buffer and root",
)


def differences_from(base: str, policy: str, tree: Tree, watch: FileWatch) -> list[str]:
    """The differences from the whole table if the tree is loaded in this way."""
    model = BASES[base].load(tree, **POLICIES[policy])
    with inside(tree.outside):
        said = BASES[base].said.format(root=tree.root)
        return [f"{base}: {told}" for told in differences(tree, model, policy, said, watch)]


def differences_from_a_few(tree: Tree, policies: Iterable[str] = POLICIES) -> list[str]:
    with closing(FileWatch(tree.watched())) as watch:
        return [
            told
            for base in FEW
            for policy in policies
            for told in differences_from(base, policy, tree, watch)
        ]
