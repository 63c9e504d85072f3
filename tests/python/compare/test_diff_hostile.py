"""`onnxmap.diff` of hostile models: it stays fast and small, and notices files that change."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, numpy_helper
from support import wire_bytes as wire
from support.faults.cutting import kept_cutting
from support.models.sample import model_of, write
from support.processes.work import Work, too_steep
from support.run_options import EXHAUSTIVE, SANITIZED

import onnxmap

NODES = 250


def grows_with_size(pair: Callable[[int], tuple[bytes, bytes]]) -> bool:
    """Whether the work of a comparison grows like the models; it is not counted under ASan."""

    def prepare(n: int) -> tuple[bytes, Work]:
        data, other = pair(n)
        models = onnxmap.loads(data), onnxmap.loads(other)
        return data, lambda: onnxmap.diff(*models)

    return SANITIZED or not too_steep(prepare, (NODES, 4 * NODES))


def graph_of(fields: bytes) -> bytes:
    return wire.blob(7, fields)


def differences(pair: tuple[bytes, bytes]) -> onnxmap.ModelDiff:
    return onnxmap.diff(*map(onnxmap.loads, pair))


def chain(numbers: range, *, named: bool = True) -> bytes:
    nodes = []
    for number in numbers:
        node = NodeProto(op_type="Op", input=[f"v{number}"], output=[f"v{number + 1}"])
        if named:
            node.name = f"n{number}"
        nodes.append(wire.blob(1, node.SerializeToString()))
    return graph_of(b"".join(nodes))


@pytest.mark.parametrize("named", [True, False])
def test_nodes_in_opposite_order(named: bool) -> None:
    def pair(n: int) -> tuple[bytes, bytes]:
        return chain(range(n), named=named), chain(range(n - 1, -1, -1), named=named)

    found = differences(pair(NODES))
    assert len(found.nodes) == len(found.nodes.moved) == NODES - 1
    assert found.left_out == 0
    assert grows_with_size(pair)


@pytest.mark.parametrize("name", ["", "same"])
def test_one_name_and_one_operator(name: str) -> None:
    """All nodes have one name, or none, and differ only in a doc string."""

    def model(word: str, n: int) -> bytes:
        nodes = (
            NodeProto(op_type="Op", name=name, doc_string=f"{word} {number}") for number in range(n)
        )
        return graph_of(b"".join(wire.blob(1, node.SerializeToString()) for node in nodes))

    def pair(n: int) -> tuple[bytes, bytes]:
        return model("one", n), model("other", n)

    found = differences(pair(NODES))
    assert {one.kind for one in found.nodes} == {"changed"}
    assert len(found.nodes) + found.left_out == NODES
    assert grows_with_size(pair)


def test_all_changes_of_many_small_nodes_are_listed() -> None:
    """None of the nodes is matched by its name or its content."""
    count = 50_000

    def model(op_type: str, value: str) -> bytes:
        node = NodeProto(op_type=op_type, input=[value], output=["y"])
        return graph_of(wire.blob(1, node.SerializeToString()) * count)

    found = differences((model("Relu", "x"), model("Sigmoid", "q")))
    assert found.left_out == 0
    assert len(found.nodes) == count


def test_nodes_of_two_bytes_take_bounded_memory() -> None:
    count = 300_000
    found = differences((graph_of(b""), graph_of(b"\x0a\x00" * count)))
    assert len(found.nodes) + found.left_out == count
    assert found.left_out > count / 2
    assert not found.same
    assert f"... and {found.left_out:,} more difference" in str(found)
    assert found.to_dict()["left_out"] == found.left_out


def test_one_name_of_very_many_tensors() -> None:
    tensor = onnx.TensorProto(name="t", data_type=2, raw_data=b"1")
    other = onnx.TensorProto(name="t", data_type=2, raw_data=b"2")
    field, changed = (wire.blob(5, one.SerializeToString()) for one in (tensor, other))

    def pair(n: int) -> tuple[bytes, bytes]:
        return graph_of(field * n), graph_of(field * (n - 1) + changed)

    (one,) = differences(pair(NODES)).tensors
    assert (one.where, one.max_abs) == (f"graph.initializer[{NODES - 1}]", 1)
    assert grows_with_size(pair)


def test_deep_subgraphs() -> None:
    """Each level has many nodes, and only the innermost one differs."""

    def model(word: str, nodes: int) -> bytes:
        graph = b""
        for depth in range(24):
            plain = NodeProto(op_type=f"Op{depth}", output=["y"]).SerializeToString()
            attribute = wire.blob(1, b"body") + wire.blob(6, graph) + wire.scalar(20, 5)
            note = b"" if graph else wire.blob(6, word.encode())
            holder = wire.blob(4, b"If") + note + wire.blob(5, attribute)
            graph = wire.blob(1, plain) * nodes + wire.blob(1, holder)
        return graph_of(graph)

    def pair(n: int) -> tuple[bytes, bytes]:
        return model("a", n), model("b", n)

    (node,) = differences(pair(250)).nodes
    assert node.changes[0].where.endswith(".g.node[250].doc_string")
    assert node.changes[0].where.count(".g.") == 23
    assert grows_with_size(pair)


def test_a_file_that_was_cut(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal(1 << 20).astype(np.float32)
    paths = [
        write(model_of([numpy_helper.from_array(values, "w")]), tmp_path / name) for name in "ab"
    ]
    for which in (0, 1):
        models = [onnxmap.load(path) for path in paths]
        data = paths[which].read_bytes()
        os.truncate(paths[which], len(data) // 2)
        with pytest.raises(onnxmap.FileChangedError):
            onnxmap.diff(*models)
        paths[which].write_bytes(data)
    assert onnxmap.diff(*paths).same


@pytest.mark.skipif(SANITIZED, reason="the sanitizer's own handler of signals")
def test_a_file_that_is_cut_meanwhile(tmp_path: Path) -> None:
    """Every comparison is right, or it reports the change."""
    values = np.arange(1, 1 << 20, dtype=np.float32)
    a, b = (
        write(model_of([numpy_helper.from_array(values, "w")]), tmp_path / name) for name in "ab"
    )

    def notices() -> bool:
        try:
            found = onnxmap.diff(a, b)
        except (onnxmap.FileChangedError, onnxmap.ParseError):
            return True
        assert found.same, str(found)
        return False

    with kept_cutting(b, 300 if EXHAUSTIVE else 30) as goes_on:
        noticed = [notices() for _ in iter(goes_on, False)]
    assert any(noticed)
    assert onnxmap.diff(a, b).same


def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    """Progress that raises ends the work at once."""
    values = np.zeros(1 << 22, np.float32)
    model = onnxmap.load(write(model_of([numpy_helper.from_array(values, "w")]), tmp_path / "m"))
    other = onnxmap.loads((tmp_path / "m").read_bytes())

    def stop(done: int, total: int) -> None:
        raise RuntimeError(f"{done} of {total}")

    threads = threading.active_count()
    with pytest.raises(RuntimeError, match="0 of 16777216"):
        onnxmap.diff(model, other, progress=stop)
    assert threading.active_count() == threads
    assert onnxmap.diff(model, other).same


def test_unlike_models_of_equal_shapes_are_not_read(tmp_path: Path) -> None:
    """A terabyte of zeros would take hours."""
    sides = []
    for name, byte in (("a", b"\1"), ("b", b"\2")):
        with (tmp_path / f"{name}.data").open("wb") as file:
            file.write(byte)
            file.truncate(1 << 40)
        tensor = onnx.TensorProto(name=name, dims=[1 << 40], data_type=2, data_location=1)
        tensor.external_data.add(key="location", value=f"{name}.data")
        model = ModelProto(graph=onnx.GraphProto(initializer=[tensor]))
        sides.append(write(model, tmp_path / f"{name}.onnx"))
    found = onnxmap.diff(*sides)
    assert [one.kind for one in found.tensors] == ["removed", "added"]
