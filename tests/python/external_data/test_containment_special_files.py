"""Special files of the kernel and of devices are refused at once, and are never opened."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest
from support.containment.table import POLICIES
from support.containment.tree import VALUES, inside, model_bytes, write
from support.processes.file_watch import FileWatch

import onnxmap

KERNEL_S = [
    "/proc/version",
    "/proc/self/status",
    "/proc/self/maps",
    "/proc/sys/kernel/pid_max",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/fs/cgroup/cgroup.controllers",
    "/dev/null",
    "/dev/zero",
    "/dev/urandom",
]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("path", [path for path in KERNEL_S if Path(path).exists()])
def test_files_of_the_kernel(path: str, policy: str) -> None:
    folder, _, name = path.rpartition("/")
    for root, location in ((folder, name), ("/", path[1:])):
        buffer = model_bytes({"w": location.encode()})
        model = onnxmap.loads(buffer, external_root=root, **POLICIES[policy])
        own = [Path(path)] if path.startswith("/proc/self/") else []  # other users do not open it
        with closing(FileWatch(own)) as watch:
            for read in (model.initializers["w"].numpy, model.views):
                with pytest.raises(onnxmap.ExternalDataError) as caught:
                    read()
                # /proc/self is a link like any other
                strict = root == "/" and "/self/" in path and policy.startswith("strict")
                assert caught.value.code == ("ext.unsafe_path" if strict else "ext.not_regular")
            assert watch.opened() == set()


def test_the_watch_notices_files_of_proc() -> None:
    path = Path("/proc/self/maps")
    with closing(FileWatch([path])) as watch:
        path.open("rb").close()
        assert watch.opened() == {str(path)}


@pytest.mark.parametrize("policy", ["contained", "strict"])
@pytest.mark.parametrize("location", ["cwd/w.bin", "root/etc/passwd", "exe", "fd/{descriptor}"])
def test_magic_links_of_proc(tmp_path: Path, location: str, policy: str) -> None:
    """They look like links, but lead to files without a name here, or with another one."""
    write(tmp_path / "w.bin", VALUES)
    with (tmp_path / "w.bin").open("rb") as file, inside(tmp_path):
        place = location.format(descriptor=file.fileno()).encode()
        model = onnxmap.loads(
            model_bytes({"w": place}), external_root="/proc/self", link_policy=policy
        )
        with pytest.raises(onnxmap.UnsafePathError, match="symlink"):
            model.initializers["w"].numpy()


@pytest.mark.parametrize("policy", ["contained", "strict"])
def test_a_root_may_be_a_path_through_proc(tmp_path: Path, policy: str) -> None:
    """The caller chooses the root. Only the text of the model is checked."""
    write(tmp_path / "w.bin", VALUES)
    buffer = model_bytes({"w": b"w.bin", "up": b"../" + tmp_path.name.encode() + b"/w.bin"})
    with inside(tmp_path):
        for root in ("/proc/self/cwd", f"/proc/self/root{tmp_path}"):
            model = onnxmap.loads(buffer, external_root=root, link_policy=policy)
            assert model.initializers["w"].numpy().tolist() == VALUES
            with pytest.raises(onnxmap.UnsafePathError, match="outside the model directory"):
                model.initializers["up"].numpy()


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no /dev/shm to write to")
def test_files_on_a_tmpfs_are_regular_files(tmp_path: Path) -> None:
    path = Path("/dev/shm", f"onnxmap-{os.getpid()}.bin")
    try:
        write(path, VALUES)
        buffer = model_bytes({"w": path.name.encode()})
        model = onnxmap.loads(buffer, external_root="/dev/shm")
        assert model.initializers["w"].numpy().tolist() == VALUES
    finally:
        path.unlink(missing_ok=True)
