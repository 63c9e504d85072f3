"""`Model.stats` reads every storage, with any number of threads, and reports what `arrays` does."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.faults.cutting import kept_cutting
from support.models.many_tensors import (
    PLACES,
    Folder,
    spans,
    threads_left,
    threads_of_process,
)
from support.models.sample import external, floats, model_of, write
from support.oracles.stats import assert_stats
from support.processes.subprocesses import facts_from
from support.run_options import SANITIZED
from support.tensors.stored import bits_of, in_buffer, random_codes, stored

import onnxmap

MIB = 1 << 20


@pytest.mark.parametrize("place", PLACES)
def test_every_type_in_every_storage(every_type: Folder, place: str) -> None:
    stats = every_type.open(place).stats()
    numeric = {name: array for name, array in every_type.expected.items() if array.dtype != object}
    assert list(stats) == list(numeric)
    for name, array in numeric.items():
        assert_stats(stats[name], array)


def test_any_number_of_threads_gives_the_same(tmp_path: Path) -> None:
    """Large tensors in blocks, and small ones that are read together, bit for bit."""
    tensors = []
    with (tmp_path / "w.bin").open("wb") as data:
        for i in range(40):
            type_name = ("FLOAT", "BFLOAT16", "INT4", "FLOAT6E2M3", "INT64", "DOUBLE")[i % 6]
            count = 3 * MIB + i if i < 6 else 1000 * i + i
            codes = random_codes(type_name, count, i)
            place = {"location": "w.bin", "offset": str(data.tell())}
            data.write(stored(type_name, codes))
            place["length"] = str(data.tell() - int(place["offset"]))
            number = onnx.TensorProto.DataType.Value(type_name)
            tensors.append(external(f"t{i}", [count], place, number))
            data.write(b"." * (i % 3))
    path = write(model_of(tensors), tmp_path / "model.onnx")
    expected = onnxmap.load(path).stats(threads=1)
    for threads in (2, 3, 7, None):
        before = threads_of_process()
        for io in ("mmap", "read"):
            found = onnxmap.load(path, io=io).stats(threads=threads)
            assert dict(found) == dict(expected)
            assert found.total == expected.total
        assert not threads_left(before)
    one_by_one = {name: onnxmap.load(path).stats([name])[name] for name in expected}
    assert one_by_one == dict(expected)


@pytest.mark.parametrize("type_name", ["UINT8", "FLOAT", "INT2", "FLOAT6E3M2", "COMPLEX128"])
def test_decoded_and_stored_values_give_the_same(type_name: str) -> None:
    """Segments are decoded first, and stored bytes are summed as they are."""
    bits = bits_of(type_name)
    count = 3 * MIB * 8 // max(bits, 8) // 48 * 48
    data = stored(type_name, random_codes(type_name, count, 4))
    whole, _ = in_buffer(type_name, [count], data)
    tensor = onnx.load_from_string(whole.tobytes()).graph.initializer[0]
    pieces = []
    for begin, end in ((0, count // 3), (count // 3, count)):
        piece = onnx.TensorProto.FromString(tensor.SerializeToString())
        piece.raw_data = data[begin * bits // 8 : end * bits // 8]
        piece.segment.begin, piece.segment.end = begin, end
        pieces.append(piece)
    in_segments = onnxmap.loads(model_of(pieces).SerializeToString())
    assert in_segments.stats()["t"] == onnxmap.loads(whole).stats()["t"]


def test_names_are_those_of_arrays() -> None:
    names = ["b", "a.weight", "c.weight", "", "a"]
    model = onnxmap.loads(
        model_of([floats(name, i + 1) for i, name in enumerate(names)]).SerializeToString()
    )
    assert list(model.stats()) == ["b", "a.weight", "c.weight", "a"]
    assert list(model.stats("*.weight")) == ["a.weight", "c.weight"]
    assert list(model.stats(["c.weight", "b", "b"])) == ["c.weight", "b"]
    with pytest.raises(KeyError, match="nothing"):
        model.stats(["b", "nothing"])
    with pytest.raises(ValueError, match="threads"):
        model.stats(threads=0)
    model.close()
    with pytest.raises(ValueError, match="closed"):
        model.stats()


def test_edits_count(tmp_path: Path) -> None:
    path = write(model_of([floats("w", 4), floats("v", 2)]), tmp_path / "model.onnx")
    model = onnxmap.load(path)
    model.initializers["w"] = np.float32([5, np.nan])
    model.initializers["new"] = np.arange(10_000, dtype=np.int32)
    del model.initializers["v"]
    stats = model.stats()
    for name in ("w", "new"):
        assert_stats(stats[name], model.initializers[name].numpy())
    assert list(stats) == ["w", "new"]


def test_missing_files_are_refused(tmp_path: Path) -> None:
    tensor = external("w", [4], {"location": "gone.bin"})
    path = write(model_of([tensor]), tmp_path / "model.onnx")
    with pytest.raises(onnxmap.MissingDataError):
        onnxmap.load(path).stats()


def test_tensors_that_name_the_same_bytes_too_often(tmp_path: Path) -> None:
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(3 * MIB)
    tensors = list(spans([(str(i), 0, 3 * MIB) for i in range(100)], "w.bin"))
    path = write(model_of(tensors), tmp_path / "model.onnx")
    with pytest.raises(onnxmap.LimitError) as caught:
        onnxmap.load(path).stats()
    assert caught.value.code == "limit.overlap"
    assert len(onnxmap.load(path).stats([str(i) for i in range(40)])) == 40


CUT = """
import os, onnxmap
path, cut, io, when = sys.argv[1:]
size = os.path.getsize(cut)

def cut_off(done=0, total=0):
    os.truncate(cut, size // 2)
    os.utime(cut, ns=(0, 0))  # another time than before, even if the clock is coarse

model = onnxmap.load(path, io=io)
model.initializers["t0"].numpy()  # a data file is what it is when it is first opened
error = None
try:
    if when == "before":
        cut_off()
    model.stats(progress=cut_off if when == "during" else False)
except onnxmap.FileChangedError as caught:
    error = caught.code
report(error=error)
"""


def write_floats_in(folder: Path, where: str) -> tuple[Path, Path]:
    """A model of twelve tensors, and the file that contains their values."""
    messages = [floats(f"t{i}", 100_000, i) for i in range(12)]
    path, data = folder / "model.onnx", folder / "w.bin"
    if where == "inline":
        return write(model_of(messages), path), path
    data.write_bytes(b"".join(message.raw_data for message in messages))
    tensors = [
        external(
            f"t{i}",
            [100_000],
            {"location": "w.bin", "offset": str(i * 400_000), "length": "400000"},
        )
        for i in range(12)
    ]
    return write(model_of(tensors), path), data


@pytest.mark.parametrize("when", ["before", "during"])
@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("where", ["inline", "external"])
def test_a_file_that_is_cut(where: str, io: str, when: str, tmp_path: Path) -> None:
    path, data = write_floats_in(tmp_path, where)
    assert facts_from(CUT, str(path), str(data), io, when) == {"error": "file.changed"}


def read_at_any_moment(path: Path, expected: dict[str, onnxmap.TensorStats]) -> str:
    try:
        found = dict(onnxmap.load(path).stats(threads=3))
    except onnxmap.FileChangedError:
        return "changed"
    except (onnxmap.ParseError, onnxmap.ExternalDataError):
        return "short"  # as it was when it was opened
    return "right" if found == expected else "wrong"


@pytest.mark.parametrize("where", ["inline", "external"])
def test_a_file_that_is_cut_at_any_moment(where: str, tmp_path: Path) -> None:
    path, data = write_floats_in(tmp_path, where)
    expected = dict(onnxmap.load(path).stats())
    seen = set()
    with kept_cutting(data, 20 if SANITIZED else 60) as goes_on:
        while goes_on():
            seen.add(read_at_any_moment(path, expected))
    assert seen <= {"right", "changed", "short"}
    assert "changed" in seen


@pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")
@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("where", ["one large tensor", "many small tensors"])
def test_memory_is_bounded(where: str, io: str, tmp_path: Path) -> None:
    """Two threads read 64 MiB. Each has a buffer of 1 MiB, or maps some MiB at a time."""
    nbytes = 64 * MIB
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(nbytes)
    each = nbytes if where == "one large tensor" else 64 << 10
    tensors = list(spans([(str(i), i * each, each) for i in range(nbytes // each)], "w.bin"))
    path = write(model_of(tensors), tmp_path / "model.onnx")
    code = """
    import numpy as np
    import onnxmap
    onnxmap.from_arrays({"w": np.ones(100, np.float32)}).stats(threads=2)
    model = onnxmap.load(sys.argv[1], io=sys.argv[2])
    model.initializers.names()
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = resident_kib()
    zeros = model.stats(threads=2).total.zeros
    report(zeros=zeros, growth=peak_kib() - before)
    """
    facts = facts_from(code, str(path), io)
    assert facts["zeros"] == nbytes
    assert facts["growth"] < 12 * 1024


def test_progress_and_interruption() -> None:
    codes = random_codes("FLOAT", 40 * MIB)
    buffer, _ = in_buffer("FLOAT", codes.shape, codes)
    model = onnxmap.loads(buffer)
    told: list[tuple[int, int]] = []
    model.stats(progress=lambda done, total: told.append((done, total)))
    assert told[0] == (0, codes.nbytes)
    assert told[-1] == (codes.nbytes, codes.nbytes)
    assert told == sorted(told)

    def stop(done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        model.stats(progress=stop)
    before = threads_of_process()

    def work() -> None:
        began = time.monotonic()
        while time.monotonic() < began + 20:
            model.stats(threads=1)

    timer = threading.Timer(0.02, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    timer.join()
    assert not threads_left(before)


def test_other_threads_run_meanwhile() -> None:
    codes = random_codes("FLOAT", 40 * MIB)
    buffer, _ = in_buffer("FLOAT", codes.shape, codes)
    model = onnxmap.loads(buffer)
    ended = threading.Event()
    counted = 0
    worker = threading.Thread(target=lambda: (model.stats(threads=1), ended.set()))
    worker.start()
    while not ended.wait(0.001):
        counted += 1
    worker.join()
    assert counted >= 3


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    pytest.importorskip("aiohttp")
    from support.remote.range_server import serving

    with serving(tmp_path) as server:
        tensors = [floats(f"small.{i}", 25_000, i) for i in range(12)]
        tensors.append(floats("large", 6 * MIB))
        write(model_of(tensors), tmp_path / "m.onnx")
        yield f"{server.url}/m.onnx"


def test_remote_models(served: str, tmp_path: Path) -> None:
    """They are read in larger pieces, and give the same."""
    local = onnxmap.load(tmp_path / "m.onnx").stats()
    assert dict(onnxmap.load(served).stats()) == dict(local)
