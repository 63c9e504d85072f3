"""What of a model is in memory, asked of Linux by the test itself, after each way to change it."""

from __future__ import annotations

import mmap
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import paged_models as paged
import pytest
import wire_bytes as wire
from cold_files import NEARLY_ALL, drop, pages_there, write_sparse

import onnxmap

PAGE = mmap.PAGESIZE
MIB = 1 << 20
MODES = ("mmap", "read")


def comes(model: onnxmap.Model, names: str | list[str] | None = None) -> bool:
    """Waits for pages that were asked for; nothing tells when they have come."""
    give_up = time.monotonic() + 60
    while model.residency(names).share < NEARLY_ALL:
        if time.monotonic() > give_up:
            return False
    return True


def raw(name: str, values: np.ndarray) -> bytes:
    return (
        wire.blob(8, name.encode())
        + wire.scalar(2, paged.FLOAT)
        + wire.scalar(1, values.size)
        + wire.blob(9, values.tobytes())
    )


def floats(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(count, np.float32)


A, B = floats(MIB, 1), floats(2 * MIB, 2)  # 4 and 8 MiB


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A model of two tensors, a and b, that is not in the page cache."""
    path = tmp_path / "two.onnx"
    path.write_bytes(paged.model_of(raw("a", A), raw("b", B)))
    drop(path)
    return path


@pytest.mark.parametrize("io", MODES)
def test_a_load_leaves_values_on_disk_and_prefetch_brings_them(two: Path, io: str) -> None:
    model = onnxmap.load(two, io=io)
    before = model.residency()
    assert list(before) == ["a", "b"]
    assert before.total == A.nbytes + B.nbytes
    assert before.resident < MIB
    model.prefetch("b")
    assert comes(model, "b")
    after = model.residency()
    assert after["b"].total == B.nbytes
    assert NEARLY_ALL * B.nbytes <= after["b"].resident <= B.nbytes
    assert after["a"].resident < MIB
    assert after.resident == after["a"].resident + after["b"].resident
    assert after.share == after.resident / after.total
    np.testing.assert_array_equal(model.initializers["b"].numpy(), B)


@pytest.mark.parametrize("io", MODES)
def test_evicted_bytes_are_gone_and_views_read_them_again(two: Path, io: str) -> None:
    model = onnxmap.load(two, io=io)
    views = model.views()
    np.testing.assert_array_equal(views["a"], A)
    np.testing.assert_array_equal(views["b"], B)
    model.prefetch()
    assert comes(model)
    model.evict()
    assert pages_there(two).sum() * PAGE < 2.5 * MIB  # at the edges it goes by large folios
    assert model.residency().resident < 2.5 * MIB
    np.testing.assert_array_equal(views["a"], A)
    np.testing.assert_array_equal(views["b"], B)
    np.testing.assert_array_equal(model.initializers["a"].numpy(copy=True), A)


def test_what_was_touched_is_in_memory(two: Path) -> None:
    with two.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        model = onnxmap.load(two)
        offset = model.initializers["b"].offset
        assert offset is not None
        os.pread(file.fileno(), 3 * PAGE, offset + 4 * MIB)
        there = model.residency(["b"])["b"]
        assert 3 * PAGE <= there.resident < MIB
        first = -(-offset // PAGE) * PAGE
        expected = pages_there(two)[first // PAGE : (offset + B.nbytes) // PAGE].sum() * PAGE
        assert abs(there.resident - expected) < 2 * PAGE


def test_one_tensor_of_two_is_evicted(two: Path) -> None:
    two.read_bytes()
    model = onnxmap.load(two)
    model.evict(["b"])
    found = model.residency()
    assert found["a"].resident >= NEARLY_ALL * A.nbytes
    assert found["b"].resident <= 4 * MIB + PAGE  # all but the folios at its edges


def test_heads_of_large_tensors_stay(tmp_path: Path) -> None:
    """Without them, a look at the names would read megabytes ahead of each."""
    path = tmp_path / "model.onnx"
    names = [f"w{i}" for i in range(120)]
    path.write_bytes(paged.model_of(*(raw(name, A[:50_000]) for name in names)))
    drop(path)
    with path.open("rb", buffering=0) as file:  # bit by bit, and before loading: in large folios
        while file.read(64 << 10):
            pass
    model = onnxmap.load(path)
    offsets = [model.initializers[name].offset or 0 for name in names]
    model.evict()
    give_up = time.monotonic() + 60
    while pages_there(path)[np.array(offsets) // PAGE].mean() < NEARLY_ALL:
        assert time.monotonic() < give_up
    assert model.initializers.names() == names
    # Large folios that two tensors share are gone.
    assert pages_there(path).sum() * PAGE < 5 * MIB


@pytest.mark.parametrize("io", MODES)
@pytest.mark.parametrize("kind", paged.KINDS)
def test_every_way_to_store_values(tmp_path: Path, kind: str, io: str) -> None:
    """Small files: what is told is compared with Linux, and nothing is lost or wrong."""
    stored = paged.stored(kind)
    path = stored.write(tmp_path)
    drop(path)
    model = onnxmap.load(tmp_path / "model.onnx", io=io)
    model.evict()
    values = model.initializers["t"].numpy()
    found = model.residency()
    if stored.data is not None:
        assert found.total == len(stored.data) - 3
    else:
        assert paged.PAYLOAD // 8 <= found.total <= len(stored.model)
    model.prefetch("t*")
    assert comes(model)
    assert pages_there(path)[1:-1].mean() >= NEARLY_ALL
    np.testing.assert_array_equal(model.initializers["t"].numpy(), stored.values)
    np.testing.assert_array_equal(values, stored.values)


def test_external_data_is_evicted_and_its_model_stays(tmp_path: Path) -> None:
    data = tmp_path / "w.bin"
    data.write_bytes(A.tobytes() + B.tobytes())
    first = paged.external_entries(b"w.bin", 0, A.nbytes)
    second = paged.external_entries(b"w.bin", A.nbytes, B.nbytes)
    tensors = (
        wire.blob(8, name) + wire.scalar(2, 1) + wire.scalar(1, array.size) + entries
        for name, array, entries in ((b"a", A, first), (b"b", B, second))
    )
    path = tmp_path / "model.onnx"
    path.write_bytes(paged.model_of(*tensors))
    drop(data)
    model = onnxmap.load(path)
    assert model.residency().resident == 0
    model.prefetch(["a"])
    assert comes(model, ["a"])
    assert not pages_there(data)[A.nbytes // PAGE + 1 :].any()
    view = model.views()["a"]
    assert view.sum() == A.sum()
    model.evict()
    assert not pages_there(data).any()
    assert pages_there(path).all()
    np.testing.assert_array_equal(view, A)
    same = onnxmap.loads(path.read_bytes(), external_root=tmp_path)
    same.evict()
    assert same.residency().resident == 0
    same.prefetch()
    assert comes(model)


def test_a_buffer_is_in_memory() -> None:
    buffer = bytearray(paged.model_of(raw("a", A)))
    model = onnxmap.loads(buffer)
    view = model.views()["a"]
    for act in (model.prefetch, model.evict):
        act()
        assert model.residency()["a"] == (A.nbytes, A.nbytes)
        np.testing.assert_array_equal(view, A)


def test_a_file_that_is_nowhere_else_stays() -> None:
    folder = Path("/dev/shm")
    if not os.access(folder, os.W_OK):
        pytest.skip("no tmpfs")
    path = folder / f"onnxmap_{os.getpid()}.onnx"
    try:
        path.write_bytes(paged.model_of(raw("a", A)))
        for io in MODES:
            model = onnxmap.load(path, io=io)
            model.evict()
            model.prefetch()
            assert model.residency().share >= NEARLY_ALL
            np.testing.assert_array_equal(model.views()["a"], A)
    finally:
        path.unlink()


@pytest.mark.parametrize("action", ["prefetch", "evict", "residency"])
@pytest.mark.parametrize("io", MODES)
def test_what_is_wrong_is_an_error_as_for_views(two: Path, action: str, io: str) -> None:
    model = onnxmap.load(two, io=io)
    act = getattr(model, action)
    with pytest.raises(KeyError, match="nothing"):
        act(["nothing"])
    act("nothing*")
    short = wire.blob(8, b"s") + wire.scalar(2, 1) + wire.scalar(1, 2) + wire.blob(9, b"1234567")
    bad = onnxmap.loads(paged.model_of(raw("a", A[:4]), short))
    getattr(bad, action)(["a"])
    with pytest.raises(onnxmap.TensorError) as caught:
        getattr(bad, action)()
    assert (caught.value.code, caught.value.tensor) == ("tensor.data_size", "s")
    missing = wire.blob(8, b"m") + wire.scalar(2, 1) + wire.scalar(1, 1)
    missing += paged.external_entries(b"gone.bin", 0, 4)
    far = onnxmap.loads(paged.model_of(missing), external_root=two.parent)
    with pytest.raises(onnxmap.ExternalDataError):
        getattr(far, action)()
    twice = onnxmap.loads(paged.model_of(raw("a", A[:4]), raw("a", A[:4])))
    with pytest.raises(onnxmap.ParseError) as repeated:
        getattr(twice, action)()
    assert repeated.value.code == "model.duplicate_name"
    os.truncate(two, 2 * MIB)
    with pytest.raises(onnxmap.FileChangedError):
        act()
    model.close()
    with pytest.raises(ValueError, match="closed"):
        act()


def test_a_signal_ends_a_long_prefetch(tmp_path: Path) -> None:
    """A sparse file: its pages come from nowhere, at the speed of memory."""
    path = tmp_path / "big.onnx"
    write_sparse(path, [256 * MIB])

    class StopError(Exception):
        pass

    def stop(*_: object) -> None:
        raise StopError

    main = threading.get_ident()

    def press() -> None:
        # More than was read ahead of a look at the names: prefetch is at work.
        while pages_there(path).mean() < 0.2:
            pass
        signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        for _ in range(5):  # the signal may come when all is asked for
            drop(path)
            thread = threading.Thread(target=press)
            with onnxmap.load(path) as model:
                thread.start()
                with pytest.raises(StopError):  # noqa: PT012 -- in whatever line it comes
                    model.prefetch()
                    thread.join()
            thread.join()
            if pages_there(path).mean() < 0.9:
                return
    finally:
        signal.signal(signal.SIGUSR1, before)
    pytest.fail("prefetch always went on to the end")


def test_residency_is_a_mapping_that_describes_itself(two: Path) -> None:
    found = onnxmap.loads(two.read_bytes()).residency()
    assert isinstance(found, onnxmap.Residency)
    assert repr(found) == "<onnxmap.Residency of 2 tensors: 12.6 MB of 12.6 MB, 100%>"
    assert found == {"a": (A.nbytes, A.nbytes), "b": (B.nbytes, B.nbytes)}
    assert found["a"].share == 1
    assert onnxmap.ResidentBytes(1, 4).share == 0.25
    nothing = onnxmap.loads(paged.model_of()).residency()
    assert (nothing.resident, nothing.total, nothing.share, len(nothing)) == (0, 0, 1, 0)
