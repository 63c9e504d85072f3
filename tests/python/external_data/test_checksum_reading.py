"""Reading files for their checksums: changes, progress, Ctrl-C, memory, and the open file."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from support.models.checksums import DATA, MIB, WRONG, Hashed, data_file, declared, load
from support.models.sample import floats, model_of, write
from support.processes.subprocesses import facts_from
from support.run_options import SANITIZED

import onnxmap
from onnxmap import _core
from onnxmap._read import checksums
from onnxmap._show.progress import Progress


@pytest.fixture(params=["mmap", "read"])
def io(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestFilesThatChange:
    """They change between opening and reading, or after the first of three mebibytes was read."""

    SIZE = 3 * MIB

    @pytest.fixture(params=["before reading", "while reading"])
    def verify(
        self, io: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> Callable[..., bool]:
        """Verify a good file that changes during the reading."""

        def run(folder: Path, change: Callable[[Path], object]) -> bool:
            path = folder / "w.bin"
            digest = data_file(path, bytes(self.SIZE))
            model = load(folder, declared("w", "w.bin", digest), io=io)
            left = [change]

            def change_once(*_: object) -> None:
                if left:
                    left.pop()(path)

            if request.param == "while reading":
                monkeypatch.setattr("hashlib.sha1", Hashed(change_once))
                found = model.verify()
            else:  # the first call comes as soon as the files are open
                found = model.verify(progress=change_once)
            assert not left
            return found == {str(path): digest}

        return run

    @pytest.mark.parametrize("size", [0, 100, MIB, SIZE - 1, SIZE + 1])
    def test_a_file_of_another_size(
        self, tmp_path: Path, verify: Callable[..., bool], size: int
    ) -> None:
        with pytest.raises(onnxmap.FileChangedError) as caught:
            verify(tmp_path, lambda path: os.truncate(path, size))
        assert caught.value.code == "file.changed"
        assert caught.value.path == str(tmp_path / "w.bin")
        assert str(self.SIZE) in str(caught.value)
        assert str(size) in str(caught.value)

    def test_written_to_in_place(self, tmp_path: Path, verify: Callable[..., bool]) -> None:
        def write_to(path: Path) -> None:
            with path.open("r+b") as file:
                file.write(b"changed")

        with pytest.raises(onnxmap.FileChangedError) as caught:
            verify(tmp_path, write_to)
        assert caught.value.path == str(tmp_path / "w.bin")

    def test_a_deleted_or_replaced_file_is_not_a_change(
        self, tmp_path: Path, verify: Callable[..., bool]
    ) -> None:
        def replace(path: Path) -> None:
            (path.parent / "new.bin").write_bytes(b"another")
            (path.parent / "new.bin").replace(path)

        assert verify(tmp_path, Path.unlink)
        assert verify(tmp_path, replace)
        assert (tmp_path / "w.bin").read_bytes() == b"another"

    def test_another_folder_of_its_name_is_not_a_change(
        self, tmp_path: Path, verify: Callable[..., bool]
    ) -> None:
        folder = tmp_path / "model"
        folder.mkdir()

        def replace(_: Path) -> None:
            folder.rename(tmp_path / "moved")
            folder.mkdir()
            (folder / "w.bin").write_bytes(b"another")

        assert verify(folder, replace)
        shutil.rmtree(tmp_path / "moved")


def test_a_file_that_changed_earlier_is_not_read(
    tmp_path: Path, io: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = Hashed()
    monkeypatch.setattr("hashlib.sha1", hashed)
    data_file(tmp_path / "w.bin")
    model = load(tmp_path, declared("w", "w.bin", WRONG), io=io)
    assert model.initializers["w"].numpy().tolist() == [0.0]  # opened, descriptor held
    (tmp_path / "w.bin").write_bytes(DATA[::-1])
    with pytest.raises(onnxmap.FileChangedError):
        model.verify()
    assert hashed.files == 0


def test_files_are_read_as_they_are_without_watching(tmp_path: Path, io: str) -> None:
    data_file(tmp_path / "w.bin")
    later = hashlib.sha1(DATA[::-1]).hexdigest()
    model = load(tmp_path, declared("w", "w.bin", later), io=io, watch=False)
    assert model.initializers["w"].numpy().tolist() == [0.0]
    (tmp_path / "w.bin").write_bytes(DATA[::-1])
    assert model.verify() == {str(tmp_path / "w.bin"): later}
    assert model.initializers["w"].verify()
    os.truncate(tmp_path / "w.bin", 8)  # too short: this is still reported as a change
    for verify in (model.verify, model.initializers["w"].verify):
        with pytest.raises(onnxmap.FileChangedError):
            verify()


class TestProgress:
    def test_bytes_of_the_files_to_be_read(self, tmp_path: Path) -> None:
        sizes = [0, 5 * MIB + 3, 70_000, 3 * MIB]
        digests = [data_file(tmp_path / f"{i}.bin", bytes(size)) for i, size in enumerate(sizes)]
        tensors = [declared(str(i), f"{i}.bin", digests[i]) for i in range(4)]
        data_file(tmp_path / "other.bin")
        tensors.append(declared("other", "other.bin", None))
        calls: list[tuple[int, int]] = []
        callers = set()

        def note(done: int, total: int) -> None:
            calls.append((done, total))
            callers.add(threading.get_ident())

        load(tmp_path, *tensors).verify(progress=note)
        assert calls[0] == (0, sum(sizes))
        assert calls[-1] == (sum(sizes), sum(sizes))
        assert calls == sorted(set(calls))
        assert callers == {threading.get_ident()}

    def test_the_bytes_of_all_threads_are_counted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The end of the work, which always shows the total, would hide a lost number."""
        sizes = [MIB + i for i in range(6)]
        digests = [data_file(tmp_path / f"{i}.bin", bytes(size)) for i, size in enumerate(sizes)]
        model = load(tmp_path, *(declared(str(i), f"{i}.bin", digests[i]) for i in range(6)))
        files = checksums.data_files(model.initializers.all(), declared_only=True)
        shown: list[int] = []

        class Bar(Progress):
            def show(self, done: int, _total: int = 0) -> None:
                shown.append(done)

            def __exit__(self, *failure: object) -> None:
                pass  # which shows the total

        monkeypatch.setattr(checksums, "Progress", Bar)
        onnxmap.verify_files(files)
        assert [file.digest for file in files] == digests
        assert shown[-1] == sum(sizes)

    def test_an_error_of_the_callable_ends_the_work(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hashed = Hashed()
        monkeypatch.setattr("hashlib.sha1", hashed)
        data_file(tmp_path / "w.bin")
        os.truncate(tmp_path / "w.bin", 8 << 30)  # sparse
        before = threading.active_count()

        def enough(done: int, _: int) -> None:
            if done:
                raise StopAsyncIteration

        with pytest.raises(StopAsyncIteration):
            load(tmp_path, declared("w", "w.bin", WRONG)).verify(progress=enough)
        assert hashed.nbytes < 4 << 30
        assert threading.active_count() == before

    def test_other_values_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(TypeError, match="progress"):
            load(tmp_path, floats("w", 1)).verify(progress="yes")


def test_ctrl_c_stops_the_reading(tmp_path: Path) -> None:
    """To read everything would take an hour, and the process may take two minutes."""
    tensors = []
    for name in "abcdef":
        data_file(tmp_path / name)
        os.truncate(tmp_path / name, 1 << 40)
        tensors.append(declared(name, name, WRONG))
    path = write(model_of(tensors), tmp_path / "model.onnx")
    facts = facts_from(
        """
        import os, signal, threading
        import onnxmap

        # A shell's background jobs ignore the signal, and so would this one of theirs.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        model = onnxmap.load(sys.argv[1])
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            model.verify()
        except KeyboardInterrupt:
            report(threads=threading.active_count())
        """,
        str(path),
    )
    assert facts == {"threads": 1}


def test_more_files_than_descriptors(tmp_path: Path) -> None:
    names = [f"w{i}.bin" for i in range(200)]
    tensors = [declared(n, n, data_file(tmp_path / n, n.encode() * 50)) for n in names]
    path = write(model_of(tensors), tmp_path / "model.onnx")
    facts = facts_from(
        """
        import onnxmap
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        report(files=len(onnxmap.load(sys.argv[1]).verify()))
        """,
        str(path),
    )
    assert facts["files"] == len(names)


@pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")
def test_memory_stays_as_it_is(tmp_path: Path, io: str) -> None:
    """There is no copy of the file and no mapped page, only a few pieces of a mebibyte."""
    size = 64 * MIB
    (tmp_path / "w.bin").touch()
    os.truncate(tmp_path / "w.bin", size)
    zeros = hashlib.sha1(bytes(size)).hexdigest()
    path = write(model_of([declared("w", "w.bin", zeros)]), tmp_path / "model.onnx")
    facts = facts_from(
        """
        import onnxmap
        model = onnxmap.load(sys.argv[1], io=sys.argv[2])
        onnxmap.load(sys.argv[3]).verify()  # imports what the measured call needs
        with open("/proc/self/clear_refs", "w") as peak:
            peak.write("5")
        before = resident_kib()
        assert len(model.verify()) == 1
        report(growth=peak_kib() - before)
        """,
        str(path),
        io,
        str(write(model_of([declared("w", "small.bin", None)]), tmp_path / "small.onnx")),
    )
    assert facts["growth"] < 8 * 1024


class TestTheOpenedFile:
    @pytest.fixture
    def opened(self, tmp_path: Path, io: str) -> _core.ExternalFile:
        data_file(tmp_path / "w.bin")
        model = load(tmp_path, declared("w", "w.bin", None, offset="8"), io=io)
        file = _core.external_file(model.initializers["w"])
        assert file is not None
        return file

    def test_the_attributes_of_the_file(self, opened: _core.ExternalFile, tmp_path: Path) -> None:
        status = (tmp_path / "w.bin").stat()
        assert opened.path == str(tmp_path / "w.bin")
        assert opened.size == len(DATA)
        assert opened.identity == (status.st_dev, status.st_ino)

    def test_a_tensor_that_is_not_external_has_none(self, tmp_path: Path) -> None:
        assert _core.external_file(load(tmp_path, floats("w", 1)).initializers["w"]) is None

    def test_reading_parts(self, opened: _core.ExternalFile) -> None:
        for offset, count in ((0, len(DATA)), (0, 0), (5, 9), (len(DATA), 0), (len(DATA) - 1, 1)):
            buffer = bytearray(count)
            opened.readinto(offset, buffer)
            assert bytes(buffer) == DATA[offset : offset + count]

    @pytest.mark.parametrize(("offset", "count"), [(0, 65), (64, 1), (65, 0), ((1 << 64) - 1, 2)])
    def test_reading_past_the_end(
        self, opened: _core.ExternalFile, offset: int, count: int
    ) -> None:
        with pytest.raises(ValueError, match="end"):
            opened.readinto(offset, bytearray(count))

    @pytest.mark.parametrize("buffer", [b"1234", memoryview(bytearray(8))[::2], "text"])
    def test_buffers_that_cannot_be_filled(
        self, opened: _core.ExternalFile, buffer: object
    ) -> None:
        with pytest.raises((BufferError, TypeError)):
            opened.readinto(0, buffer)

    def test_the_file_notices_changes(self, opened: _core.ExternalFile, tmp_path: Path) -> None:
        opened.check_unchanged()
        os.truncate(tmp_path / "w.bin", 8)
        with pytest.raises(onnxmap.FileChangedError):
            opened.check_unchanged()
        with pytest.raises(onnxmap.FileChangedError):
            opened.readinto(8, bytearray(1))
        opened.readinto(0, bytearray(8))  # the bytes that are still there

    def test_each_model_has_its_own_name_for_the_file(self, tmp_path: Path) -> None:
        """The process maps the file once, although two models name it in different ways."""
        data_file(tmp_path / "real" / "w.bin")
        (tmp_path / "alias").symlink_to("real")
        write(model_of([declared("w", "w.bin", None)]), tmp_path / "real" / "model.onnx")
        folders = [tmp_path / "real", tmp_path / "alias"]
        models = [onnxmap.load(folder / "model.onnx") for folder in folders]
        files = [_core.external_file(model.initializers["w"]) for model in models]
        assert [file and file.path for file in files] == [str(f / "w.bin") for f in folders]
