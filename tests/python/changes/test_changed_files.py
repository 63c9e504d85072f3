"""Files change under a loaded model but keep at least their size. Some changes must be noticed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.models.paged import KINDS, external_entries, model_of, stored, tensor_message
from support.models.sample import external, floats, write
from support.models.sample import model_of as message_of

import onnxmap

COUNT = 3_000
VALUES = np.arange(1, COUNT + 1, dtype=np.float32)
LOOKED_AT_AGAIN_S = 0.015  # a file is checked every 10 ms at most
AN_HOUR_AGO = time.time_ns() - 3_600 * 10**9
Place = tuple[Path, int]  # a file, and the offset of the tensor's bytes in it


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "w.bin").write_bytes(b"head" + VALUES.tobytes())
    entries = {"location": "w.bin", "offset": "4"}
    tensors = [floats("inside", COUNT, 1.0), external("outside", [COUNT], entries)]
    write(message_of(tensors), tmp_path / "model.onnx")
    for name in ("w.bin", "model.onnx"):
        aged(tmp_path / name)
    return tmp_path / "model.onnx"


def aged(path: Path) -> Path:
    """Set a file's time back. Otherwise a change within a tick of the clock has the same time."""
    os.utime(path, ns=(AN_HOUR_AGO, AN_HOUR_AGO))
    return path


def opened(path: Path, name: str, **options: Any) -> tuple[onnxmap.Model, onnxmap.Tensor, Path]:
    """A model, a tensor that was already read, and the file with the tensor's bytes."""
    model = onnxmap.load(path, **options)
    tensor = model.initializers[name]
    assert tensor.numpy().tobytes() == VALUES.tobytes()
    return model, tensor, Path(tensor.file)


def put(file: Path, offset: int, data: bytes) -> None:
    with file.open("r+b") as opened_file:
        opened_file.seek(offset)
        opened_file.write(data)


def overwritten(file: Path, tensor_offset: int) -> None:
    put(file, tensor_offset + 4, np.float32([-1]).tobytes())


def touched(file: Path, _: int) -> None:
    file.touch()


def made_older(file: Path, _: int) -> None:
    os.utime(file, ns=(0, AN_HOUR_AGO - 1))


def appended(file: Path, _: int) -> None:
    """A file that grew has changed, even if its time of modification is the same."""
    with file.open("ab") as opened_file:
        opened_file.write(b"more")
    aged(file)


def written_again(file: Path, _: int) -> None:
    """Written with open(path, "wb"), which first empties the file."""
    file.write_bytes(file.read_bytes())


def written_again_longer(file: Path, _: int) -> None:
    file.write_bytes(file.read_bytes() + b"\xb8\x3e\x05" * 5_000)


CHANGES: dict[str, Callable[[Path, int], None]] = {
    change.__name__: change
    for change in (
        overwritten, touched, made_older, appended, written_again, written_again_longer,
    )
}  # fmt: skip


def shortened(file: Path, _: int) -> None:
    """The file is cut within its last page: the mapping has zeros there, and no fault occurs."""
    os.truncate(file, file.stat().st_size - 1)


NOTICED = {**CHANGES, "shortened": shortened}
ACCESSES: dict[str, Callable[[onnxmap.Model, str], Any]] = {
    "numpy": lambda model, name: model.initializers[name].numpy(),
    "copy": lambda model, name: model.initializers[name].numpy(copy=True),
    "converted": lambda model, name: model.initializers[name].numpy(dtype=np.float16),
    "writable": lambda model, name: model.initializers[name].numpy(writable=True),
    "tobytes": lambda model, name: model.initializers[name].tobytes(),
    "slice": lambda model, name: model.initializers[name][1:3],
    "element": lambda model, name: model.initializers[name][0],
    "memoryview": lambda model, name: memoryview(model.initializers[name].numpy()),
    "views": lambda model, name: model.views([name]),
    "all views": lambda model, name: model.views(),
}


# Strings have no raw bytes.
WAYS_TO_VALUES = [
    (kind, way)
    for kind in KINDS
    for way in ("numpy", "copy", "slice", "tobytes")
    if (kind, way) != ("strings", "tobytes")
]


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("name", ["inside", "outside"])
@pytest.mark.parametrize("change", NOTICED)
def test_a_change_is_noticed(path: Path, change: str, name: str, io: str) -> None:
    model, tensor, file = opened(path, name, io=io)
    old = file.stat()
    NOTICED[change](file, tensor.offset)
    assert (file.stat().st_size, file.stat().st_mtime_ns) != (old.st_size, old.st_mtime_ns)
    time.sleep(LOOKED_AT_AGAIN_S)
    for words, access in ACCESSES.items():
        with pytest.raises(onnxmap.FileChangedError) as caught:
            access(model, name)
        error = caught.value
        assert (error.code, error.path) == ("file.changed", str(file)), words
        assert isinstance(error, OSError)
        for told in (file, old.st_size, file.stat().st_size):
            assert str(told) in str(error)
    with pytest.raises(onnxmap.FileChangedError):
        tensor.numpy()


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("change", NOTICED)
def test_whole_columns_check_at_once(path: Path, change: str, io: str) -> None:
    """They check at once, not only after 10 ms, because their work takes longer than a check."""
    columns: list[Callable[[onnxmap.Graph], Any]] = [
        lambda graph: graph.op_types(), lambda graph: graph.op_counts(),
        lambda graph: graph.node_names(), lambda graph: graph.node_inputs(),
        lambda graph: graph.node_outputs(), lambda graph: graph.initializers.names(),
        lambda graph: graph.initializers.shapes(), lambda graph: graph.initializers.dtypes(),
        lambda graph: graph.initializers.nbytes(), lambda graph: graph.initializers.views(),
    ]  # fmt: skip
    model, tensor, _ = opened(path, "inside", io=io)
    NOTICED[change](path, tensor.offset)
    for column in columns:
        with pytest.raises(onnxmap.FileChangedError):
            column(model.graph)


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_views_check_data_files_at_once(path: Path, io: str) -> None:
    model, tensor, file = opened(path, "outside", io=io)
    overwritten(file, tensor.offset)
    with pytest.raises(onnxmap.FileChangedError):
        model.views()


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize(("kind", "way"), WAYS_TO_VALUES)
def test_values_that_are_read_check_at_once(tmp_path: Path, kind: str, way: str, io: str) -> None:
    """The check after reading is made at once. A view reads nothing, so its check may wait."""
    case = stored(kind)
    file = aged(case.write(tmp_path))
    model = onnxmap.load(tmp_path / "model.onnx", io=io)
    ACCESSES[way](model, "t")
    file.touch()
    if io == "mmap" and case.shows_file and way in ("numpy", "slice"):
        ACCESSES[way](model, "t")
        return
    with pytest.raises(onnxmap.FileChangedError):
        ACCESSES[way](model, "t")


@pytest.mark.parametrize("name", ["inside", "outside"])
def test_views_show_what_is_written_into_the_file(path: Path, name: str) -> None:
    _, tensor, file = opened(path, name, io="mmap")
    view, copy = tensor.numpy(), tensor.numpy(copy=True)
    overwritten(file, tensor.offset)
    assert view[:3].tolist() == [1, -1, 3]
    assert copy[:3].tolist() == [1, 2, 3]


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("name", ["inside", "outside"])
@pytest.mark.parametrize("change", CHANGES)
def test_without_watching_nothing_is_noticed(path: Path, change: str, name: str, io: str) -> None:
    model, tensor, file = opened(path, name, io=io, watch=False)
    CHANGES[change](file, tensor.offset)
    time.sleep(LOOKED_AT_AGAIN_S)
    second = -1 if change == "overwritten" else 2
    for words, access in ACCESSES.items():
        if words != "writable":  # a writable array opens the file again, and compares it
            access(model, name)
    assert tensor.numpy()[:3].tolist() == [1, second, 3]
    assert model.initializers.names() == ["inside", "outside"]


@pytest.mark.parametrize("name", ["inside", "outside"])
def test_a_changed_file_can_be_loaded_again(path: Path, name: str) -> None:
    """The old and the new state are different files, even while the old model lives."""
    model, tensor, file = opened(path, name)
    overwritten(file, tensor.offset)
    time.sleep(LOOKED_AT_AGAIN_S)
    fresh = onnxmap.load(path)
    for _ in range(2):
        assert fresh.initializers[name].numpy()[:3].tolist() == [1, -1, 3]
        assert fresh.views()[name][1] == -1
        with pytest.raises(onnxmap.FileChangedError):
            model.views()
        with pytest.raises(onnxmap.FileChangedError):
            tensor.numpy()


def test_a_change_of_one_file_leaves_the_others(path: Path) -> None:
    model, tensor, file = opened(path, "outside")
    overwritten(file, tensor.offset)
    time.sleep(LOOKED_AT_AGAIN_S)
    assert model.initializers["inside"].numpy().tobytes() == VALUES.tobytes()
    assert model.initializers.names() == ["inside", "outside"]


def renamed(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))


def renamed_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_name("elsewhere"))


def linked(file: Path) -> None:
    os.link(file, file.with_name("second name"))


def mode_changed(file: Path) -> None:
    file.chmod(0o600)


def unreadable(file: Path) -> None:
    file.chmod(0)


def deleted(file: Path) -> None:
    file.unlink()


def read_by_others(file: Path) -> None:
    """Changes only the access time."""
    os.utime(file, ns=(time.time_ns(), file.stat().st_mtime_ns))


def replaced(file: Path) -> None:
    """Replaced by a rename, as careful programs do when they save."""
    new = file.with_name("new")
    new.write_bytes(bytes(file.stat().st_size + 100))
    new.replace(file)


def replaced_by_one_of_equal_size_and_time(file: Path) -> None:
    new = file.with_name("new")
    new.write_bytes(bytes(file.stat().st_size))
    aged(new).replace(file)


NO_CHANGES: dict[str, Callable[[Path], None]] = {
    change.__name__: change
    for change in (
        renamed, renamed_folder, linked, mode_changed, unreadable, deleted, read_by_others,
        replaced,
        replaced_by_one_of_equal_size_and_time,
    )
}  # fmt: skip


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("name", ["inside", "outside"])
@pytest.mark.parametrize("change", NO_CHANGES)
def test_events_that_are_not_a_change(
    tmp_path: Path, path: Path, change: str, name: str, io: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for file_name in ("w.bin", "model.onnx"):
        (tmp_path / file_name).rename(folder / file_name)
    model, tensor, file = opened(folder / path.name, name, io=io)
    view = tensor.numpy()
    NO_CHANGES[change](file)
    for _ in range(2):
        time.sleep(LOOKED_AT_AGAIN_S)
        assert tensor.numpy().tobytes() == VALUES.tobytes()
        assert tensor.numpy(dtype=np.float64).tolist() == VALUES.tolist()
        assert model.initializers[name].tobytes() == VALUES.tobytes()
        assert tensor[1] == 2
        assert view.tobytes() == VALUES.tobytes()
        assert model.views([name])[name].tobytes() == VALUES.tobytes()
        assert model.initializers.names() == ["inside", "outside"]
        assert model.graph.name == "weights"


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_a_fresh_load_sees_the_new_file(path: Path, io: str) -> None:
    model, tensor, file = opened(path, "outside", io=io)
    new = file.with_name("new")
    new.write_bytes(b"head" + (VALUES * 2).tobytes())
    aged(new).replace(file)
    assert onnxmap.load(path, io=io).initializers["outside"].numpy()[2] == 6
    assert tensor.numpy()[2] == 3
    file.unlink()
    with pytest.raises(FileNotFoundError):
        onnxmap.load(path, io=io).initializers["outside"].numpy()
    assert model.initializers["outside"].numpy()[2] == 3
    path.unlink()
    with pytest.raises(FileNotFoundError):
        onnxmap.load(path, io=io)
    assert model.views()["inside"][2] == 3


def test_a_data_file_that_is_written_before_its_first_use(path: Path) -> None:
    """The first state that onnxmap sees counts: it knew nothing about the file before."""
    model = onnxmap.load(path)
    put(path.with_name("w.bin"), 4, np.float32([50]).tobytes())
    assert model.initializers["outside"].numpy()[0] == 50


def test_a_buffer_has_no_file_to_check(path: Path) -> None:
    data = bytearray(path.read_bytes())
    model = onnxmap.loads(data, external_root=path.parent)
    assert model.initializers["inside"].numpy()[1] == 2
    assert model.initializers["outside"].numpy()[1] == 2
    path.touch()
    time.sleep(LOOKED_AT_AGAIN_S)
    assert model.initializers["inside"].numpy()[1] == 2
    path.with_name("w.bin").touch()
    time.sleep(LOOKED_AT_AGAIN_S)
    with pytest.raises(onnxmap.FileChangedError):
        model.initializers["outside"].numpy()


def test_other_messages_are_watched_too(tmp_path: Path) -> None:
    path = tmp_path / "tensor.pb"
    path.write_bytes(floats("t", COUNT).SerializeToString())
    tensor = onnxmap.load_tensor(aged(path))
    assert tensor.numpy()[1] == 1
    path.touch()
    time.sleep(LOOKED_AT_AGAIN_S)
    with pytest.raises(onnxmap.FileChangedError):
        tensor.numpy()


@pytest.mark.parametrize("name", ["inside", "outside"])
def test_a_change_is_noticed_in_a_busy_loop(path: Path, name: str) -> None:
    """A file is checked every 10 ms, however often a tensor is read meanwhile."""
    _, tensor, file = opened(path, name)
    for _ in range(1_000):
        tensor.numpy()
    file.touch()
    changed = time.monotonic()
    noticed = False
    while not noticed:
        begun = time.monotonic()
        try:
            tensor.numpy()
        except onnxmap.FileChangedError:
            noticed = True
        assert noticed or begun - changed < 0.05


def test_many_small_tensors_of_one_file(tmp_path: Path) -> None:
    """The check is for the whole file, so the first tensor that is read notices the change."""
    count = 100
    (tmp_path / "w.bin").write_bytes(np.arange(count, dtype=np.float32).tobytes())
    tensors = [tensor_message(1, 1, external_entries(b"w.bin", 4 * i, 4)) for i in range(count)]
    (tmp_path / "model.onnx").write_bytes(model_of(*tensors))
    aged(tmp_path / "w.bin")
    model = onnxmap.load(tmp_path / "model.onnx")
    everything = list(model.initializers.all())
    assert [int(tensor.numpy()[0]) for tensor in everything] == list(range(count))
    (tmp_path / "w.bin").touch()
    time.sleep(LOOKED_AT_AGAIN_S)
    for tensor in everything:
        with pytest.raises(onnxmap.FileChangedError):
            tensor.numpy()
