"""`from_text` reads back the unknown fields that `to_text(print_unknown_fields=True)` prints."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import onnx
import pytest
from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from support import wire_bytes as wire
from support.models.full_messages import full_message
from support.oracles.canonical import DESCRIPTORS, message_class

import onnxmap
from onnxmap import from_text

_FIXED32, _FIXED64 = b"\1\2\3\xff", b"\1\2\3\4\5\6\7\xff"
UNKNOWN = {
    "varints": wire.scalar(99, 0) + wire.scalar(99, 2**64 - 1) + wire.scalar(19_000, 1 << 63),
    "fixed widths": wire.tag(99, wire.FIXED32) + _FIXED32 + wire.tag(98, wire.FIXED64) + _FIXED64,
    "bytes": wire.blob(99, bytes(range(256))) + wire.blob(99, b"") + wire.blob(99, b'\n"\\377?'),
    "several of one number": wire.scalar(99, 1) + wire.blob(99, b"x") + wire.scalar(99, 1),
    "not in the order of numbers": wire.scalar(99, 1) + wire.scalar(98, 1) + wire.scalar(99, 2),
    "the largest number": wire.scalar(2**29 - 1, 1),
    "a message": wire.blob(99, wire.scalar(1, 2) + wire.blob(2, b"\xff")),
    "a known number of another wire type": wire.scalar(3, 7) + wire.tag(5, 5) + _FIXED32,
}


def data_of(made: Any) -> bytes:
    proto = made.proto if isinstance(made, onnxmap.Model) else made
    return bytes(proto.SerializeToString())


def read_back(data: bytes, name: str) -> bytes:
    text = onnxmap.loads_proto(data, name).to_text(print_unknown_fields=True)
    return data_of(from_text(text, name))


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_is_printed_is_read_back(case: str) -> None:
    unknown = UNKNOWN[case]
    inner = wire.blob(1, b"a") + unknown
    for data in (
        unknown,
        wire.blob(3, b"n") + unknown,
        wire.blob(5, b"") + wire.blob(5, inner) + wire.blob(5, wire.blob(6, unknown)) + unknown,
    ):
        assert read_back(data, "NodeProto") == data


def random_unknown(rng: random.Random) -> bytes:
    number = rng.choice([rng.randrange(60, 99), rng.randrange(100, 2**29)])
    fixed = rng.randbytes(8)
    return rng.choice(
        [
            wire.scalar(number, rng.getrandbits(rng.randrange(1, 65))),
            wire.tag(number, wire.FIXED32) + fixed[:4],
            wire.tag(number, wire.FIXED64) + fixed,
            wire.blob(number, rng.randbytes(rng.randrange(6))),
        ]
    )


def scatter(rng: random.Random, message: Message) -> None:
    """Give the message, and some of those in it, unknown fields."""
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for each in value if field.is_repeated else [value]:
                scatter(rng, each)
    if rng.random() < 0.4:
        message.MergeFromString(b"".join(random_unknown(rng) for _ in range(rng.randrange(4))))


@pytest.mark.parametrize("name", sorted(DESCRIPTORS))
def test_random_unknown_fields_in_every_type(name: str) -> None:
    rng = random.Random(name)
    for _ in range(4):
        message = message_class(name).FromString(full_message(DESCRIPTORS[name], 2))
        scatter(rng, message)
        data = message.SerializeToString(deterministic=True)
        assert read_back(data, name) == data


def test_what_protobuf_prints() -> None:
    """Protobuf prints bytes that may be a message as one."""
    message = message_class("NodeProto").FromString(
        wire.blob(3, b"n")
        + wire.blob(99, wire.scalar(1, 2) + wire.blob(7, wire.scalar(3, 4)))
        + wire.blob(5, wire.blob(1, b"a") + wire.blob(98, b"\xff'"))
        + wire.blob(97, b"")
    )
    for options in ({}, {"as_one_line": True}, {"pointy_brackets": True}):
        text = text_format.MessageToString(message, print_unknown_fields=True, **options)
        assert data_of(from_text(text, "NodeProto")) == message.SerializeToString()


def test_a_group_becomes_a_message() -> None:
    content = wire.scalar(1, 2) + wire.group(3, wire.blob(4, b"x"))
    inner = wire.scalar(1, 2) + wire.blob(3, wire.blob(4, b"x"))
    assert read_back(wire.group(99, content), "NodeProto") == wire.blob(99, inner)


def test_other_spellings() -> None:
    expected = wire.blob(3, b"n") + wire.blob(5, wire.scalar(50, 1)) + wire.scalar(99, 1)
    expected += wire.blob(98, b"ab") + wire.blob(97, wire.scalar(1, 2) + wire.scalar(1, 3))
    text = """# 1: 2
        99: 1; name: "n", 98: 'a' # comment
        "b" attribute: [ < 50: 1, > ], 97: { 1: 2; 1: 3, }"""
    assert data_of(from_text(text, "NodeProto")) == expected
    assert data_of(from_text(r"99: '\x41\102\a\?\'\"'", "NodeProto")) == wire.blob(99, b"AB\a?'\"")


WRONG = {  # with the offset of the fault
    "0: 1": 0,
    "01: 1": 0,
    f"{2**29}: 1": 0,
    "99: -1": 0,
    f"99: {2**64}": 0,
    "99: 1.5": 0,
    "99: x": 0,
    "99: 0x123": 0,
    "99: '": 0,
    "99: '\\": 0,
    "99: '\\q'": 0,
    "99: [1]": 0,
    "99 { name: 1 }": 0,
    "99 {": 0,
    "99": 0,
    "99:": 0,
    "99 1": 0,
    "99: 1 99: x": 6,
    "99: 1, nope: 1": 7,
    "99: 'é' nope: 1": 9,
    "99 {\n 1: 'é'\n}\n name: 5": 23,
    "name: 'a' 99: 1 name: 'b'": 22,
    "attribute { 99: 1 } attribute { 99: 1 nope: 1 }": 38,
    "attribute { 99: 1": 10,
}


@pytest.mark.parametrize("text", WRONG)
def test_faults_have_the_places_of_the_text(text: str) -> None:
    with pytest.raises(onnxmap.ParseError) as caught:
        from_text(text, "NodeProto")
    assert (caught.value.code, caught.value.offset) == ("model.text", WRONG[text])


@pytest.mark.parametrize(
    "text", ['4: "B"', 'op_type: "A" 4: "B"', "5 { 20: 2 }", 'attribute { 1: "n" }']
)
def test_a_known_field_is_named(text: str) -> None:
    with pytest.raises(onnxmap.ParseError, match=r'no field named "[145]"') as caught:
        from_text(text, "NodeProto")
    assert caught.value.code == "model.text"


@pytest.mark.parametrize("opening", ["9{", "attribute{g{node{"])
def test_deep_texts_are_refused(opening: str) -> None:
    with pytest.raises(onnxmap.LimitError) as caught:
        from_text(opening * 100_000, "NodeProto")
    assert caught.value.code == "limit.depth"


def test_many_fields_take_time_in_proportion() -> None:
    """Each message would be sought from the first if their places were not kept."""
    count = 20_000
    text = "attribute{9:1}" * count + "9: 1 " * count
    expected = wire.blob(5, wire.scalar(9, 1)) * count + wire.scalar(9, 1) * count
    assert data_of(from_text(text, "NodeProto")) == expected


def test_a_file_with_unknown_fields(tmp_path: Path) -> None:
    model = onnx.ModelProto(ir_version=8, graph={"name": "g", "node": [{"op_type": "Relu"}]})
    model.graph.node[0].MergeFromString(wire.scalar(99, 5))
    data = model.SerializeToString()
    path = tmp_path / "model.textproto"
    path.write_text(onnxmap.loads(data).proto.to_text(print_unknown_fields=True))
    assert onnxmap.load(path).proto.SerializeToString() == data
