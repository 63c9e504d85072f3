"""Whole messages do step by step what they do in protobuf: bytes, copies, merges, comparisons."""

from __future__ import annotations

import subprocess
import sys

import onnx
import pytest
from google.protobuf import text_format
from support import wire_bytes as wire
from support.edits.models import EDIT_MODELS
from support.oracles.canonical import DESCRIPTORS, message_class
from support.oracles.steps import disagreements

import onnxmap
from onnxmap.types import enum_types, message_type, message_types

_NODE = """
n = new("NodeProto", name="n", input=["a", "b"], attribute=[{"name": "k", "i": 1, "type": 2}])
"""
_UNKNOWN = """
data = (wire.blob(3, b"n") + wire.scalar(999, 5) + wire.tag(998, 5) + b"abcd" + wire.tag(997, 1)
    + b"abcdefgh" + wire.blob(996, b"xyz") + wire.group(995, wire.scalar(1, 2)) + wire.scalar(8, 1)
    + wire.blob(5, wire.blob(1, b"k") + wire.scalar(50, 1) + wire.scalar(20, 77)))
n = parse("NodeProto", data)
"""
SCENARIOS = {
    "bytes": f"""{_NODE}
n.SerializeToString(deterministic=True)
n.SerializeToString(deterministic=None) == n.SerializeToString()
n.SerializeToString(deterministic=False) == n.SerializeToString()
n.SerializeToString(True)
n.SerializeToString(nothing=True)
n.SerializePartialToString(deterministic=True)
(n.ByteSize(), len(n.SerializeToString()))
parse("NodeProto", n.SerializeToString()) == n
new("NodeProto").SerializeToString()
""",
    "bytes in the order of numbers": """
a = new("AttributeProto")
a.type = 2
a.ints.extend([3, 4])
a.name = "a"
a.t.dims.append(2)
a.t.name = "t"
a.t.data_type = 1
a.doc_string = "d"
a.SerializeToString(deterministic=True)
b = new("AttributeProto", doc_string="d", t={"data_type": 1, "name": "t", "dims": [2]})
b.ints.extend([3, 4])
b.name = "a"
b.type = 2
a.SerializeToString(deterministic=True) == b.SerializeToString(deterministic=True)
a == b
p = parse("AttributeProto", wire.scalar(20, 2) + wire.blob(5, wire.blob(8, b"t"))
    + wire.scalar(8, 3) + wire.blob(5, wire.scalar(1, 2) + wire.scalar(2, 1)) + wire.blob(1, b"a")
    + wire.scalar(8, 4) + wire.blob(13, b"d"))
p.SerializeToString(deterministic=True)
p == a
""",
    "bytes with unknown fields": f"""{_UNKNOWN}
n.SerializeToString(deterministic=True)
n.attribute[0].SerializeToString(deterministic=True)
n.op_type = "Add"
n.SerializeToString(deterministic=True)
""",
    "parsing": f"""{_NODE}
data = n.SerializeToString(deterministic=True)
o = new("NodeProto", name="other", output=["y"])
o.ParseFromString(data)
o
o.MergeFromString(data)
o
o.ParseFromString(b"")
o
o.MergeFromString(b"")
o
""",
    "buffers that are parsed": f"""{_NODE}
data = n.SerializeToString(deterministic=True)
o = new("NodeProto")
o.ParseFromString(bytearray(data))
o
o.ParseFromString(memoryview(data))
o
o.MergeFromString(memoryview(bytearray(data)))
o
o.ParseFromString(memoryview(b"x" + data)[1:])
o
o.MergeFromString("text")
o.MergeFromString()
o
o.ParseFromString("text")
o.ParseFromString(None)
o.ParseFromString(5)
o.ParseFromString([1])
o.ParseFromString(__import__("array").array("B", data))
o.ParseFromString()
""",
    "a buffer that changes after it was parsed": """
data = bytearray(new("TensorProto", raw_data=b"a" * 10_000).SerializeToString())
t = new("TensorProto")
t.ParseFromString(data)
data[-1] = 0
t.raw_data[-1:]
data.extend(b"more")
""",
    "FromString": f"""{_NODE}
data = n.SerializeToString()
n.FromString(data)
n.FromString(data) == n
n.FromString(bytearray(data))
n.FromString(memoryview(data))
n.FromString(b"")
n.FromString("text")
n.FromString(b"\\xff")
n.attribute[0].FromString(n.attribute[0].SerializeToString())
made = n.FromString(data)
made.name = "made"
(made.name, n.name)
""",
    "bytes that are no message": """
n = new("NodeProto", name="before")
n.ParseFromString(b"\\xff")
n.ParseFromString(b"\\x0a\\x05a")
n.ParseFromString(wire.tag(1, 7))
n.ParseFromString(b"\\0\\0")
n.ParseFromString(wire.tag(9, wire.START_GROUP))
n.ParseFromString(wire.tag(9, wire.END_GROUP))
n.MergeFromString(b"\\xff")
n.MergeFromString(wire.blob(5, b"\\xff"))
n = new("NodeProto")
n.MergeFromString(b"\\x80" * 11)
n.MergeFromString(wire.blob(5, wire.blob(6, wire.blob(11, wire.blob(5, b"\\x0a")))))
""",
    "truncated bytes": f"""{_NODE}
data = n.SerializeToString(deterministic=True)
[len(str(family)) for family in ()]
def verdict(end):
    try:
        new("NodeProto").ParseFromString(data[:end])
        return True
    except Exception:
        return False
[verdict(end) for end in range(len(data))]
""",
    "wrong wire types are unknown": """
n = parse("NodeProto", wire.scalar(3, 1) + wire.blob(3, b"n"))
(n.name, n.ByteSize())
n.SerializeToString(deterministic=True)
""",
    "copies": f"""{_NODE}
c = new("NodeProto", output=["gone"])
c.CopyFrom(n)
(c, c == n)
c.name = "copy"
(c.name, n.name)
c.attribute[0].i = 9
n.attribute[0].i
c.CopyFrom(c)
c
c.CopyFrom(new("NodeProto"))
c
c.CopyFrom(new("TensorProto"))
c.CopyFrom(None)
c.CopyFrom({{"name": "x"}})
c.CopyFrom("x")
c.CopyFrom()
""",
    "copies by the standard library": f"""{_NODE}
shallow = copy.copy(n)
deep = copy.deepcopy(n)
(shallow == n, deep == n)
deep.attribute[0].i = 5
deep.input.append("c")
n
copy.deepcopy([n, n.attribute[0]])
copy.copy(n.attribute[0])
memo = {{}}
copy.deepcopy(n, memo) == n
both = copy.deepcopy([n, n])
both[0] is both[1]
""",
    "merges": f"""{_NODE}
o = new("NodeProto", name="o", input=["c"], op_type="Add", attribute=[{{"f": 1}}])
n.MergeFrom(o)
n
o
n.MergeFrom(new("NodeProto"))
n
n.MergeFrom(n)
n.MergeFrom(new("TensorProto"))
n.MergeFrom(None)
n.MergeFrom(5)
n.MergeFrom({{"name": "x"}})
""",
    "merges of messages in messages": """
a = new("ModelProto", ir_version=1, graph={"name": "a", "node": [{"name": "x"}]})
b = new("ModelProto", graph={"doc_string": "b", "node": [{"name": "y"}]}, domain="d")
a.MergeFrom(b)
a
b.graph.node[0].name = "z"
a.graph.node[1].name
c = new("ModelProto")
c.MergeFrom(new("ModelProto", graph={}))
c.HasField("graph")
c.graph.MergeFrom(a.graph)
c
c.graph.MergeFrom(new("GraphProto"))
c.MergeFrom(new("ModelProto"))
c
d = new("ModelProto")
d.graph.MergeFrom(new("GraphProto"))
d.HasField("graph")
d.graph.CopyFrom(new("GraphProto"))
d.HasField("graph")
e = new("ModelProto")
e.graph.ParseFromString(b"")
e.HasField("graph")
f = new("ModelProto")
f.graph.MergeFromString(b"")
f.HasField("graph")
""",
    "merges of a message into itself": """
a = new("GraphProto", node=[{"name": "x"}])
a.node.extend(list(a.node))
a
a.node[0].CopyFrom(a.node[1])
a
t = new("TypeProto", sequence_type={"elem_type": {"denotation": "inner"}})
t.CopyFrom(copy.deepcopy(t.sequence_type.elem_type))
t
""",
    "groups that are no groups": """
n = new("NodeProto")
n.FromString(0)
n.FromString("0")
n.FromString(wire.tag(1, wire.END_GROUP))
n.FromString(wire.tag(2, wire.START_GROUP))
n.FromString(wire.tag(2, wire.START_GROUP) + wire.tag(1, wire.END_GROUP))
n.FromString(b"\\3\\4")
def groups(depth):
    data = b""
    for _ in range(depth):
        data = wire.group(50, data)
    return data
len(n.FromString(groups(90)).SerializeToString())
n.FromString(groups(300))
""",
    "arguments that fail": """
class Fails:
    def __bool__(self):
        raise KeyError
n = new("NodeProto", input=["One", "Two", "Red"])
n.SerializeToString(deterministic=Fails())
n.SerializeToString(deterministic=0) == n.SerializeToString(deterministic=1)
n.IsInitialized(1, 2, 3)
n.IsInitialized(None)
n.IsInitialized(1)
n.FindInitializationErrors(1)
""",
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_messages(name: str) -> None:
    assert disagreements(SCENARIOS[name]) == []


def test_bytes_that_are_refused_change_nothing() -> None:
    """Protobuf clears the message before it reads them."""
    program = """
n = new("NodeProto", name="before")
n.ParseFromString("text")
n.name
"""
    assert disagreements(program) == [("n.name", b"", b"before")]


def test_bytes_are_those_of_the_file_unless_deterministic() -> None:
    """Protobuf always writes the fields by number, and a member of a oneof only if it is set."""
    data = wire.blob(2, b"n") + wire.scalar(1, 5)
    view = onnxmap.loads_proto(data, "TensorShapeProto.Dimension")
    assert (view.SerializeToString(), view.ByteSize()) == (data, 5)
    assert view.SerializeToString(deterministic=True) == wire.scalar(1, 5)


@pytest.mark.parametrize("name", EDIT_MODELS)
def test_deterministic_bytes_are_those_of_protobuf(name: str) -> None:
    data = EDIT_MODELS[name]
    expected = onnx.ModelProto.FromString(data).SerializeToString(deterministic=True)
    assert onnxmap.loads_proto(data, "ModelProto").SerializeToString(deterministic=True) == expected


def test_unknown_fields_as_text() -> None:
    data = (
        wire.blob(3, b"n") + wire.scalar(999, 5) + wire.tag(998, 5) + b"\1\2\3\4"
        + wire.tag(997, 1) + b"\1\2\3\4\5\6\7\xff"
        + wire.group(995, wire.scalar(1, 2) + wire.blob(2, b"\xff"))
        + wire.blob(5, wire.scalar(50, 1 << 63))
    )  # fmt: skip
    decimal = text_format.MessageToString(
        onnx.NodeProto.FromString(data), print_unknown_fields=True
    )
    # As protobuf's C++ library, which tells the wire types apart.
    expected = decimal.replace("67305985", "0x04030201").replace(
        "18376663423120507393", "0xff07060504030201"
    )
    view = onnxmap.loads_proto(data, "NodeProto")
    assert view.to_text(print_unknown_fields=True) == expected
    assert view.to_text() == str(view) == str(onnx.NodeProto.FromString(data))


def test_types_are_those_of_the_package_onnx() -> None:
    """The types of onnxmap have the names, numbers and kinds of the fields."""
    for name in message_types():
        official = onnxmap.new(name).DESCRIPTOR
        assert official is message_class(name).DESCRIPTOR
        own = message_type(name)
        assert set(own.fields_by_number) == set(official.fields_by_number)
    assert set(message_types()) == set(DESCRIPTORS)
    assert enum_types()["TensorProto.DataType"] == dict(onnx.TensorProto.DataType.items())


def test_small_types_if_onnx_is_not_there() -> None:
    program = (
        "import sys; sys.modules['onnx'] = None; import onnxmap;"
        "node = onnxmap.new('NodeProto', name='n');"
        "print(type(node.DESCRIPTOR).__name__, [f.name for f, _ in node.ListFields()])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "MessageType ['name']\n"
