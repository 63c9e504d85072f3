"""The limit of nested messages is upb's: 100 levels. No input can exhaust the stack."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import wire_bytes as wire
from support.oracles.canonical import canonical, code_of, message_class, parse
from support.run_options import SANITIZED

import onnxmap

# Field numbers: ModelProto.graph, then GraphProto.node, NodeProto.attribute, AttributeProto.g
GRAPH, NODE, ATTRIBUTE, SUBGRAPH = 7, 1, 5, 6
# ModelProto.graph, GraphProto.input, ValueInfoProto.type, TypeProto.sequence_type, elem_type
INPUT, TYPE, SEQUENCE, ELEMENT = 11, 2, 4, 1
UNKNOWN = 999


def subgraphs(levels: int, innermost: bytes = b"") -> bytes:
    """Graphs, each in an attribute of a node of the one before: 3 * levels + 1 messages."""
    return wire.nested([GRAPH] + [NODE, ATTRIBUTE, SUBGRAPH] * levels, innermost)


def sequence_types(levels: int, innermost: bytes = b"") -> bytes:
    """A graph input whose type is `levels` nested sequences: 2 * levels + 3 messages."""
    return wire.nested([GRAPH, INPUT, TYPE] + [SEQUENCE, ELEMENT] * levels, innermost)


def groups(levels: int, number: int = UNKNOWN) -> bytes:
    return wire.tag(number, wire.START_GROUP) * levels + wire.tag(number, wire.END_GROUP) * levels


DEPTHS: dict[str, tuple[bytes, bool]] = {
    "33 subgraphs": (subgraphs(33), True),
    "34 subgraphs": (subgraphs(34), False),
    "48 sequence types": (sequence_types(48), True),
    "49 sequence types": (sequence_types(49), False),
    "100 groups": (groups(100), True),
    "101 groups": (groups(101), False),
    "100 groups in place of a known message": (groups(100, GRAPH), True),
    "101 groups in place of a known message": (groups(101, GRAPH), False),
    "33 subgraphs and no group": (subgraphs(33, wire.scalar(UNKNOWN, 1)), True),
    "33 subgraphs and a group": (subgraphs(33, groups(1)), False),
    "32 subgraphs and 3 groups": (subgraphs(32, groups(3)), True),
    "32 subgraphs and 4 groups": (subgraphs(32, groups(4)), False),
    "10 subgraphs, 33 sequence types, 1 group": (
        wire.nested(
            [GRAPH] + [NODE, ATTRIBUTE, SUBGRAPH] * 10 + [INPUT, TYPE] + [SEQUENCE, ELEMENT] * 33,
            groups(1),
        ),
        True,
    ),
    "10 subgraphs, 33 sequence types, 2 groups": (
        wire.nested(
            [GRAPH] + [NODE, ATTRIBUTE, SUBGRAPH] * 10 + [INPUT, TYPE] + [SEQUENCE, ELEMENT] * 33,
            groups(2),
        ),
        False,
    ),
    "an unknown length-delimited field is not a level": (
        subgraphs(33, wire.nested([UNKNOWN] * 50)),
        True,
    ),
}


@pytest.mark.parametrize("name", DEPTHS)
def test_depth_has_upb_s_edge(name: str) -> None:
    data, accepted = DEPTHS[name]
    message = parse(data)
    assert (message is not None) == accepted
    if message is None:
        with pytest.raises(onnxmap.LimitError, match="depth") as caught:
            onnxmap.loads_proto(data, "ModelProto")
        assert caught.value.code == "limit.depth"
    else:
        view = onnxmap.loads_proto(data, "ModelProto")
        assert canonical(view, "ModelProto") == canonical(message, "ModelProto")


@pytest.mark.parametrize("subgraph_levels", [0, 1, 7, 20, 33])
def test_depth_of_mixtures_has_upb_s_edge(subgraph_levels: int) -> None:
    verdicts = []
    for group_levels in range(95 - 3 * subgraph_levels, 104 - 3 * subgraph_levels):
        data = subgraphs(subgraph_levels, groups(max(group_levels, 0)))
        message = parse(data)
        verdicts.append(message is not None)
        assert code_of(data) == (None if verdicts[-1] else "limit.depth")
    assert verdicts[0] is True
    assert verdicts[-1] is False


def test_depth_counts_from_the_message_that_is_read() -> None:
    as_graph = wire.nested([NODE, ATTRIBUTE, SUBGRAPH] * 33, wire.nested([NODE]))
    assert parse(as_graph, "GraphProto") is not None
    assert code_of(as_graph, "GraphProto") is None
    too_deep = wire.nested([NODE, ATTRIBUTE, SUBGRAPH] * 34)
    assert parse(too_deep, "GraphProto") is None
    assert code_of(too_deep, "GraphProto") == "limit.depth"


def test_depth_limit_can_be_lowered_and_says_how_to_raise_it() -> None:
    data = subgraphs(5)
    onnxmap.loads(data, limits=onnxmap.Limits(depth=16))
    with pytest.raises(onnxmap.LimitError, match="depth") as caught:
        onnxmap.loads(data, limits=onnxmap.Limits(depth=15))
    assert caught.value.code == "limit.depth"
    assert "Limits" in str(caught.value)


def on_small_stack(work: Callable[[], None]) -> None:
    """Run `work` on a thread with a stack of 256 KiB, and raise what it raises."""
    # A sanitizer keeps unused bytes around each variable.
    before = threading.stack_size((512 if SANITIZED else 256) * 1024)
    try:
        with ThreadPoolExecutor(max_workers=1) as pool:
            pool.submit(work).result()
    finally:
        threading.stack_size(before)


BOMBS = {
    "open groups": wire.tag(UNKNOWN, wire.START_GROUP) * 100_000,
    "closed groups": groups(100_000),
    "open groups in a tensor": wire.nested([GRAPH, 5], wire.tag(1, wire.START_GROUP) * 100_000),
    "nested subgraphs": subgraphs(33_333),
    "nested sequence types": sequence_types(50_000),
}


@pytest.mark.parametrize("name", BOMBS)
def test_depth_bombs_end_on_a_small_stack(name: str) -> None:
    seen: list[str | None] = []
    on_small_stack(lambda: seen.append(code_of(BOMBS[name])))
    assert parse(BOMBS[name]) is None
    assert seen == ["limit.depth"]


def test_a_bomb_in_a_file_is_refused_by_every_entry(tmp_path: Path) -> None:
    path = tmp_path / "bomb.onnx"
    path.write_bytes(BOMBS["nested subgraphs"])
    for read in (
        lambda: onnxmap.load(path),
        lambda: onnxmap.load(path, io="read"),
        lambda: onnxmap.load(path, check="lazy"),
        lambda: onnxmap.loads(BOMBS["nested subgraphs"]),
        lambda: onnxmap.load_proto(path, "ModelProto"),
    ):
        with pytest.raises(onnxmap.LimitError) as caught:
            read()
        assert caught.value.code == "limit.depth"


def test_unknown_length_delimited_fields_are_not_levels() -> None:
    data = wire.nested([UNKNOWN] * 100_000)
    seen: list[str | None] = []
    on_small_stack(lambda: seen.append(code_of(data)))
    assert parse(data) is not None
    assert seen == [None]


def test_deep_but_legal_models_are_read_on_a_small_stack() -> None:
    def work() -> None:
        for data in (subgraphs(33), sequence_types(48), groups(100)):
            view = onnxmap.loads_proto(data, "ModelProto")
            assert view.unknown_fields or view.graph.ListFields()
            assert str(view) == str(message_class("ModelProto").FromString(data))

    on_small_stack(work)
