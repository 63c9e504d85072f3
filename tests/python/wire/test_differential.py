"""onnxmap and upb give the same verdict and values for every prefix, bit flip and mutant."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from typing import Any

import pytest
from support import wire_bytes as wire
from support.hostile import wire_mutator
from support.models.full_messages import full_message
from support.models.small import SMALL_MODELS
from support.oracles.canonical import (
    DESCRIPTORS,
    Canonical,
    canonical,
    code_of,
    message_class,
    parse,
    short_name,
)
from support.oracles.upb import Reading, form_of, outcome
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

import onnxmap

LARGE = 32 << 10

# The number of mutants of all small models: 5,000; in a large run 20,000; under slow sanitizers
# 2,000; in a long run 2,000,000. `make differential` judges mutants of every message type: 100,000
# in CI.
MUTANTS_PER_SEED = 100 if SANITIZED else 1_000 if EXHAUSTIVE else 250
LONG_MUTANTS_PER_SEED = 100_000
MUTANTS_PER_TYPE = 100 if EXHAUSTIVE else 30 if SANITIZED else 50
LARGE_MUTANTS = 100 if EXHAUSTIVE else 20 if SANITIZED else 50


def judged(data: bytes, name: str = "ModelProto") -> str:
    """How both agree on `data`: "accepted", "rejected" or "deviation". Fails on anything else."""
    message, code = parse(data, name), code_of(data, name)
    if message is None:
        assert code is not None, f"upb refuses, onnxmap accepts: {data.hex()}"
        assert code.startswith("wire.") or code == "limit.depth"
        return "rejected"
    if code == "wire.field_number":
        mended = wire_mutator.without_zero_in_groups(data, DESCRIPTORS[name])
        assert mended is not None, f"upb accepts, onnxmap refuses with {code}: {data.hex()}"
        assert judged(mended, name) == "accepted"
        return "deviation"
    assert code is None, f"upb accepts, onnxmap refuses with {code}: {data.hex()}"
    ours = canonical(onnxmap.loads_proto(data, name), name)
    assert ours == canonical(message, name), f"values differ: {data.hex()}"
    return "accepted"


def test_the_small_models_are_small_and_valid() -> None:
    assert len(SMALL_MODELS) == 20
    for name, data in SMALL_MODELS.items():
        assert 40 < len(data) < 300, name
        assert parse(data) is not None, name
        assert onnxmap.loads(data).proto.message_type == "ModelProto"


def test_the_small_models_reach_every_message_of_a_model() -> None:
    seen: set[str] = set()

    def visit(form: Canonical) -> None:
        name, known, _ = form
        seen.add(name)
        for _, value in known:
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, tuple):
                    visit(inner)

    for data in SMALL_MODELS.values():
        visit(canonical(message_class("ModelProto").FromString(data), "ModelProto"))
    assert _types_in_models() - seen - {"ModelProto"} == set()


def _types_in_models() -> set[str]:
    """The types of all messages that a model can have."""
    todo, done = ["ModelProto"], set()
    while todo:
        name = todo.pop()
        if name not in done:
            done.add(name)
            fields = DESCRIPTORS[name].fields
            todo += [short_name(one.message_type) for one in fields if one.message_type]
    return done


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_small_model_itself(name: str) -> None:
    view = onnxmap.loads_proto(SMALL_MODELS[name], "ModelProto")
    message = message_class("ModelProto").FromString(SMALL_MODELS[name])
    assert canonical(view, "ModelProto") == canonical(message, "ModelProto")
    assert str(view) == str(message)


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_every_prefix(name: str) -> None:
    data = SMALL_MODELS[name]
    seen = Counter(judged(data[:size]) for size in range(len(data) + 1))
    assert seen["accepted"] >= 2
    assert seen["rejected"] > 0
    assert seen.total() == len(data) + 1


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_every_prefix_through_loads(name: str) -> None:
    """`loads` refuses two more things: empty input, and a model without a graph."""
    data = SMALL_MODELS[name]
    for size in range(len(data)):
        message = parse(data[:size])
        if message is not None and message.HasField("graph"):
            assert onnxmap.loads(data[:size]).graph.proto.message_type == "GraphProto"
            continue
        with pytest.raises(onnxmap.ParseError) as caught:
            onnxmap.loads(data[:size])
        if message is not None:
            assert caught.value.code == ("model.no_graph" if size else "model.empty")
        else:
            assert caught.value.code.startswith("wire.")
            assert 0 <= caught.value.offset <= size


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_every_single_bit_flip(name: str) -> None:
    data = bytearray(SMALL_MODELS[name])
    # Each bit of a byte has its turn; structure_differential_test flips all bits.
    bits = range(0, 8 * len(data), 1 if EXHAUSTIVE else 5 if SANITIZED else 3)
    seen: Counter[str] = Counter()
    for bit in bits:
        data[bit // 8] ^= 1 << bit % 8
        seen[judged(bytes(data))] += 1
        data[bit // 8] ^= 1 << bit % 8
    assert seen.total() == len(bits)
    assert seen["accepted"] > len(bits) // 8
    assert seen["rejected"] > len(bits) // 8


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_mutants(name: str) -> None:
    """The seed is the model's name, so the mutants are the same on every run."""
    rng = random.Random(name)
    seeds = [SMALL_MODELS[name]] * 3 + list(SMALL_MODELS.values())
    count = LONG_MUTANTS_PER_SEED if LONG else MUTANTS_PER_SEED
    model = DESCRIPTORS["ModelProto"]
    seen = Counter(judged(wire_mutator.mutant(rng, seeds, model)) for _ in range(count))
    assert seen.total() == count
    # The mutator is useful only while many of its mutants are readable.
    assert seen["accepted"] > count // 5
    assert seen["rejected"] > count // 20


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_mutants_of_every_message(name: str) -> None:
    """Mutants of a message that has every field twice, so its singular messages are merged."""
    rng, descriptor = random.Random(name), DESCRIPTORS[name]
    seeds = [full_message(descriptor, depth) for depth in (0, 1, 1)]
    seen = Counter(
        judged(wire_mutator.mutant(rng, seeds, descriptor), name) for _ in range(MUTANTS_PER_TYPE)
    )
    assert seen["accepted"] > MUTANTS_PER_TYPE // 5
    assert judged(seeds[1] + seeds[1], name) == "accepted"


@pytest.mark.parametrize("name", ["ModelProto", "GraphProto", "TensorProto"])
def test_large_mutants(name: str) -> None:
    """From 32 KiB on, a message is read through an index, and so are the messages around it."""
    rng, descriptor = random.Random(name), DESCRIPTORS[name]
    around = {"ModelProto": (7, 5), "GraphProto": (5,), "TensorProto": ()}[name]
    payload = wire.blob(9, bytes(LARGE))  # raw_data
    for number in reversed(around):
        payload = wire.blob(number, payload)
    seeds = [payload + full_message(descriptor, 1), full_message(descriptor, 0) + payload]
    mutants = [wire_mutator.mutant(rng, seeds, descriptor) for _ in range(LARGE_MUTANTS)]
    seen = Counter(judged(data, name) for data in mutants if len(data) >= LARGE)
    assert seen.total() > LARGE_MUTANTS // 2
    assert seen["accepted"] > LARGE_MUTANTS // 5


def test_the_mutator_s_tree_gives_back_the_message() -> None:
    for name, data in SMALL_MODELS.items():
        again = wire_mutator.encode(wire_mutator.read_tree(data, DESCRIPTORS["ModelProto"]))
        expected = canonical(message_class("ModelProto").FromString(data), "ModelProto")
        assert canonical(message_class("ModelProto").FromString(again), "ModelProto") == expected, (
            name
        )


def test_an_unexplained_disagreement_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison fails if a reader accepts too much, too little, or reads other values."""
    good, bad = SMALL_MODELS["plain_nodes"], SMALL_MODELS["plain_nodes"][:-1]
    real = onnxmap.loads_proto

    def refuse(data: bytes, message: str) -> None:
        real(bad, message)

    monkeypatch.setattr(onnxmap, "loads_proto", lambda data, message: real(good, message))
    with pytest.raises(AssertionError, match="onnxmap accepts"):
        judged(bad)
    with pytest.raises(AssertionError, match="values differ"):
        judged(SMALL_MODELS["groups"])
    monkeypatch.setattr(onnxmap, "loads_proto", refuse)
    with pytest.raises(AssertionError, match="onnxmap refuses"):
        judged(good)


def read_by_upb(root: str, data: bytes) -> Reading:
    """Like onnxmap, a reader that refuses what upb refuses, and any field number 0."""
    form = form_of(root, data)
    if form is None:
        return Reading(root, data, "wire.truncated", b"")
    if wire_mutator.without_zero_in_groups(data, DESCRIPTORS[root]) is not None:
        return Reading(root, data, "wire.field_number", b"")
    return Reading(root, data, "", form)


ZERO_IN_GROUP = wire.group(999, wire.scalar(0, 5))
GRAPH = wire.blob(7, wire.blob(2, b"g"))


@pytest.mark.parametrize(
    ("data", "changes", "expected"),
    [
        (GRAPH, {}, "accepted"),
        (GRAPH[:-1], {}, "rejected"),
        (GRAPH + ZERO_IN_GROUP, {}, "deviation"),
        (GRAPH[:-1], {"verdict": ""}, "upb refuses, onnxmap accepts"),
        (GRAPH, {"form": GRAPH + b"\x08\x01"}, "values differ"),
        (GRAPH, {"form": b""}, "values differ"),
        (GRAPH, {"verdict": "limit.depth"}, "upb accepts, onnxmap refuses: limit.depth"),
        # The deviation excuses only a field number 0 in a group.
        (
            GRAPH,
            {"verdict": "wire.field_number"},
            "upb accepts, onnxmap refuses: wire.field_number",
        ),
        (
            GRAPH + ZERO_IN_GROUP,
            {"verdict": "wire.truncated"},
            "upb accepts, onnxmap refuses: wire.truncated",
        ),
        (GRAPH[:-1], {"verdict": "file.changed"}, "file.changed"),
        (
            GRAPH,
            {"verdict": "fault: at() and for_each() disagree"},
            "fault: at() and for_each() disagree",
        ),
    ],
)
def test_the_judge_of_the_long_run(data: bytes, changes: dict[str, Any], expected: str) -> None:
    """`make differential` asks this judge about each mutant."""
    reading = dataclasses.replace(read_by_upb("ModelProto", data), **changes)
    assert outcome(reading, read_by_upb) == expected


def test_the_deviation_hides_no_other_difference() -> None:
    """The same message without the field number 0 must be read alike."""
    reading = read_by_upb("ModelProto", GRAPH + ZERO_IN_GROUP)

    def reads_nothing(root: str, data: bytes) -> Reading:
        return dataclasses.replace(read_by_upb(root, data), form=b"")

    found = outcome(reading, reads_nothing)
    assert found == "upb accepts, onnxmap refuses: wire.field_number"
