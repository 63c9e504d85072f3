"""Bytes that become deeply nested after loading give an error, and no stack overflow."""

from __future__ import annotations

import pytest
from support import wire_bytes as wire

import onnxmap


def nested(levels: int) -> tuple[bytearray, int]:
    """A node whose doc_string contains `levels` subgraphs, and the offset of that field's tag."""
    heads: list[
        bytes
    ] = []  # from the inside out, and joined once, because each level contains all deeper ones
    nbytes = 0
    for _ in range(levels):
        graph = wire.tag(1, wire.LENGTH) + wire.varint(nbytes)
        attribute = wire.blob(1, b"g") + wire.tag(6, wire.LENGTH) + wire.varint(len(graph) + nbytes)
        nbytes += len(graph) + len(attribute)
        node = wire.tag(5, wire.LENGTH) + wire.varint(nbytes)
        heads.append(node + attribute + graph)
        nbytes += len(node)
    text = wire.blob(
        10, b"".join(reversed(heads))
    )  # GraphProto.doc_string; its tag has one byte, like that of GraphProto.node
    graph = wire.blob(7, text)
    return bytearray(graph), len(graph) - len(text)


@pytest.mark.parametrize("read", [str, lambda proto: str(proto.graph)], ids=["model", "graph"])
def test_text(read: object) -> None:
    buffer, tag = nested(20_000)
    model = onnxmap.loads(buffer)
    buffer[tag] = 1 << 3 | 2
    with pytest.raises(onnxmap.FileChangedError, match="deeper"):
        read(model.proto)


def test_tensors() -> None:
    buffer, tag = nested(20_000)
    model = onnxmap.loads(buffer)
    buffer[tag] = 1 << 3 | 2
    with pytest.raises(onnxmap.FileChangedError, match="deeper"):
        model.tensors()


def test_unknown_groups() -> None:
    group = bytes([100 << 3 & 0x7F | 3 | 0x80, 100 >> 4])
    opened = group * 20_000
    closed = bytes([opened[0] & 0xF8 | 4, opened[1]]) * 20_000
    data = bytearray(wire.blob(7, b"") + wire.blob(6, opened + closed))
    model = onnxmap.loads(data)
    # The tag and length of doc_string become the value of a varint, so the groups become fields.
    head = len(data) - 80_000
    assert data[2] == 6 << 3 | 2
    data[2] = 101 << 3 & 0x7F | 0x80
    data[3] = 101 >> 4
    data[4:head] = b"\x80" * (head - 5) + b"\0"
    # Each group is read when it is asked for, without recursion.
    fields = model.proto.unknown_fields
    for _ in range(300):
        fields = fields[-1].data
        assert len(fields) == 1
