"""Handles, comparisons and texts of messages show step by step what they show in protobuf."""

from __future__ import annotations

import pytest
from support.oracles.steps import disagreements

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
    "clearing": f"""{_NODE}
attribute = n.attribute[0]
n.Clear()
(n, n.ListFields(), n.ByteSize())
attribute.name
n.name = "again"
n
n.Clear()
n.Clear()
m = new("ModelProto")
m.graph.Clear()
m.HasField("graph")
m = new("ModelProto", graph={{"name": "g"}})
m.graph.Clear()
(m.HasField("graph"), m)
""",
    "clearing an absent field": """
m = new("ModelProto")
m.graph.ClearField("name")
m.HasField("graph")
v = new("ValueInfoProto")
v.type.ClearField("value")
v.HasField("type")
v.type.tensor_type.ClearField("shape")
v.HasField("type")
m.graph.ClearField("node")
m.HasField("graph")
""",
    "a message that is cleared is detached": """
m = new("ModelProto", graph={"name": "g"})
graph = m.graph
m.ClearField("graph")
(graph.name, m.HasField("graph"), m.graph.name)
m.graph.name = "other"
(graph.name, m.graph.name)
""",
    "a message that is removed": """
g = new("GraphProto", node=[{"name": "a"}, {"name": "b"}])
first = g.node[0]
del g.node[0]
first.name
g.node[0].name
popped = g.node.pop()
(popped.name, len(g.node))
added = g.node.append(popped)
g.node[0].name
""",
    "parts outlive the whole": """
node = new("ModelProto", graph={"node": [{"name": "n", "input": ["x"]}]}).graph.node[0]
(node.name, node.input)
texts = new("NodeProto", input=["x"]).input
texts.append("y")
texts
nodes = new("ModelProto", graph={"node": [{"name": "n"}]}).graph.node
nodes.add(name="o")
[each.name for each in nodes]
""",
    "one message, several handles": """
m = new("ModelProto")
a = m.graph
b = m.graph
a.name = "a"
b.name
b.node.add(name="n")
a.node[0].name
m.graph == a
""",
    "equality": f"""{_NODE}
o = copy.deepcopy(n)
(n == o, n != o)
o.name = "o"
(n == o, n != o)
n == None
n != None
n == 5
n == "n"
n == new("TensorProto")
new("NodeProto") == new("TensorProto")
new("NodeProto") == new("NodeProto")
new("NodeProto", name="") == new("NodeProto")
new("ModelProto", graph={{}}) == new("ModelProto")
new("AttributeProto", f=0.0) == new("AttributeProto", f=-0.0)
new("AttributeProto", f=nan) == new("AttributeProto", f=nan)
new("AttributeProto", ints=[1, 2]) == new("AttributeProto", ints=[2, 1])
new("AttributeProto", ints=[]) == new("AttributeProto")
""",
    "equality with unknown fields": f"""{_UNKNOWN}
o = parse("NodeProto", data)
n == o
n == parse("NodeProto", data + wire.scalar(999, 5))
n == new("NodeProto", name="n")
""",
    "order": f"""{_NODE}
n < n
n <= n
sorted([n, n])
bool(n)
bool(new("NodeProto"))
len(n)
iter(n)
n[0]
n["name"]
""",
    "pickles": f"""{_NODE}
p = pickle.loads(pickle.dumps(n))
p == n
p.name = "p"
n.name
pickle.loads(pickle.dumps(new("NodeProto")))
pickle.loads(pickle.dumps(n.attribute[0], protocol=2))
pickle.loads(pickle.dumps([n, n.attribute[0]]))
pickle.loads(pickle.dumps(new("TensorProto.Segment", begin=1)))
""",
    "unknown fields": f"""{_UNKNOWN}
n.name
n.ByteSize() == len(data)
o = new("NodeProto")
o.CopyFrom(n)
o
o.MergeFrom(n)
o
copy.deepcopy(n)
pickle.loads(pickle.dumps(n))
n.ClearField("name")
n
n.Clear()
n
""",
    "unknown fields that are discarded": f"""{_UNKNOWN}
n.DiscardUnknownFields()
n
n.SerializeToString(deterministic=True)
n.DiscardUnknownFields()
n
new("NodeProto").DiscardUnknownFields()
n = parse("NodeProto", data)
n.attribute[0].DiscardUnknownFields()
n
m = new("ModelProto")
m.graph.DiscardUnknownFields()
m.HasField("graph")
m = parse("ModelProto", wire.blob(7, wire.scalar(999, 1)))
m.DiscardUnknownFields()
(m.HasField("graph"), m)
m = parse("ModelProto", wire.blob(7, wire.scalar(999, 1)))
m.graph.DiscardUnknownFields()
(m.HasField("graph"), m)
""",
    "unknown fields in text": f"""{_UNKNOWN}
str(n)
""",
    "text": f"""{_NODE}
str(n)
n.attribute.add(name="t").t.dims.append(3)
str(n)
str(new("NodeProto"))
str(new("ModelProto", graph={{}}))
str(new("TensorProto", raw_data=bytes(range(256)), data_location=1))
str(new("NodeProto", name="é\\t\\"'\\\\"))
""",
    "sizes": """
new("NodeProto").ByteSize()
new("NodeProto", input=["", ""]).ByteSize()
new("AttributeProto", ints=[0, 127, 128, -1]).ByteSize()
new("AttributeProto", i=-1).ByteSize()
new("TensorProto", data_type=-1).ByteSize()
new("TensorProto", float_data=[0, 1]).ByteSize()
new("TensorProto", double_data=[0]).ByteSize()
new("TensorProto", int32_data=[0, 128, -1]).ByteSize()
new("ModelProto", graph={}).ByteSize()
new("ModelProto", graph={"node": [{}, {"name": "x" * 127}, {"name": "x" * 128}]}).ByteSize()
m = new("ModelProto")
m.graph.name = "g"
m.ByteSize()
m.graph.ClearField("name")
m.ByteSize()
""",
    "types of arguments": f"""{_NODE}
n.MergeFrom()
n.HasField("name", "op_type")
n.ClearField()
n.SetInParent(1)
n.Clear(1)
n.ListFields(1)
n.WhichOneof()
""",
    "length-prefixed messages": f"""{_NODE}
proto = __import__("google.protobuf.proto").protobuf.proto
stream = __import__("io").BytesIO()
proto.serialize_length_prefixed(n.attribute[0], stream)
proto.serialize_length_prefixed(new("AttributeProto", name="x" * 200), stream)
proto.serialize_length_prefixed(new("AttributeProto"), stream)
stream.tell()
stream.seek(0)
make = lambda: new("AttributeProto")
[proto.parse_length_prefixed(make, stream) for _ in range(4)]
stream.seek(0)
stream.truncate(5)
proto.parse_length_prefixed(make, stream)
proto.serialize(n.attribute[0], deterministic=True)
""",
    "json and text by protobuf's own modules": f"""{_NODE}
json_format = __import__("google.protobuf.json_format").protobuf.json_format
text_format = __import__("google.protobuf.text_format").protobuf.text_format
json_format.MessageToDict(n)
json_format.MessageToJson(n)
text_format.MessageToString(n)
text_format.MessageToString(n, as_one_line=True)
text_format.Parse(str(n), new("NodeProto"))
""",
    "equality with other objects": """
n = new("NodeProto", name="foo")
class Foo:
    def __eq__(self, other):
        return True if getattr(other, "name", "") == "foo" else NotImplemented
n == Foo()
Foo() == n
n != Foo()
n.name = "bar"
n == Foo()
Foo() == n
(42 == n, "foo" == n, None == n, n == 42)
anything = __import__("unittest.mock").mock.ANY
(n == anything, anything == n, n != anything)
t = new("TypeProto")
t == new("TypeProto").sequence_type.elem_type
new("TypeProto").sequence_type.elem_type == t
new("TypeProto").sequence_type.elem_type == new("TypeProto").optional_type.elem_type
a = new("NodeProto", attribute=[{"i": 1}])
b = new("NodeProto", attribute=[{"i": 1}])
a.attribute[0].i += 1
a == b
a.attribute[0].i -= 1
a == b
a.attribute.add()
a == b
b.attribute.add()
a == b
a.attribute[0].ClearField("i")
a == b
x = new("ModelProto", graph={})
x == new("ModelProto", graph={"name": ""})
""",
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_handles(name: str) -> None:
    assert disagreements(SCENARIOS[name]) == []


DETACHED = {
    "cleared": 'm = new("ModelProto", graph={"name": "g"})\ngraph = m.graph\nm.ClearField("graph")',
    "with its parent": 'm = new("ModelProto", graph={"name": "g"})\ngraph = m.graph\nm.Clear()',
}


@pytest.mark.parametrize("name", DETACHED)
def test_a_detached_message_can_only_be_read(name: str) -> None:
    """Protobuf writes to a message that is part of nothing."""
    program = f"""{DETACHED[name]}
graph.name = "other"
(m.HasField("graph"), m.graph.name, len(m.graph.node))
m.graph.name = "later"
m.graph.name
"""
    assert disagreements(program) == [("graph.name = 'other'", None, "ValueError")]


def test_a_message_that_was_absent_is_its_field() -> None:
    """In protobuf, it belongs to no message once the field is cleared."""
    program = """
m = new("ModelProto")
graph = m.graph
m.ClearField("graph")
m.graph.name = "other"
graph.name
graph.name = "g"
m.graph.name
m.Clear()
(graph.name, m.HasField("graph"))
t = new("TypeProto")
first = t.tensor_type
first.elem_type = 7
t.sequence_type.SetInParent()
(first.elem_type, t.HasField("tensor_type"))
"""
    assert disagreements(program) == [
        ("graph.name", b"", b"other"),
        ("m.graph.name", b"other", b"g"),
        ("(graph.name, m.HasField('graph'))", [b"g", False], [b"", False]),
        ("(first.elem_type, t.HasField('tensor_type'))", [7, False], [0, False]),
    ]


def test_what_objects_of_messages_are() -> None:
    """They are made when they are asked for, and lists show the types and sizes of messages."""
    program = """
n = new("NodeProto", attribute=[{"i": 1}])
n.attribute is n.attribute
n.attribute[0] is n.attribute[0]
n.attribute[0] == n.attribute[0]
str(n.attribute)
"""
    assert disagreements(program) == [
        ("n.attribute is n.attribute", True, False),
        ("n.attribute[0] is n.attribute[0]", True, False),
        ("str(n.attribute)", b"[i: 1\n]", b"[<onnxmap.ProtoView AttributeProto, 2 bytes>]"),
    ]
