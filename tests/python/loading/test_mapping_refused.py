"""The system refuses to map a file: `io="auto"` reads it, and `io="mmap"` raises the reason."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest
from support.models.sample import external, model_of, raw_tensor, tensors_of_every_type, write
from support.processes.subprocesses import facts_from
from support.run_options import SANITIZED
from support.tensors.stored import write_sparse

COUNT = 200_000  # elements: enough for copy-on-write pages, if the system allows them
REFUSED = """
import errno, hashlib
import numpy as np
import onnxmap
from support.faults.seccomp_filter import MMAP, refuse

path, number = sys.argv[1], int(sys.argv[2])

def digest(arrays):
    return hashlib.sha1(b"".join(array.tobytes() for array in arrays)).hexdigest()

def everything(io):
    model = onnxmap.load(path, io=io)
    tensors = list(model.initializers.all())
    ways = [model.views().values(), [t.numpy() for t in tensors], [np.asarray(t) for t in tensors],
            [t.numpy(copy=True) for t in tensors], [t.numpy(writable=True) for t in tensors]]
    large = model.initializers["outside"]
    texts = [model.graph.name, str(model.proto), *model.graph.initializers.names()]
    return model.io, [digest(arrays) for arrays in ways], large[-3:].tolist(), \\
        large.numpy(dtype="f8")[-3:].tolist(), np.from_dlpack(large)[-3:].tolist(), texts

def failure(read):
    try:
        read()
    except OSError as error:
        return error.errno, error.filename
    return "no error"

allowed = everything("mmap")
kept = onnxmap.load(path, io="mmap")
refuse(MMAP, number, argument=4, differs=-1)  # of files; memory is still to be had
automatic, read = everything("auto"), everything("read")
inside = [kept.initializers["inside"].numpy()]
report(
    allowed=allowed[0], automatic=automatic[0], same=allowed[1:] == automatic[1:] == read[1:],
    refused=failure(lambda: onnxmap.load(path, io="mmap")),
    of_data=failure(kept.initializers["outside"].numpy),
    inside=digest(inside) == digest([onnxmap.load(path).views()["inside"]]),
    is_view=onnxmap.load(path).initializers["inside"].is_view,
)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    np.arange(COUNT, dtype=np.float32).tofile(tmp_path / "w.bin")
    tensors = [
        *tensors_of_every_type(),
        raw_tensor("inside", "FLOAT16", [COUNT]),
        external("outside", [COUNT], {"location": "w.bin"}),
    ]
    return write(model_of(tensors), tmp_path / "model.onnx")


@pytest.mark.parametrize("name", ["ENODEV", "EACCES", "ENOMEM", "EAGAIN"])
def test_a_file_that_cannot_be_mapped_is_read(path: Path, name: str) -> None:
    number = getattr(errno, name)
    facts = facts_from(REFUSED, str(path), str(number))
    assert (facts["allowed"], facts["automatic"]) == ("mmap", "read")
    assert facts["same"]
    assert facts["refused"] == [number, str(path)]
    assert facts["of_data"] == [number, str(path.with_name("w.bin"))]
    assert facts["inside"]
    assert not facts["is_view"]


LITTLE_ADDRESS_SPACE = """
import hashlib
import numpy as np
import onnxmap
from pathlib import Path
folder, name = sys.argv[1:]
MIB = 1 << 20

def grow_and_read(io):
    # Only the ends: a copy of the whole would not fit, either.
    model = onnxmap.load(folder + "/" + name, io=io)
    tensor = model.initializers["t"]
    return model.io, tensor[:4].tolist(), tensor[-4:].tolist(), tensor.is_view

def warm_up():
    for io in ("mmap", "read"):
        onnxmap.load(folder + "/small.onnx", io=io).initializers["t"].numpy(copy=True)

warm_up()
allowed = grow_and_read("mmap")
with open("/proc/self/statm") as statm:
    pages = int(statm.read().split()[0])
limit = pages * resource.getpagesize() + 64 * MIB
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
automatic, read = grow_and_read("auto"), grow_and_read("read")
try:
    onnxmap.load(folder + "/" + name, io="mmap").initializers["t"].numpy()
except OSError as error:
    refused = [error.errno, error.filename]
else:
    refused = None
report(automatic=automatic[0], same=allowed[1:3] == automatic[1:3] == read[1:3], last=allowed[2],
       views=[allowed[3], automatic[3], read[3]],       refused=refused)
"""


@pytest.mark.skipif(SANITIZED, reason="ASan's own address space is beyond any limit")
@pytest.mark.parametrize("name", ["inside.onnx", "outside.onnx"])
def test_too_little_address_space(tmp_path: Path, name: str) -> None:
    """64 MiB are left: too little to map the file, and enough to read the requested tensors."""
    count = 100 << 20  # elements: 400 MiB
    edge = np.arange(1, 5, dtype=np.float32).tobytes()
    write_sparse(tmp_path / "small.onnx", "FLOAT", [4], b"")
    begin = write_sparse(tmp_path / "inside.onnx", "FLOAT", [count], edge)
    entries = {"location": "inside.onnx", "offset": str(begin), "length": str(4 * count)}
    write(model_of([external("t", [count], entries)]), tmp_path / "outside.onnx")
    facts = facts_from(LITTLE_ADDRESS_SPACE, str(tmp_path), name)
    assert facts["automatic"] == ("read" if name == "inside.onnx" else "mmap")
    assert facts["same"]
    assert facts["last"] == [1, 2, 3, 4]
    assert facts["views"] == [True, False, False]
    assert facts["refused"] == [errno.ENOMEM, str(tmp_path / "inside.onnx")]
