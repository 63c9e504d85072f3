"""Models that are hard to check for their size: each shape makes one with `n` of its elements."""

from __future__ import annotations

from collections.abc import Callable

from support import wire_bytes as wire
from support.hostile.worst_files import FILES, graph, tensor

IMPORTS = wire.blob(8, wire.scalar(2, 21))
LEVELS = 15


def node(*fields: bytes, op_type: bytes = b"Op") -> bytes:
    return wire.blob(1, wire.blob(4, op_type) + b"".join(fields))


def uses(name: bytes) -> bytes:
    return wire.blob(1, name)


def makes(name: bytes) -> bytes:
    return wire.blob(2, name)


def subgraph(name: bytes, content: bytes) -> bytes:
    """An attribute with a graph."""
    return wire.blob(5, wire.blob(1, name) + wire.blob(6, content) + wire.scalar(20, 5))


def nested(levels: int, content: bytes, at_each_level: bytes = b"") -> bytes:
    """Nested subgraphs, `content` in the innermost one."""
    for level in range(levels):
        content = at_each_level + node(subgraph(b"g", content), makes(b"level%d" % level))
    return graph(content)


def _spec(name: bytes) -> bytes:
    return wire.blob(2, wire.blob(1, name))


def _devices(n: int) -> bytes:
    names = [b"v%d" % i for i in range(n)]
    configuration = wire.blob(10, wire.blob(1, b"c") + b"".join(map(_spec, names)))
    return graph(node(*map(uses, names), makes(b"y"), configuration))


def _calls(n: int, next_of: Callable[[int], int]) -> bytes:
    def function(i: int) -> bytes:
        call = wire.blob(4, b"f%d" % next_of(i)) + makes(b"y") + wire.blob(7, b"d")
        imported = wire.blob(9, wire.blob(1, b"d") + wire.scalar(2, 1))
        return wire.blob(
            25, wire.blob(1, b"f%d" % i) + wire.blob(10, b"d") + imported + wire.blob(7, call)
        )

    return graph() + b"".join(function(i) for i in range(n))


def _external(i: int) -> bytes:
    entries = [(b"location", b"w.bin"), (b"offset", b"%d" % i), (b"length", b"8")]
    return tensor(
        wire.scalar(1, 2),
        wire.scalar(14, 1),
        *(wire.blob(13, wire.blob(1, key) + wire.blob(2, value)) for key, value in entries),
        name=b"e%d" % i,
        dtype=1,
    )


def _bindings(n: int) -> bytes:
    binding = wire.blob(4, wire.blob(1, b"k") + wire.blob(2, b"v"))
    return graph() + wire.blob(20, binding * n)


def _typed(name: bytes, *sizes: int, field: int = 11) -> bytes:
    """An input of the graph, or a value of another list: a tensor with these dimensions."""
    dims = b"".join(wire.blob(1, wire.scalar(1, size)) for size in sizes)
    kind = wire.blob(1, wire.scalar(1, 1) + wire.blob(2, dims))
    return wire.blob(field, wire.blob(1, name) + wire.blob(2, kind))


def _numbers(name: bytes, values: range) -> bytes:
    """An attribute with a list of integers."""
    ints = b"".join(wire.scalar(8, value) for value in values)
    return wire.blob(5, wire.blob(1, name) + ints + wire.scalar(20, 7))


def _chain(n: int, op_type: bytes, *more: bytes) -> list[bytes]:
    """Each node uses what the one before it makes."""
    return [
        node(uses(b"v%d" % i), *more, makes(b"v%d" % (i + 1)), op_type=op_type) for i in range(n)
    ]


SHAPES: dict[str, Callable[[int], bytes]] = {
    "one value made again": lambda n: graph(node(makes(b"y")) * n),
    "one value made again by a node": lambda n: graph(node(makes(b"y") * n)),
    "one input": lambda n: graph(wire.blob(11, wire.blob(1, b"x")) * n),
    "one output": lambda n: graph(wire.blob(12, wire.blob(1, b"x")) * n),
    "one described value": lambda n: graph(wire.blob(13, wire.blob(1, b"x")) * n),
    "one name of nodes": lambda n: graph(node(wire.blob(3, b"n"), makes(b"")) * n),
    "nodes that are empty": lambda n: graph(wire.blob(1, b"") * n),
    "undefined values": lambda n: graph(*(node(uses(b"u%d" % i)) for i in range(n))),
    "undefined values deep down": lambda n: nested(
        LEVELS, b"".join(node(uses(b"u%d" % i)) for i in range(n))
    ),
    "undefined values at each level": lambda n: nested(
        LEVELS, b"", b"".join(node(uses(b"u%d" % i)) for i in range(n // LEVELS))
    ),
    "one undefined value": lambda n: graph(node(uses(b"u") * n)),
    "unsorted nodes": lambda n: graph(
        *(node(uses(b"v%d" % (i + 1)), makes(b"v%d" % i)) for i in range(n))
    ),
    "a circle": lambda n: graph(
        *(node(uses(b"v%d" % ((i + 1) % n)), makes(b"v%d" % i)) for i in range(n))
    ),
    "many subgraphs": lambda n: graph(
        *(node(subgraph(b"g", node(makes(b"i"))), makes(b"v%d" % i)) for i in range(n))
    ),
    "inputs and subgraphs of a Loop": lambda n: graph(
        node(*map(uses, [b"x"] * n), wire.blob(5, wire.blob(11, b"") * n), op_type=b"Loop")
    ),
    "unknown operators": lambda n: graph(node(op_type=b"Rellu") * n),
    "subgraphs of a node": lambda n: graph(
        node(*(subgraph(b"g%d" % i, node(makes(b"i"))) for i in range(n)), makes(b"y"))
    ),
    "subgraphs that see much": lambda n: graph(
        *(node(makes(b"v%d" % i)) for i in range(n)),
        *(node(subgraph(b"g", node(uses(b"v%d" % i)))) for i in range(n)),
    ),
    "attributes of one name": lambda n: graph(
        node(wire.blob(5, wire.blob(1, b"a") + wire.scalar(3, 1) + wire.scalar(20, 2)) * n)
    ),
    "attributes and inputs": lambda n: graph(
        node(
            *(wire.blob(5, wire.blob(1, b"a%d" % i)) for i in range(n)),
            *(uses(b"a%d" % i) for i in range(n)),
        )
    ),
    "specifications and inputs": _devices,
    "functions of one name": lambda n: (
        graph() + wire.blob(25, wire.blob(1, b"f") + wire.blob(10, b"d")) * n
    ),
    "functions that call the next": lambda n: _calls(n, lambda i: i + 1),
    "a circle of functions": lambda n: _calls(n, lambda i: (i + 1) % n),
    "functions that call one": lambda n: _calls(n, lambda i: 0),
    "inputs of a function": lambda n: graph() + wire.blob(25, wire.blob(4, b"x") * n),
    "overlapping external data": lambda n: graph(*(_external(i) for i in range(n))),
    "bindings": _bindings,
    "training information": lambda n: (
        graph(*(tensor(name=b"t%d" % i) for i in range(n))) + wire.blob(20, b"") * n
    ),
    "dimensions": lambda n: graph(
        wire.blob(
            11, wire.blob(2, wire.blob(1, wire.blob(2, wire.blob(1, wire.scalar(1, -1)) * n)))
        )
    ),
    "a chain of transposed values": lambda n: graph(
        _typed(b"v0", *range(2, 10)), *_chain(n, b"Transpose")
    ),
    "a chain of sizes": lambda n: graph(
        _typed(b"x", 2, 3),
        node(uses(b"x"), makes(b"v0"), op_type=b"Shape"),
        *_chain(
            n, b"Concat", uses(b"v0"), wire.blob(5, wire.blob(1, b"axis") + wire.scalar(20, 2))
        ),
    ),
    "one list joined": lambda n: graph(
        node(_numbers(b"value_ints", range(60)), makes(b"c"), op_type=b"Constant"),
        node(uses(b"c") * n, makes(b"y"), op_type=b"Concat"),
        node(*map(uses, [b"c"] * n), makes(b"z"), op_type=b"Sum"),
    ),
    "parts of a value": lambda n: graph(
        _typed(b"x", 2 * n, 3), node(uses(b"x"), makes(b"y") * n, op_type=b"Split")
    ),
    "axes of a node": lambda n: graph(
        _typed(b"x", 2, 3),
        node(uses(b"x"), _numbers(b"perm", range(n)), makes(b"y"), op_type=b"Transpose"),
    ),
    "inputs that do not broadcast": lambda n: graph(
        _typed(b"x", 2),
        _typed(b"y", 3),
        node(uses(b"x") * n + uses(b"y"), makes(b"z"), op_type=b"Sum"),
        *(node(uses(b"x"), uses(b"y"), makes(b"s%d" % i), op_type=b"Sum") for i in range(n)),
    ),
    "outputs of other shapes": lambda n: graph(
        _typed(b"x", 2, 3),
        *(node(uses(b"x"), makes(b"y%d" % i), op_type=b"Transpose") for i in range(n)),
        *(_typed(b"y%d" % i, 2, 2, field=13) for i in range(n)),
    ),
    "initializers with inputs": lambda n: graph(
        *(wire.blob(11, wire.blob(1, b"t%d" % i)) for i in range(n)),
        *(tensor(name=b"t%d" % i) for i in range(n)),
    ),
}
SHAPES = {name: lambda n, make=make: make(n) + IMPORTS for name, make in SHAPES.items()} | FILES
