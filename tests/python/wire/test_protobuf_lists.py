"""Repeated fields do step by step what they do in protobuf."""

from __future__ import annotations

import pytest
from support.oracles.steps import disagreements

SCENARIOS = {
    "values": """
a = new("AttributeProto")
(bool(a.ints), len(a.ints), list(a.ints))
a.ints.append(5)
a.ints.append(7)
(len(a.ints), a.ints[0], a.ints[-1])
a.ints[1] = 8
a.ints[-2] = 9
a.ints
a.ints[2]
a.ints[-3]
a.ints[2] = 1
a.ints["0"]
a.ints[None]
a.ints[0.0]
a.ints[True]
a.ints.append("x")
a.ints.append(None)
a.ints.append([1])
a.ints[0] = "x"
a.ints
str(a.ints)
repr(a.ints)
del a.ints[0]
a.ints
del a.ints[5]
a.ints.clear()
a.ints
""",
    "values by slices": """
t = new("TensorProto", dims=[1, 2, 3, 4, 5])
t.dims[1:3]
t.dims[:]
t.dims[::-1]
t.dims[::2]
t.dims[-2:]
t.dims[10:]
t.dims[2:1]
t.dims[1:3] = [9, 8, 7]
t.dims
t.dims[::2] = [0, 0, 0]
t.dims
t.dims[::2] = [0]
t.dims[1:2] = []
t.dims
t.dims[:] = []
t.dims
t.dims[:] = range(4)
t.dims
t.dims[:1] = "x"
t.dims[:1] = 5
t.dims[:1] = [None]
del t.dims[1:3]
t.dims
del t.dims[::2]
t.dims
t.dims[:] = t.dims
t.dims
t.dims[::0]
t.dims[1:10 ** 30]
""",
    "texts": """
n = new("NodeProto")
n.input.append("a")
n.input.append(b"b")
n.input
n.input.append(1)
n.input.append(b"\\xff")
n.input.append("\\ud800")
n.input.extend(["c", "d"])
n.input.extend("ef")
n.input
n.input.insert(1, "x")
n.input.insert(-100, "first")
n.input.insert(100, "last")
n.input
n.input.insert("1", "x")
n.input.insert(0, 1)
n.input.pop()
n.input.pop(0)
n.input.pop("x")
n.input
n.input.remove("x")
n.input.remove("x")
n.input.remove(1)
"c" in n.input
"zz" in n.input
1 in n.input
n.input.reverse()
n.input
list(reversed(n.input))
n.input.sort()
n.input
n.input.sort(reverse=True)
n.input
n.input.sort(key=lambda text: -ord(text[0]))
n.input
n.input.sort(len)
n.input.sort(nothing=1)
""",
    "what extend takes": """
a = new("AttributeProto")
a.ints.extend([1, 2])
a.ints.extend((3,))
a.ints.extend(iter([4]))
a.ints.extend(one for one in [5])
a.ints.extend(range(6, 8))
a.ints.extend(__import__("numpy").arange(8, 10))
a.ints.extend({10: 0})
a.ints.extend(a.ints)
a.ints.extend([])
a.ints.extend("")
a.ints
a.ints.extend(None)
a.ints.extend(5)
a.ints.extend("ab")
a.ints.extend(["x"])
len(a.ints)
a.ints.extend()
""",
    "what an iterable raises": """
def failing():
    yield 1
    raise ZeroDivisionError
class Empty:
    def __bool__(self):
        return False
    def __iter__(self):
        return iter([7])
class Odd:
    def __bool__(self):
        raise RuntimeError
    def __iter__(self):
        return iter([8])
a = new("AttributeProto")
a.ints.extend(failing())
a.ints.extend(Empty())
a.ints.extend(Odd())
a.ints[-2:]
""",
    "no attributes of lists": """
n = new("NodeProto", input=["a"])
n.input.nothing
n.input.nothing = 1
n.attribute.nothing
n.input * 2
n.input += ["b"]
hash(n.input)
hash(n.attribute)
""",
    "lists are equal": """
a = new("AttributeProto", ints=[1, 2], floats=[1, 2])
b = new("AttributeProto", ints=[1, 2])
(a.ints == b.ints, a.ints != b.ints)
(a.ints == [1, 2], [1, 2] == a.ints)
(a.ints == [1], a.ints != [1])
a.ints == (1, 2)
a.ints == a.floats
a.ints == None
a.ints == 5
a.ints == [1, "x"]
b.ints == []
new("AttributeProto").ints == []
n = new("NodeProto", attribute=[{"i": 1}])
o = new("NodeProto", attribute=[{"i": 1}])
(n.attribute == o.attribute, n.attribute != o.attribute)
n.attribute == [new("AttributeProto", i=1)]
[new("AttributeProto", i=1)] == n.attribute
n.attribute == []
n.attribute == [1]
o.attribute[0].i = 2
n.attribute == o.attribute
n.attribute == 5
n.attribute == None
""",
    "lists are ordered": """
a = new("AttributeProto", ints=[1, 2])
a.ints < [1, 3]
a.ints > [1]
a.ints <= a.ints
n = new("NodeProto", attribute=[{}])
n.attribute < n.attribute
n.attribute < [1]
""",
    "lists are sequences": """
abc = __import__("collections.abc").abc
n = new("NodeProto", input=["a"], attribute=[{}])
isinstance(n.input, abc.MutableSequence)
isinstance(n.attribute, abc.MutableSequence)
isinstance(n.input, abc.Sequence)
""",
    "values that are sorted": """
a = new("AttributeProto", ints=[3, 1, 2], floats=[0.5, -1, 2], strings=[b"b", b"a"])
a.ints.sort()
a.floats.sort()
a.strings.sort()
a
a.ints.sort(key=lambda x: -x)
a.ints
a.ints.sort(key=lambda x: x % 2, reverse=True)
a.ints
a.ints.sort(key=None)
a.ints
a.ints.sort(key=5)
a.ints.sort(cmp=len)
a.ints.reverse()
a.ints
""",
    "values that are merged": """
a = new("AttributeProto", ints=[1])
a.ints.MergeFrom([2, 3])
a.ints.MergeFrom(new("AttributeProto", ints=[4]).ints)
a.ints.MergeFrom([])
a.ints
a.ints.MergeFrom(["x"])
a.ints.MergeFrom(5)
a.ints.MergeFrom(a.ints)
a.ints
n = new("NodeProto", attribute=[{"i": 1}])
n.attribute.MergeFrom(new("NodeProto", attribute=[{"i": 2}]).attribute)
n.attribute.MergeFrom([new("AttributeProto", i=3)])
[each.i for each in n.attribute]
n.attribute.MergeFrom([5])
""",
    "copies of lists": """
n = new("NodeProto", input=["a", "b"], attribute=[{"i": 1, "t": {"dims": [2]}}])
texts = copy.deepcopy(n.input)
texts
texts.append("c")
(texts, n.input)
messages = copy.deepcopy(n.attribute)
(len(messages), messages[0].t.dims, messages == n.attribute)
messages[0].i = 5
messages.add(name="added")
(len(n.attribute), n.attribute[0].i, len(messages), messages[0].i)
messages.sort(key=lambda each: each.name)
n.ClearField("attribute")
len(messages)
messages.extend(list(messages))
len(messages)
copy.deepcopy(new("NodeProto").attribute) == []
copy.deepcopy({"a": [n.input]})["a"][0] == ["a", "b"]
""",
    "loops": """
a = new("AttributeProto", ints=[1, 2, 3])
[each for each in a.ints]
next(iter(a.ints))
list(enumerate(a.ints))
max(a.ints)
sum(a.ints)
list(zip(a.ints, a.ints))
list(map(str, a.ints))
first, *rest = a.ints
(first, rest)
n = new("NodeProto", attribute=[{"i": 1}, {"i": 2}])
[each.i for each in n.attribute]
for each in n.attribute:
    each.i += 10
[each.i for each in n.attribute]
""",
    "nested lists": """
m = new("ModelProto")
node = m.graph.node.add()
node.input.append("x")
sub = node.attribute.add().g.node.add()
sub.op_type = "Add"
m
m.graph.node[0].attribute[0].g.node[0].op_type
sub.input.extend(["a", "b"])
m.graph.node[0].attribute[0].g.node[0].input
del m.graph.node[0].attribute[0].g.node[0].input[0]
m
""",
    "packed values": """
t = new("TensorProto", int32_data=[1, 300, -1], float_data=[1], uint64_data=[2 ** 63])
t.ByteSize()
t.SerializeToString(deterministic=True)
t = parse("TensorProto", wire.scalar(5, 1) + wire.scalar(5, 2) + wire.blob(5, b"\\3\\4"))
t.int32_data
t.SerializeToString(deterministic=True)
t.int32_data.append(5)
t.SerializeToString(deterministic=True)
t = parse("TensorProto", wire.blob(1, b"\\1\\2") + wire.scalar(1, 3))
t.dims
t.SerializeToString(deterministic=True)
parse("TensorProto", wire.blob(5, b""))
parse("TensorProto", wire.blob(5, b"\\x80"))
parse("TensorProto", wire.blob(4, b"abc"))
""",
    "values of each kind": """
t = new("TensorProto")
t.int32_data.append(2 ** 31)
t.int32_data.append(-(2 ** 31))
t.int64_data.append(2 ** 63)
t.int64_data.append(-(2 ** 63))
t.uint64_data.append(-1)
t.float_data.append("x")
t.float_data.append(1e300)
t.double_data.append(1)
t.string_data.append("text")
t.string_data.append(b"x")
t.string_data.append(5)
t
""",
    "pickles of lists of values": """
a = new("AttributeProto", ints=[1, 2])
list(pickle.loads(pickle.dumps(list(a.ints))))
""",
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_lists(name: str) -> None:
    assert disagreements(SCENARIOS[name]) == []
