"""A pickled reference whose file changed, moved or is gone, and references that were forged."""

from __future__ import annotations

import gc
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.models.sample import external, floats, model_of, write
from support.processes.subprocesses import facts_from
from support.tensors.stored import write_sparse

import onnxmap

COUNT, OFFSET = 1009, 7919  # numbers that occur nowhere else in a pickle
VALUES = np.arange(COUNT, dtype=np.float32)
Edit = Callable[[bytearray], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model with a tensor inside and one in `w.bin`, in a folder that a test can move."""
    root = tmp_path / "models"
    (root / "sub").mkdir(parents=True)
    for name in ("w.bin", "sub/w.bin"):
        (root / name).write_bytes(bytes(OFFSET) + VALUES.tobytes() + b"the end")
    tensors = [floats("inside", COUNT)]
    for name, location in (("outside", "w.bin"), ("below", "sub/w.bin")):
        entries = {"location": location, "offset": str(OFFSET), "length": str(4 * COUNT)}
        tensors.append(external(name, [COUNT], entries))
    write(model_of(tensors), root / "model.onnx")
    return root


def tensor_of(folder: Path, name: str, **arguments: Any) -> onnxmap.Tensor:
    return onnxmap.load(folder / "model.onnx", **arguments).initializers[name]


NAMES = ["inside", "outside", "below"]
STARTS = [0, 2, 4 * (COUNT // 2), 4 * COUNT - 1]


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("position", STARTS)
def test_one_byte_of_the_tensor_changed(folder: Path, name: str, position: int, io: str) -> None:
    tensor = tensor_of(folder, name, io=io)
    data, path, offset = pickle.dumps(tensor), Path(tensor.file), tensor.offset
    with path.open("r+b") as file:
        file.seek(offset + position)
        byte = file.read(1)[0]
        file.seek(offset + position)
        file.write(bytes([byte ^ 1]))
    with pytest.raises(onnxmap.FileChangedError) as caught:
        pickle.loads(data)
    assert caught.value.code == "file.changed"
    assert caught.value.path == str(path)
    assert str(path) in str(caught.value)


def shortened(data: bytearray) -> None:
    del data[-1:]


def cut_within_the_tensor(data: bytearray) -> None:
    del data[OFFSET // 4 :]


def longer(data: bytearray) -> None:
    data += b"x"


def emptied(data: bytearray) -> None:
    data.clear()


@pytest.mark.parametrize("edit", [shortened, cut_within_the_tensor, longer, emptied])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("in_place", [True, False])
def test_a_file_of_another_size(folder: Path, name: str, edit: Edit, in_place: bool) -> None:
    tensor = tensor_of(folder, name, io="read")
    data, path = pickle.dumps(tensor), Path(tensor.file)
    contents = bytearray(path.read_bytes())
    edit(contents)
    if not in_place:
        path.unlink()
    path.write_bytes(contents)
    with pytest.raises(onnxmap.FileChangedError) as caught:
        pickle.loads(data)
    assert caught.value.path == str(path)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bytes_in_a_new_file_are_the_same_tensor(folder: Path, name: str) -> None:
    tensor = tensor_of(folder, name)
    data, path = pickle.dumps(tensor), Path(tensor.file)
    contents = path.read_bytes()
    path.unlink()
    path.write_bytes(contents)
    os.utime(path, (1, 1))
    assert pickle.loads(data).numpy().tobytes() == VALUES.tobytes()


def test_a_change_elsewhere_in_the_file_does_not_matter(folder: Path) -> None:
    data = pickle.dumps(tensor_of(folder, "outside"))
    with (folder / "w.bin").open("r+b") as file:
        file.write(b"changed")
    assert pickle.loads(data).numpy().tobytes() == VALUES.tobytes()


@pytest.mark.parametrize("position", [0, 100, -1, -100])
def test_a_large_tensor_changed_at_an_end(tmp_path: Path, position: int) -> None:
    path = tmp_path / "large.onnx"
    begin = write_sparse(path, "FLOAT", [450_000_000], b"edge" * 64)
    data = pickle.dumps(onnxmap.load(path).initializers["t"])
    assert pickle.loads(data)[-1].tobytes() == b"edge"
    with path.open("r+b") as file:
        file.seek(begin + position if position >= 0 else begin + 1_800_000_000 + position)
        file.write(b"X")
    with pytest.raises(onnxmap.FileChangedError):
        pickle.loads(data)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_gone(folder: Path, name: str) -> None:
    tensor = tensor_of(folder, name)
    data, path = pickle.dumps(tensor), tensor.file
    Path(path).unlink()
    with pytest.raises(FileNotFoundError) as caught:
        pickle.loads(data)
    assert isinstance(caught.value, onnxmap.ExternalDataError)
    assert path in str(caught.value)
    assert tensor.numpy().tobytes() == VALUES.tobytes()  # its holder still reads the file


@pytest.mark.parametrize("name", NAMES)
def test_something_else_has_the_name(folder: Path, name: str) -> None:
    tensor = tensor_of(folder, name)
    data, path = pickle.dumps(tensor), Path(tensor.file)
    path.unlink()
    path.mkdir()
    with pytest.raises((onnxmap.OnnxMapError, OSError)):
        pickle.loads(data)
    path.rmdir()
    os.mkfifo(path)  # opening it for reading would wait for a writer
    code = """
    import pickle
    import onnxmap
    try:
        pickle.loads(bytes.fromhex(sys.argv[1]))
    except (onnxmap.OnnxMapError, OSError) as error:
        report(refused=type(error).__name__)
    """
    assert facts_from(code, data.hex())["refused"]


def test_a_link_that_leads_outside_is_refused_as_on_loading(folder: Path) -> None:
    data = pickle.dumps(tensor_of(folder, "outside"))
    elsewhere = folder.parent / "elsewhere.bin"
    (folder / "w.bin").rename(elsewhere)
    (folder / "w.bin").symlink_to(elsewhere)
    with pytest.raises(onnxmap.UnsafePathError):
        pickle.loads(data)


@pytest.mark.parametrize("name", NAMES)
def test_relocate(folder: Path, name: str, tmp_path: Path) -> None:
    data = pickle.dumps(tensor_of(folder, name))
    file = Path(tensor_of(folder, name).file).relative_to(folder)
    moved = tmp_path / "moved"
    shutil.move(folder, moved)
    with pytest.raises(FileNotFoundError):
        pickle.loads(data)
    for root in (moved, str(moved)):
        with onnxmap.relocate(root):
            tensor = pickle.loads(data)
        assert tensor.file == str(moved / file)
        assert tensor.numpy().tobytes() == VALUES.tobytes()
    with pytest.raises(FileNotFoundError):
        pickle.loads(data)
    assert pickle.loads(pickle.dumps(tensor)).file == str(moved / file)  # it now has its new place


def test_relocate_checks_the_file_that_it_finds(folder: Path, tmp_path: Path) -> None:
    data = pickle.dumps(tensor_of(folder, "outside"))
    other = tmp_path / "other"
    other.mkdir()
    with onnxmap.relocate(other), pytest.raises(FileNotFoundError):
        pickle.loads(data)
    (other / "w.bin").write_bytes(bytes((folder / "w.bin").stat().st_size))
    with onnxmap.relocate(other), pytest.raises(onnxmap.FileChangedError):
        pickle.loads(data)
    (other / "w.bin").unlink()
    (other / "w.bin").symlink_to(folder / "w.bin")
    with onnxmap.relocate(other), pytest.raises(onnxmap.UnsafePathError):
        pickle.loads(data)


def test_relocate_ends_with_its_block(folder: Path, tmp_path: Path) -> None:
    data = pickle.dumps(tensor_of(folder, "outside"))
    copies = [Path(shutil.copytree(folder, tmp_path / name)) for name in ("one", "two")]
    with onnxmap.relocate(copies[0]):
        with onnxmap.relocate(copies[1]):
            assert pickle.loads(data).file == str(copies[1] / "w.bin")
        assert pickle.loads(data).file == str(copies[0] / "w.bin")
        with pytest.raises(KeyError), onnxmap.relocate(copies[1]):
            raise KeyError
        assert pickle.loads(data).file == str(copies[0] / "w.bin")
    assert pickle.loads(data).file == str(folder / "w.bin")


def test_many_tensors_of_one_file_share_a_mapping(tmp_path: Path) -> None:
    entries = [{"location": "w.bin", "offset": str(8 * index)} for index in range(300)]
    tensors = [
        external(f"t{index}", [2], {**entry, "length": "8"}) for index, entry in enumerate(entries)
    ]
    np.arange(600, dtype=np.float32).tofile(tmp_path / "w.bin")
    path = write(model_of([*tensors, floats("inside", 5)]), tmp_path / "model.onnx")
    pickled = [pickle.dumps(tensor) for tensor in onnxmap.load(path).initializers.values()]
    gc.collect()

    def state() -> tuple[int, int]:
        mapped = Path("/proc/self/maps").read_text().count(str(tmp_path))
        return mapped, len(list(Path("/proc/self/fd").iterdir()))

    before = state()
    assert before[0] == 0
    found = [pickle.loads(data) for data in pickled]
    arrays = [tensor.numpy() for tensor in found]
    assert [array.tolist() for array in arrays[:300]] == [
        [2.0 * i, 2.0 * i + 1] for i in range(300)
    ]
    assert arrays[300].tolist() == [0, 1, 2, 3, 4]
    assert state()[0] == 2  # the data file and the model
    assert state()[1] < before[1] + 10  # not one for each of 301
    del found, arrays
    gc.collect()
    assert state() == before


def replaced(value: Any, old: str, new: str) -> Any:
    """`value` with `old` replaced by `new`: within text and bytes, or a whole number."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, bytes):
        return value.replace(old.encode(), new.encode())
    if isinstance(value, int) and not isinstance(value, bool):
        return int(new) if str(value) == old else value
    if isinstance(value, (tuple, list)):
        return type(value)(replaced(part, old, new) for part in value)
    if isinstance(value, dict):
        return {key: replaced(part, old, new) for key, part in value.items()}
    return value


def forged(tensor: onnxmap.Tensor, old: str, new: str) -> bytes:
    """The pickled tensor with `old` replaced by `new`, of the same length, in its reference."""
    assert len(old) == len(new)
    reduced = tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    assert isinstance(reduced, tuple)
    function, *state = reduced
    changed = replaced(state, old, new)
    assert changed != state, f"{old} is not in {state}"

    class Forged:
        def __reduce__(self) -> tuple[Any, ...]:
            return function, *changed

    return pickle.dumps(Forged())


@pytest.mark.parametrize("name", ["outside", "inside"])
def test_a_forged_location_does_not_leave_the_folder(folder: Path, name: str) -> None:
    """Even if the bytes there are the right ones."""
    file = "w.bin" if name == "outside" else "model.onnx"
    other = "../xx" if name == "outside" else "../xx.onnx"
    shutil.copy(folder / file, folder / other)
    with pytest.raises(onnxmap.UnsafePathError):
        pickle.loads(forged(tensor_of(folder, name), file, other))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (str(OFFSET), "-919"), (str(OFFSET), "9999"), (str(OFFSET), "7918"), (str(OFFSET), "0000"),
        (str(4 * COUNT), "4037"), (str(4 * COUNT), "9999"), (str(4 * COUNT), "-036"),
    ],
)  # fmt: skip
def test_a_forged_range_is_refused(folder: Path, old: str, new: str) -> None:
    tensor = tensor_of(folder, "outside")
    assert str(4 * COUNT) == "4036"
    with pytest.raises(onnxmap.OnnxMapError):
        pickle.loads(forged(tensor, old, new))


@pytest.mark.parametrize("change", [-1, 1, -100, 100])
def test_a_forged_size_is_refused(folder: Path, change: int) -> None:
    size = (folder / "w.bin").stat().st_size
    with pytest.raises(onnxmap.FileChangedError):
        pickle.loads(forged(tensor_of(folder, "outside"), str(size), str(size + change)))


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def test_any_forgery_is_refused_or_harmless(folder: Path) -> None:
    """Each part of the reference is changed in turn: an ordinary error, or the right bytes."""
    for name in NAMES:
        function, *state = tensor_of(folder, name).__reduce_ex__(4)
        refused = 0
        for target in leaves(state):
            for junk in (None, "", "x" * 5000, "\0", b"", b"\xff" * 40, -1, 1 << 64, [], {}, 1.5):

                def swapped(value: Any, target: Any = target, junk: Any = junk) -> Any:
                    if value is target:
                        return junk
                    if isinstance(value, (tuple, list)):
                        return type(value)(swapped(part) for part in value)
                    if isinstance(value, dict):
                        return {key: swapped(part) for key, part in value.items()}
                    return value

                try:
                    tensor = function(*swapped(state)[0])
                    array = tensor.numpy()
                except (onnxmap.OnnxMapError, OSError, TypeError, ValueError, OverflowError):
                    refused += 1
                else:
                    assert array.tobytes() == VALUES.tobytes(), (target, junk)
        assert refused > 10
