"""Values of single fields are converted, refused and listed step by step as in protobuf."""

from __future__ import annotations

import pytest
from support.oracles.steps import disagreements

SCENARIOS = {
    "ranges of integers": """
a = new("AttributeProto")
a.i = 2 ** 63 - 1
a.i
a.i = -(2 ** 63)
a.i
a.i = 2 ** 63
a.i = -(2 ** 63) - 1
a.i = 1 << 200
a.i
t = new("TensorProto")
t.data_type = 2 ** 31 - 1
t.data_type = 2 ** 31
t.data_type = -(2 ** 31)
t.data_type
t.data_type = -(2 ** 31) - 1
t.uint64_data.append(2 ** 64 - 1)
t.uint64_data.append(2 ** 64)
t.uint64_data.append(-1)
t.uint64_data
""",
    "types of integers": """
a = new("AttributeProto")
a.i = True
a.i
a.i = 1.0
a.i = 1.5
a.i = "1"
a.i = b"1"
a.i = [1]
a.i = 1j
a.i = __import__("numpy").int64(5)
a.i
a.i = __import__("numpy").uint8(6)
a.i
a.i = __import__("fractions").Fraction(4, 2)
a.i = __import__("decimal").Decimal(3)
a.i
type(a.i) is int
""",
    "an object that is an index": """
class Index:
    def __index__(self):
        return 5
class Int:
    def __int__(self):
        return 6
class Fails:
    def __index__(self):
        raise KeyError("no")
a = new("AttributeProto")
a.i = Index()
a.i
a.i = Int()
a.i = Fails()
a.ints.append(Index())
a.ints.append(Int())
a.ints
a.f = Index()
a.f
""",
    "types of floats": """
a = new("AttributeProto")
a.f = 1
a.f
a.f = True
a.f
a.f = "1.5"
a.f = b"1"
a.f = 1j
a.f = [1.0]
a.f = __import__("numpy").float32(0.1)
a.f
a.f = __import__("numpy").float64(0.1)
a.f
a.f = __import__("fractions").Fraction(1, 2)
a.f
a.f = 10 ** 400
a.f
""",
    "extreme floats": """
a = new("AttributeProto")
a.f = 3.4028234663852886e38
a.f
a.f = 3.4028235677973366e38
a.f
a.f = 1e39
a.f
a.f = -1e39
a.f
a.f = 1e-45
a.f
a.f = 1e-46
a.f
a.f = -0.0
a.f
a.f = inf
a.f
a.f = -inf
a.f
a.f = nan
a.f
str(a)
a == copy.deepcopy(a)
parse("AttributeProto", a.SerializeToString()).f
""",
    "extreme doubles": """
t = new("TensorProto", double_data=[1.7976931348623157e308, 5e-324, -0.0, inf, -inf, nan, 0.1])
list(t.double_data)
parse("TensorProto", t.SerializeToString()).double_data
str(t)
t.ByteSize()
""",
    "extreme floats in lists": """
t = new("TensorProto", float_data=[3.4028234663852886e38, 1e-45, -0.0, inf, -inf, nan, 0.1, 1e39])
list(t.float_data)
parse("TensorProto", t.SerializeToString()).float_data
str(t)
a = new("AttributeProto", floats=[0.1, inf, nan])
a.floats
a.ByteSize()
""",
    "floats as text": """
str(new("AttributeProto", f=1.0))
str(new("AttributeProto", f=1.1))
str(new("AttributeProto", f=1e10))
str(new("AttributeProto", f=16777216.0))
str(new("AttributeProto", f=123456789.0))
str(new("AttributeProto", f=1e-7))
str(new("AttributeProto", f=0.30000001192092896))
str(new("TensorProto", double_data=[1.1, 1e15, 1e16, 1e17, 1 / 3, 2.0 ** 70]))
""",
    "strings": """
n = new("NodeProto")
n.name = "é\\uffff\\U0001f600"
n.name
n.ByteSize()
n.name = b"bytes"
n.name
n.name = b"\\xc3\\xa9"
n.name
n.name = b"\\xff"
n.name = "\\ud800"
n.name
n.name = 1
n.name = None
n.name = ["x"]
n.name = bytearray(b"x")
n.name = ""
n.HasField("name")
n.name = "a\\0b"
(n.name, len(n.name))
""",
    "strings that are not UTF-8": """
n = parse("NodeProto", wire.blob(3, b"\\xff"))
n.HasField("name")
n.ByteSize()
n.SerializeToString()
""",
    "bytes": """
a = new("AttributeProto")
a.s = b"\\xff\\x00"
a.s
a.s = "text"
a.s = bytearray(b"x")
a.s = memoryview(b"x")
a.s = 1
a.s = None
a.s
type(a.s) is bytes
""",
    "classes of strings and bytes": """
class Text(str):
    pass
class Bytes(bytes):
    pass
n = new("NodeProto", name=Text("x"))
(n.name, type(n.name) is str)
a = new("AttributeProto", s=Bytes(b"x"))
(a.s, type(a.s) is bytes)
""",
    "keywords": """
new("NodeProto", name="n", input=["a", "b"], attribute=[new("AttributeProto", i=1)])
new("NodeProto", input=iter("ab"), attribute=(new("AttributeProto") for _ in range(2)))
new("NodeProto", input=("a",), attribute=[{"name": "a", "i": 1}, {}])
new("NodeProto", name=None, input=None, attribute=None)
new("NodeProto", input=[], attribute=[])
new("ModelProto", graph={"node": [{"input": ["x"]}]})
new("ModelProto", graph={}).HasField("graph")
new("ModelProto", graph=None).HasField("graph")
new("ModelProto", graph=new("GraphProto")).HasField("graph")
new("TensorProto", data_location="EXTERNAL")
new("TensorProto", dims=range(3))
new("TensorProto", dims=__import__("numpy").arange(3))
new("TensorProto", float_data={1.0: 2})
""",
    "wrong keywords": """
new("NodeProto", nothing=1)
new("NodeProto", name=1)
new("NodeProto", input=5)
new("NodeProto", input=[5])
new("NodeProto", input=[None])
new("NodeProto", attribute=5)
new("NodeProto", attribute=[5])
new("NodeProto", attribute=[None])
new("NodeProto", attribute=[new("TensorProto")])
new("NodeProto", attribute=[{"nothing": 1}])
new("NodeProto", attribute={"i": 1})
new("ModelProto", graph=5)
new("ModelProto", graph=[])
new("ModelProto", graph=new("NodeProto"))
new("ModelProto", graph={"nothing": 1})
new("ModelProto", ir_version="1")
new("TensorProto", data_location="NOWHERE")
new("TensorProto", data_location=9)
""",
    "fields that are set": """
a = new("AttributeProto", type=2, name="a", ints=[1, 2], t={"dims": [1]})
[(field.name, field.number) for field, _ in a.ListFields()]
[value for _, value in a.ListFields()]
a.ClearField("ints")
[field.name for field, _ in a.ListFields()]
a.t.Clear()
[field.name for field, _ in a.ListFields()]
a.Clear()
a.ListFields()
""",
    "descriptors of the fields that are set": """
a = new("AttributeProto", type=2, name="a", ints=[1, 2], t={"dims": [1]})
fields = [field for field, _ in a.ListFields()]
[field.full_name for field in fields]
[field.type for field in fields]
[field.cpp_type for field in fields]
[field.is_repeated for field in fields]
[field.index for field in fields]
[field.default_value for field in fields if not field.message_type]
[field.message_type.full_name for field in fields if field.message_type]
[field.enum_type.full_name for field in fields if field.enum_type]
[field.containing_type.full_name for field in fields]
fields[0] == new("AttributeProto").DESCRIPTOR.fields_by_name["name"]
""",
    "descriptors of a type": """
d = new("TypeProto").DESCRIPTOR
(d.name, d.full_name)
[(each.name, each.number, each.full_name) for each in d.fields]
[(each.name, [one.name for one in each.fields]) for each in d.oneofs]
[each.name for each in d.nested_types]
d.fields_by_number[1].message_type.name
d.fields_by_camelcase_name["tensorType"].number
d.file.package
new("TensorProto.Segment").DESCRIPTOR.containing_type.name
kind = new("TensorProto").DESCRIPTOR.enum_types_by_name["DataType"]
[(each.name, each.number) for each in kind.values]
new("TensorProto").DESCRIPTOR.enum_values_by_name["FLOAT"].number
new("NodeProto").DESCRIPTOR.fields_by_name["input"].containing_oneof
""",
    "names that are listed": """
names = set(dir(new("NodeProto")))
{"name", "input", "attribute"} <= names
{"ByteSize", "Clear", "ClearField", "CopyFrom", "DESCRIPTOR", "DiscardUnknownFields"} <= names
{"FindInitializationErrors", "FromString", "HasField", "IsInitialized", "ListFields"} <= names
{"MergeFrom", "MergeFromString", "ParseFromString", "SerializePartialToString"} <= names
{"SerializeToString", "SetInParent", "WhichOneof"} <= names
""",
    "a message is initialized": """
n = new("NodeProto", name="n")
n.IsInitialized()
errors = []
n.IsInitialized(errors)
errors
n.FindInitializationErrors()
new("ModelProto").IsInitialized()
n.SerializePartialToString()
""",
    "types of values": """
a = new("AttributeProto")
t = new("TensorProto")
[type(each) for each in (a.f, a.i, a.name, a.s, a.type)] == [float, int, str, bytes, int]
a.f = 1
t.float_data.append(1)
t.double_data.append(1)
(type(a.f) is float, type(t.float_data[0]) is float, type(t.double_data[0]) is float)
(str(a.f), str(t.double_data[0]))
made = new("AttributeProto", s=b"s", name="n", strings=[b"x"], f=2)
b = parse("AttributeProto", memoryview(made.SerializeToString()))
[type(each) for each in (b.s, b.name, b.strings[0], b.f)] == [bytes, str, bytes, float]
a.ParseFromString(a.SerializeToString())
type(a.f) is float
""",
    "defaults and options": """
a = new("AttributeProto")
fields = [field for field in a.DESCRIPTOR.fields if not field.is_repeated]
[(field.name, getattr(a, field.name)) for field in fields if not field.message_type]
t = new("TensorProto")
fields = [field for field in t.DESCRIPTOR.fields if not field.is_repeated]
[(field.name, getattr(t, field.name)) for field in fields if not field.message_type]
[field.has_presence for field in new("TensorProto").DESCRIPTOR.fields]
[field.GetOptions().packed for field in new("TensorProto").DESCRIPTOR.fields]
[field.is_packed for field in new("TensorProto").DESCRIPTOR.fields]
new("TensorProto").DESCRIPTOR.GetOptions().message_set_wire_format
new("TensorProto").DESCRIPTOR.is_extendable
""",
    "surrogates and other texts": """
n = new("NodeProto")
n.name = "\\ud801\\udc01"
n.name = "\\ud801\\ud801"
n.name = b"\\xed\\xa0\\x81"
n.name = b"a\\x80a"
n.name = "\\ud001"
n.name
new("NodeProto", name="\\ud801")
n.input.append("\\udc01")
t = new("TensorProto")
t.data_location = 1234567
t.data_location = True
str(new("NodeProto", name="€"))
str(new("NodeProto", name="￡🙂"))
str(parse("NodeProto", wire.blob(3, b"ABC\\xff123")))
str(new("TensorProto", raw_data=b"\\0\\x7f\\x80\\xff"))
""",
    "keywords of several kinds": """
new("TensorProto", data_location="EXTERNAL").data_location
new("TensorProto", data_location=1, segment={"begin": 2}, external_data=[{"key": "k"}, {}])
new("TensorProto", segment={}).HasField("segment")
new("NodeProto", attribute=new("GraphProto", node=[{}]).node)
new("NodeProto", input="FOO").input
new("NodeProto", **{"name": "x", "doc_string": "d"})
new("AttributeProto", t={"dims": "x"})
new("AttributeProto", t={"dims": ["x"]})
new("AttributeProto", i=True).i
new("AttributeProto", ints=[True]).ints
new("NodeProto", "x")
new("NodeProto", {"name": "x"})
""",
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_values(name: str) -> None:
    assert disagreements(SCENARIOS[name]) == []
