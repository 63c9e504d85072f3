"""What prefetch, evict and residency ask Linux about the pages of a model's files."""

from __future__ import annotations

import mmap
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from support import wire_bytes as wire
from support.models import paged
from support.processes.cold_files import drop, locked, pages_there, write_sparse
from support.processes.page_requests import Trace, pages_of

import onnxmap

PAGE = mmap.PAGESIZE
MIB = 1 << 20
MODES = ("mmap", "read")


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


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two tensors, a and b."""
    path = tmp_path_factory.mktemp("two") / "two.onnx"
    path.write_bytes(paged.model_of(raw("a", A), raw("b", B)))
    return path


def payload(path: Path, name: str) -> tuple[int, int]:
    """The range of the tensor's bytes in its file."""
    tensor = onnxmap.load(path).initializers[name]
    assert tensor.offset is not None
    return tensor.offset, tensor.offset + tensor.nbytes


def around(begin: int, end: int, size: int) -> np.ndarray:
    """The pages that contain these bytes."""
    return pages_of([(begin - begin % PAGE, end + -end % PAGE)], size)


ASK = """
import onnxmap
path, io, *names = sys.argv[1:]
model = onnxmap.load(path, io=io)
model.views()
phase("prefetch")
model.prefetch(names)
phase("evict")
model.evict(names)
"""


@pytest.mark.parametrize("io", MODES)
@pytest.mark.parametrize("names", ["a", "b", "a b"])
def test_pages_of_the_chosen_tensors_are_requested_and_dropped(
    two: Path, names: str, io: str
) -> None:
    size = two.stat().st_size
    ends = [payload(two, name) for name in names.split()]
    begin, end = ends[0][0], ends[-1][1]
    trace = Trace(two.parent, ASK, str(two), io, *names.split())
    loading = trace.of(two)
    assert (loading.asked, loading.mapped, loading.dropped) == ([], [], [])
    prefetch = trace.of(two, "prefetch")
    np.testing.assert_array_equal(pages_of(prefetch.asked, size), around(begin, end, size))
    assert max(stop - start for start, stop in prefetch.asked) <= 128 << 10  # Linux's limit
    assert prefetch.dropped == []
    evict = trace.of(two, "evict")
    within = pages_of([(begin, end)], size)
    np.testing.assert_array_equal(pages_of(evict.dropped, size), within)
    if io == "mmap":  # mapped pages cannot be dropped
        np.testing.assert_array_equal(pages_of(evict.released, size), within)


@pytest.mark.parametrize("io", MODES)
def test_residency_counts_pages_that_are_there(two: Path, io: str) -> None:
    begin, _ = payload(two, "b")
    drop(two)
    first = begin // PAGE + 1 + 4 * MIB // PAGE
    with locked(two, first, 3):
        model = onnxmap.load(two, io=io)
        before = pages_there(two)
        found = model.residency()
    assert list(found) == ["a", "b"]
    assert (found["a"].total, found["b"].total) == (A.nbytes, B.nbytes)
    assert found["b"].resident >= 3 * PAGE
    assert found.resident == found["a"].resident + found["b"].resident
    assert found.total == A.nbytes + B.nbytes
    assert found.share == found.resident / found.total
    assert model.residency(["b"]).total == B.nbytes
    for name, (resident, _) in found.items():
        start, end = payload(two, name)
        assert resident <= before[start // PAGE : -(-end // PAGE)].sum() * PAGE


@pytest.mark.parametrize("io", MODES)
def test_views_read_evicted_bytes_again(two: Path, io: str) -> None:
    drop(two)  # only pages that are on disk can be evicted
    model = onnxmap.load(two, io=io)
    views = model.views()
    np.testing.assert_array_equal(views["a"], A)
    np.testing.assert_array_equal(views["b"], B)
    model.prefetch()
    model.evict()
    np.testing.assert_array_equal(views["a"], A)
    np.testing.assert_array_equal(views["b"], B)
    np.testing.assert_array_equal(model.initializers["a"].numpy(copy=True), A)


def test_heads_of_large_tensors_are_requested_again(tmp_path: Path) -> None:
    """Otherwise a loop over the names would read megabytes ahead of each head."""
    path = tmp_path / "model.onnx"
    names = [f"w{i}" for i in range(120)]
    path.write_bytes(paged.model_of(*(raw(name, A[:50_000]) for name in names)))
    size = path.stat().st_size
    ends = [payload(path, name) for name in names]
    trace = Trace(tmp_path, ASK, str(path), "mmap", *names)
    evict = trace.of(path, "evict")
    # A large folio is dropped as a whole or not at all, so the heads between values are dropped,
    # too.
    np.testing.assert_array_equal(
        pages_of(evict.dropped, size), pages_of([(ends[0][0], ends[-1][1])], size)
    )
    heads = np.zeros(-(-size // PAGE), bool)
    for (_, end), (begin, _) in pairwise(ends):
        heads |= around(end, begin, size)
    np.testing.assert_array_equal(pages_of(evict.asked, size), heads)
    assert evict.calls[-len(evict.asked) :] == ["madvise"] * len(evict.asked)  # after dropping


EVERY_KIND = """
import onnxmap
for path in sys.argv[2:]:
    model = onnxmap.load(path, io=sys.argv[1])
    model.residency()
    phase(path.split("/")[-2])
    model.prefetch("t*")
    phase("")
"""


@pytest.mark.parametrize("io", MODES)
def test_prefetch_requests_values_in_every_storage(tmp_path: Path, io: str) -> None:
    files = {}
    for kind in paged.KINDS:
        (tmp_path / kind).mkdir()
        files[kind] = paged.stored(kind).write(tmp_path / kind)
    models = [str(path.with_name("model.onnx")) for path in files.values()]
    trace = Trace(tmp_path, EVERY_KIND, io, *models)
    for kind, path in files.items():
        asked = pages_of(trace.of(path, kind).asked, path.stat().st_size)
        assert asked[1:-1].all(), kind
        assert trace.of(path, kind).mapped == []


@pytest.mark.parametrize("io", MODES)
@pytest.mark.parametrize("kind", paged.KINDS)
def test_every_way_to_store_values(tmp_path: Path, kind: str, io: str) -> None:
    """No way loses values or gives wrong ones, and the numbers add up."""
    stored = paged.stored(kind)
    drop(stored.write(tmp_path))
    model = onnxmap.load(tmp_path / "model.onnx", io=io)
    model.evict()
    values = model.initializers["t"].numpy()
    found = model.residency()
    if stored.data is not None:
        assert found.total == len(stored.data) - 3
    else:
        assert paged.PAYLOAD // 8 <= found.total <= len(stored.model)
    assert 0 <= found.resident <= found.total
    model.prefetch("t*")
    np.testing.assert_array_equal(model.initializers["t"].numpy(), stored.values)
    model.evict()
    np.testing.assert_array_equal(values, stored.values)


def external_two(folder: Path) -> tuple[Path, Path]:
    """A model of a and b with one data file; returns the model and the data file."""
    data = folder / "w.bin"
    data.write_bytes(A.tobytes() + B.tobytes())
    first = paged.external_entries(b"w.bin", 0, A.nbytes)
    second = paged.external_entries(b"w.bin", A.nbytes, B.nbytes)
    tensors = (
        wire.blob(8, name) + wire.scalar(2, 1) + wire.scalar(1, array.size) + entries
        for name, array, entries in ((b"a", A, first), (b"b", B, second))
    )
    path = folder / "model.onnx"
    path.write_bytes(paged.model_of(*tensors))
    return path, data


EXTERNAL = """
import onnxmap
path, folder = sys.argv[1:]
model = onnxmap.load(path)
phase("prefetch")
model.prefetch(["a"])
phase("evict")
model.evict()
phase("loads")
same = onnxmap.loads(open(path, "rb").read(), external_root=folder)
same.evict()
"""


def test_external_data_is_evicted_and_its_model_stays(tmp_path: Path) -> None:
    path, data = external_two(tmp_path)
    size = data.stat().st_size
    trace = Trace(tmp_path, EXTERNAL, str(path), str(tmp_path))
    asked = pages_of(trace.of(data, "prefetch").asked, size)
    np.testing.assert_array_equal(asked, pages_of([(0, A.nbytes)], size))
    assert pages_of(trace.of(data, "evict").dropped, size).all()
    assert pages_of(trace.of(data, "loads").dropped, size).all()
    for phase in ("prefetch", "evict", "loads"):
        found = trace.of(path, phase)
        assert (found.asked, found.mapped, found.dropped) == ([], [], [])


def test_evicted_external_data_is_read_again(tmp_path: Path) -> None:
    path, _ = external_two(tmp_path)
    model = onnxmap.load(path)
    view = model.views()["a"]
    assert view.sum() == A.sum()
    model.evict()
    np.testing.assert_array_equal(view, A)
    same = onnxmap.loads(path.read_bytes(), external_root=tmp_path)
    same.evict()
    assert same.residency().total == A.nbytes + B.nbytes
    np.testing.assert_array_equal(same.views()["b"], B)


def test_a_buffer_is_in_memory() -> None:
    buffer = bytearray(paged.model_of(raw("a", A)))
    model = onnxmap.loads(buffer)
    view = model.views()["a"]
    for act in (model.prefetch, model.evict):
        act()
        assert model.residency()["a"] == (A.nbytes, A.nbytes)
        np.testing.assert_array_equal(view, A)


def test_a_file_on_a_tmpfs_stays_in_memory() -> None:
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
            assert model.residency().total == A.nbytes
            np.testing.assert_array_equal(model.views()["a"], A)
    finally:
        path.unlink()


@pytest.mark.parametrize("action", ["prefetch", "evict", "residency"])
@pytest.mark.parametrize("io", MODES)
def test_errors_are_those_of_views(tmp_path: Path, action: str, io: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(paged.model_of(raw("a", A[: MIB // 4])))
    model = onnxmap.load(path, io=io)
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
    far = onnxmap.loads(paged.model_of(missing), external_root=tmp_path)
    with pytest.raises(onnxmap.ExternalDataError):
        getattr(far, action)()
    twice = onnxmap.loads(paged.model_of(raw("a", A[:4]), raw("a", A[:4])))
    with pytest.raises(onnxmap.ParseError) as repeated:
        getattr(twice, action)()
    assert repeated.value.code == "model.duplicate_name"
    os.truncate(path, MIB // 2)
    with pytest.raises(onnxmap.FileChangedError):
        act()
    model.close()
    with pytest.raises(ValueError, match="closed"):
        act()


STOPPED = """
import signal
import onnxmap
class StopError(Exception):
    pass
def stop(*_):
    raise StopError
signal.signal(signal.SIGUSR1, stop)
model = onnxmap.load(sys.argv[1])
phase("prefetch")
try:
    model.prefetch()
except StopError:
    print("stopped")
"""


def test_a_signal_ends_a_long_prefetch(tmp_path: Path) -> None:
    """The signal comes during a request. The call notices it before it requests the next 32 MiB."""
    path = tmp_path / "big.onnx"
    write_sparse(path, [256 * MIB])
    trace = Trace(tmp_path, STOPPED, str(path), inject="madvise:signal=SIGUSR1:when=300")
    assert trace.output == "stopped\n"
    asked = len(trace.of(path, "prefetch").asked)
    assert 0 < asked <= 300 + 32 * MIB // (128 << 10)


def test_residency_is_a_mapping_that_describes_itself(two: Path) -> None:
    found = onnxmap.loads(two.read_bytes()).residency()
    assert isinstance(found, onnxmap.Residency)
    assert repr(found) == "<onnxmap.Residency of 2 tensors: 12.6 MB of 12.6 MB, 100%>"
    assert found == {"a": (A.nbytes, A.nbytes), "b": (B.nbytes, B.nbytes)}
    assert found["a"].share == 1
    assert onnxmap.ResidentBytes(1, 4).share == 0.25
    nothing = onnxmap.loads(paged.model_of()).residency()
    assert (nothing.resident, nothing.total, nothing.share, len(nothing)) == (0, 0, 1, 0)
