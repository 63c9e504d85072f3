"""What protects a file that a save replaces also protects the new one, at every moment."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.saves.models import SAVE_MODELS

import onnxmap

needs_lists = pytest.mark.skipif(
    shutil.which("setfacl") is None, reason="the system has no tools for ACLs"
)


@pytest.fixture
def model(tmp_path: Path) -> onnxmap.Model:
    (tmp_path / "source").mkdir()
    return onnxmap.load(SAVE_MODELS["chain"](tmp_path / "source"))


def set_list(path: Path, *entries: str) -> None:
    words = ["setfacl", *(word for entry in entries for word in ("-m", entry)), str(path)]
    if subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("the file system has no ACLs")


def list_of(path: Path) -> set[str]:
    out = subprocess.run(["getfacl", "-npcE", path], capture_output=True, text=True, check=True)
    return set(out.stdout.split())


def save_over(model: onnxmap.Model, folder: Path, **options: bool) -> None:
    model.save(folder / "saved.onnx", external_data="w.data", sync=False, **options)


@needs_lists
@pytest.mark.parametrize("name", ["saved.onnx", "w.data"])
def test_an_access_list_follows(name: str, model: onnxmap.Model, tmp_path: Path) -> None:
    save_over(model, tmp_path)
    (tmp_path / name).chmod(0o600)
    set_list(tmp_path / name, "u:65534:rw", "g::r", "g:65533:-")
    before = list_of(tmp_path / name)
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o660  # the mask, not the group's
    save_over(model, tmp_path)
    assert list_of(tmp_path / name) == before


@needs_lists
def test_the_folder_gives_no_access(model: onnxmap.Model, tmp_path: Path) -> None:
    """A new file has the default ACL of its folder; the old one had none."""
    save_over(model, tmp_path)
    (tmp_path / "saved.onnx").chmod(0o640)
    set_list(tmp_path, "d:u:65534:rwx")
    before = list_of(tmp_path / "saved.onnx")
    save_over(model, tmp_path)
    assert list_of(tmp_path / "saved.onnx") == before == {"user::rw-", "group::r--", "other::---"}


def test_attributes_follow(model: onnxmap.Model, tmp_path: Path) -> None:
    save_over(model, tmp_path)
    try:
        os.setxattr(tmp_path / "saved.onnx", "user.note", b"saved.onnx")
    except OSError:
        pytest.skip("the file system has no attributes")
    os.setxattr(tmp_path / "w.data", "user.note", b"w.data")
    (tmp_path / "w.data").chmod(0o444)
    save_over(model, tmp_path, replace_read_only=True)
    for name in ("saved.onnx", "w.data"):
        assert os.getxattr(tmp_path / name, "user.note") == name.encode()
    assert stat.S_IMODE((tmp_path / "w.data").stat().st_mode) == 0o444


PROTECTED = [0o444, 0o400, 0o555, 0o000, 0o464]


@pytest.mark.parametrize("mode", PROTECTED)
@pytest.mark.parametrize("name", ["saved.onnx", "w.data"])
def test_a_protected_file_is_not_replaced(
    name: str, mode: int, model: onnxmap.Model, tmp_path: Path
) -> None:
    save_over(model, tmp_path)
    before = {each: (tmp_path / each).read_bytes() for each in ("saved.onnx", "w.data")}
    inode = (tmp_path / name).stat().st_ino
    (tmp_path / name).chmod(mode)
    model.initializers["w"] = np.zeros((16, 16), np.float32)
    with pytest.raises(PermissionError) as caught:
        save_over(model, tmp_path)
    assert (caught.value.errno, caught.value.filename) == (errno.EACCES, str(tmp_path / name))
    with pytest.raises(PermissionError):
        onnxmap.save_all({tmp_path / "saved.onnx": model}, "w.data")
    assert (tmp_path / name).stat().st_ino == inode
    assert {each.name for each in tmp_path.iterdir()} == {"source", "saved.onnx", "w.data"}
    save_over(model, tmp_path, replace_read_only=True)
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode
    (tmp_path / name).chmod(0o644)
    assert {each: (tmp_path / each).read_bytes() for each in before} != before


def test_a_protected_file_that_a_link_leads_to(model: onnxmap.Model, tmp_path: Path) -> None:
    """It is replaced only if the link is followed; else the link alone goes."""
    target, link = tmp_path / "target.onnx", tmp_path / "link.onnx"
    target.write_bytes(b"old")
    target.chmod(0o444)
    link.symlink_to(target.name)
    with pytest.raises(PermissionError):
        model.save(link, follow_symlinks=True)
    model.save(link)
    assert not link.is_symlink()
    assert target.read_bytes() == b"old"


def test_a_protected_file_is_not_appended_to(model: onnxmap.Model, tmp_path: Path) -> None:
    """Not by root, either."""
    path = tmp_path / "saved.onnx"
    model.save(path, sync=False)
    path.chmod(0o444)
    before = path.read_bytes()
    with pytest.raises(PermissionError) as caught:
        onnxmap.append(path, doc_string="x")
    assert (caught.value.errno, caught.value.filename) == (errno.EACCES, str(path))
    assert path.read_bytes() == before
    path.chmod(0o644)
    onnxmap.append(path, doc_string="x")


def test_other_messages(tmp_path: Path) -> None:
    path = tmp_path / "t.pb"
    operators = onnxmap.new("OperatorSetProto", domain="d")
    saves: list[Callable[..., object]] = [
        lambda **options: onnxmap.save_tensor(np.zeros(3), path, **options),
        lambda **options: onnxmap.save_value([np.zeros(3)], path, "sequence", **options),
        lambda **options: onnxmap.save_operator_set(operators, path, **options),
    ]
    for save in saves:
        path.write_bytes(b"old")
        path.chmod(0o444)
        with pytest.raises(PermissionError):
            save()
        assert path.read_bytes() == b"old"
        save(replace_read_only=True)
        assert path.read_bytes() != b"old"
        assert stat.S_IMODE(path.stat().st_mode) == 0o444
        path.unlink()
