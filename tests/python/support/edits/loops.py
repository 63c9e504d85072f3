"""Loops of single edits over a model, and what a look-up after each edit costs: one for each kind.

A loop takes a model with `n` nodes, weights, entries and so on, and makes `n` edits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from onnx import TensorProto, helper

import onnxmap

Loop = Callable[[onnxmap.Model, int], Any]
ARRAY = np.zeros(3, np.float32)


def _input(i: int) -> str:
    """A name so long that 1,000 of them make a node a large message, which has an index.

    In a smaller one, a read of an element takes longer the larger the message is.
    """
    return f"x{i:032}"


@cache
def chain_file(count: int) -> bytes:
    """A chain of nodes with a weight, a value info and an attribute each, and many entries.

    One node has a body with as many nodes, and the last one as many inputs.
    """
    nodes = [
        helper.make_node("Add", [f"v{i}", f"w{i}"], [f"v{i + 1}"], name=f"n{i}", axis=i)
        for i in range(count)
    ]
    first = nodes[0]
    first.attribute.extend(helper.make_attribute(f"k{i}", i) for i in range(count))
    inner = [helper.make_node("Neg", ["v0"], [f"b{i}"]) for i in range(count)]
    body = helper.make_graph(inner, "body", [], [])
    nodes.append(helper.make_node("If", ["v0"], ["if"], name="holder", then_branch=body))
    nodes.append(helper.make_node("Sum", [_input(i) for i in range(count)], ["sum"], name="many"))
    weights = [helper.make_tensor(f"w{i}", TensorProto.FLOAT, [1], [1.0]) for i in range(count)]
    infos = [helper.make_tensor_value_info(f"v{i + 1}", 1, [1]) for i in range(count)]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("v0", 1, [1])],
        [helper.make_tensor_value_info(f"v{count}", 1, [1])], weights, value_info=infos,
    )  # fmt: skip
    domains = [helper.make_opsetid(f"d{i}", 1) for i in range(count)]
    functions = [
        helper.make_function(
            "d0", f"F{i}", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], domains[:1]
        )
        for i in range(count)
    ]
    model = helper.make_model(
        graph, functions=functions, opset_imports=[helper.make_opsetid("", 18), *domains]
    )
    for i in range(count):
        model.metadata_props.add(key=f"k{i}", value="v")
    return model.SerializeToString()


def chain(count: int) -> onnxmap.Model:
    return onnxmap.loads(chain_file(count))


def _each(edit: Callable[[onnxmap.Model, int], Any]) -> Loop:
    def loop(model: onnxmap.Model, count: int) -> None:
        for i in range(count):
            edit(model, i)

    return loop


def _new(op_type: str = "Neg", **fields: Any) -> Any:
    return onnxmap.new("NodeProto", op_type=op_type, **fields)


def _remove_every_second(model: onnxmap.Model, count: int) -> None:
    """Takes every second node of the chain out, as an optimiser removes an Identity."""
    graph = model.graph
    for node in [node for i, node in enumerate(graph.nodes) if i % 2 and i < count]:
        for user, place in graph.uses(node.outputs[0]):
            if isinstance(user, onnxmap.Node):
                user.inputs[place] = node.inputs[0]
        graph.nodes.remove(node)


def _edit_a_body(model: onnxmap.Model, count: int) -> None:
    """Edits each node of a body between two look-ups."""
    graph = model.graph
    graph.nodes[0].op_type = "Mul"
    graph.uses("v0")
    body = graph.nodes["holder"].attributes["then_branch"].value
    for node in body.nodes:
        node.inputs[0] = "w0"
    graph.uses("v0")


def _uses_after_edit(model: onnxmap.Model, i: int) -> None:
    model.graph.nodes[i].op_type = "Mul"
    model.graph.uses(f"v{i}")


_BY_NAME: dict[str, Callable[[onnxmap.Model, int], Any]] = {
    "op_type by name": lambda m, i: setattr(m.graph.nodes[f"n{i}"], "op_type", "Mul"),
    "name by name": lambda m, i: setattr(m.graph.nodes[f"n{i}"], "name", f"other{i}"),
    "domain by name": lambda m, i: setattr(m.graph.nodes[f"n{i}"], "domain", "d"),
    "input by name": lambda m, i: m.graph.nodes[f"n{i}"].inputs.__setitem__(0, "x"),
    "new input by name": lambda m, i: m.graph.nodes[f"n{i}"].inputs.append("x"),
    "outputs by name": lambda m, i: setattr(m.graph.nodes[f"n{i}"], "outputs", ["y"]),
    "attribute by name": lambda m, i: m.graph.nodes[f"n{i}"].attributes.__setitem__("axis", 7),
    "attribute less by name": lambda m, i: m.graph.nodes[f"n{i}"].attributes.__delitem__("axis"),
    "metadata by name": lambda m, i: m.graph.nodes[f"n{i}"].metadata_props.__setitem__("a", "b"),
    "replace by name": lambda m, i: m.graph.nodes.__setitem__(f"n{i}", _new(name=f"n{i}")),
    "delete by name": lambda m, i: m.graph.nodes.__delitem__(f"n{i}"),
    "pop by name": lambda m, i: m.graph.nodes.pop(f"n{i}"),
    "in after edit": lambda m, i: (
        setattr(m.graph.nodes[i], "op_type", "Mul"), f"n{i}" in m.graph.nodes,
    ),
    "function by name": lambda m, i: setattr(m.functions[f"F{i}"], "doc_string", "d"),
    "function renamed": lambda m, i: setattr(m.functions[f"F{i}"], "name", f"G{i}"),
    "function less": lambda m, i: m.functions.__delitem__(f"F{i}"),
    "value info by name": lambda m, i: setattr(m.graph.value(f"v{i + 1}"), "doc_string", "d"),
    "value info renamed": lambda m, i: setattr(m.graph.value_infos[f"v{i + 1}"], "name", f"u{i}"),
    "shape of value info": lambda m, i: setattr(m.graph.value(f"v{i + 1}"), "shape", (2, i)),
}  # fmt: skip

_LISTS: dict[str, Callable[[onnxmap.Model, int], Any]] = {
    "append": lambda m, i: m.graph.nodes.append(_new()),
    "add": lambda m, i: m.graph.nodes.add(op_type="New"),
    "extend": lambda m, i: m.graph.nodes.extend([_new()]),
    "insert 0": lambda m, i: m.graph.nodes.insert(0, _new()),
    "insert": lambda m, i: m.graph.nodes.insert(i, _new()),
    "pop": lambda m, i: m.graph.nodes.pop(),
    "pop 0": lambda m, i: m.graph.nodes.pop(0),
    "del": lambda m, i: m.graph.nodes.__delitem__(len(m.graph.nodes) // 2),
    "replace": lambda m, i: m.graph.nodes.__setitem__(i, _new()),
    "remove last": lambda m, i: m.graph.nodes.remove(m.graph.nodes[-1]),
    "index": lambda m, i: m.graph.nodes.index(m.graph.nodes[i]),
    "in": lambda m, i: m.graph.nodes[i] in m.graph.nodes,
    "op_type": lambda m, i: setattr(m.graph.nodes[i], "op_type", "Mul"),
    "a name": lambda m, i: setattr(m.graph.nodes[i], "name", f"other{i}"),
    "index after edit": lambda m, i: (
        setattr(m.graph.nodes[i], "op_type", "Mul"), m.graph.nodes.index(m.graph.nodes[-i - 1]),
    ),
    "input value info": lambda m, i: m.graph.inputs.add(name=f"in{i}"),
    "new value info": lambda m, i: m.graph.value_infos.add(name=f"in{i}"),
    "value info less": lambda m, i: m.graph.value_infos.pop(),
    "new function": lambda m, i: m.functions.add(name=f"New{i}"),
}  # fmt: skip

_OF_ONE_NODE: dict[str, Callable[[onnxmap.Model, int], Any]] = {
    "inputs append": lambda m, i: m.graph.nodes[0].inputs.append(f"x{i}"),
    "inputs[i]": lambda m, i: m.graph.nodes[-1].inputs.__setitem__(i, "x"),
    "read inputs[i]": lambda m, i: (
        setattr(m.graph, "name", str(i)), m.graph.nodes[-1].inputs[i],
    ),
    "inputs pop": lambda m, i: m.graph.nodes[-1].inputs.pop(),
    "inputs pop 0": lambda m, i: m.graph.nodes[-1].inputs.pop(0),
    "inputs del": lambda m, i: m.graph.nodes[-1].inputs.__delitem__(0),
    "inputs insert": lambda m, i: m.graph.nodes[-1].inputs.insert(0, "x"),
    "inputs remove": lambda m, i: m.graph.nodes[-1].inputs.remove(_input(i)),
    "attributes set": lambda m, i: m.graph.nodes[0].attributes.__setitem__(f"k{i}", 7),
    "attributes new": lambda m, i: m.graph.nodes[0].attributes.__setitem__(f"new{i}", 7),
    "attributes less": lambda m, i: m.graph.nodes[0].attributes.__delitem__(f"k{i}"),
    "attributes read": lambda m, i: (
        setattr(m.graph, "name", str(i)), m.graph.nodes[0].attributes[f"k{i}"],
    ),
    "attribute value": lambda m, i: setattr(m.graph.nodes[0].attributes[f"k{i}"], "value", 7),
    "metadata set": lambda m, i: m.metadata_props.__setitem__(f"k{i}", "other"),
    "metadata new": lambda m, i: m.metadata_props.__setitem__(f"new{i}", "other"),
    "metadata less": lambda m, i: m.metadata_props.__delitem__(f"k{i}"),
    "metadata read": lambda m, i: (
        setattr(m.graph, "name", str(i)), m.metadata_props[f"k{i}"],
    ),
    "metadata setdefault": lambda m, i: m.metadata_props.setdefault(f"new{i}", "v"),
    "opset set": lambda m, i: m.opset_imports.__setitem__(f"d{i}", 2),
    "opset new": lambda m, i: m.opset_imports.__setitem__(f"new{i}", 2),
    "opset less": lambda m, i: m.opset_imports.__delitem__(f"d{i}"),
}  # fmt: skip

_WEIGHTS: dict[str, Callable[[onnxmap.Model, int], Any]] = {
    "weight": lambda m, i: m.initializers.__setitem__(f"w{i}", ARRAY),
    "new weight": lambda m, i: m.initializers.__setitem__(f"new{i}", ARRAY),
    "rename": lambda m, i: m.initializers.rename(f"w{i}", f"other{i}"),
    "weight less": lambda m, i: (
        m.graph.nodes[i].inputs.__delitem__(1), m.initializers.__delitem__(f"w{i}"),
    ),
    "new weight less": lambda m, i: (
        m.initializers.__setitem__(f"new{i}", ARRAY), m.initializers.__delitem__(f"new{i}"),
    ),
    "tensor's name": lambda m, i: setattr(m.initializers[f"w{i}"].proto, "name", f"other{i}"),
    "tensor's doc": lambda m, i: setattr(m.initializers[f"w{i}"].proto, "doc_string", "d"),
    "weights in": lambda m, i: (setattr(m.graph, "name", str(i)), f"w{i}" in m.initializers),
    "weights len": lambda m, i: (
        m.initializers.__setitem__(f"new{i}", ARRAY), len(m.initializers),
    ),
}  # fmt: skip

_USES: dict[str, Callable[[onnxmap.Model, int], Any]] = {
    "uses": _uses_after_edit,
    "producer": lambda m, i: (
        setattr(m.graph.nodes[i], "op_type", "Mul"), m.graph.producer(f"v{i}"),
    ),
    "consumers": lambda m, i: (
        m.graph.nodes[i].inputs.__setitem__(1, "x"), m.graph.consumers(f"v{i}"),
    ),
    "consumers of many": lambda m, i: (
        setattr(m.graph.nodes[i], "op_type", "Mul"), m.graph.consumers(_input(i)),
    ),
    "producer of moved": lambda m, i: (
        m.graph.nodes[i].outputs.__setitem__(0, f"y{i}"), m.graph.producer(f"y{i}"),
    ),
    "uses after insert": lambda m, i: (
        m.graph.nodes.insert(i, _new(input=[f"v{i}"], output=[f"z{i}"])), m.graph.uses(f"z{i}"),
    ),
    "uses after pop": lambda m, i: (
        m.graph.nodes.pop(0), m.graph.uses(f"v{i}"),
    ),
    "value after edit": lambda m, i: (
        setattr(m.graph.nodes[i], "op_type", "Mul"), m.graph.value(f"v{i + 1}"),
    ),
    "value after new": lambda m, i: (
        m.graph.value_infos.add(name=f"in{i}"), m.graph.value(f"v{i + 1}"),
    ),
}  # fmt: skip

LOOPS: dict[str, Loop] = {
    **{
        name: _each(edit)
        for edits in (_BY_NAME, _LISTS, _OF_ONE_NODE, _WEIGHTS, _USES)
        for name, edit in edits.items()
    },
    "remove with rewiring": _remove_every_second,
    "edits of a body": _edit_a_body,
    "walk of edits": lambda m, n: [setattr(node, "domain", "d") for node in m.graph.nodes],
}
