"""Many models, data files and tensors need few descriptors. If none is left, it is an error."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest
from support import wire_bytes as wire
from support.models.paged import FLOAT, external_entries, model_of, tensor_message
from support.processes.subprocesses import facts_from
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

pytestmark = pytest.mark.skipif(
    SANITIZED, reason="UBSan needs descriptors; descriptor_pool_test does the same in C++"
)

DATA_FILES = 2_000 if EXHAUSTIVE else 500
MODELS = 10_000 if LONG else 1_000 if EXHAUSTIVE else 400
FOLDERS = 300
MOST_HELD = 32  # the most descriptors of files and folders in a process

# Written into each child: a counter, and a limit that a process without our bound would exceed.
COUNTING = """
import gc, os, random
import numpy as np
import onnxmap
folder, io = sys.argv[1:3]
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

def descriptors():
    return len(os.listdir("/proc/self/fd"))

def mappings(name=""):
    with open("/proc/self/maps") as maps:
        return sum(f"{folder}/{name}" in line for line in maps)

before = descriptors()
most = 0
def watched(value):
    global most
    most = max(most, descriptors() - before)
    return value
"""


def tensor(number: int, location: str, offset: int) -> bytes:
    entries = external_entries(location.encode(), offset, 4)
    name = wire.blob(8, f"t{number}".encode())  # if a field is given twice, the last one counts
    return tensor_message(FLOAT, 1, entries) + name


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_many_tensors_in_one_file(tmp_path: Path, io: str) -> None:
    count = 20_000 if EXHAUSTIVE else 4_000
    (tmp_path / "w.bin").write_bytes(np.arange(count, dtype=np.float32).tobytes())
    tensors = [tensor(i, "w.bin", 4 * i) for i in range(count)]
    (tmp_path / "model.onnx").write_bytes(model_of(*tensors))
    facts = facts_from(
        COUNTING
        + """
model = onnxmap.load(folder + "/model.onnx", io=io)
views = watched(model.views())
arrays = [tensor.numpy() for tensor in model.initializers.all()]
right = all(int(array[0]) == i for i, array in enumerate(arrays))
right = right and [int(view[0]) for view in views.values()] == list(range(len(arrays)))
facts = dict(count=len(arrays), right=right, most=watched(most), mapped=mappings("w.bin"))
del model, views, arrays
gc.collect()
report(**facts, left=descriptors() - before, mapped_after=mappings())
""",
        str(tmp_path),
        io,
    )
    assert facts["count"] == count
    assert facts["right"]
    assert facts["most"] <= 3  # the two files, and their folder
    assert facts["mapped"] == (1 if io == "mmap" else 0)
    assert (facts["left"], facts["mapped_after"]) == (0, 0)


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a data file for each tensor, some of them in subfolders."""
    folder = tmp_path_factory.mktemp("sharded")
    tensors = []
    for number in range(DATA_FILES):
        name = f"sub{number % 7}/{number}.bin" if number % 2 else f"{number}.bin"
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(np.float32([number]).tobytes())
        tensors.append(tensor(number, name, 0))
    (folder / "model.onnx").write_bytes(model_of(*tensors))
    return folder


ORDERS = {
    "views": "found = {name: int(view[0]) for name, view in model.views().items()}",
    "in order": "found = {n: int(watched(model.initializers[n].numpy())[0]) for n in names}",
    "kept": """
arrays = {n: watched(model.initializers[n].numpy()) for n in names}
found = {n: int(array[0]) for n, array in arrays.items()}
""",
    "any order, twice": """
tensors = {n: model.initializers[n] for n in names}
random.Random(3).shuffle(names)
found = {n: int(watched(tensors[n].numpy())[0]) for n in [*names, *reversed(names)]}
""",
    "copies": """
tensors = [(n, model.initializers[n]) for n in names]
kept = model.views()
found = {n: int(watched(t.numpy(copy=True))[0]) for n, t in tensors}
assert found == {n: int(t.numpy(writable=True)[0]) for n, t in reversed(tensors)}
""",
}


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("order", ORDERS)
def test_a_data_file_for_each_tensor(sharded: Path, order: str, io: str) -> None:
    facts = facts_from(
        COUNTING
        + """
model = onnxmap.load(folder + "/model.onnx", io=io)
names = model.initializers.names()
"""
        + ORDERS[order]
        + """
right = found == {f"t{i}": i for i in range(len(found))}
facts = dict(count=len(found), right=right, most=watched(most), mapped=mappings("2.bin"))
del model
for name in ("tensors", "arrays", "kept"):
    globals().pop(name, None)
gc.collect()
report(**facts, left=descriptors() - before, mapped_after=mappings())
""",
        str(sharded),
        io,
    )
    assert facts["count"] == DATA_FILES
    assert facts["right"]
    assert facts["most"] <= MOST_HELD
    assert facts["mapped"] <= 1
    assert (facts["left"], facts["mapped_after"]) == (0, 0)


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_files_whose_descriptor_is_no_longer_held(sharded: Path, tmp_path: Path, io: str) -> None:
    """As for held files, writing to a file is a change, and replacing or deleting it is not."""
    count = 200
    tensors = []
    for number in range(count):
        (tmp_path / f"{number}.bin").write_bytes(np.float32([number]).tobytes())
        tensors.append(tensor(number, f"{number}.bin", 0))
    (tmp_path / "model.onnx").write_bytes(model_of(*tensors))
    facts = facts_from(
        COUNTING
        + """
import time
model = onnxmap.load(folder + "/model.onnx", io=io)
kept = model.views()
tensors = list(model.initializers.all())
for tensor in tensors:
    tensor.numpy()

def answer(tensor):
    try:
        return int(tensor.numpy()[0])
    except OSError as error:
        return type(error).__name__

for number in range(len(tensors)):
    path = f"{folder}/{number}.bin"
    if number % 4 == 1:
        with open(path + ".new", "wb") as file:
            file.write(np.float32([-1]).tobytes())
        os.replace(path + ".new", path)
    if number % 4 == 2:
        os.unlink(path)
    if number % 4 == 3:
        os.utime(path, ns=(0, 0))
time.sleep(0.015)
answers = [answer(tensor) for tensor in tensors]
report(answers=answers, kept=[int(view[0]) for view in kept.values()], most=watched(most))
""",
        str(tmp_path),
        io,
    )
    for number, answer in enumerate(facts["answers"]):
        if number % 4 == 3:
            assert answer == "FileChangedError"
        elif io == "mmap" or number % 4 == 0:
            assert answer == number
        else:  # the file is neither mapped nor open, and its bytes are gone
            assert answer in (number, "FileChangedError", "FileNotFoundError")
    assert facts["kept"] == list(range(count))
    assert facts["most"] <= MOST_HELD


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("folders", [1, FOLDERS])
def test_many_models_at_once(tmp_path: Path, folders: int, io: str) -> None:
    models = FOLDERS if folders > 1 else MODELS
    for number in range(models):
        folder = tmp_path / str(number % folders)
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.bin").write_bytes(np.float32([number]).tobytes())
        inside = tensor_message(FLOAT, 1, wire.blob(9, np.float32([-number]).tobytes()))
        (folder / f"{number}.onnx").write_bytes(model_of(inside, tensor(1, f"{number}.bin", 0)))
    facts = facts_from(
        COUNTING
        + """
count, folders = int(sys.argv[3]), int(sys.argv[4])
paths = [f"{folder}/{number % folders}/{number}.onnx" for number in range(count)]
models = [watched(onnxmap.load(path, io=io)) for path in paths]
answers = [
    watched([int(model.initializers[name].numpy()[0]) for name in ("t", "t1")]) for model in models
]
views = [watched(model.views()) for model in reversed(models)]
again = [[int(one["t"][0]), int(one["t1"][0])] for one in reversed(views)]
names = [model.initializers.names() for model in models]
right = answers == again == [[-number, number] for number in range(count)]
most = watched(most)
del models, views
gc.collect()
report(right=right, names=len(set(map(tuple, names))), most=most, left=descriptors() - before,
       mapped=mappings())
""",
        str(tmp_path),
        io,
        str(models),
        str(folders),
    )
    assert facts["right"]
    assert facts["names"] == 1
    assert facts["most"] <= MOST_HELD
    assert (facts["left"], facts["mapped"]) == (0, 0)


@pytest.mark.parametrize("io", ["mmap", "read", "auto"])
def test_no_descriptor_is_left(sharded: Path, io: str) -> None:
    """If no descriptor is left, the system's error is raised. If some are free again, all works."""
    facts = facts_from(
        COUNTING
        + """
import errno
path = folder + "/model.onnx"
kept = onnxmap.load(path, io=io)
first = kept.initializers["t0"].numpy()

def answer(read):
    try:
        return int(read()[0])
    except OSError as error:
        return error.errno

def answers():
    return [
        answer(lambda: kept.initializers["t3"].numpy()),
        answer(lambda: kept.views(["t4"])["t4"]),
        answer(lambda: onnxmap.load(path, io=io).initializers["t5"].numpy()),
        answer(lambda: onnxmap.load(f"{folder}/none.onnx", io=io)),
    ]

kept.initializers["t0"].numpy()
used_up = []
try:
    while True:
        used_up.append(os.dup(0))
except OSError:
    pass
without = answers()
also = int(kept.initializers["t0"].numpy()[0]), kept.initializers.names()[7], int(first[0])
for descriptor in used_up:
    os.close(descriptor)
report(without=without, also=also, after=answers(), used_up=len(used_up))
""",
        str(sharded),
        io,
    )
    assert facts["used_up"] > 200
    for number, answer in zip((3, 4, 5), facts["without"], strict=False):
        # onnxmap may close a descriptor that it holds, to open this file.
        assert answer in (errno.EMFILE, number)
    assert facts["without"][3] in (errno.EMFILE, errno.ENOENT)
    assert facts["also"] == [0, "t7", 0]
    assert facts["after"] == [3, 4, 5, errno.ENOENT]


@pytest.mark.parametrize("io", ["mmap", "read", "auto"])
def test_no_descriptor_from_the_start(sharded: Path, io: str) -> None:
    """If none of our descriptors can be closed, the system's error is raised."""
    facts = facts_from(
        COUNTING
        + """
import errno
path = folder + "/model.onnx"

def answer(read):
    try:
        return int(read()[0])
    except OSError as error:
        return [error.errno, error.filename]

def load_and_read():
    return onnxmap.load(path, io=io).initializers["t5"].numpy()

used_up = []
try:
    while True:
        used_up.append(os.dup(0))
except OSError:
    pass
without = answer(load_and_read)
for descriptor in used_up:
    os.close(descriptor)
report(without=without, after=answer(load_and_read))
""",
        str(sharded),
        io,
    )
    assert facts["without"][0] == errno.EMFILE
    assert Path(facts["without"][1]) in (sharded, sharded / "model.onnx")
    assert facts["after"] == 5
