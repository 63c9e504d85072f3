"""Slices, positions and iterables do in lists step by step what they do in protobuf."""

from __future__ import annotations

import pytest
from support.oracles.steps import disagreements

SCENARIOS = {
    "slices": """
a = new("AttributeProto")
a.t.dims[:] = [1, 2, 3, 4]
a.t.dims
t = new("TensorProto", dims=[1, 2, 3, 4, 5])
t.dims[1:3] = t.dims[2:4]
t.dims
t.dims[:] = t.dims[1:-1]
t.dims.extend(t.dims[1:3])
t.dims
t.float_data[:] = [1.25, 2.25]
t.float_data[:] = t.float_data
t.float_data
array = __import__("array").array
t.dims[:] = array("q", [1, 2, 3])
t.dims[1:2] = array("i", [8])
t.dims[7:] = array("i", [9])
t.dims[-1:] = memoryview(array("i", [1, 1, 2, 2]))[::2]
t.dims[::2] = array("i", [100, 200, 300])
t.dims
t.dims[1:2] = (i for i in range(3))
t.dims
""",
    "slices of another type": """
t = new("TensorProto", int64_data=[1, 2], double_data=[1.5, 1e300])
t.int32_data[:] = t.int64_data
t.int32_data
t.int64_data[:] = t.int32_data
t.int64_data[:] = [1, 2 ** 35]
t.int32_data[:] = t.int64_data
t.int32_data
t.float_data[:] = t.double_data
t.float_data
t.double_data[:] = t.float_data
t.double_data
t.uint64_data[:] = [-1]
t.uint64_data[0:0] = [2 ** 64]
t.uint64_data
""",
    "slices of texts": """
n = new("NodeProto", input=["a", "b", "c", "d"])
n.input[1:3] = ["x", "y"]
n.input[1:2] = ["z"]
n.input[:0] = ["q", "r"]
n.input[7:] = ["s"]
n.input
n.input[1:5] = ["t"]
n.input[-1:] = ["u", "v", "w"]
n.input
n.input[::2] = ["1", "2", "3", "4"]
n.input[::2] = "1"
n.input[:] = "xyz"
n.input[:] = [1, 2, 3]
n.input[0:1] = [b"bytes"]
n.input[-2:-1] = ["é"]
n.input
""",
    "values that are deleted": """
a = new("AttributeProto", ints=[0, 1, 2, 3])
del a.ints[-1]
del a.ints[-2]
a.ints
del a.ints[-3]
del a.ints[300]
del a.ints[-2:-1]
del a.ints[100:10000]
a.ints
a.ints.insert(1, 25)
a.ints.insert(-1, 26)
a.ints
b = new("AttributeProto", ints=[5, 10, 5, 5])
b.ints.remove(5)
b.ints
b.ints.remove(10)
b.ints.remove(123)
b.ints
n = new("NodeProto", attribute=[{"i": 1}, {"i": 2}, {"i": 3}, {"i": 4}])
del n.attribute[2:]
del n.attribute[::-1]
len(n.attribute)
n.attribute.remove(None)
""",
    "objects that are positions or iterables": """
class Index:
    def __init__(self, value):
        self.value = value
    def __index__(self):
        return self.value
a = new("AttributeProto", ints=[1, 2, 3])
a.ints[Index(0)]
a.ints[Index(-1)]
a.ints[Index(3)]
a.ints[Index(0):Index(2)]
a.ints[Index(1)] = Index(9)
a.ints.insert(Index(0), 4)
a.ints.pop(Index(0))
del a.ints[Index(0)]
a.ints
n = new("NodeProto", attribute=[{"i": 1}, {"i": 2}])
n.attribute[Index(1)].i
n.attribute[0:Index(1)][0].i
class Sized:
    def __init__(self, values):
        self.values = values
    def __bool__(self):
        raise ValueError("ambiguous")
    def __len__(self):
        return len(self.values)
    def __iter__(self):
        return iter(self.values)
a.ints.extend(Sized([]))
a.ints.extend(Sized([7, 8]))
n.input.extend(Sized(["x"]))
(a.ints, n.input)
""",
    "empty and wrong values": """
a = new("AttributeProto")
n = new("NodeProto")
[a.ints.extend(each) for each in (b"", "", bytearray(), [], {}, set())]
[a.floats.extend(each) for each in (b"", "", bytearray(), [], {}, set())]
[n.input.extend(each) for each in (b"", "", bytearray(), [], {}, set())]
a.ints.extend(False)
a.ints.extend(0)
a.floats.extend(0.0)
n.input.extend(False)
n.attribute.extend(0)
n.attribute.extend("")
n.attribute.extend({})
n.input.extend(b"ab")
(a.ints, a.floats, n.input, len(n.attribute))
a.ints.append(True)
a.ints.append(1.0)
a.ints[0] = []
n.input(10)
a.ints(10)
a.ints.pop("0")
n.attribute.pop()
a.ints.pop(-1)
a.ints.pop()
""",
    "lists that are cleared": """
n = new("NodeProto", input=["a"], attribute=[{"i": 1}, {"i": 2}])
texts = n.input
messages = n.attribute
first = n.attribute[0]
texts.clear()
messages.clear()
(len(n.input), len(texts), len(n.attribute), len(messages), n.ByteSize())
first.i
texts.append("b")
messages.add().i = 5
(n.input, n.attribute[0].i, first.i)
n.CopyFrom(new("NodeProto"))
n.attribute[0]
""",
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_slices(name: str) -> None:
    assert disagreements(SCENARIOS[name]) == []
