"""Values that run Python code while an edit converts them: generators, `__index__`, sort keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.edits.rich_model import rich
from support.faults.bus_errors import ended_by_bus_error
from support.processes.subprocesses import run_python

import onnxmap

# Each edits a model while `read()` touches lost bytes of its file.
EDITS = {
    "values": "node.inputs.extend(read() for _ in range(1))",
    "new values": "node.inputs = (read() for _ in range(1))",
    "slice of values": "node.inputs[:] = (read() for _ in range(1))",
    "index": "node.inputs.insert(Index(), 'x')",
    "equal value": "node.inputs.remove(Equal())",
    "found value": "Equal() in node.inputs",
    "number": "attribute.proto.i = Index()",
    "real number": "attribute.proto.f = Real()",
    "packed numbers": "attribute.proto.t.dims.extend(read() for _ in range(1))",
    "attribute": "node.attributes['a'] = (read() for _ in range(1))",
    "attribute value": "attribute.value = (read() for _ in range(1))",
    "shape": "value.shape = (read() for _ in range(1))",
    "entries": "node.metadata_props = Entries()",
    "read slice": "nodes[Index():]",
    "removed slice": "del nodes[Index():]",
    "messages": "nodes.extend(read() for _ in range(1))",
    "merged messages": "attribute.proto.tensors.MergeFrom(read() for _ in range(1))",
    "new messages": "graph.nodes = (read() for _ in range(1))",
    "slice of messages": "nodes[:] = (read() for _ in range(1))",
    "fields": "nodes.add(input=(read() for _ in range(1)))",
    "message": "nodes.append(Wrapper())",
}
RUN = """
import os, sys
from pathlib import Path
import onnxmap
from support.models.paged import stored
path = stored("raw").write(Path(sys.argv[1]))
model = onnxmap.load(path, io="mmap", watch=False)
view = model.initializers["t"].numpy()
nodes = model.graph.nodes
nodes.append(onnxmap.make_node("Add", ["a", "b"], ["c"], a=1))
node = nodes[-1]
attribute = node.attributes["a"]
model.graph.inputs.append(onnxmap.make_value_info("x", onnxmap.make_tensor_type_proto(1, None)))
value = model.graph.inputs[-1]
graph, metadata = model.graph, model.metadata_props
os.truncate(path, 0)
def read():
    print("reads", flush=True)
    print("has read", float(view[-1]), flush=True)
class Index:
    def __index__(self): return read()
class Real:
    def __float__(self): return read()
class Equal:
    def __eq__(self, other): return read()
class Entries:
    def keys(self): return [read()]
class Wrapper:
    @property
    def proto(self): return read()
"""


@pytest.mark.parametrize("edit", EDITS)
def test_code_that_an_edit_runs_reads_no_zeros(edit: str, tmp_path: Path) -> None:
    """A view of a file that was cut gives the signal, as everywhere outside of onnxmap."""
    result = run_python(RUN + EDITS[edit], str(tmp_path))
    assert result.stdout == "reads\n", result.stderr
    assert ended_by_bus_error(result), result.stderr


class Editing:
    """An index that runs code."""

    def __init__(self, run: Callable[[], object], number: int = 0) -> None:
        self.run = run
        self.number = number

    def __index__(self) -> int:
        self.run()
        return self.number

    def __lt__(self, other: object) -> bool:
        self.run()
        return False


def feeding(run: Callable[[], object], value: Any) -> Iterator[Any]:
    run()
    yield value


@pytest.fixture
def node() -> Any:
    nodes = rich().graph.nodes
    nodes.append(onnxmap.make_node("Op", ["a", "b", "c"], ["d"], name="watched", n=[1, 2]))
    return nodes["watched"]


def texts_edits(node: Any) -> dict[str, Callable[[Callable[[], object]], object]]:
    return {
        "insert": lambda run: node.inputs.insert(Editing(run), "x"),
        "set": lambda run: node.inputs.__setitem__(Editing(run), "x"),
        "slice": lambda run: node.inputs.__setitem__(slice(0, 1), feeding(run, "x")),
        "delete": lambda run: node.inputs.__delitem__(Editing(run)),
        "sort": lambda run: node.inputs.sort(key=lambda _: str(run())),
        "numbers": lambda run: node.proto.attribute[0].ints.__setitem__(0, Editing(run)),
    }


@pytest.mark.parametrize("edit", texts_edits(None))
def test_an_edit_of_the_list_that_is_being_edited(edit: str, node: Any) -> None:
    def run() -> None:
        node.inputs.append("more")
        node.proto.attribute[0].ints.append(7)

    with pytest.raises(ValueError, match="the list was modified while its new values were found"):
        texts_edits(node)[edit](run)
    assert "x" not in node.inputs
    assert node.inputs[-1] == "more"
    assert node.attributes["n"].value[-1] == 7


@pytest.mark.parametrize("edit", texts_edits(None))
def test_an_edit_of_another_message_meanwhile(edit: str, node: Any) -> None:
    other = rich().graph.nodes[0]
    texts_edits(node)[edit](lambda: other.inputs.append("more"))
    assert other.inputs[-1] == "more"


def test_messages_that_are_edited_by_a_sort_key() -> None:
    nodes = rich().graph.nodes
    count = len(nodes)
    with pytest.raises(ValueError, match="the list was modified"):
        nodes.sort(key=lambda _: nodes.add(name="more").name)
    assert len(nodes) == 2 * count


def test_a_generator_that_edits_the_list_that_it_extends(node: Any) -> None:
    """As in Python: its own values come last."""
    node.inputs.extend(feeding(lambda: node.inputs.append("more"), "x"))
    assert list(node.inputs) == ["a", "b", "c", "more", "x"]


def test_a_value_that_removes_its_message() -> None:
    nodes = rich().graph.nodes
    first = nodes[0]
    with pytest.raises(ValueError, match="removed"):
        first.inputs = feeding(nodes.clear, "x")
    assert len(nodes) == 0


OTHER_MESSAGES: dict[str, Callable[[Any], object]] = {
    "cleared": lambda attribute: attribute.ClearField("t"),
    "replaced": lambda attribute: attribute.ParseFromString(
        onnxmap.new("AttributeProto", t={"dims": [7, 8, 9]}).SerializeToString()
    ),
}
LIST_EDITS: dict[str, Callable[[Any, Callable[[], object]], object]] = {
    "set": lambda dims, run: dims.__setitem__(0, Editing(run)),
    "insert": lambda dims, run: dims.insert(0, Editing(run)),
    "sort": lambda dims, run: dims.sort(key=lambda _: str(run())),
}


@pytest.mark.parametrize("edit", LIST_EDITS)
@pytest.mark.parametrize("other", OTHER_MESSAGES)
def test_another_message_takes_the_place_of_the_one_that_is_edited(edit: str, other: str) -> None:
    """A message that was absent when it was asked for stands for its field."""
    attribute = onnxmap.new("AttributeProto")
    tensor = attribute.t
    attribute.MergeFromString(
        onnxmap.new("AttributeProto", t={"dims": [3, 2, 1]}).SerializeToString()
    )
    with pytest.raises(ValueError, match="the list was modified"):
        LIST_EDITS[edit](tensor.dims, lambda: OTHER_MESSAGES[other](attribute))
    assert list(attribute.t.dims) == ([] if other == "cleared" else [7, 8, 9])
    assert attribute.HasField("t") == (other == "replaced")
