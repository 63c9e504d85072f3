"""Threads that edit one model at the same time, and others that read, save and run models.

Each edit is one step: none is lost, and none sees half of another one. Without the interpreter lock
the lock of the document sees to that; see `bindings/edit_lock.hpp`.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from support.models.sample import floats, model_of, write
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

import onnxmap

EDITORS = 4
EDITS = 3_000 if LONG else 1_000 if EXHAUSTIVE else 10 if SANITIZED else 300


def in_threads(works: list[Callable[[], object]]) -> None:
    """Run each in a thread of its own; raise what the first one raised."""
    barrier = threading.Barrier(len(works))
    failures: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        barrier.wait()
        try:
            work()
        except BaseException as error:  # noqa: BLE001 -- raised below
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A model that onnxruntime runs: y = x * w0 * w1 ..., and a few hundred other nodes."""
    made = model_of([floats(f"w{number}", 16, number) for number in range(10)])
    made.graph.node.append(helper.make_node("Mul", ["x", "w0"], ["m1"], name="shared"))
    for number in range(1, 10):
        output = "y" if number == 9 else f"m{number + 1}"
        made.graph.node.append(helper.make_node("Mul", [f"m{number}", f"w{number}"], [output]))
    for number in range(200):
        made.graph.node.append(helper.make_node("Neg", ["x"], [f"v{number}"], name=f"n{number}"))
    made.graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [16]))
    made.graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, [16]))
    return write(made, tmp_path / "m.onnx")


# What one editor adds to each kind of list, and how often it is there afterwards.
Edit = Callable[[onnxmap.Model, str], object]
ADD: dict[str, Edit] = {
    "append a node": lambda m, t: m.graph.nodes.append(onnxmap.make_node("New", [], [t], name=t)),
    "insert a node": lambda m, t: m.graph.nodes.insert(3, onnxmap.make_node("New", [], [t])),
    "add by protobuf": lambda m, t: m.proto.graph.node.add(op_type="New", output=[t]),
    "append a string": lambda m, t: m.graph.nodes["shared"].inputs.append(t),
    "insert a string": lambda m, t: m.graph.nodes["shared"].outputs.insert(0, t),
    "a string by protobuf": lambda m, t: m.proto.graph.node[0].input.extend([t]),
    "a key": lambda m, t: m.metadata_props.update({t: "v"}),
    "a default": lambda m, t: m.metadata_props.setdefault(t, "v"),
    "an attribute": lambda m, t: m.graph.nodes["n7"].attributes.__setitem__(t, 1),
    "an initializer": lambda m, t: m.initializers.__setitem__(t, np.ones(2, np.float32)),
    "a value": lambda m, t: m.graph.inputs.extend(
        [onnxmap.make_tensor_value_info(t, "FLOAT", [1])]
    ),
    "merge": lambda m, t: m.proto.MergeFrom(
        onnxmap.new("ModelProto", metadata_props=[{"key": t, "value": "v"}])
    ),
    "rename": lambda m, t: (
        m.initializers.__setitem__(f"{t} before", np.ones(2, np.float32)),
        m.initializers.rename(f"{t} before", t),
    ),
    "add and remove": lambda m, t: (
        m.graph.nodes.append(onnxmap.make_node("New", [], [f"{t} gone"], name=f"{t} gone")),
        m.graph.nodes.append(onnxmap.make_node("New", [], [t])),
        m.graph.nodes.__delitem__(f"{t} gone"),
    ),
}


def strings_of(model: onnxmap.Model) -> list[str]:
    """All names and keys that the editors may have added, each as often as it is there."""
    graph = model.graph
    found = [name for node in graph.nodes for name in (*node.inputs, *node.outputs)]
    found += [*model.metadata_props, *graph.nodes["n7"].attributes, *model.initializers.names()]
    return found + [value.name for value in graph.inputs]


@pytest.mark.parametrize("add", ADD.values(), ids=ADD)
def test_no_edit_is_lost(add: Edit, path: Path) -> None:
    model = onnxmap.load(path)
    before = strings_of(model)
    texts = [[f"t{editor}-{n}" for n in range(EDITS)] for editor in range(EDITORS)]
    in_threads([lambda mine=mine: [add(model, text) for text in mine] for mine in texts])
    assert sorted(strings_of(model)) == sorted(before + [text for mine in texts for text in mine])
    again = onnxmap.loads(onnxmap.dumps(model))
    assert strings_of(again) == strings_of(model)
    model.revert()
    assert onnxmap.dumps(model) == path.read_bytes()


def test_a_replaced_initializer_is_not_made_again_under_its_old_name(path: Path) -> None:
    """`replace` looks the name up and replaces the values in one step, beside a rename."""
    for delay in range(EDITS // 2):  # in units of 10 us: the conversion takes about a millisecond
        model = onnxmap.load(path)
        model.initializers["big"] = np.zeros(300_000, np.float32)

        def replace(model: onnxmap.Model = model) -> None:
            with suppress(KeyError):
                model.initializers.replace("big", np.ones(300_000))

        def rename(model: onnxmap.Model = model, delay: int = delay) -> None:
            time.sleep(delay * 1e-5)
            model.initializers.rename("big", "other")

        in_threads([replace, rename])
        assert "big" not in model.initializers.names()


def test_each_element_is_removed_once(path: Path) -> None:
    """Of the threads that pop one list, each gets elements that no other one gets."""
    model = onnxmap.load(path)
    names = model.graph.node_names()
    inputs = model.graph.nodes["shared"].inputs
    inputs.extend([f"i{number}" for number in range(200)])
    texts = list(inputs)
    found: list[list[str]] = [[] for _ in range(EDITORS)]

    def pop(mine: list[str]) -> None:
        mine.extend(model.graph.nodes.pop().name for _ in range(len(names) // EDITORS))
        mine.extend(inputs.pop(0) for _ in range(len(texts) // EDITORS))

    in_threads([lambda mine=mine: pop(mine) for mine in found])
    left = model.graph.node_names() + list(inputs)
    assert sorted([text for mine in found for text in mine] + left) == sorted(names + texts)


def test_editors_readers_savers_and_sessions(path: Path, tmp_path: Path) -> None:
    """Two editors of one model, editors of others, and threads that read, save and run them."""
    edited, read_only = onnxmap.load(path), onnxmap.load(path)
    expected = {name: array.copy() for name, array in read_only.views().items()}
    x = np.arange(16, dtype=np.float32)
    ended = threading.Event()
    allowed = (onnxmap.OnnxMapError, KeyError)

    def edit(model: onnxmap.Model, mine: str) -> None:
        for number in range(EDITS):
            for kind, add in ADD.items():
                add(model, f"{mine}-{number}-{kind}")
            model.initializers["w3"] = np.full(16, number, np.float32)
            model.proto.graph.initializer.reverse()
            del model.graph.nodes[f"{mine}-{number}-append a node"]

    def edit_one_of_its_own() -> None:
        model = onnxmap.load(path)
        edit(model, "own")
        model.revert()
        assert onnxmap.dumps(model) == path.read_bytes()

    def until_ended(work: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            while True:
                work()
                if ended.is_set():
                    return

        return run

    def read_the_edited() -> None:
        for read in (
            lambda: [list(node.inputs) for node in edited.graph.nodes[:20]],
            lambda: edited.graph.nodes["shared"].outputs[-1],
            lambda: edited.graph.uses("x"),
            lambda: edited.initializers.get("w5"),
            lambda: edited.arrays(["w1"], threads=2)["w1"],
            lambda: onnxmap.loads(onnxmap.dumps(edited)).graph.op_types(),
        ):
            with suppress(*allowed):
                read()

    def read_the_other() -> None:
        for name, array in read_only.arrays().items():
            assert np.array_equal(array, expected[name])
        assert read_only.initializers["w7"].numpy()[0] == 7
        assert dict(read_only.stream()).keys() == expected.keys()

    def save(model: onnxmap.Model, name: str) -> None:
        try:
            model.save(tmp_path / name)
        except onnxmap.OnnxMapError:
            assert model is edited
        else:
            assert onnxmap.load(tmp_path / name).graph.nodes["shared"].op_type == "Mul"

    def run_sessions() -> None:
        session = read_only.session(providers=["CPUExecutionProvider"])
        product = math.prod(expected.values(), start=x)
        assert np.allclose(session.run(None, {"x": x})[0], product)

    def edit_all() -> None:
        try:
            in_threads([lambda: edit(edited, "a"), lambda: edit(edited, "b"), edit_one_of_its_own])
        finally:
            ended.set()

    works: list[Callable[[], Any]] = [read_the_edited, read_the_other]
    works += [lambda: save(edited, "edited.onnx"), lambda: save(read_only, "other.onnx")]
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        pass
    else:
        works.append(run_sessions)
    in_threads([edit_all, *map(until_ended, works)])
    kinds = [kind for kind in ADD if kind != "append a node"]
    added = {f"{e}-{n}-{kind}" for e in "ab" for n in range(EDITS) for kind in kinds}
    assert added <= set(strings_of(edited))
    edited.revert()
    assert onnxmap.dumps(edited) == path.read_bytes()
