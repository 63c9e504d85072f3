"""Random folders full of links, random paths, and where the rules lead each path. In Python."""

from __future__ import annotations

import os
import random
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import onnxmap
from support.containment.table import LOOP, MISSING, NOT_A_FILE, SYMLINK, Verdict, difference, opens
from support.containment.tree import model_bytes, write

NAMES = "abcdef"
MOST_LINKS = 40  # the kernel's limit for one path
LOCATIONS = 40


class Walk:
    """Follow a path with only `lstat` and `readlink`, and track the folder at each step."""

    def __init__(self, roots: list[Path], policy: str) -> None:
        self._roots = roots
        self._policy = policy
        self._links = 0

    def verdict(self, location: str) -> Verdict:
        at, pending = self._roots[0], location.split("/")
        while pending:
            name = pending.pop(0)
            if name == "..":
                at = at.parent
                continue
            path = at / name
            try:
                mode = path.lstat().st_mode
            except (FileNotFoundError, NotADirectoryError):
                return self._lost(at)
            if stat.S_ISLNK(mode):
                self._links += 1
                if self._policy == "strict":
                    return SYMLINK
                if self._links > MOST_LINKS:
                    return LOOP
                target = path.readlink()
                at = Path("/") if target.is_absolute() else at
                pending = [*target.relative_to(at if target.is_absolute() else "").parts, *pending]
            elif pending and not stat.S_ISDIR(mode):
                return self._lost(at)
            else:
                at = path
        if self._hidden(at):
            return SYMLINK
        return NOT_A_FILE if at.is_dir() else opens(value_of(at))

    def _hidden(self, path: Path) -> bool:
        roots = self._roots
        return self._policy == "contained" and not any(map(path.is_relative_to, roots))

    def _lost(self, at: Path) -> Verdict:
        return SYMLINK if self._hidden(at) else MISSING


def value_of(path: Path) -> list[float]:
    return np.fromfile(path, np.float32).tolist()


class RandomTree:
    """Three folders. The model is a link in the first, to a file in the second. Both are roots."""

    def __init__(self, root: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self.root = root
        self.roots = [root / "model", root / "store"]
        self._paths: list[Path] = []
        self._files = 0
        for folder in (*self.roots, root / "outside"):
            self._fill(folder, 3)
        self._link_all()
        self.locations = sorted({self._location() for _ in range(LOCATIONS)})
        (root / "store/m.onnx").write_bytes(
            model_bytes({name: name.encode() for name in self.locations})
        )
        self.path = root / "model/m.onnx"
        self.path.symlink_to("../store/m.onnx")

    def _fill(self, folder: Path, depth: int) -> None:
        folder.mkdir(parents=True)
        for name in self._random.sample(NAMES, 4):
            path = folder / name
            self._paths.append(path)
            kind = self._random.random()
            if kind < 0.35 and depth > 1:
                self._fill(path, depth - 1)
            elif kind < 0.6:
                self._files += 1
                write(path, [float(self._files)] * 4)

    def _link_all(self) -> None:
        """Make a link for every name that does not exist yet."""
        for path in self._paths:
            if not os.path.lexists(path):
                path.symlink_to(self._target(path.parent))

    def _target(self, folder: Path) -> str:
        kind = self._random.random()
        if kind < 0.6:
            target = str(self._random.choice(self._paths))
            return target if kind < 0.2 else os.path.relpath(target, folder)
        names = self._random.choices(
            [*NAMES, "..", "..", "model", "outside"], k=self._random.randint(1, 5)
        )
        return "/".join(names if kind < 0.9 else [str(self.root), *names])

    def _location(self) -> str:
        """A random path down and up that ends with a name. Its text never leaves the folder."""
        way: list[str] = []
        depth = 0
        for _ in range(self._random.randint(0, 4)):
            up = depth > 0 and self._random.random() < 0.3
            way.append(".." if up else self._a_name(way, Path.is_dir))
            depth += -1 if up else 1
        return "/".join([*way, self._a_name(way, Path.exists)])

    def _a_name(self, way: list[str], wanted: Callable[[Path], bool]) -> str:
        here = self.roots[0].joinpath(*way)
        there = [name for name in NAMES if is_so(wanted, here / name)]
        return self._random.choice(there if there and self._random.random() < 0.9 else NAMES)


def is_so(wanted: Callable[[Path], bool], path: Path) -> bool:
    try:
        return wanted(path)
    except (OSError, RuntimeError):  # a loop, in older Pythons
        return False


def disagreements(folder: Path, seeds: range) -> tuple[list[str], Counter[str]]:
    """The differences between onnxmap and the walk, and how often each verdict occurred."""
    found, met = [], Counter()
    for seed in seeds:
        tree = RandomTree(folder / str(seed), seed)
        for policy in ("contained", "strict", "trusted"):
            model = onnxmap.load(tree.path, link_policy=policy)
            for name in tree.locations:
                verdict = Walk(tree.roots, policy).verdict(name)
                tensor = model.initializers[name]
                told = difference(lambda tensor=tensor: tensor.numpy().tolist(), verdict, [])
                met[f"{policy} {verdict.code}"] += 1
                found += [f"{seed} {policy} {name}: {told}"] if told else []
    return found, met
