"""Single fields, presence and oneofs do step by step what they do in protobuf."""

from __future__ import annotations

import pytest
from support.oracles.steps import disagreements

SCENARIOS = {
    "presence of a number": """
a = new("AttributeProto")
a.HasField("i")
a.i
a.i = 0
a.HasField("i")
a.i = 7
a.ClearField("i")
(a.HasField("i"), a.i)
a.i = None
a.HasField("i")
""",
    "presence of a string": """
n = new("NodeProto")
(n.HasField("name"), n.name)
n.name = ""
n.HasField("name")
n.ByteSize()
n.ClearField("name")
n.HasField("name")
n.ByteSize()
""",
    "presence of an enum": """
t = new("TensorProto")
(t.HasField("data_location"), t.data_location)
t.data_location = 0
t.HasField("data_location")
t.data_location = 1
t.data_location
t.data_location = 2
t.data_location = -1
t.data_location = "EXTERNAL"
t.data_location
t.data_location = "NOWHERE"
t.data_location = b"DEFAULT"
t.data_location = 1.0
t.data_location = None
t.data_location
""",
    "presence of a message": """
m = new("ModelProto")
m.graph.name
m.HasField("graph")
m.graph.node
m.HasField("graph")
m.graph.name = "g"
m.HasField("graph")
m.ClearField("graph")
m.HasField("graph")
m.graph.name
m.graph.SetInParent()
m.HasField("graph")
m.ListFields()[0][1]
""",
    "presence of a message two levels down": """
v = new("ValueInfoProto")
v.type.tensor_type.elem_type
v.HasField("type")
v.type.tensor_type.shape.dim.add()
(v.HasField("type"), v.type.HasField("tensor_type"), v.type.tensor_type.HasField("shape"))
v.type.tensor_type.ClearField("shape")
(v.HasField("type"), v.type.HasField("tensor_type"), v.type.tensor_type.HasField("shape"))
v.type.ClearField("tensor_type")
(v.HasField("type"), v.type.HasField("tensor_type"))
""",
    "presence after a default is assigned two levels down": """
v = new("ValueInfoProto")
v.type.tensor_type.elem_type = 0
v.HasField("type")
v.type.tensor_type.HasField("elem_type")
v
""",
    "presence by another name": """
n = new("NodeProto")
n.HasField("nothing")
n.HasField("input")
n.HasField("attribute")
n.HasField(1)
n.HasField(None)
n.HasField(b"name")
n.HasField()
n.ClearField("nothing")
n.ClearField(1)
n.ClearField(None)
n.ClearField(b"name")
n.WhichOneof("nothing")
n.WhichOneof(1)
n.WhichOneof("name")
""",
    "names that are no fields": """
n = new("NodeProto")
n.nothing
n.nothing = 1
n.Name = "x"
n.ByteSizes
del n.name
n.input = ["x"]
n.attribute = []
m = new("ModelProto")
m.graph = new("GraphProto")
m.graph = None
m.metadata_props = {}
""",
    "in": """
n = new("NodeProto", name="n")
"name" in n
"op_type" in n
"nothing" in n
"input" in n
1 in n
d = new("TensorShapeProto.Dimension", dim_value=1)
"value" in d
""",
    "a oneof of values": """
d = new("TensorShapeProto.Dimension")
d.WhichOneof("value")
d.HasField("value")
d.dim_value = 3
d.WhichOneof("value")
(d.HasField("value"), d.HasField("dim_value"), d.HasField("dim_param"))
d.dim_param = "n"
(d.WhichOneof("value"), d.dim_value, d.dim_param)
(d.HasField("dim_value"), d.HasField("dim_param"))
d.ClearField("dim_value")
d.WhichOneof("value")
d.ClearField("dim_param")
(d.WhichOneof("value"), d.HasField("value"))
d.dim_value = 0
(d.WhichOneof("value"), d.HasField("value"))
d.ClearField("value")
(d.WhichOneof("value"), d.HasField("value"), d.dim_value)
d.denotation = "DATA"
d.HasField("value")
d.WhichOneof(b"value")
""",
    "a oneof of messages": """
t = new("TypeProto")
t.tensor_type.elem_type
t.WhichOneof("value")
t.tensor_type.SetInParent()
t.WhichOneof("value")
t.HasField("value")
t.sequence_type.elem_type
t.WhichOneof("value")
t.sequence_type.elem_type.tensor_type.elem_type = 1
t.WhichOneof("value")
t.HasField("tensor_type")
t.tensor_type.elem_type
t.ClearField("value")
(t.WhichOneof("value"), t.HasField("sequence_type"))
""",
    "a oneof by keyword": """
new("TensorShapeProto.Dimension", dim_value=1)
new("TensorShapeProto.Dimension", dim_value=1, dim_param="n").WhichOneof("value")
new("TypeProto", tensor_type={"elem_type": 1}).WhichOneof("value")
new("TypeProto", tensor_type={}).WhichOneof("value")
new("TypeProto", tensor_type=None).WhichOneof("value")
new("TypeProto", value=1)
""",
    "a oneof that is parsed": """
d = parse("TensorShapeProto.Dimension", wire.scalar(1, 5) + wire.blob(2, b"n"))
(d.WhichOneof("value"), d.dim_value, d.dim_param)
d = parse("TensorShapeProto.Dimension", wire.blob(2, b"n") + wire.scalar(1, 5))
(d.WhichOneof("value"), d.dim_value, d.dim_param)
d.SerializeToString(deterministic=True)
t = parse("TypeProto", wire.blob(1, wire.scalar(1, 1)) + wire.blob(1, wire.blob(2, b"")))
(t.WhichOneof("value"), t.tensor_type.elem_type, t.tensor_type.HasField("shape"))
""",
    "a oneof that is copied and merged": """
a = new("TensorShapeProto.Dimension", dim_value=1)
b = new("TensorShapeProto.Dimension", dim_param="n")
a.MergeFrom(b)
(a.WhichOneof("value"), a.dim_value)
b.dim_value = 9
a.CopyFrom(b)
(a.WhichOneof("value"), a.dim_value, a.dim_param)
a.MergeFrom(new("TensorShapeProto.Dimension"))
a.WhichOneof("value")
a.CopyFrom(new("TensorShapeProto.Dimension", denotation="D"))
(a.WhichOneof("value"), a.denotation)
a.Clear()
a.WhichOneof("value")
s = new("TypeProto", tensor_type={"elem_type": 1})
t = new("TypeProto", tensor_type={"shape": {"dim": [{"dim_value": 2}]}})
s.MergeFrom(t)
s
s.MergeFrom(new("TypeProto", optional_type={"elem_type": {"denotation": "x"}}))
(s.WhichOneof("value"), s)
""",
    "a replaced member of a oneof": """
t = new("TypeProto")
first = t.tensor_type
first.elem_type = 7
t.sequence_type.SetInParent()
t.tensor_type.elem_type
t.HasField("tensor_type")
""",
    "presence four levels down": """
t = new("TypeProto")
t.sequence_type.elem_type.optional_type.elem_type.tensor_type.elem_type
t.HasField("sequence_type")
t.sequence_type.elem_type.optional_type.elem_type.tensor_type.elem_type = 5
(t.HasField("sequence_type"), t.sequence_type.HasField("elem_type"))
t.sequence_type.elem_type.optional_type.elem_type.HasField("sequence_type")
t.sequence_type.elem_type.optional_type.elem_type.tensor_type.HasField("shape")
a = new("AttributeProto")
a.t.dims.append(5)
a.HasField("t")
a.ClearField("t")
a.HasField("t")
a.t.external_data.add()
a.HasField("t")
a.ClearField("f")
a.HasField("f")
a.f = 0
("f" in a, "t" in a, "i" in a)
del a.ints
del a.tensors
del a.t
a.t = 23
a.ints = 10
a.tensors.name = 34
a.floats.some = 34
""",
    "an enum that is not listed": """
t = parse("TensorProto", wire.scalar(14, 77))
(t.HasField("data_location"), t.data_location, t.ByteSize())
t.ClearField("data_location")
t.ByteSize()
t.SerializeToString(deterministic=True)
t.data_location = 1
t.SerializeToString(deterministic=True)
a = parse("TensorProto", wire.blob(14, b"x"))
(a.HasField("data_location"), a.data_location)
b = parse("TensorProto", wire.scalar(14, 1) + wire.scalar(14, 77))
(b.HasField("data_location"), b.data_location)
o = new("TensorProto")
o.MergeFrom(t)
o
""",
    "constants": """
t = new("TensorProto")
(t.FLOAT, t.EXTERNAL, t.DIMS_FIELD_NUMBER, t.DATA_TYPE_FIELD_NUMBER)
(new("AttributeProto").GRAPHS, new("OptionalProto").SPARSE_TENSOR)
t.NOPE
t.NOPE_FIELD_NUMBER
t.dims_FIELD_NUMBER
t.FLOAT = 2
new("NodeProto").FLOAT
new("OperatorSetIdProto").EXPERIMENTAL
""",
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_fields(name: str) -> None:
    assert disagreements(SCENARIOS[name]) == []
