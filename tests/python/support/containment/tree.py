"""A model's folder with every kind of file and link, and files outside that must stay closed."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from support import wire_bytes as wire

VALUES = [0.0, 1.0, 2.0, 3.0]  # of a file that may be opened
BELOW = [10.0, 11.0, 12.0, 13.0]  # of one in a folder below
CANARY = [666.0, 666.5, 667.0, 667.5]  # of a file that may not
LONG_NAME = "n" * 255

LINKS = {
    "link": "w.bin",
    "link out": "../outside/canary.bin",
    "link to a neighbour": "../model2/canary.bin",
    "link to the whole path": "{root}/model/w.bin",
    "link to the whole path out": "{root}/outside/canary.bin",
    "link out and in": "../outside/../model/w.bin",
    "link to a link in": "../outside/hop",
    "folder": "sub",
    "folder out": "../outside",
    "neighbour": "{root}/model2",
    "folder by its whole path": "{root}/model/sub",
    "folder out by its whole path": "{root}/outside",
    "here": ".",
    "up": "..",
    "chain": "chain2",
    "chain2": "sub/chain3",
    "sub/chain3": "../w.bin",
    "chain out": "chain out2",
    "chain out2": "link out",
    "loop": "loop2",
    "loop2": "loop",
    "itself": "itself",
    "dangling": "none.bin",
    "dangling below": "none/w.bin",
    "dangling out": "../outside/none.bin",
    "link to a hard link": "hard link",
    "link to a pipe": "pipe",
    "link to a pipe out": "../outside/canary pipe",
    "link to proc": "/proc/self/status",
    "link to a magic link": "/proc/self/exe",
    "link to null": "/dev/null",
}


class Tree:
    """The paths of the tree. `build` makes its files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.model = root / "model"
        self.outside = root / "outside"
        self.neighbour = root / "model2"  # its name begins with that of the model's folder
        self.store = root / "store"  # the real folder of the model that model/link.onnx links to
        self.path = self.model / "model.onnx"

    def build(self, message: bytes) -> Tree:
        for folder in (
            self.model / "sub",
            self.model / "file:",
            self.neighbour,
            self.outside,
            self.store,
        ):
            folder.mkdir(parents=True)
        (self.root / "alias").symlink_to("model")
        (self.store / "real.onnx").write_bytes(message)
        self.path.write_bytes(message)
        (self.model / "link.onnx").symlink_to("../store/real.onnx")
        self._build_files()
        self._build_outside()
        for name, target in LINKS.items():
            (self.model / name).symlink_to(target.format(root=self.root))
        self._build_special()
        return self

    def _build_files(self) -> None:
        plain = [
            "w.bin",
            "a..b.bin",
            "..w.bin",
            "w..",
            "#w.bin",
            " w.bin",
            "sub\\w.bin",
            "file:/w.bin",
        ]
        plain += ["\x1b[31m\n.bin", os.fsdecode(b"\xff.bin"), LONG_NAME]
        plain += ["console.bin", "auxiliary.bin", "COM10", "null"]
        for name in plain:
            write(self.model / name, VALUES)
        write(self.model / "sub/w.bin", BELOW)
        write(self.model / "twin", VALUES)
        os.link(self.model / "twin", self.model / "hard link")

    def _build_outside(self) -> None:
        write(self.outside / "canary.bin", CANARY)
        write(self.outside / "canary hard.bin", CANARY)
        write(self.neighbour / "canary.bin", CANARY)
        os.mkfifo(self.outside / "canary pipe")
        (self.outside / "back").symlink_to("../model")
        (self.outside / "hop").symlink_to("../model/w.bin")
        os.link(self.outside / "canary hard.bin", self.model / "hard link out")

    def _build_special(self) -> None:
        os.mkfifo(self.model / "pipe")
        with inside(self.model), socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket")  # a short name, because the addresses of sockets are short
        with contextlib.suppress(PermissionError):  # only the superuser may do it
            os.mknod(self.model / "character device", stat.S_IFCHR | 0o666, os.makedev(1, 3))
            os.mknod(self.model / "block device", stat.S_IFBLK | 0o666, os.makedev(1, 0))

    @property
    def has_devices(self) -> bool:
        return (self.model / "block device").exists()

    def special(self) -> list[Path]:
        """The files that must never be opened for reading."""
        names = ["pipe", "socket", *(["character device", "block device"] * self.has_devices)]
        return [self.outside / "canary pipe", *(self.model / name for name in names)]

    def watched(self) -> list[Path]:
        """These files, and other files outside that links and hard links lead to."""
        return [
            *self.special(),
            *self._by_link(),
            *self._by_hard_link(),
            self.outside,
            self.neighbour,
        ]

    def may_be_opened(self, policy: str) -> set[str]:
        """The paths of the watched files."""
        found = self._by_link() if policy == "trusted" else []
        found += self._by_hard_link() if policy not in ("contained", "strict") else []
        return {str(path) for path in found}

    def _by_link(self) -> list[Path]:
        return [self.outside / "canary.bin", self.neighbour / "canary.bin"]

    def _by_hard_link(self) -> list[Path]:
        return [self.outside / "canary hard.bin"]


def write(path: Path, values: list[float]) -> None:
    path.write_bytes(np.array(values, np.float32).tobytes())


def model_bytes(locations: Mapping[str, bytes | None]) -> bytes:
    """A model of tensors of four floats, each in a file. A location of None is left out."""
    graph = b""
    for name, location in locations.items():
        entry = wire.blob(1, b"location") + wire.blob(2, location or b"")
        tensor = wire.scalar(1, 4) + wire.scalar(2, 1) + wire.blob(8, name.encode())
        tensor += b"" if location is None else wire.blob(13, entry)
        graph += wire.blob(5, tensor + wire.scalar(14, 1))
    return wire.scalar(1, 10) + wire.blob(7, graph)


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Change the working folder to `folder` meanwhile."""
    before = os.open(".", os.O_PATH)
    os.chdir(folder)
    try:
        yield
    finally:
        os.fchdir(before)
        os.close(before)
