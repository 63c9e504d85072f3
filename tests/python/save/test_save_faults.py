"""Saves that fail or are killed: the old files or the new ones, whole, and nothing else."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.models.many_tensors import spans
from support.models.sample import external, model_of, write
from support.processes.subprocesses import child, facts_from
from support.processes.work import takes_minutes
from support.run_options import EXHAUSTIVE, LONG, SANITIZED
from support.saves.judges import LEFT_BY_SAVES, assert_nothing_left, contents, values_of
from support.saves.models import SAVE_MODELS, weight

import onnxmap

KILLS = 10_000 if LONG else 200 if EXHAUSTIVE else 3  # save_crash_test.cpp kills at every call
CHILD = """
import sys
import numpy as np
import onnxmap
folder, options = sys.argv[1], eval(sys.argv[2])
model = onnxmap.load(folder + "/model.onnx")
print("ready", flush=True)
number = 0
while True:
    number += 1
    for name in ("a", "b", "c"):
        model.initializers[name] = np.full(30_000, number, np.float32)
    onnxmap.save(model, folder + "/saved.onnx", **options)
    if number == 1:
        print("saved", flush=True)
"""
KILLED: dict[str, dict[str, Any]] = {
    "one file": {"sync": False},
    "a data file": {"external_data": "w.data", "sync": False},
    "shards, with syncs": {"external_data": "w.data", "max_shard_size_bytes": 130_000},
}


def restored(folder: Path) -> Path:
    """The model as its documentation says to restore it after a crash: aside files put back."""
    saved = folder / "saved.onnx"
    if saved.exists():
        return saved
    aside = [path for path in folder.iterdir() if path.name.endswith(".onnxmap-old")]
    for path in aside:
        name = path.name.rsplit(".", 2)[0]
        path.replace(folder / name)
    return saved


@pytest.mark.parametrize("kind", KILLED)
def test_killed_at_random_moments(kind: str, tmp_path: Path) -> None:
    """A model that can be loaded has all values of one round, never a mixture."""
    write(model_of([weight(name, 100, 300) for name in "abc"]), tmp_path / "model.onnx")
    rng, seen, longest = random.Random(kind), set(), 0.0
    for number in range(1 + -(-KILLS // len(KILLED))):
        options = repr(KILLED[kind])
        with child(sys.executable, "-c", CHILD, str(tmp_path), options) as (_, _, told):
            assert told.readline() == b"ready\n"
            if number == 0:  # how long a save takes depends on the disk
                begin = time.monotonic()
                assert told.readline() == b"saved\n"
                longest = 3 * (time.monotonic() - begin)
            else:
                time.sleep(rng.random() * longest)
        names = {path.name for path in tmp_path.iterdir()} - {"model.onnx", "saved.onnx"}
        left = {name for name in names if name.endswith(LEFT_BY_SAVES)}
        assert all(name.startswith((".saved.onnx.", ".w", "saved.onnx.", "w")) for name in left)
        assert all(name.startswith("w") for name in names - left)
        saved = restored(tmp_path)
        if saved.exists():
            arrays = onnxmap.load_arrays(saved)
            values = {float(value) for array in arrays.values() for value in np.unique(array)}
            assert len(values) == 1
            seen |= values
        for path in tmp_path.iterdir():
            if path.name.endswith(LEFT_BY_SAVES):
                path.unlink()
    assert seen


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)],
        check=False, capture_output=True,
    )  # fmt: skip
    assert mounted.returncode == 0, mounted.stderr
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


FULL: dict[str, dict[str, Any]] = {
    "inline": {},
    "a data file": {"external_data": "w.data"},
    "shards": {"external_data": "w.data", "max_shard_size_bytes": 20_000},
}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts; the next test is for all")
@pytest.mark.parametrize("options", FULL)
def test_a_full_disk(options: str, small_disk: Path, tmp_path: Path) -> None:
    """The old pair stays, and there is as much room as before."""
    small = write(model_of([weight("w", 20, 20)]), tmp_path / "small.onnx")
    large = write(model_of([weight(f"w{i}", 40, 100) for i in range(5)]), tmp_path / "large.onnx")
    saved = small_disk / "saved.onnx"
    onnxmap.save(onnxmap.load(small), saved, **FULL[options])
    before, free = contents(small_disk), os.statvfs(small_disk).f_bfree
    for sync in (True, False):
        with pytest.raises(OSError, match="No space left") as caught:
            onnxmap.save(onnxmap.load(large), saved, sync=sync, **FULL[options])
        assert caught.value.errno == errno.ENOSPC
        assert Path(caught.value.filename).parent == small_disk
        assert contents(small_disk) == before
        assert os.statvfs(small_disk).f_bfree == free
    onnxmap.save(onnxmap.load(small), saved, **FULL[options])
    assert contents(small_disk) == before


@pytest.mark.skipif(SANITIZED, reason="the sanitizers write files of their own")
@pytest.mark.parametrize("options", FULL)
@pytest.mark.parametrize("limit", [1, 4000, 17_000, 60_000] if EXHAUSTIVE else [1, 17_000])
def test_a_limit_on_the_size_of_files(options: str, limit: int, tmp_path: Path) -> None:
    large = write(model_of([weight(f"w{i}", 40, 100) for i in range(5)]), tmp_path / "large.onnx")
    folder = tmp_path / "new"
    folder.mkdir()
    onnxmap.save(onnxmap.load(large), folder / "saved.onnx", sync=False, **FULL[options])
    before = contents(folder)
    facts = facts_from(
        """
    import resource, signal
    import onnxmap
    source, saved, limit, options = sys.argv[1:]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    model = onnxmap.load(source)
    model.doc_string = "edited"
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), old[1]))
    facts = {"errno": 0}
    try:
        onnxmap.save(model, saved, **eval(options))
    except OSError as error:
        facts = {"errno": error.errno, "filename": error.filename}
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    report(**facts)
    """,
        str(large), str(folder / "saved.onnx"), str(limit), repr(FULL[options]),
    )  # fmt: skip
    if limit >= 17_000 and options == "shards":
        assert facts["errno"] == 0
        return
    assert facts["errno"] == errno.EFBIG
    assert Path(facts["filename"]).parent == folder
    assert contents(folder) == before
    assert_nothing_left(folder)


CHANGES = ["cut", "grown", "rewritten", "replaced"]


def change(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "cut":
        os.truncate(path, len(data) // 2)
    elif how == "grown":
        path.open("ab").write(b"more")
    elif how == "rewritten":
        path.open("r+b").write(b"?" * 100)
        os.utime(path, ns=(1, 1))
    else:
        other = path.with_name("other")
        other.write_bytes(b"?" * len(data))
        other.replace(path)


# Of each pair of parameters, every combination; EXHAUSTIVE has those of all four.
OF_SOURCES = [
    (which, moment, how, io)
    for i, which in enumerate(["model.onnx", "w.data"])
    for j, moment in enumerate(["before", "during"])
    for k, how in enumerate(CHANGES)
    for m, io in enumerate(["mmap", "read"])
    if EXHAUSTIVE or (i + j + k // 2 + m) % 2 == 0
]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(("which", "moment", "how", "io"), OF_SOURCES)
def test_a_source_that_changes(which: str, moment: str, how: str, io: Any, tmp_path: Path) -> None:
    """Nothing is written. A replaced file is another file: the old one is still complete."""
    values = np.random.default_rng(0).bytes(12 << 20)
    (tmp_path / "w.data").write_bytes(values)
    entries = {"location": "w.data", "offset": "0", "length": str(len(values))}
    tensors = [external("w", [3 << 20], entries), weight("inline", 1500, 1500)]
    path = write(model_of(tensors), tmp_path / "model.onnx")
    saved = tmp_path / "saved.onnx"
    expected = values_of(path)
    model = onnxmap.load(path, io=io)
    model.arrays()
    done: list[int] = []

    def progress(count: int, total: int) -> None:
        if not done and moment == "during":
            change(tmp_path / which, how)
        done.append(count)

    if moment == "before":
        change(tmp_path / which, how)
    if how == "replaced":
        onnxmap.save(model, saved, external_data=False, progress=progress, sync=False)
        assert values_of(saved) == expected
        return
    with pytest.raises(onnxmap.FileChangedError) as caught:
        onnxmap.save(model, saved, external_data=False, progress=progress, sync=False)
    assert Path(str(caught.value.path)).name == which
    assert moment == "during" or max(done, default=0) == 0
    assert {each.name for each in tmp_path.iterdir()} == {"model.onnx", "w.data"}


@pytest.mark.parametrize("offset", [10**12, (1 << 63) - 1, 4096])
def test_crafted_offsets(offset: int, tmp_path: Path) -> None:
    """The layout is that of the save: its size is that of the data and their alignment."""
    with (tmp_path / "w.data").open("wb") as file:
        if offset < 1 << 60:
            file.truncate(offset)
            file.seek(offset)
        file.write(b"x" * 2000)
    entries = {"location": "w.data", "offset": str(offset), "length": "2000"}
    path = write(model_of([external("w", [500], entries)]), tmp_path / "model.onnx")
    model, saved = onnxmap.load(path), tmp_path / "saved.onnx"
    (tmp_path / "other").mkdir()
    saves: list[tuple[Path, dict[str, Any]]] = [
        (saved, {"external_data": "out"}), (saved, {"external_data": False}),
        (tmp_path / "other" / "saved.onnx", {}),
    ]  # fmt: skip
    for target, options in saves:
        if offset > 1 << 60:
            with pytest.raises(onnxmap.ExternalDataError):
                onnxmap.save(model, target, **options)
            assert not target.exists()
            continue
        report = onnxmap.save(model, target, sync=False, **options)
        sizes = [Path(file).stat().st_size for file in report.files]
        assert sum(sizes) < 2000 + 300
        assert onnxmap.load(target).initializers["w"].tobytes() == b"x" * 2000


def test_many_tensors_that_name_the_same_bytes(tmp_path: Path) -> None:
    """A small file must not become a huge one."""
    with (tmp_path / "w.data").open("wb") as file:
        file.truncate(1 << 30)
    entries = {"location": "w.data", "offset": "0", "length": str(1 << 30)}
    tensors = [external(f"w{i}", [1 << 28], entries) for i in range(500)]
    path = write(model_of(tensors), tmp_path / "model.onnx")
    with pytest.raises(onnxmap.LimitError) as caught:
        onnxmap.save(
            onnxmap.load(path), tmp_path / "saved.onnx", external_data=False, allow_over_2gib=True
        )
    assert caught.value.code == "limit.overlap"
    assert {each.name for each in tmp_path.iterdir()} == {"model.onnx", "w.data"}


@pytest.mark.skipif(SANITIZED, reason="a filter of system calls would stop the sanitizers")
def test_a_failed_sync_is_an_error_unless_none_was_asked_for(tmp_path: Path) -> None:
    path = SAVE_MODELS["chain"](tmp_path)
    facts = facts_from(
        """
    import errno, os
    import onnxmap
    from support.faults import seccomp_filter
    source, saved = sys.argv[1:]
    model = onnxmap.load(source)
    onnxmap.save(model, saved, external_data="w.data", sync=False)
    before = os.stat(saved).st_ino
    for number in (74, 75, 277) if seccomp_filter.X86_64 else (82, 83, 267):
        seccomp_filter.refuse(number, errno.EIO)  # fsync, fdatasync, sync_file_range
    try:
        onnxmap.save(model, saved, external_data="w.data")
        failure = None
    except OSError as error:
        failure = error.errno
    same = os.stat(saved).st_ino == before
    onnxmap.save(model, saved, external_data="w.data", sync=False)
    report(failure=failure, same=same)
    """,
        str(path),
        str(tmp_path / "saved.onnx"),
    )
    assert facts == {"failure": errno.EIO, "same": True}
    assert_nothing_left(tmp_path)


def test_an_interrupt_leaves_the_old_files(tmp_path: Path) -> None:
    path = write(model_of([weight("w", 2000, 2000)]), tmp_path / "model.onnx")
    model, saved = onnxmap.load(path), tmp_path / "saved.onnx"
    saved.write_bytes(b"old")

    def progress(done: int, total: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        onnxmap.save(model, saved, progress=progress)
    assert {each.name for each in tmp_path.iterdir()} == {"model.onnx", "saved.onnx"}
    assert saved.read_bytes() == b"old"


def test_comparing_values_can_be_interrupted(tmp_path: Path) -> None:
    """To compare values takes longer than to write them: here half an hour."""
    nbytes = 1 << 40
    with (tmp_path / "w.data").open("wb") as file:
        file.truncate(2 * nbytes)
    ranges = [("a", 0, nbytes), ("b", nbytes, nbytes)]
    path = write(model_of(list(spans(ranges, "w.data"))), tmp_path / "model.onnx")
    model = onnxmap.load(path)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))

    def interrupted() -> None:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            model.save(tmp_path / "saved.onnx", external_data="new.data", dedupe=True)

    assert not takes_minutes(interrupted)
    assert {each.name for each in tmp_path.iterdir()} == {"model.onnx", "w.data"}
