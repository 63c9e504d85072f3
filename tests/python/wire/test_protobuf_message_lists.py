"""Repeated messages do step by step what they do in protobuf."""

from __future__ import annotations

import pytest
from support.oracles.steps import disagreements

SCENARIOS = {
    "messages": """
n = new("NodeProto")
(bool(n.attribute), len(n.attribute))
n.attribute.add().name = "a"
n.attribute.add(name="b", i=1)
n.attribute.add(nothing=1)
n.attribute.add(name=1)
n.attribute.add("x")
[each.name for each in n.attribute]
n.attribute[0]
n.attribute[-1].name
n.attribute[5]
n.attribute[-5]
n.attribute[1.0]
n.attribute[None]
n.attribute[0] = new("AttributeProto")
n.attribute[:1] = []
[each.name for each in n.attribute[:]]
[each.name for each in n.attribute[::-1]]
del n.attribute[0]
[each.name for each in n.attribute]
del n.attribute[10]
n.attribute.clear()
len(n.attribute)
""",
    "messages that are added": """
n = new("NodeProto")
a = new("AttributeProto", name="a")
added = n.attribute.append(a)
a.name = "changed"
n.attribute[0].name
n.attribute.extend([a, a])
n.attribute.extend(iter([a]))
n.attribute.extend(list(n.attribute))
len(n.attribute)
n.attribute.extend([])
n.attribute.insert(0, new("AttributeProto", name="first"))
n.attribute.insert(100, new("AttributeProto", name="last"))
n.attribute.insert(-1, new("AttributeProto", name="before"))
[each.name for each in n.attribute]
""",
    "messages that are refused": """
n = new("NodeProto", attribute=[{"name": "a"}])
n.attribute.append(1)
n.attribute.append(None)
n.attribute.append({"name": "b"})
n.attribute.append(new("TensorProto"))
n.attribute.append(n.attribute)
n.attribute.extend(None)
n.attribute.extend(5)
n.attribute.extend([5])
n.attribute.extend(n.attribute[0])
n.attribute.insert(0, 5)
n.attribute.insert("0", n.attribute[0])
n.attribute.MergeFrom([5])
n.attribute.remove(5)
""",
    "messages that are removed": """
n = new("NodeProto", attribute=[{"name": each} for each in "abcdef"])
n.attribute.pop().name
n.attribute.pop(0).name
n.attribute.pop(-2).name
n.attribute.pop(None)
[each.name for each in n.attribute]
n.attribute.remove(new("AttributeProto", name="c"))
n.attribute.remove(new("AttributeProto", name="c"))
n.attribute.remove(1)
[each.name for each in n.attribute]
del n.attribute[:1]
len(n.attribute)
new("NodeProto").attribute.pop()
""",
    "messages that are sought": """
n = new("NodeProto", attribute=[{"name": each} for each in "aba"])
new("AttributeProto", name="b") in n.attribute
new("AttributeProto", name="c") in n.attribute
1 in n.attribute
None in n.attribute
n.attribute.reverse()
[each.name for each in n.attribute]
[each.name for each in reversed(n.attribute)]
""",
    "messages that are sorted": """
n = new("NodeProto", attribute=[{"name": x, "i": i} for i, x in enumerate("cabca")])
n.attribute.sort(key=lambda each: each.name)
[(each.name, each.i) for each in n.attribute]
n.attribute.sort(key=lambda each: each.name, reverse=True)
[(each.name, each.i) for each in n.attribute]
n.attribute.sort()
n.attribute.sort(nothing=1)
n.attribute.sort(key=lambda each: each.nothing)
[(each.name, each.i) for each in n.attribute]
held = n.attribute[0]
n.attribute.sort(key=lambda each: each.i)
held.name = "held"
[each.name for each in n.attribute]
""",
    "messages that keep their order": """
a = new("AttributeProto", ints=[-3, -2, -1], strings=[b"aaa", b"bb", b"c"])
a.ints.sort(key=abs)
a.strings.sort(key=len, reverse=True)
(a.ints, a.strings)
a.ints.sort(key=lambda x: 1 / 0)
a.ints
n = new("NodeProto", attribute=[{"i": i} for i in (21, 20, 13, 33, 11, 24, 10)])
n.attribute.sort(key=lambda each: each.i // 10)
[each.i for each in n.attribute]
n.MergeFromString(n.SerializeToString()) > 0
[each.i for each in n.attribute]
n.attribute.sort(key=__import__("operator").attrgetter("i"), reverse=True)
[each.i for each in n.attribute]
""",
    "handles of messages that are moved": """
n = new("NodeProto")
n.attribute.insert(-1, new("AttributeProto", i=1))
one = n.attribute[0]
n.attribute.insert(0, new("AttributeProto", i=2))
n.attribute.insert(99, new("AttributeProto", i=3))
n.attribute.insert(-2, new("AttributeProto", i=-1))
n.attribute.insert(-1000, new("AttributeProto", i=-1000))
[each.i for each in n.attribute]
one.i = 7
[each.i for each in n.attribute]
n.attribute.reverse()
one.i = 8
[each.i for each in n.attribute]
""",
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_message_lists(name: str) -> None:
    assert disagreements(SCENARIOS[name]) == []
