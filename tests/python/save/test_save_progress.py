"""Progress of saves, and saves into file objects."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.models.sample import model_of, write
from support.saves.judges import contents, values_of
from support.saves.models import SAVE_MODELS, weight

import onnxmap


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 MB of weights."""
    folder = tmp_path_factory.mktemp("large")
    return write(model_of([weight(f"w{i}", 1000, 2000, seed=i) for i in range(3)]), folder / "m")


@pytest.mark.parametrize(
    "options", [{}, {"external_data": "w"}, {"checksum": True, "external_data": "w"}]
)
def test_it_counts_the_bytes_of_all_files(
    options: dict[str, Any], large: Path, tmp_path: Path
) -> None:
    calls: list[tuple[int, int]] = []
    model = onnxmap.load(large)
    report = onnxmap.save(
        model, tmp_path / "saved.onnx", sync=False, progress=lambda *call: calls.append(call),
        **options,
    )  # fmt: skip
    sizes = sum(Path(file).stat().st_size for file in report.files)
    assert {total for _, total in calls} == {sizes}
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1] == (sizes, sizes)
    assert len(calls) >= 2


@pytest.mark.parametrize("at", [0, 1, 2])
def test_what_it_raises_reaches_the_caller(
    at: int, large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnxmap._show.progress.SECONDS_BETWEEN", 0)
    saved = tmp_path / "saved.onnx"
    saved.write_bytes(b"old")
    (tmp_path / "w").write_bytes(b"old data")
    calls = 0

    def progress(done: int, total: int) -> None:
        nonlocal calls
        if calls == at:
            raise ZeroDivisionError(done)
        calls += 1

    model = onnxmap.load(large)
    for options in ({}, {"external_data": "w"}):
        calls = 0
        with pytest.raises(ZeroDivisionError):
            onnxmap.save(model, saved, progress=progress, **options)
        assert contents(tmp_path) == {"saved.onnx": b"old", "w": b"old data"}
    model.save(saved, sync=False)
    assert values_of(saved) == values_of(large)


def test_the_last_call_is_before_the_file_has_its_name(large: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved.onnx"
    saved.write_bytes(b"old")

    def progress(done: int, total: int) -> None:
        if done == total:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        onnxmap.load(large).save(saved, progress=progress)
    assert contents(tmp_path) == {"saved.onnx": b"old"}


def test_no_bar_without_a_terminal(
    large: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnxmap.save(onnxmap.load(large), tmp_path / "saved.onnx", progress=True, sync=False)
    assert capsys.readouterr() == ("", "")
    with pytest.raises(TypeError, match="progress must be"):
        onnxmap.save(onnxmap.load(large), tmp_path / "saved.onnx", progress=5)  # type: ignore[arg-type]


class Partial(io.RawIOBase):
    """Takes at most some bytes at once, and cannot seek."""

    def __init__(self, most: int) -> None:
        self.most, self.taken = most, bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        taken = bytes(data[: self.most])
        self.taken += taken
        return len(taken)


class Plain:
    """A file object whose `write` returns nothing, as many wrappers have it."""

    def __init__(self) -> None:
        self.taken = bytearray()

    def write(self, data: bytes) -> None:
        self.taken += data


@pytest.mark.parametrize("name", ["chain", "nested", "unknown_fields", "every_type"])
def test_file_objects(name: str, tmp_path: Path) -> None:
    source = SAVE_MODELS[name](tmp_path)
    model = onnxmap.load(source)
    expected = tmp_path / "expected.onnx"
    for options in ({}, {"external_data": False}, {"alignment": 64}):
        onnxmap.save(model, expected, sync=False, **options)
        data = expected.read_bytes()
        for file in (Partial(1), Partial(7), Partial(1 << 30), Plain()):
            report = onnxmap.save(model, file, **options)
            assert file.taken == data
            assert report.files == []
            assert report.bytes_written + report.bytes_copied == len(data)
        with io.BytesIO(b"before") as stream:
            stream.seek(6)
            onnxmap.save(model, stream, **options)
            assert stream.getvalue() == b"before" + data


def test_files_that_compress(tmp_path: Path) -> None:
    source = SAVE_MODELS["chain"](tmp_path)
    model, data = onnxmap.load(source), source.read_bytes()
    with gzip.open(tmp_path / "m.gz", "wb") as packed:
        onnxmap.save(model, packed)
    assert gzip.decompress((tmp_path / "m.gz").read_bytes()) == data
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive, archive.open("m", "w") as member:
        onnxmap.save(model, member)
    assert zipfile.ZipFile(tmp_path / "m.zip").read("m") == data


def test_a_pipe(large: Path) -> None:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(writer)
        with os.fdopen(reader, "rb") as file:
            os._exit(file.read() != large.read_bytes())
    os.close(reader)
    with os.fdopen(writer, "wb", buffering=0) as file:
        onnxmap.save(onnxmap.load(large), file)
    assert os.waitpid(pid, 0)[1] == 0


class Failing(Plain):
    def write(self, data: bytes) -> None:
        if len(self.taken) > 1 << 20:
            raise ZeroDivisionError
        super().write(data)


class Miscounting(Plain):
    """A file that says it took another number of bytes than it can have taken."""

    def __init__(self, more: int) -> None:
        super().__init__()
        self.more = more

    def write(self, data: Any) -> Any:
        return len(data) + self.more


class Stuck(io.RawIOBase):
    """A file that does not block, and takes nothing now."""

    def __init__(self, answer: int | None) -> None:
        self.answer = answer

    def write(self, data: Any) -> Any:
        return self.answer


def test_file_objects_that_fail(large: Path) -> None:
    model = onnxmap.load(large)
    with pytest.raises(ZeroDivisionError):
        onnxmap.save(model, Failing())
    for answer in (None, 0):
        with pytest.raises(BlockingIOError):
            onnxmap.save(model, Stuck(answer))
    for more in (1, -(1 << 40)):
        with pytest.raises(OSError, match="returned"):
            onnxmap.save(model, Miscounting(more))
    with pytest.raises(TypeError):
        onnxmap.save(model, io.StringIO())
    stream = io.BytesIO()
    stream.close()
    with pytest.raises(ValueError, match="closed"):
        onnxmap.save(model, stream)
    assert len(model.arrays()) == 3


def test_progress_of_a_file_object(large: Path) -> None:
    calls: list[tuple[int, int]] = []
    stream = io.BytesIO()
    onnxmap.save(onnxmap.load(large), stream, progress=lambda *call: calls.append(call))
    assert calls[-1] == (large.stat().st_size, large.stat().st_size)
    with pytest.raises(KeyboardInterrupt):
        onnxmap.save(onnxmap.load(large), io.BytesIO(), progress=interrupt)


def interrupt(done: int, total: int) -> None:
    raise KeyboardInterrupt


def test_a_file_object_has_no_data_file(tmp_path: Path) -> None:
    model = onnxmap.load(SAVE_MODELS["chain_outside"](tmp_path))
    with pytest.raises(ValueError, match="no folder"):
        onnxmap.save(model, io.BytesIO(), external_data="w.data")
    stream = io.BytesIO()
    onnxmap.save(model, stream)
    assert stream.getvalue() == onnxmap.dumps(model)
    model.initializers["w1"] = np.zeros((20, 20), np.float32)
    with pytest.raises(ValueError, match="pass a path"):
        onnxmap.save(model, io.BytesIO())
    stream = io.BytesIO()
    onnxmap.save(model, stream, external_data=False)
    saved = onnxmap.loads(stream.getvalue())
    assert all(
        (saved.initializers[name].numpy() == tensor.numpy()).all()
        for name, tensor in model.initializers.items()
    )


def test_a_file_object_gets_a_model_with_a_side_file(tmp_path: Path) -> None:
    """It has no name, so the side file of the model is not taken for that of another one."""
    path = SAVE_MODELS["chain_outside"](tmp_path)
    model = onnxmap.load(path)
    model.initializers["w1"] = np.zeros((20, 20), np.float32)
    report = model.save(path, sync=False)
    side = tmp_path / "model.onnx.edited.data"
    assert report.files == [str(side), str(path)]
    model = onnxmap.load(path)
    stream = io.BytesIO()
    report = onnxmap.save(model, stream)
    assert stream.getvalue() == path.read_bytes()
    assert report.bytes_referenced == 3 * 1600
    assert report.unused == {}
    model.initializers["w1"] = np.ones((20, 20), np.float32)
    with pytest.raises(ValueError, match="pass a path"):
        onnxmap.save(model, io.BytesIO())
