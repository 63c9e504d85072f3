"""Bridges read no payload: pages of weights that must not be touched, files that are missing.

The long form measures memory on a model of 1.8 GB, whose weights are holes in the file.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.interop.bridged_models import write_weights
from support.models.sample import external, model_of, write
from support.processes.subprocesses import facts_from, run_python
from support.run_options import LONG, SANITIZED

import onnxmap

pytestmark = pytest.mark.skipif(SANITIZED, reason="ASan has its own handlers and memory")

MIB = 1 << 20

# After this, a touch of a page of any weight ends the process.
GUARDED = """
import ctypes, mmap
import onnx, onnx_ir as ir, onnx.compose
import onnx_ir.passes.common as passes
import onnxmap
path, way = sys.argv[1:]

def spans():
    for tensor in onnxmap.load(path).initializers.values():
        page = mmap.PAGESIZE
        yield -(-tensor.offset // page) * page, (tensor.offset + tensor.nbytes) // page * page

def protect(rights):
    libc = ctypes.CDLL(None)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    count = 0
    for line in open("/proc/self/maps").read().splitlines():
        if not line.endswith(" " + path):
            continue
        begin, end = (int(one, 16) for one in line.split()[0].split("-"))
        offset = int(line.split()[2], 16)
        for first, last in ranges:
            low, high = max(first, offset), min(last, offset + end - begin)
            if low < high:
                assert libc.mprotect(begin + low - offset, high - low, rights) == 0
                count += 1
    return count

ranges = list(spans())
model = onnxmap.load(path)
model.views()  # now the file is mapped
protected = protect(0)
if way == "touch":
    model.views()["w0"].sum()
elif way == "reference":
    structure = model.to_proto("reference")
    structure.graph.initializer[0].name = "renamed"
    back = onnxmap.from_proto(structure, model)
elif way == "none":
    back = onnxmap.from_proto(model.to_proto("none"), model)
elif way == "ir":
    found = model.to_ir()
    for each in (passes.RemoveUnusedNodesPass, passes.CommonSubexpressionEliminationPass,
                 passes.NameFixPass):
        each()(found)
    back = onnxmap.from_ir(found)
elif way == "infer":
    model.infer_shapes(data_prop=True)
    model.convert_version(21)
    back = model
elif way == "prefix":
    back = onnxmap.from_proto(onnx.compose.add_prefix(model.to_proto("reference"), "p_"), model)
protect(1)
report(protected=protected, sums=[float(view.sum()) for view in back.views().values()])
"""


@pytest.mark.parametrize("way", ["reference", "none", "ir", "infer", "prefix"])
def test_no_page_of_a_weight_is_touched(way: str, tmp_path: Path) -> None:
    path = write_weights(tmp_path / "model.onnx", count=4, side=256, mark=True)
    facts = facts_from(GUARDED, str(path), way)
    assert facts["protected"] >= 4
    assert facts["sums"][:4] == [1.0, 2.0, 3.0, 4.0]


def test_a_touch_would_end_the_process(tmp_path: Path) -> None:
    path = write_weights(tmp_path / "model.onnx", count=4, side=256, mark=True)
    assert run_python(GUARDED, str(path), "touch").returncode == -11  # SIGSEGV


def test_data_files_may_be_missing(tmp_path: Path) -> None:
    """Except for references, which need the path of the file."""
    entries = {"location": "missing.data", "offset": "0", "length": "40000"}
    path = write(model_of([external("w", [100, 100], entries)]), tmp_path / "model.onnx")
    model = onnxmap.load(path)
    back = onnxmap.from_proto(model.to_proto("none"), model)
    assert onnxmap.dumps(back) == path.read_bytes()
    (tensor,) = onnxmap.from_ir(model.to_ir()).initializers.values()
    assert tensor.proto.SerializeToString() == model.initializers["w"].proto.SerializeToString()
    model.infer_shapes()
    with pytest.raises(FileNotFoundError):
        model.to_proto("reference")


MEMORY = """
import time
import onnx, onnx.compose, onnx.shape_inference, onnx.version_converter
import onnx_ir.passes.common as passes
import onnxmap
from onnxmap.interop import ir_models, official, proto_models
path = sys.argv[1]
figures = {}

def measure(name, call):
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before, begin = resident_kib(), time.perf_counter()
    result = call()
    figures[name] = [time.perf_counter() - begin, (peak_kib() - before) / 1024]
    return result

def passed():
    found = model.to_ir()
    for each in (passes.RemoveUnusedNodesPass, passes.CommonSubexpressionEliminationPass,
                 passes.NameFixPass):
        each()(found)
    return onnxmap.from_ir(found)

model = onnxmap.load(path)
structure = measure("to_proto", lambda: model.to_proto("reference"))
rejoined = measure("from_proto", lambda: onnxmap.from_proto(structure, model))
assert onnxmap.load(path).initializers.nbytes() == rejoined.initializers.nbytes()
measure("compose", lambda: onnxmap.from_proto(onnx.compose.add_prefix(structure, "p_"), model))
measure("passes of onnx_ir", passed)
measure("infer_shapes", model.infer_shapes)
measure("convert_version", lambda: model.convert_version(21))
assert model.graph.value_infos and model.opset_imports[""] == 21
report(figures=figures, structure=structure.ByteSize())
"""


@pytest.mark.parametrize(
    ("count", "side"),
    [(26, 1024), pytest.param(27, 4096, marks=pytest.mark.skipif(not LONG, reason="long")),
     pytest.param(50, 4096, marks=pytest.mark.skipif(not LONG, reason="long"))],
    ids=["100 MB", "1.8 GB", "3.4 GB"],
)  # fmt: skip
def test_memory(count: int, side: int, tmp_path: Path) -> None:
    path = write_weights(tmp_path / "model.onnx", count=count, side=side)
    assert path.stat().st_size > count * side * side * 4
    facts = facts_from(MEMORY, str(path), timeout=600)
    assert facts["structure"] < 20_000
    for name, (seconds, mebibytes) in facts["figures"].items():
        assert mebibytes < 32, name
        assert seconds < 5, name
