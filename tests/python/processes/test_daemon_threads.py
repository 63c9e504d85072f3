"""The interpreter ends while daemon threads are in the core: no crash, and no output.

Before 3.14, CPython ends a thread that then asks for the interpreter lock: it unwinds the thread's
stack. In C++ that ended the process with "terminate called without an active exception".
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import wire_bytes as wire
from support.processes.ending_in_threads import calls
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

import onnxmap

SCRIPT = Path(__file__).parents[1] / "support/processes/ending_in_threads.py"
TOGETHER = 100 if LONG else 4 if EXHAUSTIVE or SANITIZED else 1  # processes with all calls
ALONE = 10 if LONG else 0  # processes with one call, for each call

FLOAT, INT64, UINT4 = 1, 7, 21


def external(name: str, location: str, count: int) -> bytes:
    entry = wire.blob(13, wire.blob(1, b"location") + wire.blob(2, location.encode()))
    kind = wire.scalar(1, count) + wire.scalar(2, FLOAT) + wire.scalar(14, 1)
    return kind + wire.blob(8, name.encode()) + entry


def inline(name: str, shape: list[int], kind: int, field: int, payload: bytes) -> bytes:
    dims = b"".join(wire.scalar(1, dim) for dim in shape)
    return dims + wire.scalar(2, kind) + wire.blob(8, name.encode()) + wire.blob(field, payload)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with tensors of every kind. Each is so large that reading it takes a while."""
    folder = tmp_path_factory.mktemp("ending")
    count = 100_000
    floats = np.arange(count, dtype=np.float32).tobytes()
    (folder / "w.bin").write_bytes(floats)
    tensor = inline("w0", [count], FLOAT, 9, floats)
    initializers = [
        tensor,
        inline("w1", [count], FLOAT, 9, floats),
        inline("typed", [count], INT64, 7, bytes(count)),
        inline("packed", [count], UINT4, 9, bytes(count // 2)),
        inline("one", [1], FLOAT, 9, bytes(4)),
        external("outside", "w.bin", count),
    ]
    values = inline("sparse", [2], FLOAT, 9, bytes(8))
    indices = inline("", [2], INT64, 9, np.array([1, 5], np.int64).tobytes())
    sparse = wire.blob(1, values) + wire.blob(2, indices) + wire.scalar(3, count)
    node = wire.blob(4, b"Add") + wire.blob(5, wire.blob(1, b"axis") + wire.scalar(20, 2))
    graph = b"".join(wire.blob(5, each) for each in initializers)
    (folder / "model.onnx.good").write_bytes(wire.blob(7, graph))
    graph += wire.blob(5, external("missing", "none.bin", count))
    graph += wire.blob(1, node) * 100 + wire.blob(15, sparse)
    made = folder / "model.onnx"
    made.write_bytes(wire.scalar(1, 10) + wire.blob(7, graph))
    (folder / "model.onnx.tensor").write_bytes(tensor)
    weights = onnxmap.from_arrays({"w": np.arange(99.0)})
    weights.extract_weights(folder / "model.onnx.safetensors")
    weights.extract_weights(folder / "model.onnx.npz")
    return made


def start(path: Path, *names: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(SCRIPT), str(path), *names],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )


def check_end(process: subprocess.Popen[str]) -> None:
    try:
        output, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert (process.returncode, output.strip(), errors) == (0, "[]", "")


def test_every_call_is_there(path: Path) -> None:
    """All functions of the package, and methods that read. Add new ones to `ending_in_threads`."""
    known = {name.partition("(")[0] for name in calls(str(path))}
    wanted = {name for name in onnxmap.__all__ if inspect.isfunction(getattr(onnxmap, name))}
    for cls in (onnxmap.Model, onnxmap.Tensor):
        methods = {name for name in vars(cls) if not name.startswith("_")}
        methods = {name for name in methods if callable(getattr(cls, name))}
        wanted |= {f"{cls.__name__}.{name}" for name in methods}
    # These need another library, or they are Python code over a call that is in the list.
    wanted -= {"Model.torch", "Tensor.torch", "Tensor.to_ir", "load_operator_set", "load_test_data"}
    wanted -= {"Model.convert_version", "Model.infer_shapes", "Model.session"}
    wanted -= {"Model.report", "Model.to_ir", "Model.to_proto", "Model.data_files", "verify_files"}
    wanted -= {"copy_model", "move_model"}
    wanted -= {name for name in wanted if name.startswith(("make_", "from_"))}
    assert wanted <= known


def test_the_process_ends_well_with_a_thread_in_each_call(path: Path) -> None:
    for _ in range(0, TOGETHER, 2):
        for process in [start(path) for _ in range(min(2, TOGETHER))]:
            check_end(process)


@pytest.mark.parametrize(
    "name", ["load", "Model.views", "Tensor.numpy(dtype)", "Model.prefetch", "Model.residency"]
)
def test_the_process_ends_well_with_threads_in_one_call(name: str, path: Path) -> None:
    check_end(start(path, *[name] * 3))


@pytest.mark.skipif(ALONE == 0, reason="long: each call in processes of its own")
def test_the_process_ends_well_for_each_call(path: Path) -> None:
    for name in calls(str(path)):
        for _ in range(ALONE):
            check_end(start(path, name))


def ended_well(code: str, path: Path) -> str:
    """Run the code in a process that must exit with 0 and print no error; return its output."""
    result = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


CALLBACKS = """
import sys, threading, time
import numpy as np, onnxmap

class Slow(np.lib.mixins.NDArrayOperatorsMixin):
    def __index__(self):  # Python code below frames of C++, which takes and gives the lock
        for _ in range(1000):
            pass
        return 0

tensor = onnxmap.load(sys.argv[1]).initializers["w0"]
key = Slow()

def work():
    while True:
        tensor[key]

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
"""


def test_the_process_ends_well_in_python_code_that_the_core_calls(path: Path) -> None:
    """CPython then ends the thread in that Python code, and not at the core's own lock."""
    for _ in range(3):
        ended_well(CALLBACKS, path)


AT_EXIT = """
import sys, threading, time
import onnxmap

model = onnxmap.load(sys.argv[1])

class Late:
    def __init__(self, model):
        self.model, self.load = model, onnxmap.load
    def __del__(self):  # during the end of the interpreter, in its own thread
        names = ["w0", "typed"]
        self.model.arrays(names, dtype="float16")
        print(len(self.model.views(names)), flush=True)

def work():
    while True:
        model.arrays("w*", dtype="float16")
        model.views("w*")

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
late = Late(model)
sys.modules["late"] = late  # let go of late
"""


def test_the_thread_that_ends_the_interpreter_can_still_read(path: Path) -> None:
    """It waits for no lock that a stopped thread has."""
    for _ in range(2):
        assert ended_well(AT_EXIT, path) in ("2\n", "")
