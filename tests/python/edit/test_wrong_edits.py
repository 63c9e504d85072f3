"""A wrong edit raises what protobuf raises, and changes nothing."""

from __future__ import annotations

import pytest
from support.edits.runs import exception_name
from support.hostile.wrong_edits import OWN, WRONG, names_of, oracle_names, wrong_edit_model
from support.oracles.canonical import message_class

import onnxmap

STATEMENTS = [(kind, text) for kind, texts in WRONG.items() for text in texts]


def error_of(text: str, names: dict[str, object]) -> str:
    """The name of the exception that a statement raises; empty if it raises none."""
    try:
        exec(text, names)  # noqa: S102 -- the statements are our own
    except Exception as error:  # noqa: BLE001 -- its class is what is compared
        return exception_name(error)
    return ""


def test_no_statement_twice() -> None:
    texts = [text for _, text in STATEMENTS] + list(OWN)
    assert len(set(texts)) == len(texts) > 200


@pytest.mark.parametrize(("kind", "text"), STATEMENTS)
def test_protobuf_refuses(kind: str, text: str) -> None:
    assert error_of(text, oracle_names()), kind


@pytest.mark.parametrize(("kind", "text"), STATEMENTS)
def test_onnxmap_raises_the_same_and_changes_nothing(kind: str, text: str) -> None:
    model = onnxmap.loads(wrong_edit_model())
    names = names_of(model.proto, onnxmap.new)
    assert error_of(text, names) == error_of(text, oracle_names()), kind
    assert onnxmap.dumps(model) == wrong_edit_model()
    assert not model.edited


@pytest.mark.parametrize("text", OWN)
def test_what_protobuf_only_half_refuses(text: str) -> None:
    model = onnxmap.loads(wrong_edit_model())
    assert error_of(text, names_of(model.proto, onnxmap.new)) == OWN[text]
    assert onnxmap.dumps(model) == wrong_edit_model()


@pytest.mark.parametrize(("kind", "text"), STATEMENTS)
def test_after_a_wrong_edit_the_next_edit_counts(kind: str, text: str) -> None:
    """Nothing is left half-done in the message, either."""
    model = onnxmap.loads(wrong_edit_model())
    names = names_of(model.proto, onnxmap.new)
    assert error_of(text, names), kind
    names["node"].op_type = "C"
    names["dims"].append(4)
    expected = message_class("ModelProto").FromString(wrong_edit_model())
    expected.graph.node[0].op_type = "C"
    expected.graph.initializer[0].dims.append(4)
    found = message_class("ModelProto").FromString(onnxmap.dumps(model))
    assert found.SerializeToString(deterministic=True) == expected.SerializeToString(
        deterministic=True
    )


def test_texts_that_are_not_utf_8_can_be_copied() -> None:
    """What onnxmap reads as a text with surrogates is what it writes."""
    data = message_class("ModelProto").FromString(wrong_edit_model())
    data.graph.node[0].MergeFromString(b"\x1a\x02\xff\xfe")
    model = onnxmap.loads(data.SerializeToString())
    nodes = model.proto.graph.node
    nodes[1].name = nodes[0].name
    nodes[1].input.append(nodes[0].name)
    found = message_class("ModelProto").FromString(onnxmap.dumps(model)).graph.node[1]
    assert found.name == b"\xff\xfe"
    assert list(found.input) == [b"\xff\xfe"]
