"""A file, or a folder above it, is swapped after a model was opened: the impostor is never read.

The impostors have the size of the real files and the bytes that a reference takes samples of.
"""

from __future__ import annotations

import hashlib
import itertools
import multiprocessing
import os
import pickle
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.containment.tree import inside
from support.faults.swapping import swapping
from support.models.sample import external, model_of, write
from support.processes.file_watch import FileWatch
from support.run_options import EXHAUSTIVE, LONG, MEMORY_ONLY

import onnxmap
from onnxmap.interop import dask as interop

COUNT = 100_000
NOT_SAMPLED = 2_500  # between the first two samples of that many floats
VALUES = np.arange(COUNT, dtype=np.float32)
IMPOSTOR = VALUES.copy()
IMPOSTOR[NOT_SAMPLED] = -1.0
FILES = ("model.onnx", "w.bin", "sub/w.bin")
LOCATIONS = {"data": "w.bin", "below": "sub/w.bin", "linked": "link"}
NAMES = ["inline", *LOCATIONS]
POLICIES = ["contained", "strict", "trusted"]
IOS = ["mmap", "read"]
CHECKSUM = hashlib.sha1(VALUES.tobytes()).hexdigest()


def build(folder: Path, values: np.ndarray[Any, Any]) -> Path:
    (folder / "sub").mkdir(parents=True)
    tensors = [
        external(name, [COUNT], {"location": location, "checksum": CHECKSUM})
        for name, location in LOCATIONS.items()
    ]
    inline = inline_tensor(values)
    write(model_of([inline, *tensors]), folder / "model.onnx")
    for name in ("w.bin", "sub/w.bin"):
        (folder / name).write_bytes(values.tobytes())
    (folder / "link").symlink_to("sub/w.bin")
    return folder


def inline_tensor(values: np.ndarray[Any, Any]) -> Any:
    message = external("inline", [COUNT], {})
    message.ClearField("data_location")
    message.raw_data = values.tobytes()
    return message


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The model's folder, `above/model`, and `elsewhere/model` with the same names."""
    build(tmp_path / "elsewhere/model", IMPOSTOR)
    return build(tmp_path / "above/model", VALUES)


def elsewhere(folder: Path) -> Path:
    return folder.parents[1] / "elsewhere/model"


def each_file(folder: Path, put: Callable[[Path, Path], object]) -> None:
    for name in FILES:
        (folder / name).unlink()
        put(folder / name, elsewhere(folder) / name)


def links_out(folder: Path) -> None:
    each_file(folder, lambda path, other: path.symlink_to(other))


def hard_links_out(folder: Path) -> None:
    each_file(folder, lambda path, other: os.link(other, path))


def impostors(folder: Path) -> None:
    each_file(folder, lambda path, other: path.write_bytes(other.read_bytes()))


def nothing(folder: Path) -> None:
    each_file(folder, lambda path, other: None)


def loops(folder: Path) -> None:
    each_file(folder, lambda path, other: path.symlink_to(path))


def pipes(folder: Path) -> None:
    each_file(folder, lambda path, other: os.mkfifo(path))


def folders(folder: Path) -> None:
    each_file(folder, lambda path, other: path.mkdir())


def moved_and_linked_back(folder: Path) -> None:
    outside = folder.parent / "outside"
    (outside / "sub").mkdir(parents=True)
    for name in FILES:
        (folder / name).rename(outside / name)
        (folder / name).symlink_to(outside / name)


def link_for_the_folder(folder: Path) -> None:
    folder.rename(folder.parent / "old")
    folder.symlink_to(elsewhere(folder))


def another_folder(folder: Path) -> None:
    folder.rename(folder.parent / "old")
    elsewhere(folder).rename(folder)


def no_folder(folder: Path) -> None:
    folder.rename(folder.parent / "old")


def link_for_the_folder_above(folder: Path) -> None:
    folder.parent.rename(folder.parents[1] / "old")
    folder.parent.symlink_to(elsewhere(folder).parent)


def link_for_the_folder_below(folder: Path) -> None:
    (folder / "sub").rename(folder / "old")
    (folder / "sub").symlink_to(elsewhere(folder) / "sub")


def another_target(folder: Path) -> None:
    (folder / "link").unlink()
    (folder / "link").symlink_to(elsewhere(folder) / "w.bin")


SWAPS = [
    links_out, hard_links_out, impostors, nothing, loops, pipes, folders, moved_and_linked_back,
    link_for_the_folder, another_folder, no_folder, link_for_the_folder_above,
    link_for_the_folder_below, another_target,
]  # fmt: skip
PUT_LINKS = [
    links_out,
    hard_links_out,
    moved_and_linked_back,
    link_for_the_folder_below,
    another_target,
]


def opened(folder: Path, policy: str = "contained", io: str = "auto") -> list[onnxmap.Tensor]:
    """The tensors. Each was read, so its file is open."""
    model = onnxmap.load(folder / "model.onnx", link_policy=policy, io=io)
    names = [name for name in NAMES if policy != "strict" or name != "linked"]
    tensors = [model.initializers[name] for name in names]
    assert all(is_right(tensor) for tensor in tensors)
    return tensors


def is_right(tensor: onnxmap.Tensor) -> bool:
    return tensor.numpy().tobytes() == VALUES.tobytes()


@pytest.mark.parametrize(
    ("policy", "io"),
    list(itertools.product(POLICIES, IOS))
    if EXHAUSTIVE
    else [("contained", "mmap"), ("strict", "read"), ("trusted", "mmap"), ("contained", "read")],
)
@pytest.mark.parametrize("swap", SWAPS)
def test_a_pickle_has_the_values_of_the_open_file(
    folder: Path, swap: Callable[[Path], None], policy: str, io: str
) -> None:
    tensors = opened(folder, policy, io)
    swap(folder)
    for tensor in tensors:
        copy = pickle.loads(pickle.dumps(tensor))
        assert is_right(copy), tensor.name
        assert is_right(pickle.loads(pickle.dumps(copy))), tensor.name


@pytest.mark.parametrize("swap", [links_out, link_for_the_folder, link_for_the_folder_above])
def test_pickling_opens_nothing_outside(folder: Path, swap: Callable[[Path], None]) -> None:
    tensors = opened(folder)
    outside = [elsewhere(folder) / name for name in FILES]
    swap(folder)
    with closing(FileWatch([*outside, elsewhere(folder)])) as watch:
        assert all(is_right(pickle.loads(pickle.dumps(tensor))) for tensor in tensors)
        assert watch.opened() == set()


def test_a_reference_is_to_the_moved_file(folder: Path) -> None:
    """Its folder has another name now. It is still pickled by reference."""
    tensors = opened(folder)
    folder.rename(folder.parent / "renamed")
    for tensor in tensors:
        data = pickle.dumps(tensor)
        assert len(data) < 1000
        copy = pickle.loads(data)
        assert is_right(copy)
        assert Path(copy.file).is_relative_to(folder.parent / "renamed")


def test_a_reference_does_not_leave_the_folder_with_its_file(folder: Path) -> None:
    """The file is open, but its name is now in a folder that is not the model's."""
    tensors = opened(folder)
    for name in FILES:
        (folder / name).rename(folder.parent / name.replace("/", " "))
    for tensor in tensors:
        data = pickle.dumps(tensor)
        assert len(data) > VALUES.nbytes
        assert is_right(pickle.loads(data))


def outcome(read: Callable[[], Any]) -> str:
    """ "right", the code of a refusal, or what is wrong."""
    try:
        array = np.asarray(read())
    except onnxmap.OnnxMapError as error:
        return error.code
    return "right" if array.tobytes() == VALUES.tobytes() else "another file"


@pytest.mark.parametrize("policy", ["contained", "strict"])
@pytest.mark.parametrize("swap", PUT_LINKS)
def test_a_pickle_from_before_the_swap_opens_nothing_outside(
    folder: Path, swap: Callable[[Path], None], policy: str
) -> None:
    pickled = [pickle.dumps(tensor) for tensor in opened(folder, policy)]
    assert all(len(data) < 1000 for data in pickled)
    swap(folder)
    for data in pickled:
        found = outcome(lambda data=data: pickle.loads(data).numpy())
        assert found in ("right", "ext.unsafe_path", "file.changed", "ext.missing")


@pytest.mark.parametrize("swap", SWAPS)
def test_dask_reads_the_open_file(folder: Path, swap: Callable[[Path], None]) -> None:
    model = onnxmap.load(folder / "model.onnx")
    assert all(is_right(tensor) for tensor in model.initializers.values())
    before = model.to_dask(chunks=30_000)
    swap(folder)
    after = model.to_dask(chunks=30_000)
    interop._opened.cache_clear()
    for name in NAMES:
        for array in (before[name], after[name]):
            assert outcome(lambda array=array: array.compute(scheduler="sync")) == "right"
        sent = pickle.dumps(after[name])
        found = outcome(lambda sent=sent: pickle.loads(sent).compute(scheduler="sync"))
        assert found == "right"

        def there(array: Any = before[name]) -> Any:
            return pickle.loads(pickle.dumps(array)).compute(scheduler="sync")

        assert outcome(there) in ("right", "file.changed")


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        yield processes


# With a mark: the pool of the module would start before the fixture that lets no process start.
@pytest.mark.skipif(MEMORY_ONLY, reason="starts a process: `make asan` runs it")
@pytest.mark.parametrize("swap", [links_out, link_for_the_folder])
def test_processes_of_dask_read_the_open_file(
    folder: Path, swap: Callable[[Path], None], pool: ProcessPoolExecutor
) -> None:
    model = onnxmap.load(folder / "model.onnx")
    assert is_right(model.initializers["data"])
    swap(folder)
    array = model.to_dask("data")["data"]
    assert outcome(lambda: array.compute(scheduler="processes", pool=pool)) == "right"


@pytest.mark.parametrize("swap", SWAPS)
def test_relocated_pickles(folder: Path, swap: Callable[[Path], None]) -> None:
    """`relocate` names a folder of the caller. Its links have the model's policy."""
    pickled = [pickle.dumps(tensor) for tensor in opened(folder)]
    copy = build(folder.parents[1] / "third/copy", VALUES)
    with onnxmap.relocate(copy):
        tensors = [pickle.loads(data) for data in pickled]
    swap(copy)
    for tensor in tensors:
        assert is_right(tensor)
        assert is_right(pickle.loads(pickle.dumps(tensor)))
    if swap not in PUT_LINKS:
        return  # the caller's path is not checked
    with onnxmap.relocate(copy):
        for data in pickled:
            found = outcome(lambda data=data: pickle.loads(data).numpy())
            assert found in ("right", "ext.unsafe_path", "file.changed", "ext.missing")


@pytest.mark.parametrize("io", IOS)
@pytest.mark.parametrize("swap", SWAPS)
def test_verify_reads_the_open_file(folder: Path, swap: Callable[[Path], None], io: str) -> None:
    model = onnxmap.load(folder / "model.onnx", io=io)
    assert is_right(model.initializers["data"])
    assert is_right(model.initializers["below"])
    assert is_right(model.initializers["linked"])
    swap(folder)
    assert set(model.verify().values()) == {CHECKSUM}
    assert model.initializers["data"].verify()


def close_what_is_held(folder: Path) -> None:
    """Make the process open more files than it keeps descriptors for."""
    many = folder / "many"
    many.mkdir(parents=True)
    tensors = []
    for number in range(40):
        (many / f"{number}").write_bytes(bytes(4))
        tensors.append(external(f"t{number}", [1], {"location": f"{number}"}))
    model = onnxmap.load(write(model_of(tensors), many / "model.onnx"))
    assert all(tensor.numpy().tolist() == [0.0] for tensor in model.initializers.values())


@pytest.mark.parametrize("io", IOS)
@pytest.mark.parametrize("policy", POLICIES if EXHAUSTIVE else ["contained"])
@pytest.mark.parametrize("swap", SWAPS)
def test_descriptors_that_are_opened_again(
    folder: Path, swap: Callable[[Path], None], policy: str, io: str
) -> None:
    tensors = opened(folder, policy, io)
    close_what_is_held(folder.parents[1])
    outside = [elsewhere(folder) / name for name in FILES]
    with closing(FileWatch(outside)) as watch:
        swap(folder)
        watch.opened()  # a swap may read what it copies
        found = Counter(
            outcome(read)
            for tensor in tensors
            for read in (
                tensor.numpy,
                lambda tensor=tensor: tensor.numpy(writable=True),
                lambda tensor=tensor: pickle.loads(pickle.dumps(tensor)).numpy(),
            )
        )
        assert watch.opened() == set()
    assert set(found) <= {"right", "file.changed"}
    assert io == "read" or found["right"] > 0


def test_a_folder_that_is_made_later_is_not_the_model_s(tmp_path: Path) -> None:
    """When the model was loaded, that folder could not be checked."""
    build(tmp_path / "elsewhere", VALUES)
    model_bytes = (tmp_path / "elsewhere/model.onnx").read_bytes()
    model = onnxmap.loads(model_bytes, external_root=tmp_path / "later")
    (tmp_path / "later").symlink_to("elsewhere")
    with pytest.raises(FileNotFoundError) as caught:
        model.initializers["data"].numpy()
    assert caught.value.code == "ext.missing"


def test_a_relative_path_is_not_looked_up_again(folder: Path) -> None:
    with inside(folder):
        tensors = [onnxmap.load("model.onnx").initializers[name] for name in NAMES]
        assert all(is_right(tensor) for tensor in tensors)
    with inside(elsewhere(folder)):
        for tensor in tensors:
            assert len(pickle.dumps(tensor)) < 1000
            assert is_right(pickle.loads(pickle.dumps(tensor)))


RACES: dict[str, Callable[[Path, Path], object]] = {
    "link out": lambda path, outside: path.symlink_to(outside),
    "impostor": lambda path, outside: path.write_bytes(IMPOSTOR.tobytes()),
    "loop": lambda path, outside: path.symlink_to(path.name),
    "pipe": lambda path, outside: os.mkfifo(path),
}


@pytest.mark.parametrize("race", RACES)
def test_pickling_while_the_file_is_swapped(folder: Path, race: str) -> None:
    tensor = opened(folder)[NAMES.index("data")]
    other = folder / "other"
    RACES[race](other, elsewhere(folder) / "w.bin")
    found: Counter[str] = Counter()
    with swapping(folder / "w.bin", other):
        until = time.monotonic() + (10.0 if LONG else 0.5 if EXHAUSTIVE else 0.2)
        while time.monotonic() < until:
            data = pickle.dumps(tensor)  # raises nothing
            by = "reference" if len(data) < 1000 else "value"
            found[by] += 1
            if by == "value":
                assert is_right(pickle.loads(data))
            elif race != "impostor":  # the contents of the folder are whose it is
                found[outcome(lambda data=data: pickle.loads(data).numpy())] += 1
    assert found["another file"] == 0, found
    assert found["reference"] > 0, found
