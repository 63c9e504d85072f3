"""Files that are hard to read for their size. Each shape makes one with `n` of its elements.

Source: attacks on the limits of other protobuf readers. The size of each file is linear in `n`.
"""

from __future__ import annotations

from collections.abc import Callable

from support import wire_bytes as wire

FLOAT, INT32, STRING = 1, 6, 8


def graph(*fields: bytes) -> bytes:
    """A model whose graph has these fields."""
    return wire.scalar(1, 10) + wire.blob(7, b"".join(fields))


def tensor(*fields: bytes, name: bytes = b"", dtype: int = INT32) -> bytes:
    """An initializer."""
    head = wire.blob(8, name) if name else b""
    return wire.blob(5, head + wire.scalar(2, dtype) + b"".join(fields))


def node(*attributes: bytes) -> bytes:
    """A node with these attributes."""
    return wire.blob(1, wire.blob(4, b"Op") + b"".join(wire.blob(5, one) for one in attributes))


def _segments(n: int, values: Callable[[int], bytes], dtype: int) -> bytes:
    return graph(
        *(
            tensor(
                wire.scalar(1, n),
                wire.blob(3, wire.scalar(1, i) + wire.scalar(2, i + 1)),
                values(i),
                name=b"w",
                dtype=dtype,
            )
            for i in range(n)
        )
    )


def _in_pieces(*fields: bytes) -> bytes:
    """A graph that occurs once for each field, and is merged."""
    return wire.scalar(1, 10) + b"".join(wire.blob(7, field) for field in fields)


def _value(n: int, types: Callable[[int], bytes]) -> bytes:
    return wire.blob(1, b"v%d" % n) + types(n)


_TENSOR_TYPE = wire.blob(2, wire.blob(1, wire.scalar(1, FLOAT)))
_BAD = wire.blob(5, wire.scalar(1, 3) + wire.scalar(2, 99))


def _nested(levels: int, innermost: bytes) -> bytes:
    """Nested graphs, each in an attribute of a node of the one before, this many levels."""
    content = innermost
    for _ in range(levels):
        content = node(wire.blob(1, b"g") + wire.blob(6, content) + wire.scalar(20, 5))
    return graph(content)


def _sparse(number: int) -> bytes:
    values = wire.blob(8, b"s%d" % number) + wire.scalar(2, FLOAT) + wire.scalar(1, 1)
    indices = wire.scalar(2, 7) + wire.scalar(1, 1) + wire.blob(7, b"\x03")
    whole = wire.blob(1, values + wire.blob(9, b"abcd")) + wire.blob(2, indices)
    return wire.blob(15, whole + wire.scalar(3, 10))


def _external(number: int) -> bytes:
    entry = wire.blob(13, wire.blob(1, b"location") + wire.blob(2, b"absent%d" % number))
    return tensor(wire.scalar(1, 1), wire.scalar(14, 1), entry, name=b"e%d" % number)


_SHARDED_DIM = wire.blob(4, wire.scalar(1, 0) + wire.blob(2, wire.scalar(3, 2)))
_DEVICE = wire.blob(
    10, wire.blob(1, b"cpu") + wire.blob(2, wire.blob(3, wire.scalar(1, 0)) + _SHARDED_DIM)
)

FILES: dict[str, Callable[[int], bytes]] = {
    "segments of one tensor": lambda n: _segments(n, lambda i: wire.blob(9, b"abcd"), INT32),
    "segments of numbers": lambda n: _segments(n, lambda i: wire.scalar(5, i), INT32),
    "segments of strings": lambda n: _segments(n, lambda i: wire.blob(6, b"s"), STRING),
    "segments that leave a gap": lambda n: _segments(n, lambda i: b"", INT32).replace(
        wire.scalar(2, n) + b"", wire.scalar(2, n + 1)
    ),
    "bad tensors in a graph of many pieces": lambda n: _in_pieces(*[_BAD] * n),
    "bad tensors": lambda n: graph(_BAD * n),
    "bad tensors deep down": lambda n: _nested(15, _BAD * n),
    "bad tensors at each level": lambda n: _nested(15, b"") + _in_pieces(_BAD * n),
    "bad tensors of nodes": lambda n: graph(
        *(node(wire.blob(1, b"t") + wire.blob(5, wire.scalar(2, 99))) for _ in range(n))
    ),
    "bad tensors in one attribute": lambda n: graph(node(wire.blob(10, wire.scalar(2, 99)) * n)),
    "bad sparse tensors": lambda n: graph(wire.blob(15, wire.scalar(3, 10) * 70) * n),
    "empty initializers": lambda n: graph(b"\x2a\x00" * n),
    "initializers of one name": lambda n: graph(tensor(wire.scalar(1, 0), name=b"same") * n),
    "initializers": lambda n: graph(
        *(tensor(wire.scalar(1, 1), wire.blob(9, b"abcd"), name=b"t%d" % i) for i in range(n))
    ),
    "external tensors": lambda n: graph(*(_external(i) for i in range(n))),
    "external entries": lambda n: graph(
        tensor(wire.blob(13, wire.blob(1, b"k")) * n, wire.scalar(14, 1), name=b"e")
    ),
    "sparse tensors": lambda n: graph(*(_sparse(i) for i in range(n))),
    "empty graphs": lambda n: wire.blob(7, b"") * n,
    "graphs and unknown fields": lambda n: (wire.blob(7, b"") + wire.scalar(15, 1)) * n,
    "unknown fields": lambda n: graph(wire.scalar(99, 1) * n) + wire.scalar(99, 1) * n,
    "unknown groups": lambda n: wire.blob(7, b"") + wire.group(99, wire.group(9)) * n,
    "a group of groups": lambda n: wire.blob(7, b"") + wire.group(99, wire.group(9) * n),
    "many values": lambda n: graph(tensor(wire.blob(5, b"\x01" * n), wire.scalar(1, n), name=b"v")),
    "many dims": lambda n: graph(tensor(wire.blob(1, b"\x01" * n), name=b"d")),
    "strings": lambda n: graph(
        tensor(wire.blob(6, b"ab") * n, wire.scalar(1, n), name=b"s", dtype=STRING)
    ),
    "a long name": lambda n: graph(tensor(name=b"\xff\n" * n)),
    "metadata": lambda n: graph(wire.blob(16, wire.blob(1, b"k")) * n) + wire.blob(14, b"") * n,
    "nodes": lambda n: graph(node() * n),
    "inputs of a node": lambda n: graph(wire.blob(1, wire.blob(1, b"x") * n)),
    "attributes of a node": lambda n: graph(
        node(*(wire.blob(1, b"a%d" % i) + wire.scalar(3, i) for i in range(n)))
    ),
    "values of an attribute": lambda n: graph(
        node(wire.blob(8, b"\x01" * n) + wire.scalar(20, 7), wire.blob(9, b"s") * n)
    ),
    "graphs of an attribute": lambda n: graph(node(wire.blob(11, b"\x12\x01g") * n)),
    "types in pieces": lambda n: graph(*[wire.blob(13, _TENSOR_TYPE * 2)] * n),
    "a type of many pieces": lambda n: graph(wire.blob(13, _TENSOR_TYPE * n)),
    "a tensor of many pieces": lambda n: graph(
        node(wire.blob(1, b"t") + wire.blob(5, wire.scalar(1, 1)) * n)
    ),
    "a graph of many pieces in an attribute": lambda n: graph(
        node(wire.blob(1, b"g") + wire.blob(6, _BAD) * n + wire.scalar(20, 5))
    ),
    "nested types": lambda n: graph(
        *[wire.blob(13, wire.nested([2] + [4, 1] * 20, _TENSOR_TYPE[2:]))] * (n // 20)
    ),
    "value infos": lambda n: graph(
        *(wire.blob(13, _value(i, lambda _: _TENSOR_TYPE)) for i in range(n))
    ),
    "functions": lambda n: graph() + wire.blob(25, wire.blob(1, b"f") + wire.blob(7, b"")) * n,
    "training": lambda n: graph() + wire.blob(20, wire.blob(1, b"\x12\x01g")) * n,
    "annotations": lambda n: graph(wire.blob(14, wire.blob(1, b"q")) * n),
    "devices": lambda n: graph(wire.blob(1, _DEVICE * n)) + wire.blob(26, b"\x0a\x01d") * n,
    "operator sets": lambda n: graph() + wire.blob(8, wire.scalar(2, 1)) * n,
}
