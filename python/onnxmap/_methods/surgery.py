"""Verbs of surgery that are made of other edits; the others are in the core."""

# ruff: noqa: D417 -- methods of classes of the core

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._base.enums import AttributeType, Version
from onnxmap._base.later import import_module

if TYPE_CHECKING:
    from onnxmap._core import Graph, Node, ProtoView

# Source: onnx.proto, Version. Attributes have types from 2 on, models import operator sets from 3
# on, and initializers need not be inputs from 4 on.
_TYPED_ATTRIBUTES, _IMPORTS, FREE_INITIALIZERS = 2, 3, 4
_OF_GRAPHS = (AttributeType.GRAPH, AttributeType.GRAPHS)


def remove_output(self: Any, value: str) -> None:
    """Let a value of the graph be an output no longer. What makes it stays, and so does its type.

    `prune()` removes what no other output needs. In a subgraph, the node that holds it must fit:
    both branches of an If need as many outputs as the node has.

    Raises:
        UnknownNameError: no output has this name.
        ValueError: training assigns the output to an initializer.
        EditError: the graph was removed from its model.
    """
    if not isinstance(value, str):
        raise TypeError(f"a value has a name, a str, not {type(value).__name__}")
    output = self.outputs[value]
    for info in getattr(_core.root_of(self.proto), "training_info", ()):
        if value in [entry.value for entry in info.update_binding]:
            raise ValueError(f"training assigns the output {value!r}: clear training_info before")
    if self.producer(value) is not None and value not in self.value_infos:
        self.value_infos.append(output)
    del self.outputs[value]


def insert_after(self: Any, value: str, node: Node | ProtoView, outputs: bool = False) -> None:
    """Insert a node that takes a value, and let all others use its first output instead.

    The uses are those of `replace_uses`. The node is placed behind those that make its inputs.

    Args:
        value: the name of a value that is visible here.
        node: a new node, as `onnxmap.make_node` makes one. The value is one of its inputs, and its
            outputs have new names.
        outputs: also replace the value as an output, by the name and the type of the new one.

    Raises:
        KeyError: there is no value of this name.
        ValueError: the node does not take the value; a name of its outputs is taken; only outputs
            use the value, and `outputs` is False; or for the reasons of `replace_uses`.
        ParseError: `model.duplicate_name`: several nodes make one value.
        EditError: the graph or function was removed from its model.
    """
    (new,) = _graph_of([node]).nodes
    if value not in new.inputs:
        raise ValueError(f"the node does not take {value!r}: it must be one of its inputs")
    uses = self.uses(value)
    if uses and not outputs and all(use.user == self for use in uses):
        raise ValueError(f"only outputs of the graph use {value!r}: pass outputs=True")
    _check_new(self, [new], new.outputs or [""])
    place = _first_place(self, [new])
    self._check_new_use(value, new.outputs[0], outputs, place)
    self.nodes.insert(place, new)
    self.replace_uses(value, new.outputs[0], outputs)


def insert_before(self: Any, node: Node, new: Node | ProtoView) -> None:
    """Insert a node before another one, which uses its first output instead of its first input.

    Other nodes keep what they use.

    Args:
        node: a node of this graph or function.
        new: a new node, as `onnxmap.make_node` makes one. Its first input is an input of `node`,
            and its outputs have new names.

    Raises:
        ValueError: `node` is not here; it does not take the first input of `new`; `new` takes a
            value that is made after `node`; or a name of its outputs is taken.
        ParseError: `model.duplicate_name`: several nodes make one value.
        EditError: the graph or function was removed from its model.
    """
    (first,) = _graph_of([new]).nodes
    place, before = self.nodes.index(node), next(iter(first.inputs), "")
    _check_here(self, [node])
    if not before or before not in node.inputs:
        raise ValueError(f"the node does not take {before!r}, the first input of the new one")
    if _first_place(self, [first]) > place:
        raise ValueError("the new node takes a value that is made after the other one")
    _check_new(self, [first], first.outputs or [""])
    self.nodes.insert(place, first)
    node.inputs = [first.outputs[0] if name == before else name for name in node.inputs]


def replace(
    self: Any,
    nodes: Iterable[Node],
    new_nodes: Iterable[Node | ProtoView],
    values: Mapping[str, str] | None = None,
) -> None:
    """Replace nodes by other ones that make the same values.

    A value that new nodes make again keeps its name, its type and its uses, so inputs and outputs
    of the graph stay. Types are not checked: `check()` compares them.

    Args:
        nodes: nodes of this graph or function.
        new_nodes: what takes their place, as `onnxmap.make_node` makes it, in an order in which
            each follows those whose values it uses.
        values: `{old: new}` for values that new nodes make under another name. They get the old
            one, also in the other new nodes.

    Raises:
        UnknownNameError: no new node makes a value of `values`.
        ValueError: a node is not here; a value is still used that no new node makes, or that the
            new nodes can only make after its use; a new node uses what a later one makes; or a name
            of a new value is taken.
        ParseError: `model.duplicate_name`: several nodes make one value.
        EditError: the graph or function was removed from its model.
    """
    gone, new, names = {*nodes}, _graph_of(new_nodes), dict(values or {})
    places = dict.fromkeys(i for i, node in enumerate(self.nodes) if node in gone)
    if len(places) != len(gone):
        raise ValueError("a node to replace is not in this graph or function, or is there twice")
    _check_here(self, gone)
    lost = {name for node in gone for name in node.outputs if name}
    if unknown := names.keys() - lost:
        raise ValueError(f"no node that is replaced makes {min(unknown)!r}")
    new.rename({made: name for name, made in names.items()})
    made = {name for names in new.node_outputs() for name in names}
    _check_new(self, new.nodes, filter(None, chain(*new.node_outputs())), lost)
    place = max(_first_place(self, new.nodes, lost), min(places, default=0))
    uses = [(i, _taken(node)) for i, node in enumerate(self.nodes) if i not in places]
    uses += [(place, _taken(node)) for node in new.nodes]
    uses += [(place, {name}) for name in lost if any(u.user == self for u in self.uses(name))]
    for i, taken in uses:
        for name in taken & lost:
            if name not in made or i < place:
                raise ValueError(f"{name!r} is used, and no new node makes it before node {i}")
    if kept := (lost - made) & _used_by_training(self):
        raise ValueError(f"training uses {min(kept)!r}: clear training_info before")
    late = set(made)
    for node in new.nodes:
        if early := _taken(node) & late:
            raise ValueError(f"a new node uses {min(early)!r} before a new node makes it")
        late -= {*node.outputs}
    for i in reversed(places):
        del self.nodes[i]
    place -= sum(i < place for i in places)
    for node in reversed(new.nodes):
        self.nodes.insert(place, node)
    for name in lost - made:
        if name in self.value_infos:
            del self.value_infos[name]


def add_prefix(self: Any, prefix: str, keep: Iterable[str] = ()) -> None:
    """Put a prefix before the names of all values and nodes, those of subgraphs included.

    Names of dimensions, functions and the graph itself stay.

    Args:
        prefix: what to put before each name.
        keep: names of values and nodes that stay.

    Raises:
        TypeError: `prefix` is not a str, or `keep` is one and not a list of names.
        ValueError: a name with the prefix exists already; or a subgraph has a value with the name
            of one around it.
        ParseError: `model.duplicate_name`: several nodes make one value.
        EditError: the graph was removed from its model.
    """
    if not isinstance(prefix, str):
        raise TypeError(f"the prefix is a str, not {type(prefix).__name__}")
    if isinstance(keep, str):
        raise TypeError(f"keep takes a list of names, not a str: [{keep[:99]!r}]")
    trial, kept = _core.new("GraphProto"), {*keep, ""}
    trial.CopyFrom(self.proto)  # in the graph itself, a refusal in a subgraph would come too late
    for graph in (_core.wrap(trial), self):
        for each in (graph, *_graphs_in(graph)):
            each.rename({name: prefix + name for name in _made_in(each) if name not in kept})
            for node in each.nodes:
                if node.name not in kept:
                    node.name = prefix + node.name


def lower_initializers(model: Any) -> list[str]:
    """See `Model.lower_initializers`."""
    make_node = import_module("onnxmap._make.messages").make_node  # costs import time
    names, trained = [], model.state_variables
    bodies = [model.graph, *model.functions]
    for graph in (model.graph, *chain(*map(_graphs_in, bodies))):
        tensors = graph.proto.initializer
        stay = {"", *trained, *(value.name for value in graph.inputs)}
        counts = Counter(tensor.name for tensor in tensors)  # segments have one name
        found = [i for i, t in enumerate(tensors) if counts[t.name] == 1 and t.name not in stay]
        if found and model.opset_imports and "" not in model.opset_imports:
            raise ValueError("Constant nodes are ONNX's own: set model.opset_imports[''] before")
        names += [tensors[i].name for i in found]
        for i in reversed(found):
            graph.nodes.insert(0, make_node("Constant", [], [tensors[i].name], value=tensors[i]))
            del tensors[i]
    return names


def drop_initializer_inputs(model: Any) -> list[str]:
    """See `Model.drop_initializer_inputs`."""
    names = [value.name for value in model.graph.overridable_inputs]
    if names and model.ir_version < FREE_INITIALIZERS:
        raise_ir(model, FREE_INITIALIZERS)
    for name in names:
        del model.graph.inputs[name]
    return names


def assign_names(model: Any) -> list[str]:
    """See `Model.assign_names`."""
    nodes = model.all_nodes()
    known, seen = {node.name for _, node in nodes}, set()
    numbers, given = Counter[str](), []
    for where, node in nodes:
        here = where.rpartition(".")[0], node.name  # names of one graph differ
        if node.name and here not in seen:
            seen.add(here)
            continue
        stem = node.name or node.op_type
        while (name := f"{stem}_{numbers[stem]}") in known:
            numbers[stem] += 1
        node.name = name
        known.add(name)
        given.append(name)
    return given


def raise_ir(model: Any, version: int) -> None:
    """See `Model.raise_ir`."""
    new, old, newest = operator.index(version), model.ir_version, max(Version)
    if not _TYPED_ATTRIBUTES <= old <= new <= newest:
        raise ValueError(
            f"IR version {old} cannot become {new}, but only a later one up to {int(newest)}"
        )
    if old < _IMPORTS <= new and not model.opset_imports:
        model.opset_imports = {"": 1}
    model.ir_version = new


def _graph_of(nodes: Iterable[Any]) -> Graph:
    """A graph of its own with copies of the nodes."""
    graph = _core.new("GraphProto")
    graph.node.extend(nodes)
    return _core.wrap(graph)


def free_name(graph: Graph, stem: str) -> str:
    """A name that no value in or around a graph has: the stem, or the stem with a number."""
    names = chain([stem], (f"{stem}_{i}" for i in count(1)))

    def is_free(name: str) -> bool:
        return not (graph._where_made(name) or graph.value(name) or graph.uses(name))

    return next(filter(is_free, names))


def _document_of(part: Any) -> _core.Document | None:
    return _core.document_of(_core.root_of(getattr(part, "proto", part)))


def _check_here(body: Any, nodes: Iterable[Node]) -> None:
    """Nodes of another model may have the same contents."""
    document = _document_of(body)
    if any(_document_of(node) is not document for node in nodes):
        raise ValueError("a node is not in this graph or function")


def _check_new(
    body: Any, nodes: Iterable[Node], names: Iterable[str], lost: Iterable[str] = ()
) -> None:
    """New values have new names, except for those in the place of lost ones.

    Those in subgraphs of the new nodes may have the names of other subgraphs.
    """
    seen = set[str]()
    for name in names:
        if not name:
            raise ValueError("the outputs of the new node need names")
        if name in seen:
            raise ValueError(f"two outputs of the new nodes have the name {name!r}")
        seen.add(name)
        if name not in lost and (where := body._where_made(name)):
            raise ValueError(f"there is a value {name!r} already, {where}")
    for graph in chain(*map(_graphs_in, nodes)):
        for name in filter(None, _made_in(graph)):
            if name not in lost and body._where_made(name, inside=False):
                raise ValueError(f"there is a value {name!r} already, around the new subgraph")


def _first_place(body: Any, nodes: Iterable[Node], ignored: Iterable[str] = ()) -> int:
    """The first place for nodes behind those that make what they take."""
    taken = set().union(*map(_taken, nodes)).difference(ignored)
    makers = {body.producer(name) for name in taken} - {None}
    return max((body.nodes.index(node) + 1 for node in makers if node in body.nodes), default=0)


def _used_by_training(body: Any) -> set[str]:
    used = set[str]()
    for info in getattr(_core.root_of(body.proto), "training_info", ()):
        used |= {entry.value for entry in info.update_binding}
        used |= {*chain(*_core.wrap(info.algorithm).node_inputs())}
    return used


def _taken(node: Node) -> set[str]:
    """What a node and its subgraphs use; also what these make."""
    return {*node.inputs, *chain(*(chain(*g.node_inputs()) for g in _graphs_in(node)))} - {""}


def _made_in(graph: Graph) -> list[str]:
    """The names of all values of a graph, without its subgraphs."""
    made = [value.name for value in graph.inputs] + graph.initializers.names()
    return [*made, *graph.sparse_initializers, *chain(*graph.node_outputs())]


def _graphs_in(body: Any) -> Iterator[Graph]:
    """The graphs of a node, or of the nodes of a body, and those in them."""
    for node in [body] if isinstance(body, _core.Node) else body.nodes:
        for attribute in node.attributes.values():
            if attribute.type not in _OF_GRAPHS:  # the value may be a long list of numbers
                continue
            value = attribute.value
            for graph in value if isinstance(value, list) else [value]:
                if isinstance(graph, _core.Graph):  # not so if the field of that type is empty
                    yield graph
                    yield from _graphs_in(graph)
