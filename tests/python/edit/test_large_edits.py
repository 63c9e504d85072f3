"""Edits of large graphs: their work and memory do not grow with the graph.

Work is how often the file is read, or the number of instructions that Python runs; memory is the
growth of a child process's peak.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from onnx import helper
from support.models.sample import floats, model_of
from support.processes.subprocesses import growth_kib
from support.processes.work import Work, counting_reads, instructions_of, places_in, too_steep
from support.run_options import SANITIZED

import onnxmap

pytestmark = pytest.mark.skipif(SANITIZED, reason="work and memory are not measured under ASan")
SIZES = 300, 3_000
NUMBERS = itertools.count()


@cache
def bytes_of_graph(count: int) -> bytes:
    made = model_of([floats(f"w{number}", 1) for number in range(count)])
    for number in range(count):
        inputs, output = [f"v{number}", f"w{number}"], f"v{number + 1}"
        made.graph.node.append(helper.make_node("Add", inputs, [output], name=f"n{number}"))
    return made.SerializeToString()


def names(count: int) -> list[bytes]:
    """Of a weight, and the type of a node, which follows its name."""
    kinds = "w%d", 'n%d"\3Add'
    return [(kind % (3 * count // 8)).encode() for kind in kinds]


def graph_of(count: int) -> onnxmap.Model:
    return onnxmap.loads(bytes_of_graph(count))


EDIT_KINDS: dict[str, Callable[[onnxmap.Model, int], object]] = {
    "a field of a node": lambda m, i: setattr(m.proto.graph.node[i], "op_type", "Mul"),
    "an input of a node": lambda m, i: m.graph.nodes[i].inputs.append("x"),
    "an attribute": lambda m, i: m.graph.nodes[i].attributes.__setitem__("axis", i),
    "a new node": lambda m, i: m.proto.graph.node.insert(i, onnxmap.new("NodeProto")),
    "a node less": lambda m, i: m.graph.nodes.pop(i),
    "another node": lambda m, i: m.graph.nodes.__setitem__(i, onnxmap.new("NodeProto")),
    "a node at the end": lambda m, i: m.graph.nodes.add(op_type="New"),
    "the name of the graph": lambda m, i: setattr(m.graph, "name", str(i)),
    "raw data": lambda m, i: setattr(m.proto.graph.initializer[i], "raw_data", b"1234"),
    "a new weight": lambda m, i: m.initializers.__setitem__(
        f"new{next(NUMBERS)}", np.zeros(3, np.float32)
    ),
    "metadata": lambda m, i: m.metadata_props.__setitem__("k", str(i)),
}


def _replace_weights(model: onnxmap.Model, _: int) -> None:
    array = np.zeros(3, np.float32)
    for name in model.initializers.names():
        model.initializers[name] = array


def _rename_weights(model: onnxmap.Model, _: int) -> None:
    model.initializers.rename({name: f"layer.{name}" for name in model.initializers})


def _each(kind: str) -> Callable[[onnxmap.Model, int], None]:
    def edit(model: onnxmap.Model, count: int) -> None:
        for number in range(count // 2):
            EDIT_KINDS[kind](model, number * 7919 % (count // 2))

    return edit


EDITS = {"replace": _replace_weights, "rename": _rename_weights} | {
    kind: _each(kind) for kind in EDIT_KINDS
}


@pytest.mark.parametrize("kind", EDITS)
def test_many_edits_of_a_large_graph_take_linear_work(kind: str) -> None:
    def prepare(count: int) -> tuple[bytes, Work]:
        model = graph_of(count)

        def work() -> None:
            EDITS[kind](model, count)
            model.revert()

        return bytes_of_graph(count), work

    assert not too_steep(prepare, SIZES, names)


# These edits walk over all nodes or entries, but not in Python.
NATIVE_EDITS: dict[str, Callable[[onnxmap.Model, int], object]] = {
    "a new name": lambda m, i: m.initializers.rename(f"w{i}", f"new{i}"),
    "new metadata": lambda m, i: m.metadata_props.__setitem__(f"new{i}", "v"),
    "other metadata": lambda m, i: m.metadata_props.__setitem__(f"k{i}", "new"),
    "metadata less": lambda m, i: m.metadata_props.__delitem__(f"k{i}"),
    "a new attribute": lambda m, i: m.graph.nodes[0].attributes.__setitem__(f"new{i}", 1),
    "another attribute": lambda m, i: m.graph.nodes[0].attributes.__setitem__(f"k{i}", 2),
    "an attribute less": lambda m, i: m.graph.nodes[0].attributes.__delitem__(f"k{i}"),
    "a new domain": lambda m, i: m.opset_imports.__setitem__(f"new{i}", 1),
    "another version": lambda m, i: m.opset_imports.__setitem__(f"k{i}", 2),
    "a domain less": lambda m, i: m.opset_imports.__delitem__(f"k{i}"),
}


def instructions_of_two(count: int, change: Callable[[onnxmap.Model, int], object]) -> int:
    """The instructions that Python runs for two edits, after one that imports what it needs."""
    model = graph_of(count)
    node = model.proto.graph.node[0]
    for number in range(count):
        model.proto.metadata_props.add(key=f"k{number}", value="v")
        model.proto.opset_import.add(domain=f"k{number}", version=1)
        node.attribute.add(name=f"k{number}", type=2, i=1)
    change(model, 0)
    return instructions_of(lambda: (change(model, 1), change(model, count // 2)))


@pytest.mark.parametrize("kind", NATIVE_EDITS)
def test_an_edit_has_no_loop_in_python(kind: str) -> None:
    change = NATIVE_EDITS[kind]
    assert 0 < instructions_of_two(400, change) <= instructions_of_two(100, change)


def test_deleting_a_weight_reads_the_nodes_once_at_most() -> None:
    """As a column does. An index of all uses took twice as long, and is made only once."""
    model = graph_of(1_000)
    for name in "abc":
        model.initializers[name] = np.zeros(3, np.float32)
    del model.initializers["a"]
    data = bytes_of_graph(1_000)
    with counting_reads(data, places_in(data, names(1_000))[0]) as since:
        model.graph.node_inputs()
        of_column = since()
        for name in "bc":
            del model.initializers[name]
            assert all(few <= once for few, once in zip(since(), of_column, strict=True))
    assert any(of_column)


# 20 000 nodes, some 1 MB.
MANY_NODES = "wire.blob(7, b''.join(wire.blob(1, wire.blob(1, b'x') * 15) for _ in range(20_000)))"
LONG_LIST = """ints = model.proto.graph.node[0].attribute.add(name='a', ints=range(20_000)).ints
    for i in range(700): ints[i] = 7"""
LONG_RUN = """data = model.proto.graph.initializer.add(int64_data=range(20_000)).int64_data
    for i in range(700): data[i] = 7"""


@pytest.mark.parametrize(
    ("use", "most"),
    [
        ("for node in model.graph.nodes: node.op_type = 'Mul'", 20),
        ("for i in range(20_000): model.proto.graph.node[i % 50].op_type = 'Mul'", 10),
        ("for i in range(5_000): model.proto.graph.node.insert(i, model.proto.graph.node[0])", 15),
        ("for i in range(10_000): model.graph.name = str(i)", 8),
        ("handles = [model.graph.nodes.pop(0) for i in range(5_000)]", 15),
        (LONG_LIST, 15),
        (LONG_RUN, 15),
    ],
    ids=[
        "each node",
        "a few nodes often",
        "new nodes",
        "the graph",
        "removed nodes",
        "a long list",
        "a long packed run",
    ],
)
def test_memory_of_edits(use: str, most: float) -> None:
    """In MiB. A copy of the graph for each edit would take gigabytes."""
    facts = growth_kib(MANY_NODES, f"model = onnxmap.loads(data)\n    {use}")
    assert facts["growth"] < most * 1024


FIXED_RUN = "wire.scalar(1, 5 << 20) + wire.scalar(2, 1) + wire.blob(4, bytes(20 << 20))"
VARINT_RUN = "wire.scalar(1, 20 << 20) + wire.scalar(2, 7) + wire.blob(7, bytes(20 << 20))"


@pytest.mark.parametrize("tensor", [FIXED_RUN, VARINT_RUN], ids=["float_data", "int64_data"])
def test_a_copied_tensor_takes_no_memory(tensor: str) -> None:
    """Also if its values are packed in a typed field, and however the tensor is copied."""
    use = """other = onnxmap.loads(data)
    model = onnxmap.loads(wire.blob(7, b""))
    model.initializers["w"] = other.initializers["w"]
    model.proto.graph.initializer.add().CopyFrom(other.proto.graph.initializer[0])
    model.proto.graph.initializer.append(other.proto.graph.initializer[0])
    model.proto.graph.initializer.add().MergeFrom(other.proto.graph.initializer[0])"""
    facts = growth_kib(f"wire.blob(7, wire.blob(5, wire.blob(8, b'w') + {tensor}))", use)
    assert facts["growth"] < 5 * 1024


def test_an_assigned_weight_takes_no_memory() -> None:
    use = """array = np.ones(50_000_000, np.uint8)
    model = onnxmap.loads(data)
    before = resident_kib()
    for i in range(50): model.initializers[f"w{i}"] = array
    other = onnxmap.loads(data)
    other.initializers["w"] = model.initializers["w0"]
    other.initializers["w"].numpy()[::4096].sum()
    model.views()"""
    facts = growth_kib("wire.blob(7, b'')", "import numpy as np\n    " + use)
    assert facts["growth"] < 20 * 1024
