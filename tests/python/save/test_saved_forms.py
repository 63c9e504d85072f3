"""In which form a save writes a model: binary, protobuf's text format or JSON."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, serialization
from support.saves.judges import contents
from support.saves.models import SAVE_MODELS

import onnxmap

EXTENSIONS = sorted(serialization.registry._extension_to_format)
OF_ONNX = [".onnxtext", ".onnxtxt"]
FORMS = ["protobuf", "textproto", "json"]


def parsed(data: bytes, form: str) -> ModelProto:
    return serialization.registry.get(form).deserialize_proto(data, ModelProto())


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_the_extension_decides_as_in_onnx(extension: str, tmp_path: Path) -> None:
    source = SAVE_MODELS["chain"](tmp_path)
    model, path = onnxmap.load(source), tmp_path / f"saved{extension}"
    if extension in OF_ONNX:
        with pytest.raises(onnxmap.SaveError) as caught:
            model.save(path)
        assert caught.value.code == "save.format"
        assert contents(tmp_path).keys() == {source.name}
        return
    report = model.save(path, sync=False)
    assert report.bytes_written + report.bytes_copied == path.stat().st_size
    assert onnx.load(path) == onnx.load(source)
    assert onnxmap.load(path).proto == model.proto


@pytest.mark.parametrize("name", ["w.safetensors", "W.NPZ", "w.npy", "w.safetensors.index.json"])
def test_the_name_of_a_file_of_weights_is_refused(name: str, tmp_path: Path) -> None:
    """Readers of that format, ours included, would refuse the file."""
    source = SAVE_MODELS["chain"](tmp_path)
    model, path = onnxmap.load(source), tmp_path / name
    tensor = next(iter(model.initializers.all()))
    for write in (
        lambda: model.save(path),
        lambda: onnxmap.save_all({path: model}, "w.data"),
        lambda: onnxmap.copy_model(source, path),
        lambda: onnxmap.move_model(source, path),
        lambda: onnxmap.save_tensor(tensor, path),
        lambda: onnxmap.save_value([1], path, "sequence"),
    ):
        with pytest.raises(onnxmap.SaveError, match="a file of weights") as caught:
            write()
        assert caught.value.code == "save.format"
        assert contents(tmp_path).keys() == {source.name}
    model.save(path, format="protobuf", sync=False)
    assert path.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("given", FORMS)
@pytest.mark.parametrize("extension", [".onnx", ".json", ".txtpb", ".unknown", ".onnxtxt"])
def test_an_argument_overrides_it(extension: str, given: Any, tmp_path: Path) -> None:
    source = SAVE_MODELS["chain"](tmp_path)
    path = tmp_path / f"saved{extension}"
    onnxmap.save(onnxmap.load(source), path, format=given, sync=False)
    assert parsed(path.read_bytes(), given) == onnx.load(source)
    stream = io.BytesIO()
    onnxmap.load(source).save(stream, format=given)
    assert stream.getvalue() == path.read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_a_name_that_says_nothing_leaves_the_form_of_the_source(form: Any, tmp_path: Path) -> None:
    source = SAVE_MODELS["chain"](tmp_path)
    path, other = tmp_path / "model", tmp_path / "other.model"
    onnxmap.load(source).save(path, format=form, sync=False)
    model = onnxmap.load(path)
    model.doc_string = "new"
    model.save(other, sync=False)
    onnxmap.save_all({path: model, tmp_path / "saved.onnx": model}, "w.data", sync=False)
    assert parsed(other.read_bytes(), form).doc_string == "new"
    assert parsed(path.read_bytes(), form).graph.initializer[0].data_location == 1
    assert onnx.load(tmp_path / "saved.onnx").doc_string == "new"
    # What a file object gets can be loaded from bytes.
    stream = io.BytesIO()
    model.save(stream)
    assert onnxmap.loads(stream.getvalue()).doc_string == "new"


@pytest.mark.parametrize("form", ["textproto", "json"])
def test_texts_refer_to_data_files(form: Any, tmp_path: Path) -> None:
    source = SAVE_MODELS["chain_outside"](tmp_path)
    model = onnxmap.load(source)
    expected = model.arrays()
    options: list[dict[str, Any]] = [
        {},
        {"external_data": "new.data", "checksum": True},
        {"external_data": "view"},
        {"external_data": False},
    ]
    for i, given in enumerate(options):
        path = tmp_path / f"saved{i}"
        model.save(path, format=form, sync=False, **given)
        assert path.read_bytes()[:1] in b"{i"
        arrays = onnxmap.load(path).arrays()
        assert all((arrays[name] == array).all() for name, array in expected.items())


ODD: dict[str, bytes] = {
    "an unknown field": b"\xf2\x3e\x01a",
    "a NaN of its own": helper.make_model(
        helper.make_graph([helper.make_node("Relu", ["x"], ["y"], alpha=1.5)], "g", [], [])
    )
    .SerializeToString()
    .replace(b"\x00\x00\xc0\x3f", b"\x01\x00\xc0\x7f"),
}


@pytest.mark.parametrize("form", ["textproto", "json"])
@pytest.mark.parametrize("name", ODD)
def test_what_no_text_can_hold(name: str, form: Any, tmp_path: Path) -> None:
    """Else a save would report success, and the model would be another one."""
    model = onnxmap.loads(ModelProto(graph={"name": "g"}).SerializeToString() + ODD[name])
    path = tmp_path / "saved"
    path.write_bytes(b"old")
    with pytest.raises(onnxmap.SaveError) as caught:
        model.save(path, format=form, sync=False)
    assert caught.value.code == "save.format"
    assert contents(tmp_path) == {"saved": b"old"}
    model.save(path, sync=False)
    assert path.read_bytes() == onnxmap.dumps(model)


def test_forms_that_do_not_exist(tmp_path: Path) -> None:
    model = onnxmap.loads(ModelProto(graph={"name": "g"}).SerializeToString())
    wrong: Any = "onnxtxt"
    for path in (tmp_path / "saved.onnx", io.BytesIO()):
        with pytest.raises(ValueError, match="format must be one of 'protobuf', 'textproto'"):
            model.save(path, format=wrong)
    assert contents(tmp_path) == {}


# Models with unknown fields, or with NaNs that have a sign or a payload.
NO_TEXTS = ("every_type", "unknown_fields")


@pytest.mark.parametrize("name", SAVE_MODELS)
@pytest.mark.parametrize("form", ["textproto", "json"])
def test_all_models_come_back(form: Any, name: str, tmp_path: Path) -> None:
    """Or the save raises, and leaves nothing behind."""
    source = SAVE_MODELS[name](tmp_path)
    model, path = onnxmap.load(source), source.parent / "saved"
    if name in NO_TEXTS:
        before = contents(source.parent)
        with pytest.raises(onnxmap.SaveError) as caught:
            model.save(path, format=form, sync=False)
        assert caught.value.code == "save.format"
        assert contents(source.parent) == before
        return
    model.save(path, format=form, sync=False)
    assert onnxmap.load(path).proto == model.proto


def test_large_texts_are_replaced_as_one(tmp_path: Path) -> None:
    """A failure leaves the old text."""
    path = tmp_path / "model.json"
    tensor = TensorProto(name="w", data_type=1, dims=[100_000], raw_data=bytes(400_000))
    onnxmap.save(ModelProto(graph={"name": "g", "initializer": [tensor]}), path, sync=False)
    before = path.read_bytes()
    model = onnxmap.load(path)
    model.initializers["w"] = np.ones(100_000, np.float32)

    def fail(done: int, total: int) -> None:
        assert total > 500_000
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.save(path, sync=False, progress=fail)
    assert contents(tmp_path) == {"model.json": before}
    model.save(path, sync=False)
    assert onnxmap.load(path).initializers["w"].numpy().sum() == 100_000
