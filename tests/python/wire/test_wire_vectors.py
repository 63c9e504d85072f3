"""Every stored wire vector: the required verdict, upb's values, and where it is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.oracles.canonical import assert_equal_everywhere, canonical, message_class, parse

import onnxmap

FILE = Path(__file__).parents[2] / "data" / "wire_vectors.json"
VECTORS = json.loads(FILE.read_text())["vectors"]
ACCEPTED = [name for name, vector in VECTORS.items() if vector["required"] == "accept"]
REJECTED = [name for name, vector in VECTORS.items() if vector["required"] == "reject"]

# code, offset, path. The offset is that of the bad field's tag. In a packed run, it is that of the
# bad element. For a group, it is that of the tag that opened it, or closed it wrongly. The path
# names the field of that tag, by number if the field is unknown. If the tag cannot be read, the
# path is that of the message.
EXPECTED_ERRORS = {
    "V04": ("wire.varint_too_long", 0, "ir_version"),
    "V08": ("wire.varint_too_long", 0, "ir_version"),
    "V09": ("wire.truncated", 0, "ir_version"),
    "V10": ("wire.truncated", 0, "ir_version"),
    "V13": ("wire.tag_too_long", 0, ""),
    "V14": ("wire.tag_too_long", 0, ""),
    "V15": ("wire.field_number", 0, ""),
    "V16": ("wire.field_number", 0, ""),
    "V19": ("wire.length_too_long", 0, "producer_name"),
    "V20": ("wire.length_too_long", 0, "producer_name"),
    "V21": ("wire.length_overrun", 0, "producer_name"),
    "V22": ("wire.length_overrun", 0, "producer_name"),
    "V23": ("wire.length_overrun", 0, "producer_name"),
    "V24": ("wire.length_too_large", 0, "producer_name"),
    "V25": ("wire.length_too_large", 0, "producer_name"),
    "T01": ("wire.field_number", 0, ""),
    "T02": ("wire.field_number", 0, ""),
    "T03": ("wire.field_number", 0, ""),
    "T05": ("wire.field_number", 0, ""),
    "T06": ("wire.wire_type", 0, "ir_version"),
    "T07": ("wire.wire_type", 0, "ir_version"),
    "T08": ("wire.wire_type", 0, "999"),
    "G04": ("wire.group_mismatch", 2, "999.998"),
    "G05": ("wire.group_unterminated", 0, "999"),
    "G06": ("wire.end_group", 0, "999"),
    "G07": ("wire.end_group", 2, "ir_version"),
    "G08": ("wire.end_group", 5, "graph.initializer[0]"),
    "G09": ("wire.group_unterminated", 2, "graph.99"),
    "G10": ("wire.field_number", 2, "999"),
    "P06": ("wire.packed_length", 4, "graph.initializer[0].float_data"),
    "P11": ("wire.truncated", 7, "graph.initializer[0].int64_data"),
    "P13": ("wire.varint_too_long", 6, "graph.initializer[0].int64_data"),
    "P15": ("wire.packed_length", 4, "graph.initializer[0].double_data"),
    "P20": ("wire.length_overrun", 4, "graph.initializer[0].float_data"),
    "N01": ("wire.length_overrun", 2, "graph.name"),
    "N02": ("wire.length_overrun", 2, "graph.name"),
    "N03": ("wire.truncated", 4, "graph.initializer[0]"),
    "N04": ("wire.truncated", 4, "graph.initializer[0].float_data"),
    "N05": ("wire.truncated", 4, "graph.initializer[0].double_data"),
    "N06": ("wire.truncated", 2, ""),
    "N07": ("wire.field_number", 2, ""),
}
TOO_DEEP = {"N09.49", "N09.50"}


def _bytes(name: str) -> bytes:
    return bytes.fromhex(VECTORS[name]["hex"])


def test_the_file_is_whole() -> None:
    assert len(VECTORS) == 132
    assert len(ACCEPTED) + len(REJECTED) == 132
    assert set(REJECTED) == set(EXPECTED_ERRORS) | TOO_DEEP


@pytest.mark.parametrize("name", VECTORS)
def test_stored_verdict_is_upb_s_own(name: str) -> None:
    accepted = parse(_bytes(name)) is not None
    assert accepted == VECTORS[name]["upb"].startswith("OK")


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted_with_upb_s_values(name: str) -> None:
    data = _bytes(name)
    view = onnxmap.loads_proto(data, "ModelProto")
    message = message_class("ModelProto").FromString(data)
    assert_equal_everywhere(view, message, "ModelProto")
    assert str(view) == str(message)


@pytest.mark.parametrize("name", EXPECTED_ERRORS)
def test_rejected_with_code_offset_and_path(name: str) -> None:
    code, offset, path = EXPECTED_ERRORS[name]
    with pytest.raises(onnxmap.ParseError) as caught:
        onnxmap.loads_proto(_bytes(name), "ModelProto")
    error = caught.value
    assert (error.code, error.offset, error.path) == (code, offset, path)
    assert str(offset) in str(error)


@pytest.mark.parametrize("name", sorted(TOO_DEEP))
def test_rejected_as_too_deep(name: str) -> None:
    with pytest.raises(onnxmap.LimitError) as caught:
        onnxmap.loads_proto(_bytes(name), "ModelProto")
    assert caught.value.code == "limit.depth"


@pytest.mark.parametrize("name", EXPECTED_ERRORS)
def test_load_names_the_file_and_the_offset(name: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(_bytes(name))
    with pytest.raises(onnxmap.ParseError) as caught:
        onnxmap.load(path)
    assert caught.value.code == EXPECTED_ERRORS[name][0]
    assert str(path) in str(caught.value)
    assert str(EXPECTED_ERRORS[name][1]) in str(caught.value)


@pytest.mark.parametrize("name", ACCEPTED)
def test_load_agrees_with_loads_proto_but_demands_a_graph(name: str) -> None:
    data = _bytes(name)
    message = message_class("ModelProto").FromString(data)
    if message.HasField("graph"):
        model = onnxmap.loads(data)
        assert canonical(model.proto, "ModelProto") == canonical(message, "ModelProto")
    else:
        with pytest.raises(onnxmap.ParseError) as caught:
            onnxmap.loads(data)
        assert caught.value.code == "model.no_graph"
