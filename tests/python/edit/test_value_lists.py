"""The lists of messages and of values: every method of a list, with the result of a list."""

from __future__ import annotations

import contextlib
import copy
import pickle
from collections.abc import Callable, MutableSequence
from typing import Any

import numpy as np
import onnx
import pytest
from support.edits.rich_model import rich, saved
from support.wire_bytes import blob, scalar, varint

import onnxmap

VALUES = ["x", "w", ""]  # the inputs of the second node
NODES = ["if", "gemm", "op"]

# What is done to a list of three, `l`, with other values or messages `a` and `b`.
CHANGES: dict[str, Callable[[Any, Any, Any], object]] = {
    "append": lambda l, a, b: l.append(a),
    "extend": lambda l, a, b: l.extend([a, b]),
    "extend with a generator": lambda l, a, b: l.extend(one for one in (b, a)),
    "extend with nothing": lambda l, a, b: l.extend([]),
    "extend with itself": lambda l, a, b: l.extend(l),
    "insert": lambda l, a, b: l.insert(1, a),
    "insert at the end": lambda l, a, b: l.insert(9, a),
    "insert from the end": lambda l, a, b: l.insert(-1, a),
    "insert far before": lambda l, a, b: l.insert(-9, a),
    "item": lambda l, a, b: l.__setitem__(0, a),
    "item from the end": lambda l, a, b: l.__setitem__(-1, b),
    "item of itself": lambda l, a, b: l.__setitem__(0, l[2]),
    "slice": lambda l, a, b: l.__setitem__(slice(1, 3), [a]),
    "slice that grows": lambda l, a, b: l.__setitem__(slice(0, 1), [a, b, a]),
    "slice of nothing": lambda l, a, b: l.__setitem__(slice(2, 1), [a]),
    "whole slice": lambda l, a, b: l.__setitem__(slice(None), [b, l[0], a]),
    "slice of its own": lambda l, a, b: l.__setitem__(slice(None), l[::-1]),
    "slice with a step": lambda l, a, b: l.__setitem__(slice(None, None, 2), [a, b]),
    "slice backwards": lambda l, a, b: l.__setitem__(slice(None, None, -1), [l[0], a, l[1]]),
    "emptied slice": lambda l, a, b: l.__setitem__(slice(0, 2), []),
    "del": lambda l, a, b: l.__delitem__(1),
    "del from the end": lambda l, a, b: l.__delitem__(-1),
    "del slice": lambda l, a, b: l.__delitem__(slice(1, None)),
    "del slice with a step": lambda l, a, b: l.__delitem__(slice(None, None, -2)),
    "pop": lambda l, a, b: l.pop(),
    "pop first": lambda l, a, b: l.pop(0),
    "remove": lambda l, a, b: l.remove(l[1]),
    "clear": lambda l, a, b: l.clear(),
    "reverse": lambda l, a, b: l.reverse(),
    "+=": lambda l, a, b: l.__iadd__([a, b]),
    "append to a slice": lambda l, a, b: l[1:].append(a),
}
# And what raises the error of a list, and changes nothing.
WRONG: dict[str, Callable[[Any, Any], object]] = {
    "item": lambda l, a: l.__setitem__(3, a),
    "del": lambda l, a: l.__delitem__(-4),
    "pop": lambda l, a: l.pop(3),
    "slice with a step": lambda l, a: l.__setitem__(slice(None, None, 2), [a]),
    "slice with no iterable": lambda l, a: l.__setitem__(slice(None), 5),
    "extend with no iterable": lambda l, a: l.extend(5),
    "extend with None": lambda l, a: l.extend(None),
    "remove": lambda l, a: l.remove(a),
    "index": lambda l, a: l.index(a),
    "del of a key": lambda l, a: l.__delitem__(b"gemm"),
    "no step": lambda l, a: l.__delitem__(slice(None, None, 0)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_list_of_values_changes_as_a_list(change: str) -> None:
    model, expected = rich(), list(VALUES)
    values = model.graph.nodes[1].inputs
    found = CHANGES[change](values, "a", "b")
    wanted = CHANGES[change](expected, "a", "b")
    assert values == expected
    assert list(saved(model).graph.node[1].input) == expected
    assert found is values if change == "+=" else found == wanted


@pytest.mark.parametrize("change", CHANGES)
def test_a_list_of_messages_changes_as_a_list(change: str) -> None:
    model, expected = rich(), list(NODES)
    nodes = model.graph.nodes
    a, b = (onnxmap.make_node("New", [], [], name=name) for name in "ab")
    found = CHANGES[change](nodes, a, b)
    wanted = CHANGES[change](expected, "a", "b")
    assert [node.name for node in nodes] == expected == model.graph.node_names()
    assert [node.name for node in saved(model).graph.node] == expected
    assert wanted is None or found is nodes or found.name == wanted  # type: ignore[attr-defined]


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_changes_raise_the_error_of_a_list(wrong: str) -> None:
    model = rich()
    before = onnxmap.dumps(model)
    absent = onnxmap.make_node("Absent", [], [])
    for found, expected, value in (
        (model.graph.nodes, list(NODES), absent),
        (model.graph.nodes[1].inputs, list(VALUES), "absent"),
    ):
        with pytest.raises((IndexError, TypeError, ValueError)) as wanted:
            WRONG[wrong](expected, "absent")
        with pytest.raises(wanted.type):
            WRONG[wrong](found, value)
    assert onnxmap.dumps(model) == before


def test_nothing_is_added_if_one_is_wrong() -> None:
    model = rich()
    before = onnxmap.dumps(model)
    good: Any = onnxmap.make_node("Neg", [], [])
    for wrong in (None, 5, "x", model.graph, model.graph.inputs[0]):
        for change in (
            lambda wrong=wrong: model.graph.nodes.extend([good, wrong]),
            lambda wrong=wrong: model.graph.nodes.__setitem__(slice(None), [good, wrong]),
            lambda wrong=wrong: model.graph.nodes.insert(0, wrong),
            lambda wrong=wrong: model.graph.nodes.__setitem__(0, wrong),
            lambda wrong=wrong: setattr(model.graph, "nodes", [good, wrong]),
        ):
            with pytest.raises(TypeError, match="expected a NodeProto, not "):
                change()
    for wrong in (None, 5, "\ud800"):
        with pytest.raises((TypeError, UnicodeError)):
            model.graph.nodes[0].inputs.extend(["x", wrong])
    assert onnxmap.dumps(model) == before


def test_what_is_added_is_copied() -> None:
    model = rich()
    node = model.graph.nodes[1]
    model.graph.nodes.append(node)
    model.graph.nodes[-1].name = "copy"
    node.inputs.append("more")
    assert [one.name for one in model.graph.nodes] == [*NODES, "copy"]
    assert model.graph.nodes["copy"].inputs == VALUES
    added = model.graph.nodes.add(op_type="Add", input=["a"], attribute=[{"name": "k", "i": 3}])
    added.name = "added"
    assert (model.graph.nodes["added"].inputs, added.attributes["k"].proto.i) == (["a"], 3)
    saved(model)


def test_names_after_edits() -> None:
    nodes = rich().graph.nodes
    gemm = nodes["gemm"]
    gemm.name = "renamed"
    assert nodes["renamed"] == gemm
    assert ("gemm" in nodes, "renamed" in nodes) == (False, True)
    with pytest.raises(KeyError, match="renamed"):
        nodes["rename"]
    nodes.insert(0, gemm)
    with pytest.raises(onnxmap.ParseError, match="renamed") as caught:
        nodes["renamed"]
    assert caught.value.code == "model.duplicate_name"
    nodes[0].name = "first"
    del nodes[-1]
    assert nodes._ipython_key_completions_() == ["first", "if", "renamed"]
    assert [nodes[name].name for name in ("first", "if", "renamed")] == ["first", "if", "renamed"]


def test_edits_by_name() -> None:
    model = rich()
    nodes = model.graph.nodes
    nodes["gemm"] = onnxmap.make_node("Relu", ["x"], ["y"], name="relu")
    assert [node.name for node in nodes] == ["if", "relu", "op"]
    del nodes["op"]
    assert nodes.pop("if").op_type == "If"
    assert [node.name for node in saved(model).graph.node] == ["relu"]
    for change in (
        lambda: nodes.pop("rely"),
        lambda: nodes.__delitem__("rely"),
        lambda: nodes.__setitem__("rely", nodes[0]),
    ):
        with pytest.raises(KeyError, match="relu"):
            change()
    for change in (
        lambda: nodes.pop(1.5),
        lambda: nodes.__delitem__(None),
        lambda: nodes.__setitem__(b"relu", nodes[0]),
    ):
        with pytest.raises(TypeError, match="list indices must be integers, slices or names"):
            change()
    assert len(nodes) == 1


def test_sorted_and_removed_messages_keep_their_handles() -> None:
    model = rich()
    nodes = model.graph.nodes
    held = {node.name: node for node in nodes}
    nodes.sort(key=lambda node: node.op_type)
    assert [node.name for node in nodes] == ["gemm", "if", "op"]
    nodes.sort(key=lambda node: node.op_type, reverse=True)
    popped = nodes.pop(0)
    held["if"].name = "still here"
    assert (popped, popped.name) == (held["op"], "op")
    assert [node.name for node in nodes] == ["still here", "gemm"]
    with pytest.raises(ValueError, match="removed"):
        held["op"].name = "gone"
    with pytest.raises(TypeError):
        nodes.sort(key=lambda node: node.proto)
    assert [node.name for node in nodes] == ["still here", "gemm"]


def test_a_loop_goes_on_with_the_messages_of_its_start() -> None:
    nodes = rich().graph.nodes
    names = []
    for node in nodes:
        names.append(node.name)
        nodes.insert(0, node)
        if node.name == "gemm":
            nodes.remove(node)
    assert names == NODES
    assert [node.name for node in nodes] == ["op", "if", "if", "gemm", "op"]
    values = rich().graph.nodes[1].inputs
    for value in values:
        values.append(value)
    assert values == [*VALUES, *VALUES]


def test_a_loop_leaves_out_what_was_removed_meanwhile() -> None:
    """So that its body can write to each message that it gets."""
    for part in (lambda m: m.graph.nodes, lambda m: m.proto.graph.node):
        model = rich()
        names = []
        for node in part(model):
            names.append(node.name)
            node.doc_string = "seen"
            if node.name == "if":
                del model.graph.nodes["gemm"]
        assert names == ["if", "op"]
        again = iter(part(model))
        part(model).append(part(model)[0])
        model.revert()  # also what was added
        assert [node.name for node in again] == NODES[::2]
    assert [node.name for node in model.graph.nodes] == NODES


def test_a_loop_over_a_mapping_goes_on_with_the_keys_of_its_start() -> None:
    model = onnxmap.from_arrays({name: np.zeros(2) for name in "abc"})
    model.metadata_props.update(dict.fromkeys("abc", "x"))
    for mapping in (model.initializers, model.metadata_props):
        keys = []
        for key in mapping:
            keys.append(key)
            del mapping[key]
        assert keys == ["a", "b", "c"]
        assert len(mapping) == 0
    model.metadata_props.update(dict.fromkeys("abc", "x"))
    items = iter(model.metadata_props.items())
    assert next(items) == ("a", "x")
    del model.metadata_props["b"]
    with pytest.raises(KeyError):
        next(items)


def test_a_loop_over_a_removed_message_goes_on() -> None:
    model = rich()
    gone = model.graph.nodes.pop(1)
    names = []
    for attribute in gone.proto.attribute:
        names.append(attribute.name)
        model.graph.nodes[0].doc_string = f"edit {len(names)}"
    assert names == [each.name for each in gone.proto.attribute]
    assert len(names) > 1


def test_a_list_always_shows_the_field() -> None:
    model = rich()
    values, exact = model.graph.nodes[1].inputs, model.proto.graph.node[1].input
    values[0] = "one"
    exact.append("two")
    model.graph.nodes[1].proto.ClearField("output")
    assert list(values) == list(exact) == ["one", "w", "", "two"]
    assert values == exact
    assert model.graph.nodes[1].outputs == []
    del model.graph.nodes[0]
    assert values == ["one", "w", "", "two"]
    model.revert()
    assert values == exact == VALUES


class _Appends:
    """Changes a list that an operator passes to it."""

    def __radd__(self, values: list[str]) -> list[str]:
        values.append("more")
        return values

    def __eq__(self, values: object) -> bool:
        if isinstance(values, list):
            values.append("more")
        return True

    __hash__ = object.__hash__


def test_no_operator_hands_out_what_the_list_keeps() -> None:
    names = [f"x{i}" for i in range(40)]  # long lists are kept
    node = onnxmap.make_node("Concat", names, ["y"])
    values: Any = node.input
    assert list(values) == names
    assert values + _Appends() == [*names, "more"]
    assert values == _Appends()
    values.__reduce__()[1][0].append("more")
    assert list(values) == list(node.input) == names


def test_lists_are_sequences() -> None:
    model = rich()
    values, nodes = model.graph.nodes[1].inputs, model.graph.nodes
    assert isinstance(values, MutableSequence)
    assert isinstance(nodes, MutableSequence)
    assert (values + VALUES, VALUES + values, values.copy()) == (
        VALUES * 2, VALUES * 2, VALUES,
    )  # fmt: skip
    assert type(values + values) is type(values.copy()) is list
    assert (values.index("w"), values.count(""), "w" in values, list(reversed(values))) == (
        1, 1, True, VALUES[::-1],
    )  # fmt: skip
    first = nodes[:1]
    assert [node.name for node in nodes + first] == [*NODES, "if"]
    assert [node.name for node in first + nodes] == ["if", *NODES]
    assert (repr(values), repr(nodes)) == (repr(VALUES), repr(list(nodes)).replace(", <", ",\n <"))
    for made in (copy.copy(values), copy.deepcopy(values), pickle.loads(pickle.dumps(values))):
        assert type(made) is list
        assert made == VALUES
    with pytest.raises(TypeError):
        hash(values)
    match values:
        case [first, *_]:
            assert first == "x"


def test_values_are_checked_as_in_protobuf() -> None:
    model = rich()
    spec = model.graph.nodes[0].device_configurations.add().sharding_specs.add()
    spec.devices += [1, 2]
    for wrong in ("x", 1.5, True, 1 << 63, None):
        with pytest.raises((TypeError, ValueError)):
            spec.devices.append(wrong)
        with pytest.raises((TypeError, ValueError)):
            spec.devices[0] = wrong
    assert spec.devices == [1, 2]
    saved(model)


# The numbers 1, 2 and 300 of `AttributeProto.ints`, which protobuf does not pack, as files may
# store them.
STORED_NUMBERS = {
    "one by one": b"".join(scalar(8, each) for each in (1, 2, 300)),
    "a run": blob(8, varint(1) + varint(2) + varint(300)),
    "an empty run and a run of two": blob(8, b"") + blob(8, varint(1) + varint(2)) + scalar(8, 300),
    "runs of one": blob(8, varint(1)) + blob(8, varint(2)) + blob(8, varint(300)),
}


@pytest.mark.parametrize("change", [name for name in CHANGES if name != "+="])  # protobuf has no +=
@pytest.mark.parametrize("stored", STORED_NUMBERS)
def test_numbers_in_any_encoding(stored: str, change: str) -> None:
    node = blob(5, blob(1, b"a") + STORED_NUMBERS[stored] + scalar(20, 7))
    model = onnxmap.loads(scalar(1, 10) + blob(7, blob(1, node)) + blob(8, scalar(2, 21)))
    numbers, expected = model.proto.graph.node[0].attribute[0].ints, [1, 2, 300]
    for found in (numbers, expected):
        with contextlib.suppress(IndexError, TypeError, ValueError):
            CHANGES[change](found, 5, 70_000)
    assert numbers == expected
    made = onnx.load_from_string(onnxmap.dumps(model))
    assert list(made.graph.node[0].attribute[0].ints) == expected


def test_errors_name_what_is_wrong() -> None:
    model = rich()
    nodes: Any = model.graph.nodes
    rename: Any = model.initializers.rename
    node = nodes[0]
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: rename(0, "b"), TypeError, "a name or a mapping of names, not int"),
        (lambda: setattr(node, "inputs", None), TypeError, "input: expected an iterable"),
        (lambda: setattr(node, "inputs", 5), TypeError, "input: expected an iterable, not int"),
        (lambda: setattr(model.graph, "nodes", None), TypeError, "node: expected an iterable"),
        (lambda: node.inputs.extend(None), TypeError, "input: expected an iterable"),
        (lambda: nodes.extend(7), TypeError, "node: expected an iterable, not int"),
        (lambda: nodes.insert(10**30, node), OverflowError, "cannot fit 'int'"),
        (lambda: nodes.insert("1", node), TypeError, "'str' object cannot be interpreted"),
    ]  # fmt: skip
    for change, error, message in wrong:
        with pytest.raises(error, match=message):
            change()
    assert not model.edited


def test_a_reversed_loop_visits_what_the_list_had() -> None:
    inputs = onnxmap.new("NodeProto", input=list("abcd")).input
    seen = []
    for text in reversed(inputs):
        seen.append(text)
        inputs.insert(0, "new")
    assert seen == list("dcba")
