"""Random saves in a folder of links, protected files, pipes and models that share data files.

After each step, either nothing has changed, or only what the save was told to write. All other
models have their values, and nothing outside the folder is another file than before.
"""

from __future__ import annotations

import contextlib
import os
import random
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.models.sample import model_of, write
from support.run_options import EXHAUSTIVE, LONG, SANITIZED
from support.saves.models import weight

import onnxmap
from onnxmap import cli

PROGRAMS = 20_000 if LONG else 500 if EXHAUSTIVE else 10 if SANITIZED else 20
STEPS = 14
MODELS = ("m.onnx", "n.onnx", "sub/k.onnx")
DATA = ("w.data", "x.data", "sub/w.data", ".hidden", "m.onnx.edited.data", "m.onnx.data")
NAMES = (*MODELS, *DATA)

Object = tuple[str, int, bytes]  # kind, permissions, and bytes or target
Values = dict[str, bytes]


def look(path: Path) -> Object:
    status = path.lstat()
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFLNK:
        return "link", 0, os.fsencode(path.readlink())
    if kind == stat.S_IFREG:
        return "file", stat.S_IMODE(status.st_mode), path.read_bytes()
    return "folder" if kind == stat.S_IFDIR else "other", stat.S_IMODE(status.st_mode), b""


def tree(root: Path) -> dict[str, Object]:
    return {str(path.relative_to(root)): look(path) for path in sorted(root.rglob("*"))}


def values_in(path: Path) -> Values | None:
    """The values of all tensors; None if the model or its data cannot be read."""
    try:
        arrays = onnxmap.load_arrays(path)
    except (onnxmap.OnnxMapError, OSError):
        return None
    return {name: array.tobytes() for name, array in arrays.items()}


def uses_model(path: Path) -> bool:
    """Whether a file of the model is a model itself, which saves replace. Only views notice."""
    files = [tensor.file for _, tensor in onnxmap.load(path).tensors() if tensor.is_external]
    return any(os.path.realpath(file).endswith(".onnx") for file in files if file)


class Program:
    """Steps in a folder `models`, with a folder `outside` beside it."""

    def __init__(self, root: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        self.root, self.folder = root, root / "models"
        (self.folder / "sub").mkdir(parents=True)
        (root / "outside").mkdir()
        write(model_of([weight("o", 20)]), root / "outside" / "o.onnx")
        (root / "outside" / "w.data").write_bytes(b"theirs" * 500)
        os.mkfifo(root / "outside" / "pipe")
        self.loaded: list[tuple[onnxmap.Model, Values]] = []
        self.not_open: list[Values] = []  # of models whose data files may not be open yet
        for i, sizes in enumerate(((900, 4), (700, 600))):
            path = write(
                model_of([weight(n, s, seed=i) for n, s in zip("ab", sizes, strict=True)]),
                root / "outside" / f"source{i}.onnx",
            )
            self.load(path)

    def load(self, path: Path) -> None:
        values = values_in(path)
        if values is None:
            return
        with contextlib.suppress(onnxmap.OnnxMapError, OSError):
            model = onnxmap.load(path)
            if self.rng.random() < 0.5:
                assert all(tensor.numpy() is not None for _, tensor in model.tensors())
            elif any(tensor.external for _, tensor in model.tensors()):
                self.not_open.append(values)
            self.loaded.append((model, values))

    def place(self, names: tuple[str, ...] = NAMES) -> Path:
        return self.folder / self.rng.choice(names)

    def disturb(self) -> None:
        """What a user does to the folder."""
        path, rng = self.place(), self.rng
        kind = rng.choice(("protect", "allow", "remove", "link", "link", "pipe", "file"))
        if kind in ("protect", "allow"):
            if path.is_file() and not path.is_symlink():
                path.chmod(0o444 if kind == "protect" else rng.choice((0o644, 0o600, 0o640)))
            return
        if not path.parent.is_dir() or (path.is_dir() and not path.is_symlink()):
            return
        path.unlink(missing_ok=True)
        # A model that opens its data files later may find others of that name.
        self.loaded = [
            (m, v) for m, v in self.loaded if all(v is not each for each in self.not_open)
        ]
        if kind == "link":
            outside = ["o.onnx", "w.data", "pipe", "", "missing"]
            inside = [self.folder / name for name in NAMES]
            path.symlink_to(rng.choice([*(self.root / "outside" / n for n in outside), *inside]))
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "file":
            path.write_bytes(b"a file of the user")

    def save(self) -> None:
        rng = self.rng
        model, values = rng.choice(self.loaded)
        if rng.random() < 0.4:
            array = np.full(rng.choice((3, 800)), rng.random(), np.float32)
            name = rng.choice(list(values))
            model.initializers[name] = array
            values[name] = array.tobytes()
        external = rng.choice((None, None, False, *DATA[:4]))
        follow, insist = rng.random() < 0.3, rng.random() < 0.3
        path = self.place(MODELS)
        self.check(
            lambda: model.save(
                path, external_data=external, follow_symlinks=follow, replace_read_only=insist,
                overwrite=rng.random() < 0.8, size_threshold_bytes=64, sync=False,
            ).files,
            path=path, values=values, follow=follow, insist=insist,
        )  # fmt: skip

    def append(self) -> None:
        path = self.place(MODELS)
        values = values_in(path)
        self.check(
            lambda: onnxmap.append(path, doc_string="x", sync=False).files, path=path, values=values
        )

    def command(self) -> None:
        rng = self.rng
        source, path = self.place(MODELS), self.place(MODELS)
        if path.is_dir():  # the command would then write into it, as it should
            return
        values = values_in(source)
        way, insist = rng.choice(("cp", "mv")), rng.random() < 0.3
        words = [way, str(source), str(path), "--no-sync"]
        words += ["--overwrite"] if rng.random() < 0.7 else []
        words += ["--replace-read-only"] if insist else []

        def run() -> list[str]:
            old = {p for p in self.root.rglob("*") if p.is_file()}
            if cli.main(words) != 0:
                raise onnxmap.OnnxMapError("refused")
            with onnxmap.load(path) as model:
                data = [t.file for _, t in model.tensors() if t.external is not None]
            gone = [str(p) for p in old if not p.exists()] if way == "mv" else []
            return [str(path), *map(str, data), *gone]

        self.check(
            run, path=path, values=values, insist=insist, moved=source if way == "mv" else None
        )

    def check(
        self,
        act: Callable[[], list[str]],
        *,
        path: Path,
        values: Values | None,  # of the new model; None: they could not be read before, either
        follow: bool = False,
        insist: bool = False,
        moved: Path | None = None,
    ) -> None:
        before = tree(self.root)
        readers = {each: values_in(each) for each in self.root.rglob("*.onnx")}
        real = Path(os.path.realpath(path))
        try:
            files = act()
        except (onnxmap.OnnxMapError, OSError):
            assert tree(self.root) == before
            return
        after = tree(self.root)
        written = {str(Path(each).relative_to(self.root)) for each in files}
        if follow:
            written.add(str(real.relative_to(self.root)))
        changed = {name for name in before | after if before.get(name) != after.get(name)}
        folders = {name for name in changed if name not in before and after[name][0] == "folder"}
        assert all(any(each.startswith(f"{name}/") for each in written) for name in folders)
        others = changed - written - folders
        assert all(name.endswith(".edited.data") and name not in after for name in others), others
        for name in changed:
            kind, mode, _ = before.get(name, ("", 0, b""))
            assert kind in ("", "file", "link"), (name, kind)
            is_moved = moved is not None and name not in after
            assert kind != "file" or mode & 0o200 or insist or is_moved, name
            if kind == "file" and name in after and moved is None:
                assert after[name][1] == mode, name
            assert follow or not name.startswith("outside"), name
        assert values is None or values_in(real if follow else path) == values
        for each, found in readers.items():
            is_written = str(Path(os.path.realpath(each)).relative_to(self.root)) in written
            is_written |= str(each.relative_to(self.root)) in written
            if found is not None and not is_written and each != moved:
                assert values_in(each) == found or uses_model(each), each

    def run(self) -> None:
        for _ in range(STEPS):
            step = self.rng.choice(("save", "save", "save", "disturb", "append", "command", "load"))
            if step == "load":
                self.load(self.place(MODELS))
            else:
                getattr(self, step)()


def test_random_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(PROGRAMS):
        root = tmp_path / str(seed)
        try:
            Program(root, seed).run()
        except BaseException as failure:
            failure.add_note(f"program {seed}")
            raise
        capsys.readouterr()
