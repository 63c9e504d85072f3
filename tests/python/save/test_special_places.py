"""Saves to what is no plain file: devices, pipes, links to them, and standard output."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.processes.subprocesses import facts_from
from support.saves.models import SAVE_MODELS

import onnxmap
from onnxmap import cli


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "source").mkdir()
    return SAVE_MODELS["chain"](tmp_path / "source")


def writers(source: Path) -> dict[str, Callable[[Path], object]]:
    model = onnxmap.load(source)
    return {
        "save": lambda path: onnxmap.save(model, path),
        "followed": lambda path: model.save(path, follow_symlinks=True),
        "insisting": lambda path: model.save(path, replace_read_only=True),
        "save_all": lambda path: onnxmap.save_all({path: model}, "w.data"),
        "save_tensor": lambda path: onnxmap.save_tensor(np.zeros(3), path),
        "save_value": lambda path: onnxmap.save_value([np.zeros(3)], path, "sequence"),
    }


SPECIAL = ["pipe", "socket", "device", "terminal"]


def make_special(kind: str, path: Path) -> Path:
    """Make the object; return its path, which is another one for devices."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    else:
        return Path("/dev/null" if kind == "device" else "/dev/tty")
    return path


@pytest.mark.parametrize("way", ["save", "followed", "insisting", "save_all", "save_tensor",
                                 "save_value"])  # fmt: skip
@pytest.mark.parametrize("kind", SPECIAL)
def test_a_link_to_what_is_no_file_is_not_replaced(
    kind: str, way: str, source: Path, tmp_path: Path
) -> None:
    target = make_special(kind, tmp_path / "special")
    link, second = tmp_path / "link", tmp_path / "second"
    link.symlink_to(target)
    second.symlink_to("link")
    names = set(tmp_path.iterdir())
    for path in (link, second):
        with pytest.raises(onnxmap.SaveError) as caught:
            writers(source)[way](path)
        assert caught.value.code == "save.not_regular"
        assert link.readlink() == target
        assert second.readlink() == Path("link")
        assert set(tmp_path.iterdir()) == names


@pytest.mark.parametrize("way", ["save", "save_all", "save_tensor", "save_value"])
def test_a_link_into_proc_is_not_replaced(way: str, source: Path, tmp_path: Path) -> None:
    """Also if a regular file is behind it, as behind the descriptors of another process."""
    (tmp_path / "behind").write_bytes(b"old")
    with (tmp_path / "behind").open("rb") as opened, contextlib.ExitStack() as end:
        child = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[opened.fileno()]
        )
        end.callback(child.communicate, b"\n")
        for target in (f"/proc/{child.pid}/fd/{opened.fileno()}", "/proc/self/comm"):
            link = tmp_path / "link"
            link.symlink_to(target)
            with pytest.raises(onnxmap.SaveError) as caught:
                writers(source)[way](link)
            assert caught.value.code == "save.not_regular"
            assert link.readlink() == Path(target)
            link.unlink()
    assert (tmp_path / "behind").read_bytes() == b"old"


def test_a_link_to_a_folder_is_not_replaced(source: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    with pytest.raises(IsADirectoryError):
        onnxmap.save(onnxmap.load(source), tmp_path / "link")
    assert (tmp_path / "link").readlink() == Path("folder")


@pytest.mark.parametrize("form", ["/dev/fd/{}", "/proc/self/fd/{}", "a link", "/proc/{pid}/fd/{}"])
@pytest.mark.parametrize("what", ["pipe", "file"])
def test_descriptors_of_this_process_are_streams(
    form: str, what: str, source: Path, tmp_path: Path
) -> None:
    """Bytes go to the position of the descriptor, as after `{ echo; onnxmap ...; } > file`."""
    model = onnxmap.load(source)
    if what == "pipe":
        readable, number = os.pipe()
    else:
        number = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
        readable = os.open(tmp_path / "file", os.O_RDONLY)
    os.write(number, b"before")
    path = form.format(number, pid=os.getpid())
    if form == "a link":
        (tmp_path / "link").symlink_to(f"/dev/fd/{number}")
        path = str(tmp_path / "link")
    report = onnxmap.save(model, path)
    assert report.files == []
    assert report.bytes_written + report.bytes_copied == source.stat().st_size
    os.close(number)
    with os.fdopen(readable, "rb") as file:
        assert file.read() == b"before" + onnxmap.dumps(model)
    assert {each.name for each in tmp_path.iterdir()} <= {"source", "link", "file"}


def test_a_stream_takes_no_data_file(source: Path) -> None:
    readable, number = os.pipe()
    with pytest.raises(ValueError, match="no folder for a data file"):
        onnxmap.save(onnxmap.load(source), f"/dev/fd/{number}", external_data="w.data")
    os.close(readable)
    os.close(number)


# A link to /proc/self/fd/1 is what /dev/stdout is. The tests make their own: the fault that they
# look for replaces the link, and root may do that.
@pytest.mark.parametrize("out", ["-", "stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("command", [["save"], ["set", "key=value", "-o"]])
def test_commands_write_standard_output(
    command: list[str], out: str, source: Path, tmp_path: Path
) -> None:
    """Into a pipe, and into a file, which gets the model and nothing else.

    Nobody reads the pipe meanwhile, so the model must fit into it: 64 KiB.
    """
    if out == "stdout":
        out = str(tmp_path / "stdout")
        (tmp_path / "stdout").symlink_to("/proc/self/fd/1")
    facts = facts_from(
        """
    import os
    from onnxmap.cli import main
    reading, pipe = os.pipe()
    file = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT)
    stdout = os.dup(1)
    for descriptor in (pipe, file):
        os.dup2(descriptor, 1)
        assert main(sys.argv[1:]) == 0
        sys.stdout.flush()
    os.dup2(stdout, 1)
    report(piped=os.read(reading, 1 << 16).hex())
        """,
        str(tmp_path / "out"), command[0], str(source), *command[1:], out,
    )  # fmt: skip
    piped = bytes.fromhex(facts["piped"])
    expected = onnxmap.load(source)
    if command[0] == "set":
        expected.metadata_props["key"] = "value"
    assert piped == onnxmap.dumps(expected)
    assert (tmp_path / "out").read_bytes() == piped


@pytest.mark.parametrize("target", ["/proc/self/fd/1", "/dev/fd/1", "/dev/null"])
@pytest.mark.parametrize("command", ["cp", "mv"])
def test_cp_and_mv_make_files(
    command: str, target: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.symlink_to(target)
    assert cli.main([command, str(source), str(out), "--overwrite"]) == 2
    assert "is not a regular file" in capsys.readouterr().err
    assert out.readlink() == Path(target)
    assert source.exists()
