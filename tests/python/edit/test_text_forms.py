"""`from_text` and `from_json` read what `str(proto)` and `to_json()` write, and protobuf's own."""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
from google.protobuf import json_format, text_format
from google.protobuf.message import Message
from onnx import TensorProto
from support import wire_bytes as wire
from support.edits.models import EDIT_MODELS
from support.models.full_messages import full_message
from support.oracles.canonical import DESCRIPTORS, message_class

import onnxmap
from onnxmap import from_json, from_text
from onnxmap._core import text_form

ROOT = Path(onnx.__file__).parent
LARGEST = 1_000_000  # bytes; the library parses 1 MB in some seconds
MODELS = [path for path in sorted(ROOT.rglob("*.onnx")) if path.stat().st_size <= LARGEST]
ALL_BYTES = bytes(range(256))
FORMS = ["text", "JSON"]


def proto_of(made: Any) -> onnxmap.ProtoView:
    return made.proto if isinstance(made, onnxmap.Model) else made


def test_element_types_have_names() -> None:
    """Strings and comments stay, and an error names the same column."""
    text = """name: "data_type: INT8" # data_type: INT8 "
        data_type : FLOAT16 dims: 1 doc_string: 'x" data_type: INT8' raw_data: "ab" """
    found = onnx.TensorProto.FromString(
        proto_of(from_text(text, "TensorProto")).SerializeToString()
    )
    assert (found.name, found.data_type) == ("data_type: INT8", TensorProto.FLOAT16)
    assert found.doc_string == 'x" data_type: INT8'
    text = "map_type { key_type: STRING value_type { tensor_type { elem_type: INT64 } } }"
    view = proto_of(from_text(text, "TypeProto"))
    assert view.map_type.key_type == TensorProto.STRING
    assert view.map_type.value_type.tensor_type.elem_type == TensorProto.INT64
    for wrong in ("data_type: BFLOAT16 dims: x", "data_type: FLOATING dims: x"):
        with pytest.raises(onnxmap.ParseError) as caught:
            from_text(wrong, "TensorProto")
        assert caught.value.offset == wrong.index("x" if "BF" in wrong else "FLOATING")


def without_unknown(data: bytes, name: str) -> Message:
    """Protobuf's message without unknown fields, which no text form has."""
    message = message_class(name).FromString(data)
    message.DiscardUnknownFields()
    return message


def assert_read(made: Any, expected: Message) -> None:
    found = type(expected).FromString(proto_of(made).SerializeToString())
    assert found.SerializeToString(deterministic=True) == expected.SerializeToString(
        deterministic=True
    )


def read(form: str, view: onnxmap.ProtoView, name: str) -> Any:
    """What a message's own text, or its JSON, gives."""
    return from_text(str(view), name) if form == "text" else from_json(view.to_json(), name)


def has_other_bytes(data: bytes) -> bool:
    """Whether the message has texts that are not UTF-8, which JSON cannot hold."""
    text = json.dumps(onnxmap.loads_proto(data, "ModelProto").to_dict(), ensure_ascii=False)
    return any(0xD800 <= ord(character) < 0xE000 for character in text)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("form", FORMS)
def test_official_models(form: str, path: Path) -> None:
    model = onnxmap.load(path)
    made = read(form, model.proto, "ModelProto")
    assert isinstance(made, onnxmap.Model)
    assert_read(made, without_unknown(path.read_bytes(), "ModelProto"))
    assert str(made.proto) == str(model.proto)


@pytest.mark.parametrize("name", [name for name in EDIT_MODELS if not name.startswith("backend")])
@pytest.mark.parametrize("form", FORMS)
def test_models_with_odd_encodings(form: str, name: str) -> None:
    data = EDIT_MODELS[name]
    view = onnxmap.loads_proto(data, "ModelProto")
    if form == "JSON" and has_other_bytes(data):
        with pytest.raises(onnxmap.ParseError, match="surrogate") as caught:
            read(form, view, "ModelProto")
        assert (caught.value.code, caught.value.path) == ("model.text", "producerName")
        return
    assert_read(read(form, view, "ModelProto"), without_unknown(data, "ModelProto"))


@pytest.mark.parametrize("name", sorted(set(DESCRIPTORS) - {"ModelProto"}))
@pytest.mark.parametrize("form", FORMS)
def test_every_message_with_every_field(form: str, name: str) -> None:
    data = full_message(DESCRIPTORS[name], 2)
    made = read(form, onnxmap.loads_proto(data, name), name)
    assert made.message_type == name
    assert_read(made, without_unknown(data, name))


@pytest.mark.parametrize("form", FORMS)
def test_what_protobuf_writes(form: str) -> None:
    model = onnx.ModelProto.FromString(EDIT_MODELS["rich"])
    if form == "text":
        texts = [
            text_format.MessageToString(model),
            text_format.MessageToString(model, as_one_line=True),
            text_format.MessageToString(model, pointy_brackets=True),
            text_format.MessageToString(model, as_utf8=False),
        ]
    else:
        texts = [
            json_format.MessageToJson(model),
            json_format.MessageToJson(model, preserving_proto_field_name=True, indent=None),
            json_format.MessageToJson(model, use_integers_for_enums=True),
        ]
    for text in texts:
        make = from_text if form == "text" else from_json
        assert_read(make(text, "ModelProto"), model)
        assert_read(make(text.encode(), "ModelProto"), model)
        assert_read(make("\ufeff" + text, "ModelProto"), model)
        assert_read(make(("\ufeff" + text).encode(), "ModelProto"), model)


def test_json_may_be_a_dict() -> None:
    model = onnxmap.loads(EDIT_MODELS["rich"])
    for names in (True, False):
        made = from_json(model.proto.to_dict(preserving_proto_field_name=names), "ModelProto")
        assert proto_of(made) == model.proto


VALUES = {
    "all bytes": TensorProto(raw_data=ALL_BYTES, string_data=[ALL_BYTES, b"", b"\0" * 3 + b"7"]),
    "texts": TensorProto(name="\0\t\r\n\x7f\"'\\ é \ufffe😀", doc_string="\\n\\377\\x41?"),
    "floats": TensorProto(
        float_data=[0.1, 1e-45, 3.4028235e38, -0.0, math.inf, -math.inf, 16777216.0],
        double_data=[0.1, 5e-324, 1.7976931348623157e308, -math.inf, math.inf, -0.0],
    ),
    "integers": TensorProto(
        dims=[-(1 << 63), (1 << 63) - 1], uint64_data=[(1 << 64) - 1], int32_data=[-(1 << 31)]
    ),
    "enums": TensorProto(data_location=TensorProto.EXTERNAL, data_type=99),
    "explicit defaults": TensorProto(name="", data_type=0, raw_data=b"", data_location=0),
    "empty messages": TensorProto(segment=TensorProto.Segment(), external_data=[{}, {}]),
}


@pytest.mark.parametrize("case", VALUES)
@pytest.mark.parametrize("form", FORMS)
def test_values(form: str, case: str) -> None:
    view = onnxmap.loads_proto(VALUES[case].SerializeToString(), "TensorProto")
    assert_read(read(form, view, "TensorProto"), VALUES[case])


@pytest.mark.parametrize("form", FORMS)
def test_nan_stays_nan(form: str) -> None:
    """Neither form has the bits of a NaN."""
    data = wire.blob(4, struct.pack("<2I", 0x7FC00001, 0xFFC00000))
    made = read(form, onnxmap.loads_proto(data, "TensorProto"), "TensorProto")
    assert len(made.float_data) == 2
    assert all(math.isnan(one) for one in made.float_data)


def test_the_largest_floats_in_json() -> None:
    """The library itself finds too large what it writes."""
    tensor = TensorProto(
        float_data=[3.4028235e38, -3.4028235e38, 1.5], double_data=[3.4028235e38, 1e308]
    )
    with pytest.raises(json_format.ParseError):
        json_format.Parse(json_format.MessageToJson(tensor), TensorProto())
    model = onnx.ModelProto(graph=onnx.GraphProto(initializer=[tensor]))
    for names in (True, False):
        text = json_format.MessageToJson(model, preserving_proto_field_name=names)
        assert_read(from_json(text, "ModelProto"), model)
        assert_read(from_json(json.loads(text), "ModelProto"), model)


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"a\xc3", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80\xff"])
def test_the_text_format_has_texts_that_are_not_utf_8(raw: bytes) -> None:
    data = wire.blob(8, raw) + wire.blob(9, raw)
    made = from_text(str(onnxmap.loads_proto(data, "TensorProto")), "TensorProto")
    assert made.SerializeToString() == data


@pytest.mark.parametrize("form", FORMS)
def test_unknown_fields_are_in_no_text(form: str) -> None:
    data = wire.scalar(999, 1) + wire.blob(8, b"w") + wire.scalar(14, 7)
    made = read(form, onnxmap.loads_proto(data, "TensorProto"), "TensorProto")
    assert made.SerializeToString() == wire.blob(8, b"w")


WRONG_TEXTS = {
    "graph { nope: 1 }": 8,
    'graph {\n  name: "é"\n  nope: 1\n}': 23,
    'graph { name: "x"\n': 14,
    "producer_name: 5": 15,
    "ir_version: 1 ir_version: 2": 26,
    "ir_version: 99999999999999999999": 12,
    "ir_version: x": 12,
    "graph { initializer { data_location: NOPE } }": 37,
    "graph { initializer { data_location: 7 } }": 37,
    "graph { input { type { tensor_type {} map_type {} } } }": 38,
    "0: 5": 0,
    "{}": 0,
}


@pytest.mark.parametrize("text", WRONG_TEXTS)
def test_wrong_texts(text: str) -> None:
    with pytest.raises(text_format.ParseError):
        text_format.Parse(text, onnx.ModelProto())
    with pytest.raises(onnxmap.ParseError, match=r"text format: line \d+, column \d+: ") as caught:
        from_text(text, "ModelProto")
    assert (caught.value.code, caught.value.offset) == ("model.text", WRONG_TEXTS[text])


def test_lone_surrogates_before_the_fault() -> None:
    with pytest.raises(onnxmap.ParseError, match="line 2, column 1: ") as caught:
        from_text("# \udcff\nnope: 1", "TensorProto")
    assert caught.value.offset == len(b"# ...\n")


def test_retired_fields_have_no_name() -> None:
    for make, text in ((from_text, "since_version: 1"), (from_json, {"sinceVersion": 1})):
        with pytest.raises(onnxmap.ParseError, match=r'no field named "since_?[vV]ersion"'):
            make(text, "FunctionProto")


@pytest.mark.parametrize(
    "wrong", ['"t": 5', '"nope": 5', '"tensors": [5]', '"tensors": 5', '"g": {"node": [5]}']
)
def test_what_else_is_wrong_beside_a_large_float(wrong: str) -> None:
    text = f'{{"floats": [3.4028235e38], {wrong}}}'
    for given in (text, json.loads(text)):
        with pytest.raises(onnxmap.ParseError) as caught:
            from_json(given, "AttributeProto")
        assert caught.value.code == "model.text"


WRONG_JSON: dict[str, tuple[int | None, str]] = {
    '{"graph": {"nope": 1}}': (None, "graph"),
    '{"é": 1, "graph" {}}': (18, ""),
    '{"irVersion": "1"': (17, ""),
    "": (0, ""),
    "[1]": (None, ""),
    "5": (None, ""),
    '{"irVersion": "1", "irVersion": 2}': (None, ""),
    '{"irVersion": "x"}': (None, ""),
    '{"graph": {"initializer": [{"floatData": [1, 3.41e38]}]}}': (
        None,
        "graph.initializer[0].floatData[1]",
    ),
    '{"graph": {"node": [{"opType": 5}]}}': (None, ""),
    '{"graph": {"initializer": [{}, {"dataLocation": 7}]}}': (
        None,
        "graph.initializer[1].dataLocation",
    ),
    '{"graph": {"input": [{"type": {"tensorType": {}, "mapType": {}}}]}}': (
        None,
        "graph.input[0].type",
    ),
}


@pytest.mark.parametrize("text", WRONG_JSON)
def test_wrong_json(text: str) -> None:
    with pytest.raises((json_format.ParseError, AttributeError)):
        json_format.Parse(text, onnx.ModelProto())
    with pytest.raises(onnxmap.ParseError, match="JSON: ") as caught:
        from_json(text, "ModelProto")
    offset, path = WRONG_JSON[text]
    assert (caught.value.code, caught.value.offset, caught.value.path) == (
        "model.text",
        offset,
        path,
    )


def nested(levels: int) -> tuple[str, str]:
    """Graphs within graphs: in the text format and in JSON."""
    text = "graph {" + "node { attribute { g {" * levels + "}}}" * levels + "}"
    inner = '{"node": [{"attribute": [{"g": ' * levels + "{}" + "}]}]}" * levels
    return text, f'{{"graph": {inner}}}'


@pytest.mark.parametrize("levels", [34, 60, 1_000, 30_000])
def test_deep_messages_are_refused_by_the_limit(levels: int) -> None:
    text, json_text = nested(levels)
    with pytest.raises(onnxmap.LimitError) as caught:
        from_text(text, "ModelProto")
    assert caught.value.code == "limit.depth"
    with pytest.raises(onnxmap.LimitError) as caught:
        from_json(json_text, "ModelProto")
    assert caught.value.code == "limit.depth"


def test_messages_within_the_limit_are_read() -> None:
    text, json_text = nested(33)
    assert proto_of(from_text(text, "ModelProto")) == proto_of(from_json(json_text, "ModelProto"))


def test_what_is_no_text() -> None:
    for make in (from_text, from_json):
        with pytest.raises(TypeError, match="text must be"):
            make(5, "ModelProto")
        with pytest.raises(TypeError, match="message must be"):
            make("", 5)
        with pytest.raises(ValueError, match="no message type named Nope"):
            make("", "Nope")
        with pytest.raises(onnxmap.ParseError, match="UTF-8") as caught:
            make(b'{"\xff', "ModelProto")
        assert (caught.value.code, caught.value.offset) == ("model.text", 2)


def test_a_model_needs_a_graph_and_finds_its_data(tmp_path: Path) -> None:
    with pytest.raises(onnxmap.ParseError) as caught:
        from_text("ir_version: 5", "ModelProto")
    assert caught.value.code == "model.no_graph"
    (tmp_path / "w.bin").write_bytes(b"\1\2")
    text = (
        'graph { initializer { name: "w" dims: 2 data_type: 2 data_location: EXTERNAL '
        'external_data { key: "location" value: "w.bin" } } }'
    )
    model = from_text(text, "ModelProto", external_root=tmp_path)
    assert isinstance(model, onnxmap.Model)
    assert model.initializers["w"].numpy().tolist() == [1, 2]
    as_json = from_json(model.proto.to_json(), "ModelProto", external_root=tmp_path)
    assert as_json.initializers["w"].numpy().tolist() == [1, 2]
    limits = onnxmap.Limits(depth=2)
    with pytest.raises(onnxmap.LimitError):
        from_text(text, "ModelProto", limits=limits)


HEADS: dict[bytes, str | None] = {  # the form of the model that begins so
    b"ir_version: 8\n": "textproto",
    b"# made by hand\n\n  graph {": "textproto",
    b"\xef\xbb\xbfproducer_name: 'p'": "textproto",
    b"graph <": "textproto",
    b'{"irVersion": "8"': "json",
    b'\n {\n  "ir_version" : 8': "json",
    b'\xef\xbb\xbf{"graph":{': "json",
    b"": None,
    b"{}": None,
    b"{": None,
    b"name: 'x'": None,
    b"graph": None,
    b"import onnx\n": None,
    b"version https://git-lfs.github.com/spec/v1": None,
    b"<!DOCTYPE html><html>": None,
    b'{"message": "not found"}': None,
    b"graph: \x00": None,
    b'{"graph": "\x01': None,
}


@pytest.mark.parametrize("head", HEADS)
def test_recognition(head: bytes) -> None:
    assert text_form(head) == HEADS[head]


def test_models_and_their_forms_are_told_apart() -> None:
    for data in EDIT_MODELS.values():
        view = onnxmap.loads_proto(data, "ModelProto")
        for head in (data, data[:40]):
            assert text_form(head) is None
        text, json_text = str(view).encode("utf-8", "surrogateescape"), view.to_json().encode()
        assert text_form(text) == "textproto"
        assert text_form(json_text) == "json"


def test_without_protobuf_the_error_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['google.protobuf'] = None\n"
        "from onnxmap import from_text\n"
        "from_text('', 'NodeProto')"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "pip install 'onnxmap[proto]'" in found.stderr
