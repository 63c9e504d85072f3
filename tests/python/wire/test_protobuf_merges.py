"""Merges, and the handles that were made before them, do step by step what they do in protobuf."""

from __future__ import annotations

import pytest
from support.oracles.steps import disagreements

SCENARIOS = {
    "a message that a merge makes": """
m = new("ModelProto")
graph = m.graph
graph.name
m.MergeFrom(new("ModelProto", graph={"name": "g"}))
graph.name
v = new("ValueInfoProto")
shape = v.type.tensor_type.shape
len(shape.dim)
v.MergeFrom(new("ValueInfoProto", type={"tensor_type": {"shape": {"dim": [{"dim_value": 3}]}}}))
len(shape.dim)
shape.dim.add()
len(v.type.tensor_type.shape.dim)
m = new("ModelProto")
graph = m.graph
m.MergeFromString(new("ModelProto", graph={"name": "s"}).SerializeToString())
(graph.name, m.graph.name)
m = new("ModelProto")
graph = m.graph
m.MergeFromString(b"")
m.HasField("graph")
m.MergeFrom(m)
m.HasField("graph")
other = new("ModelProto")
other.MergeFrom(m)
other.HasField("graph")
m.MergeFromString(b"\\x3a\\x03\\x0a\\x01\\xff")
graph.name = "later"
m.graph.name
""",
    "several messages, one of which a merge makes": """
v = new("AttributeProto")
parts = [v.t, v.g, v.tp, v.sparse_tensor]
v.t.name = "t"
v.g.name = "g"
source = new("AttributeProto", tp={"denotation": "d"})
v.MergeFrom(source)
parts[2].denotation
(v.HasField("tp"), v.HasField("sparse_tensor"))
parts[2].denotation = "e"
v.tp.denotation
""",
    "members of oneofs": """
def tensor(elem):
    return new("TypeProto", tensor_type={"elem_type": elem})
def sequence(text):
    return new("TypeProto", sequence_type={"elem_type": {"denotation": text}})
t = tensor(123)
held = t.tensor_type
t.MergeFrom(sequence("s"))
(held.elem_type, t.tensor_type.elem_type, t.WhichOneof("value"))
t.tensor_type.CopyFrom(held)
(t.tensor_type.elem_type, t.WhichOneof("value"))
t = tensor(1)
held = t.tensor_type
t.MergeFrom(tensor(2))
held.elem_type
t = tensor(42)
held = t.tensor_type
t.MergeFromString(sequence("s").SerializeToString())
(held.elem_type, t.WhichOneof("value"))
t = tensor(42)
held = t.tensor_type
t.MergeFromString(new("TypeProto", denotation="d").SerializeToString())
(t.HasField("tensor_type"), t.tensor_type.elem_type, held.elem_type)
t.MergeFromString(tensor(43).SerializeToString())
(t.tensor_type.elem_type, held.elem_type)
element = {"tensor_type": {"elem_type": 2}}
v = new("ValueInfoProto", type={"sequence_type": {"elem_type": element}})
outer = v.type.sequence_type
inner = outer.elem_type.tensor_type
element = {"denotation": "hi", "map_type": {}}
w = new("ValueInfoProto", type={"sequence_type": {"elem_type": element}})
v.MergeFrom(w)
(inner.elem_type, v.type.sequence_type.elem_type.WhichOneof("value"), outer.elem_type.denotation)
d = new("TensorShapeProto.Dimension")
d.dim_value = True
d.dim_value
d.ClearField("value")
d.dim_value = 11
d.ClearField("dim_param")
(d.dim_value, d.WhichOneof("value"), d.HasField("value"))
d.Clear()
d.dim_param = ""
(d.WhichOneof("value"), d.HasField("dim_param"))
""",
    "bytes with a message twice": """
a = new("ModelProto", ir_version=1, graph={"name": "a", "node": [{"name": "x"}]})
b = new("ModelProto", ir_version=3, producer_name="p", graph={"node": [{"name": "y"}]})
m = parse("ModelProto", a.SerializeToString() + b.SerializeToString())
m
m.graph.node[1].name
n = parse("GraphProto", 3 * wire.blob(1, wire.blob(3, b"n")))
len(n.node)
t = new("TensorProto", int32_data=[3], double_data=[1, 2])
t.MergeFromString(new("TensorProto", int32_data=[1, 2], double_data=[3]).SerializeToString())
(t.int32_data, t.double_data)
""",
    "parts that outlive the whole": """
m = new("ModelProto")
graph = m.graph
del m
graph.name = "g"
graph.name
m = new("ModelProto")
graph = m.graph
m.ClearField("graph")
del m, graph
m = new("ModelProto")
graph = m.graph
graph.name
deep = new("GraphProto").node.add().attribute.add().g.node.add()
deep.input
deep.attribute.add().t.name
copied = new("ModelProto")
copied.MergeFrom(new("ModelProto", graph={"name": "x"}))
copied.ClearField("graph")
copied.HasField("graph")
copied.ClearField("graph")
t = new("TypeProto", denotation="d", sequence_type={"elem_type": {"denotation": "x"}})
t.CopyFrom(t.sequence_type.elem_type.optional_type.elem_type)
(t, t.ListFields())
""",
    "a copy of a part": """
t = new("TypeProto", denotation="d", sequence_type={"elem_type": {"denotation": "x"}})
t.CopyFrom(t.sequence_type.elem_type)
t
""",
    "a merge of the whole into a part": """
t = new("TypeProto", denotation="d", sequence_type={"elem_type": {"denotation": "x"}})
t.sequence_type.elem_type.MergeFrom(t)
t
""",
    "copies": """
n = new("NodeProto", name="n", attribute=[{"i": i} for i in range(10)])
n.CopyFrom(new("NodeProto"))
n.attribute[5]
o = new("NodeProto", input=["a"], name="n", op_type="t")
o.CopyFrom(o)
o
c = new("NodeProto")
c.CopyFrom(o)
o.attribute.add().i = 123
c == o
""",
    "negative numbers": """
t = new("TensorProto", data_type=-1, dims=[-(2 << 40)], int32_data=[-3], int64_data=[-(4 << 40)])
u = t.FromString(t.SerializeToString())
(u == t, u.data_type, u.dims, u.int32_data, u.int64_data)
u.ByteSize() == len(t.SerializeToString(deterministic=True))
""",
    "sizes": """
a = new("AttributeProto")
def size(i):
    a.i = i
    return a.ByteSize()
[size((1 << i) - 1) for i in range(0, 64, 7)]
[size(i) for i in (-1, -2, -(1 << 63), 0)]
a.ClearField("i")
a.ByteSize()
a.name = ""
a.ByteSize()
a.name = "x" * 128
a.ByteSize()
a.Clear()
a.t.name = "x"
a.ByteSize()
a.t.ClearField("name")
a.ByteSize()
a.ClearField("t")
a.ByteSize()
a.ints.extend([10, 128])
a.ByteSize()
a.ints.remove(128)
a.ByteSize()
a.ints[0] = 128
a.ByteSize()
a.ClearField("ints")
first = a.tensors.add()
second = a.tensors.add()
second.data_type = 7
a.ByteSize()
copied = copy.deepcopy(a.tensors)
del a.tensors[0]
a.ByteSize()
a.tensors.add().data_type = 12
a.ByteSize()
del a.tensors[1]
del a.tensors[0]
(a.ByteSize(), len(copied))
t = new("TensorProto")
t.int32_data.extend([10, 128])
t.double_data.extend([4.2, 3.25])
t.ByteSize()
t.ClearField("int32_data")
t.ByteSize()
""",
    "sizes of copied lists": """
a = new("AttributeProto", tensors=[{}, {}])
copied = copy.deepcopy(a.tensors)
del copied[0:1]
len(copied)
del copied[-1]
len(copied)
""",
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_merges(name: str) -> None:
    assert disagreements(SCENARIOS[name]) == []
