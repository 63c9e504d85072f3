"""The pages that a load reads, and requests from Linux, if the model is not in the page cache."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.processes.cold_files import PAGE, drop, pages_there, write_sparse
from support.processes.page_requests import Requests, Trace, pages_of

KIB, MIB = 1 << 10, 1 << 20
MODES = ("mmap", "read")
SMALL = [20 * KIB] * 2000
LARGE = [8 * MIB] * 64
LOAD = "import onnxmap; onnxmap.load(sys.argv[1], io=sys.argv[2])"


def load(path: Path, io: str = "mmap") -> Requests:
    """The requests of a process about the pages of a model while it loads the model."""
    return Trace(path.parent, LOAD, str(path), io).of(path)


def first_missing(found: Requests) -> int:
    """The place where the load first found a page missing. Linux had read ahead up to there."""
    return next(offset for offset, is_there in found.looks if not is_there)


def read_from(found: Requests) -> int:
    return sum(end - begin for begin, end in found.read)


@pytest.mark.parametrize("io", MODES)
def test_large_values_are_left_on_disk(tmp_path: Path, io: str) -> None:
    path = tmp_path / "model.onnx"
    write_sparse(path, LARGE)
    drop(path)
    found = load(path, io)
    assert set(found.calls) == {"pread64"}
    assert read_from(found) <= len(LARGE) * 16 * KIB
    assert pages_there(path).sum() * PAGE <= len(LARGE) * 16 * KIB


@pytest.mark.parametrize("io", MODES)
def test_small_values_are_read_through(tmp_path: Path, io: str) -> None:
    path = tmp_path / "model.onnx"
    write_sparse(path, SMALL)
    drop(path)
    found = load(path, io)
    first = first_missing(found)
    assert first < sum(SMALL) // 2
    assert pages_of(found.asked, path.stat().st_size)[first // PAGE :].all()


@pytest.mark.parametrize("io", MODES)
def test_each_part_of_a_file_is_read_in_its_own_way(tmp_path: Path, io: str) -> None:
    path = tmp_path / "model.onnx"
    sizes = [*LARGE[:8], *SMALL, *LARGE[:8]]
    write_sparse(path, sizes)
    drop(path)
    found = load(path, io)
    small, behind = sum(LARGE[:8]), sum(LARGE[:8]) + sum(SMALL)
    size = path.stat().st_size
    asked = pages_of(found.asked, size)
    first = first_missing(found)
    assert small <= first < small + sum(SMALL) // 2
    assert asked[first // PAGE : behind // PAGE].all()
    assert not asked[: small // PAGE].any()
    assert asked[behind // PAGE :].sum() * PAGE <= 4 * MIB  # requested before the walk came there
    assert read_from(found) <= len(sizes) * 16 * KIB


def test_a_load_from_memory_asks_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    write_sparse(path, SMALL)
    path.read_bytes()
    found = load(path)
    assert 0 < len(found.looks) <= sum(SMALL) // MIB + 1
    calls = [name for name in found.calls if name != "pread64"]
    missing = [i for i, (_, is_there) in enumerate(found.looks) if not is_there]
    until = missing[0] + 1 if missing else len(found.looks)  # the kernel may have evicted some
    assert calls[:until] == ["preadv2"] * until
    if not missing:
        assert len(calls) == until
    write_sparse(path, LARGE)
    assert set(load(path).calls) == {"pread64"}


def test_the_state_of_the_descriptor_is_not_changed(tmp_path: Path) -> None:
    """The mapping shares that state: NumPy's page faults depend on the read-ahead."""
    path = tmp_path / "model.onnx"
    write_sparse(path, [*LARGE[:8], *SMALL])
    drop(path)
    advice = [name for name in load(path).calls if name.startswith("POSIX_FADV_")]
    assert set(advice) == {"POSIX_FADV_WILLNEED"}
