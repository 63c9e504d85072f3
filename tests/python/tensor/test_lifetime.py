"""Arrays outlive their model and file. Nothing outlives the last array."""

from __future__ import annotations

import gc
import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.models.sample import external, floats, model_of, write
from support.processes.subprocesses import facts_from, run_python
from support.run_options import SANITIZED

import onnxmap

VALUES = [float(i) for i in range(1000)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    np.arange(1000, dtype=np.float32).tofile(tmp_path / "w.bin")
    outside = external("outside", [1000], {"location": "w.bin"})
    return write(model_of([floats("inside", 1000), outside]), tmp_path / "model.onnx")


def mapped(folder: Path) -> int:
    return Path("/proc/self/maps").read_text().count(str(folder))


def chain(path: Path) -> dict[str, Any]:
    """An object of each kind on the way from a model to a slice of an array."""
    model = onnxmap.load(path)
    found: dict[str, Any] = {"model": model, "graph": model.graph}
    found["initializers"] = found["graph"].initializers
    found["tensor"] = found["initializers"]["inside"]
    found["external"] = found["initializers"]["outside"]
    found["proto"] = found["tensor"].proto
    found["views"] = model.views()
    found["array"] = found["tensor"].numpy()
    found["slice"] = found["array"][10:20]
    found["outside"] = found["external"].numpy()
    found["buffer"] = memoryview(found["tensor"])
    return found


USES: dict[str, Callable[[Any], bool]] = {
    "model": lambda model: model.ir_version == 10,
    "graph": lambda graph: graph.name == "weights",
    "initializers": lambda table: table.names() == ["inside", "outside"],
    "tensor": lambda tensor: tensor.numpy().tolist() == VALUES,
    "external": lambda tensor: tensor.numpy().tolist() == VALUES,
    "proto": lambda view: view.name == "inside",
    "views": lambda views: views["outside"].tolist() == VALUES,
    "array": lambda array: array.tolist() == VALUES,
    "slice": lambda array: array.tolist() == VALUES[10:20],
    "outside": lambda array: array.tolist() == VALUES,
    "buffer": lambda view: view.tolist() == VALUES,
}


@pytest.mark.parametrize("kept", USES)
def test_each_object_keeps_what_it_needs(path: Path, kept: str) -> None:
    one = chain(path).pop(kept)
    gc.collect()
    assert USES[kept](one)
    assert mapped(path.parent) >= 1
    del one
    gc.collect()
    assert mapped(path.parent) == 0


def test_any_order_of_dropping(path: Path) -> None:
    orders = [list(USES), list(USES)[::-1]]
    rng = random.Random(0)
    orders += [rng.sample(list(USES), len(USES)) for _ in range(60)]
    for order in orders:
        objects = chain(path)
        for name in order:
            del objects[name]
            gc.collect(0)
            assert all(USES[other](one) for other, one in objects.items())
        assert mapped(path.parent) == 0


def test_pairs_of_survivors(path: Path) -> None:
    for first, second in itertools.permutations(USES, 2):
        objects = chain(path)
        one, other = objects[first], objects[second]
        del objects
        assert USES[first](one)
        del one
        assert USES[second](other)


def test_a_caller_s_buffer_is_held_as_long_as_needed(path: Path) -> None:
    buffer = bytearray(path.read_bytes())
    model = onnxmap.loads(buffer)
    view = model.initializers["inside"].numpy()
    del model
    gc.collect()
    with pytest.raises(BufferError):
        buffer.append(0)
    assert view.tolist() == VALUES
    del view
    gc.collect()
    buffer.append(0)


def test_nodes_outlive_the_model() -> None:
    from support.models.small import SMALL_MODELS

    node = onnxmap.loads(bytes(SMALL_MODELS["subgraphs"])).graph.nodes[0]
    inner = node.attributes["then_branch"].value.nodes[0]
    del node
    gc.collect()
    assert (inner.op_type, list(inner.inputs)) == ("Neg", ["x"])


def test_iterators_outlive_the_model() -> None:
    from support.models.small import SMALL_MODELS

    tensors = onnxmap.loads(bytes(SMALL_MODELS["typed_packed"])).tensors()
    names = iter(onnxmap.loads(bytes(SMALL_MODELS["typed_packed"])).initializers)
    gc.collect()
    assert [tensor.name for _, tensor in tensors] == ["f", "i", "l", "d", "u", "s"]
    assert list(names) == ["f", "i", "l", "d", "u", "s"]


def test_a_replaced_or_deleted_file_leaves_views_as_they_were(path: Path) -> None:
    model = onnxmap.load(path)
    view = model.initializers["inside"].numpy()
    write(model_of([floats("inside", 3, 50.0)]), path.with_name("new.onnx")).replace(path)
    assert view.tolist() == VALUES
    assert onnxmap.load(path).initializers["inside"].numpy().tolist() == [50.0, 51.0, 52.0]
    path.unlink()
    assert view.tolist() == VALUES


def test_interpreter_exit_with_live_objects(path: Path) -> None:
    code = """
    import atexit, onnxmap
    model = onnxmap.load(sys.argv[1])
    views = model.views()
    inside = memoryview(model.initializers["inside"])
    cycle = [model, views, model.graph, list(model.tensors()), inside]
    cycle.append(cycle)
    class Late:
        def __del__(self):
            print(sum(float(view[3]) for view in views.values()) if views else "gone")
    late = Late()
    atexit.register(lambda: print("leaving", len(views), model.graph.name))
    sys.modules["kept"] = model
    """
    result = run_python(code, str(path))
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert "leaving 2 weights" in result.stdout


def test_a_thousand_loads_leave_nothing_behind(path: Path) -> None:
    """A child process counts its descriptors, mappings and resident memory after a warm-up."""
    code = """
    import gc, os
    import onnxmap
    path = sys.argv[1]

    def turn(io):
        model = onnxmap.load(path, io=io)
        views = model.views()
        total = sum(float(view[-1]) for view in views.values())
        slices = [model.initializers["inside"][5:9], model.initializers["outside"][:3]]
        protos = [str(model.proto)[:10], repr(model), model.graph.node_inputs()]
        assert total == 1998.0 and len(slices) == 2 and len(protos) == 3

    def state():
        gc.collect()
        with open("/proc/self/maps") as maps:
            return len(os.listdir("/proc/self/fd")), sum(1 for _ in maps), resident_kib()

    for io in ["mmap", "read"] * 100:
        turn(io)
    before = state()
    for io in ["mmap", "read"] * 500:
        turn(io)
    after = state()
    with open("/proc/self/maps") as maps:
        ours = maps.read().count(path)
    report(descriptors=after[0] - before[0], mappings=after[1] - before[1],
           kib=after[2] - before[2], ours=ours)
    """
    facts = facts_from(code, str(path))
    assert facts["descriptors"] == 0
    assert facts["ours"] == 0
    assert facts["mappings"] <= 2  # the allocator may add and remove its own arenas
    assert facts["kib"] < 1024 or SANITIZED  # ASan keeps freed memory in quarantine


def test_a_thousand_refused_loads_leave_nothing_behind(tmp_path: Path) -> None:
    code = """
    import gc, os
    import onnxmap
    folder = sys.argv[1]
    from support.models.small import SMALL_MODELS
    bad = []
    for index, data in enumerate(SMALL_MODELS.values()):
        bad.append(os.path.join(folder, str(index)))
        with open(bad[-1], "wb") as file:
            file.write(data[:-1] + b"\\xff")

    def turn():
        refused = 0
        for path in bad:
            for io in ("mmap", "read"):
                try:
                    onnxmap.load(path, io=io)
                except onnxmap.OnnxMapError:
                    refused += 1
        return refused

    refused = [turn() for _ in range(5)]
    gc.collect()
    before = len(os.listdir("/proc/self/fd")), resident_kib()
    refused += [turn() for _ in range(25)]
    gc.collect()
    with open("/proc/self/maps") as maps:
        ours = maps.read().count(folder)
    report(descriptors=len(os.listdir("/proc/self/fd")) - before[0], ours=ours,
           kib=resident_kib() - before[1], refused=min(refused))
    """
    facts = facts_from(code, str(tmp_path))
    assert facts["refused"] > 10
    assert (facts["descriptors"], facts["ours"]) == (0, 0)
    assert facts["kib"] < 1024 or SANITIZED  # ASan keeps freed memory in quarantine


def test_fork_with_open_models(path: Path) -> None:
    code = """
    import os, warnings
    warnings.simplefilter("ignore", DeprecationWarning)  # NumPy has threads of its own
    import onnxmap
    model = onnxmap.load(sys.argv[1])
    views = model.views()
    child = os.fork()
    if child == 0:
        ok = views["inside"][7] == 7.0 and model.initializers["outside"].numpy()[8] == 8.0
        del model, views
        os._exit(0 if ok else 1)
    _, status = os.waitpid(child, 0)
    report(child=os.waitstatus_to_exitcode(status), parent=float(views["inside"][9]))
    """
    assert facts_from(code, str(path)) == {"child": 0, "parent": 9.0}
