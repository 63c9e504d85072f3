"""Bridges read no payload: pages of weights that must not be touched, files that are missing.

The long form measures memory on a model of 1.8 GB, whose weights are holes in the file.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support.interop.bridged_models import write_weights
from support.models.sample import external, model_of, write
from support.processes.subprocesses import facts_from
from support.run_options import LONG, SANITIZED

import onnxmap

pytestmark = pytest.mark.skipif(SANITIZED, reason="ASan has its own handlers and memory")

MIB = 1 << 20

# After this, a touch of a page of any weight ends the process.
GUARDED = """
import ctypes, mmap, os
import onnx, onnx_ir as ir, onnx.compose
import onnx_ir.passes.common as passes
import onnxmap
path = sys.argv[1]

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

def by_reference():
    structure = model.to_proto("reference")
    structure.graph.initializer[0].name = "renamed"
    return onnxmap.from_proto(structure, model)

def with_none():
    return onnxmap.from_proto(model.to_proto("none"), model)

def through_ir():
    found = model.to_ir()
    for each in (passes.RemoveUnusedNodesPass, passes.CommonSubexpressionEliminationPass,
                 passes.NameFixPass):
        each()(found)
    return onnxmap.from_ir(found)

def with_prefix():
    return onnxmap.from_proto(onnx.compose.add_prefix(model.to_proto("reference"), "p_"), model)

def inferred():
    model.infer_shapes(data_prop=True)
    model.convert_version(21)
    return model

ways = by_reference, with_none, through_ir, with_prefix, inferred
backs = {way.__name__: way() for way in ways}
if (child := os.fork()) == 0:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # faulthandler's report
    model.views()["w0"].sum()
    os._exit(0)
touched = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
protect(1)
sums = {way: [float(view.sum()) for view in back.views().values()] for way, back in backs.items()}
report(protected=protected, touched=touched, sums=sums)
"""


def test_no_page_of_a_weight_is_touched(tmp_path: Path) -> None:
    path = write_weights(tmp_path / "model.onnx", count=4, side=256, mark=True)
    facts = facts_from(GUARDED, str(path))  # faulthandler names the way that touches one
    assert facts["protected"] >= 4
    assert facts["touched"] == -signal.SIGSEGV  # so a touch ends the process
    assert len(facts["sums"]) == 5
    for way, sums in facts["sums"].items():
        assert sums[:4] == [1.0, 2.0, 3.0, 4.0], way


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
import onnx, onnx.compose, onnx.shape_inference, onnx.version_converter
import onnx_ir.passes.common as passes
import onnxmap
from onnxmap.interop import ir_models, official, proto_models
path = sys.argv[1]
figures = {}

def measure(name, call):
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = resident_kib()
    result = call()
    figures[name] = (peak_kib() - before) / 1024
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
    for name, mebibytes in facts["figures"].items():
        assert mebibytes < 32, name
