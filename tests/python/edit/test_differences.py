"""Differences of two messages as edits: the edited model is what the other message says.

Random changes of small models: elements removed, added and moved, fields set and cleared.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest
from support.edits.models import EDIT_MODELS, LARGE
from support.run_options import EXHAUSTIVE, SANITIZED

import onnxmap
from onnxmap.interop.apply_changes import apply_differences
from onnxmap.interop.protobuf import message_class

MODEL = message_class("ModelProto", texts_as_bytes=True)
NAMES = [name for name in EDIT_MODELS if name != LARGE]
GROUPS = 20
SEEDS = 500 if EXHAUSTIVE else 25  # of each group


def parsed(name: str) -> Any:
    message = MODEL.FromString(EDIT_MODELS[name])
    message.DiscardUnknownFields()
    return message


def messages_in(message: Any) -> list[Any]:
    found = [message]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                found += messages_in(inner)
    return found


@cache
def donors() -> dict[str, list[Any]]:
    """Messages of all types, whose fields others get."""
    found: dict[str, list[Any]] = {}
    for name in NAMES:
        for message in messages_in(parsed(name)):
            found.setdefault(message.DESCRIPTOR.full_name, []).append(message)
    return found


def change(rng: random.Random, model: Any) -> None:
    message = rng.choice(messages_in(model))
    donor = rng.choice(donors()[message.DESCRIPTOR.full_name])
    field = rng.choice(list(message.DESCRIPTOR.fields))
    if field.is_repeated:
        change_list(rng, getattr(message, field.name), list(getattr(donor, field.name)))
    elif not donor.HasField(field.name):
        message.ClearField(field.name)
    elif field.message_type:
        getattr(message, field.name).CopyFrom(getattr(donor, field.name))
    else:
        setattr(message, field.name, getattr(donor, field.name))


def change_list(rng: random.Random, place: Any, new: list[Any]) -> None:
    kind = rng.choice(["remove", "shuffle", "add"])
    elements = list(place)
    if elements and hasattr(elements[0], "SerializeToString"):
        elements = [type(one).FromString(one.SerializeToString()) for one in elements]
    if kind == "remove" and elements:
        del elements[rng.randrange(len(elements))]
    elif kind == "shuffle":
        rng.shuffle(elements)
    else:
        for one in new:
            elements.insert(rng.randrange(len(elements) + 1), one)
    del place[:]
    place.extend(elements)


def bytes_of(message: Any) -> bytes:
    return bytes(message.SerializeToString(deterministic=True))


@pytest.mark.parametrize("group", range(GROUPS))
def test_an_edited_model_is_the_other_message(group: int) -> None:
    for seed in range(group * SEEDS, (group + 1) * SEEDS):
        rng = random.Random(seed)
        given = parsed(rng.choice(NAMES))
        if not given.HasField("graph"):
            continue
        after = MODEL()
        after.CopyFrom(given)
        for _ in range(rng.randrange(1, 6)):
            change(rng, after)
        model = onnxmap.loads(given.SerializeToString())
        before = onnxmap.dumps(model)
        apply_differences(model.proto, given, given, after, lambda message: None)
        found = MODEL.FromString(onnxmap.dumps(model))
        assert bytes_of(found) == bytes_of(after), seed
        model.revert()
        assert onnxmap.dumps(model) == before


def apply(model: onnxmap.Model, after: Any, before: Any = None) -> None:
    given = MODEL.FromString(onnxmap.dumps(model))
    apply_differences(model.proto, given, before or given, after, lambda message: None)


def test_only_what_differs_is_touched() -> None:
    """Handles of all other nodes stay what they are, with their bytes."""
    model = onnxmap.loads(EDIT_MODELS["rich with overlong varints"])
    nodes = list(model.graph.nodes)
    stored = [node.proto.SerializeToString() for node in nodes]
    after = MODEL.FromString(onnxmap.dumps(model))
    after.graph.node[1].op_type = b"Other"
    after.graph.node.insert(0, MODEL.FromString(EDIT_MODELS[LARGE]).graph.node[0])
    del after.graph.node[3]
    apply(model, after)
    assert list(model.graph.nodes)[1:] == nodes[:2]
    assert nodes[1].op_type == "Other"
    assert nodes[0].proto.SerializeToString() == stored[0]
    assert nodes[2].proto.SerializeToString() == stored[2]  # removed, and still there to read
    with pytest.raises(onnxmap.errors.EditError):
        nodes[2].op_type = "Removed"


def test_what_is_forgotten_stays() -> None:
    model = onnxmap.loads(EDIT_MODELS["rich"])
    given = MODEL.FromString(EDIT_MODELS["rich"])
    before, after = MODEL(), MODEL()
    for message in (before, after):
        message.CopyFrom(given)
        message.ClearField("functions")
        message.graph.node[0].ClearField("name")
        del message.graph.initializer[1:]
    apply(model, after, before)
    assert onnxmap.dumps(model) == EDIT_MODELS["rich"]
    after.graph.node[0].op_type = b"Other"
    apply(model, after, before)
    assert (model.graph.nodes[0].op_type, model.graph.nodes[0].name) == ("Other", "if")


def test_lists_of_which_elements_were_forgotten() -> None:
    """Then what it forgot goes, too: the positions are those of the model."""
    model = onnxmap.loads(EDIT_MODELS["rich"])
    before, after = MODEL(), MODEL()
    for message in (before, after):
        message.CopyFrom(MODEL.FromString(EDIT_MODELS["rich"]))
        del message.graph.initializer[0]
    after.graph.initializer[0].name = b"renamed"
    apply(model, after, before)
    assert MODEL.FromString(onnxmap.dumps(model)).graph.initializer == after.graph.initializer


def test_what_is_forgotten_of_a_list_in_another_order_stays() -> None:
    given, before, after = MODEL(), MODEL(), MODEL()
    for name in (b"b", b"a"):
        given.graph.value_info.add(name=name, doc_string=b"of " + name)
    for name in (b"a", b"b"):
        before.graph.value_info.add(name=name)
    after.CopyFrom(before)
    after.graph.value_info.add(name=b"c")
    model = onnxmap.loads(given.SerializeToString())
    apply(model, after, before)
    found = MODEL.FromString(onnxmap.dumps(model)).graph.value_info
    assert [each.name for each in found] == [b"a", b"b", b"c"]
    assert found[0].doc_string == b"of a"  # the other one moved, and is new


def test_functions_that_differ_in_their_overload() -> None:
    given, before = MODEL(), MODEL()
    given.graph.name = before.graph.name = b"g"
    for overload in (b"1", b"2"):
        names = {"name": b"f", "domain": b"d", "overload": overload}
        given.functions.add(doc_string=b"doc " + overload, **names)
        before.functions.add(**names)
    after = MODEL()
    after.CopyFrom(before)
    del after.functions[0]
    model = onnxmap.loads(given.SerializeToString())
    apply(model, after, before)
    found = MODEL.FromString(onnxmap.dumps(model)).functions
    assert [(each.overload, each.doc_string) for each in found] == [(b"2", b"doc 2")]


def test_what_is_forgotten_of_a_changed_dimension_stays() -> None:
    given, before, after = MODEL(), MODEL(), MODEL()
    for message in (given, before, after):
        shape = message.graph.input.add(name=b"x").type.tensor_type.shape
        shape.dim.add(dim_value=1)
        shape.dim.add(dim_param=b"N")
    given.graph.input[0].type.tensor_type.shape.dim[1].denotation = b"BATCH"
    after.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 4
    model = onnxmap.loads(given.SerializeToString())
    apply(model, after, before)
    found = MODEL.FromString(onnxmap.dumps(model)).graph.input[0].type.tensor_type.shape.dim[1]
    assert (found.dim_value, found.denotation) == (4, b"BATCH")


def test_floats_that_are_no_numbers_are_no_difference() -> None:
    given = MODEL()
    given.graph.node.add(op_type=b"Op")
    attributes = given.graph.node[0].attribute
    attributes.add(name=b"f", f=float("nan"), type=1)
    attributes.add(name=b"l", floats=[float("nan"), 1.0], type=6)
    attributes.add(name=b"t", type=4).t.float_data.extend([float("nan")])
    after = MODEL()
    after.CopyFrom(given)
    model = onnxmap.loads(given.SerializeToString())
    apply(model, after)
    assert not model.edited
    after.graph.node[0].attribute[0].name = b"renamed"
    after.graph.node[0].attribute[2].name = b"t2"
    apply(model, after)
    assert bytes_of(MODEL.FromString(onnxmap.dumps(model))) == bytes_of(after)


def test_values_that_go_into_another_field() -> None:
    """The model may store the values in another field than the structure does."""
    given = MODEL.FromString(EDIT_MODELS["rich"])
    model = onnxmap.loads(EDIT_MODELS["rich"])
    structure = MODEL()
    structure.CopyFrom(given)
    tensor = structure.graph.initializer[1]
    assert len(tensor.float_data)
    tensor.ClearField("float_data")
    tensor.external_data.add(key=b"location", value=b"token")
    after = MODEL()
    after.CopyFrom(structure)
    after.graph.initializer[1].ClearField("external_data")
    after.graph.initializer[1].raw_data = b"new values.."
    apply_differences(model.proto, structure, structure, after, lambda message: None)
    found = MODEL.FromString(onnxmap.dumps(model)).graph.initializer[1]
    assert found.raw_data == b"new values.."
    assert not found.float_data


@pytest.mark.skipif(SANITIZED, reason="about time, which is not taken under ASan")
def test_many_nodes_of_which_each_second_one_changes() -> None:
    """It takes no time that grows with the square of their number."""
    given = MODEL.FromString(EDIT_MODELS[LARGE])
    nodes = given.graph.node
    for i in range(len(nodes), 20_000):
        nodes.add().CopyFrom(nodes[i % 1000])
        nodes[-1].output[0] = b"more%d" % i
    after = MODEL()
    after.CopyFrom(given)
    for node in after.graph.node[::2]:
        node.op_type = b"Mul"
    del after.graph.node[100]
    after.graph.node.insert(7, nodes[3])
    model = onnxmap.loads(given.SerializeToString())
    apply(model, after)
    assert MODEL.FromString(onnxmap.dumps(model)) == after
