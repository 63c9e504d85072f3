"""Edits that nest messages too deeply raise LimitError, and never exhaust the stack."""

from __future__ import annotations

import pytest

import onnxmap


def type_within(levels: int) -> tuple[onnxmap.ProtoView, onnxmap.ProtoView]:
    """An empty TypeProto, and the one that many sequence types below it would hold."""
    root = message = onnxmap.loads_proto(b"", "TypeProto")
    for _ in range(levels):
        message = message.sequence_type.elem_type
    return root, message


def test_absent_messages_are_as_deep_as_the_limit() -> None:
    root, innermost = type_within(50)
    innermost.denotation = "x"
    loaded = onnxmap.loads_proto(root.SerializeToString(), "TypeProto")
    assert loaded == root
    _, innermost = type_within(50)
    with pytest.raises(onnxmap.LimitError) as caught:
        innermost.sequence_type  # noqa: B018 -- the access raises
    assert caught.value.code == "limit.depth"


@pytest.mark.parametrize("levels", [1, 50])
def test_messages_that_edits_nest_too_deeply_are_not_saved(levels: int) -> None:
    deep, innermost = type_within(50)
    innermost.denotation = "x"
    root, innermost = type_within(levels)
    innermost.CopyFrom(deep)
    for read in (root.SerializeToString, root.ByteSize, root.to_text):
        with pytest.raises(onnxmap.LimitError) as caught:
            read()
        assert caught.value.code == "limit.depth"
    with pytest.raises(onnxmap.LimitError):  # a copy reads it
        type_within(1)[1].CopyFrom(root)
    root.ClearField("sequence_type")
    assert root.SerializeToString() == b""
