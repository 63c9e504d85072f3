"""Threads that read a model while one thread edits it.

That is not supported, and never unsafe: a read shows some state, or raises an error of onnxmap.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from support.models.sample import floats, model_of, write
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

import onnxmap

NODES, COUNT = 400, 2_000
ROUNDS = 400 if LONG else 60 if EXHAUSTIVE else 4 if SANITIZED else 25


def write_model(folder: Path) -> Path:
    made = model_of([floats(f"w{number}", COUNT, number) for number in range(8)])
    for number in range(NODES):
        body = helper.make_graph([helper.make_node("Neg", [f"v{number}"], ["o"])], "body", [], [])
        made.graph.node.append(
            helper.make_node(
                "Add", [f"v{number}", f"w{number % 8}"], [f"v{number + 1}"],
                name=f"n{number}", axis=number, body=body,
            )
        )  # fmt: skip
    made.metadata_props.add(key="k", value="v")
    return write(made, folder / "m.onnx")


def check_arrays(arrays: Any) -> None:
    for array in arrays.values():
        assert array.size in (3, COUNT)
        assert np.array_equal(array - array[0], np.arange(array.size, dtype=np.float32))


READS: dict[str, Callable[[onnxmap.Model], object]] = {
    "nodes": lambda m: [(node.name, list(node.inputs)) for node in m.graph.nodes],
    "columns": lambda m: (m.graph.node_inputs(), m.graph.op_types(), m.initializers.names()),
    "attributes": lambda m: [node.attributes["axis"].value for node in m.graph.nodes[:50]],
    "subgraphs": lambda m: [
        node.attributes["body"].value.nodes[0].inputs for node in m.graph.nodes[:50]
    ],
    "by name": lambda m: [m.graph.nodes.count(None), "n3" in m.graph.nodes, m.graph.producer("v5")],
    "uses": lambda m: (m.graph.uses("w3"), m.graph.consumers("v9"), m.graph.topological_order()),
    "text": lambda m: str(m.proto),
    "bytes": onnxmap.dumps,
    "views": lambda m: check_arrays(m.views()),
    "arrays": lambda m: check_arrays(m.arrays(threads=2)),
    "stream": lambda m: check_arrays(dict(m.stream(window="1MiB"))),
    "each tensor": lambda m: [tensor.numpy().sum() for _, tensor in m.tensors()],
    "copies": lambda m: m.initializers["w1"].numpy(copy=True),
    "mappings": lambda m: (dict(m.metadata_props), dict(m.opset_imports)),
    "description": lambda m: (repr(m), repr(m.graph), m._repr_html_()),
    "equality": lambda m: (m.proto == m.proto, hash(m.graph.nodes[0])),
}  # fmt: skip


def edit(model: onnxmap.Model, number: int) -> None:
    """Edits of every kind, with large and small arrays that come and go."""
    graph = model.graph
    graph.nodes.insert(number % 50, onnxmap.make_node("New", ["x"], ["y"], name="new", axis=1))
    graph.nodes["new"].inputs = ["a", "b", "c"]
    graph.nodes.reverse()
    graph.nodes.remove(graph.nodes["new"])
    graph.nodes.reverse()
    node = graph.nodes[number % NODES]
    node.attributes["axis"] = [number, 1]
    node.attributes["body"].value.nodes[0].name = f"inner{number}"
    node.inputs.append("more")
    del node.inputs[-1]
    model.initializers["w3"] = np.arange(number, number + COUNT, dtype=np.float32)
    model.initializers["w4"] = np.arange(3, dtype=np.float32)
    model.initializers["added"] = model.initializers["w3"]
    model.initializers.rename("added", "renamed")
    del model.initializers["renamed"]
    model.metadata_props["k"] = str(number)
    model.metadata_props[str(number)] = "v" * 5_000
    if number % 5 == 4:
        model.proto.graph.CopyFrom(model.proto.graph)
        model.revert()


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_readers_and_an_editor(io: Any, tmp_path: Path) -> None:
    model = onnxmap.load(write_model(tmp_path), io=io)
    ended = threading.Event()
    failures: list[str] = []
    counts = dict.fromkeys(READS, 0)
    allowed = (onnxmap.OnnxMapError, KeyError)

    def read(names: list[str]) -> None:
        while not ended.is_set() or not all(counts[name] for name in names):
            for name in names:
                try:
                    READS[name](model)
                except allowed:
                    pass
                except BaseException as error:  # noqa: BLE001 -- it is reported below
                    failures.append(f"{name}: {error!r}")
                    return
                counts[name] += 1

    names = list(READS)
    threads = [threading.Thread(target=read, args=(names[start::4],)) for start in range(4)]
    for thread in threads:
        thread.start()
    try:
        for number in range(ROUNDS):
            edit(model, number)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert failures == []
    model.revert()
    assert onnxmap.dumps(model) == (tmp_path / "m.onnx").read_bytes()


def test_a_tensor_that_is_read_is_the_one_of_its_name() -> None:
    """Its position in the list changes meanwhile."""
    model = onnxmap.from_arrays({f"w{number}": np.full(8, number) for number in range(4)})
    ended = threading.Event()

    def edit() -> None:
        while not ended.is_set():
            del model.initializers["w0"]
            model.initializers["w0"] = np.zeros(8)

    thread = threading.Thread(target=edit)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(15 if SANITIZED else 1_000):
            with suppress(onnxmap.EditError, KeyError):
                for arrays in (model.arrays(), model.arrays(["w3"]), model.views(["w3"])):
                    assert np.all(arrays["w3"] == 3)
                assert model.stats(["w3"])["w3"].max == 3
    finally:
        ended.set()
        thread.join()
        sys.setswitchinterval(interval)


def test_two_editors_of_two_models_that_share_weights(tmp_path: Path) -> None:
    model = onnxmap.load(write_model(tmp_path))
    copies = [onnxmap.load(tmp_path / "m.onnx") for _ in range(2)]
    for copy in copies:
        for name in ("w0", "w1"):
            copy.initializers[name] = model.initializers[name]
    failures: list[BaseException] = []

    def work(mine: onnxmap.Model) -> None:
        try:
            for number in range(ROUNDS):
                edit(mine, number)
                check_arrays(mine.views(["w1", "w3"]))
        except BaseException as error:  # noqa: BLE001 -- it is reported below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(copy,)) for copy in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert onnxmap.dumps(model) == (tmp_path / "m.onnx").read_bytes()


def test_an_iterator_that_threads_share(tmp_path: Path) -> None:
    model = onnxmap.load(write_model(tmp_path))
    nodes = iter(model.graph.nodes)
    found: list[str] = []

    def take() -> None:
        found.extend(node.name for node in nodes)

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    model.graph.nodes.clear()
    model.graph.nodes.add(name="other")
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(f"n{number}" for number in range(NODES))
