"""Models in protobuf's text format and JSON: `load` reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from google.protobuf import json_format, text_format
from onnx import ModelProto
from support.saves.judges import contents
from support.saves.models import SAVE_MODELS

import onnxmap

FORMS = {
    "model.textproto": text_format.MessageToString,
    "model.txt": lambda message: "# made by hand\n" + text_format.MessageToString(message),
    "model.json": json_format.MessageToJson,
    "model.onnx": text_format.MessageToString,  # loading does not look at the name
}


def of_text(data: bytes) -> ModelProto:
    return text_format.Parse(data.decode(), ModelProto())


PARSERS = {
    ".textproto": of_text,
    ".txt": of_text,
    ".json": lambda data: json_format.Parse(data.decode(), ModelProto()),
    ".onnx": ModelProto.FromString,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["chain", "chain_outside", "nested"])
def test_load(name: str, form: str, tmp_path: Path) -> None:
    source = SAVE_MODELS[name](tmp_path)
    message = onnx.load(source, load_external_data=False)
    expected = onnxmap.load_arrays(source)
    path = tmp_path / form
    path.write_text(FORMS[form](message))
    model = onnxmap.load(path)
    assert str(model.proto) == str(message)
    assert model.path == str(path)
    assert model.format == ("json" if form.endswith("json") else "textproto")
    assert onnxmap.loads(onnxmap.dumps(model)).format == "protobuf"
    arrays = model.arrays()
    assert all((arrays[one] == array).all() for one, array in expected.items())
    assert onnxmap.load_arrays(path).keys() == expected.keys()


@pytest.mark.parametrize("form", FORMS)
def test_edit_and_save(form: str, tmp_path: Path) -> None:
    """Over the text file, too: it stays text, unless its name says that it is binary."""
    source = SAVE_MODELS["chain_outside"](tmp_path)
    message = onnx.load(source, load_external_data=False)
    path = tmp_path / form
    path.write_text(FORMS[form](message))
    model = onnxmap.load(path)
    model.doc_string = message.doc_string = "edited"
    model.initializers["w1"] = np.zeros((20, 20), np.float32)
    onnxmap.save(model, path, sync=False)
    saved = PARSERS[path.suffix](path.read_bytes())
    assert saved.doc_string == "edited"
    found = onnxmap.load_arrays(path)
    assert not found["w1"].any()
    assert found["w2"].any()
    model.revert()
    assert model.initializers["w1"].numpy().any()


@pytest.mark.parametrize("make", ["from_text", "from_json"])
def test_made_models_are_saved(make: str, tmp_path: Path) -> None:
    text = {
        "from_text": 'ir_version: 10 graph { name: "g" }',
        "from_json": '{"irVersion": "10", "graph": {"name": "g"}}',
    }
    model = getattr(onnxmap, make)(text[make], "ModelProto")
    model.initializers["w"] = np.arange(2000, dtype=np.int16)
    model.graph.nodes.append(onnxmap.make_node("Relu", ["w"], ["y"]))
    saved = tmp_path / "saved.onnx"
    onnxmap.save(model, saved, external_data="w.data", sync=False)
    proto = onnx.load(saved)
    assert proto.graph.node[0].op_type == "Relu"
    assert (onnx.numpy_helper.to_array(proto.graph.initializer[0]) == np.arange(2000)).all()
    node = getattr(onnxmap, make)(
        'op_type: "Relu"' if make == "from_text" else '{"opType": "Relu"}', "NodeProto"
    )
    assert onnxmap.dumps(node) == onnx.NodeProto(op_type="Relu").SerializeToString()


WRONG: dict[str, tuple[bytes, int | None]] = {
    "a field that does not exist": (b"ir_version: 8\nnope: 1\n", 14),
    "a text that ends too early": (b'graph { name: "x"\n', None),
    "JSON that ends too early": (b'{"graph": {', None),
    "JSON with a wrong field": (b'{"graph": {"nope": 1}}', None),
    "no graph": (b"ir_version: 8\n", None),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_texts(case: str, tmp_path: Path) -> None:
    data, offset = WRONG[case]
    path = tmp_path / "model.textproto"
    path.write_bytes(data)
    with pytest.raises(onnxmap.ParseError) as caught:
        onnxmap.load(path)
    assert caught.value.code in ("model.text", "model.no_graph")
    assert str(path) in str(caught.value)
    assert offset is None or caught.value.offset == offset
    assert contents(tmp_path) == {"model.textproto": data}


@pytest.mark.parametrize(
    "data",
    [b"import onnx\n", b'{"message": "not found"}', b"<!DOCTYPE html>", b"version https://git-lfs"],
)
def test_other_texts_are_no_models(data: bytes, tmp_path: Path) -> None:
    """The error is that of a file that is no model, not of a parser of texts."""
    (tmp_path / "model.onnx").write_bytes(data)
    with pytest.raises(onnxmap.ParseError) as caught:
        onnxmap.load(tmp_path / "model.onnx")
    assert caught.value.code != "model.text"


def test_limits_and_options_are_those_of_load(tmp_path: Path) -> None:
    text = "graph {" + "node { attribute { g {" * 60 + "}}}" * 60 + "}"
    (tmp_path / "deep.textproto").write_text(text)
    with pytest.raises(onnxmap.LimitError) as caught:
        onnxmap.load(tmp_path / "deep.textproto")
    assert caught.value.code == "limit.depth"
    options: dict[str, Any] = {"limits": onnxmap.Limits(depth=4)}
    (tmp_path / "model.textproto").write_text("graph { node { attribute { g { node {} } } } }")
    with pytest.raises(onnxmap.LimitError):
        onnxmap.load(tmp_path / "model.textproto", **options)
    onnxmap.load(tmp_path / "model.textproto")
