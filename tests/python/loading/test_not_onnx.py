"""Files that are not ONNX models are refused. The error says what they look like."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support import wire_bytes as wire

import onnxmap

MODEL = wire.scalar(1, 8) + wire.blob(7, wire.blob(2, b"g"))


def zip_archive() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("model.onnx", MODEL)
    return archive.getvalue()


def safetensors_file() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(header)) + header + b"\0\0\x80\x3f"


LFS = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)
FORMATS = {
    "LFS": LFS,
    "HTML": b"<!DOCTYPE html>\n<html><head><title>404</title></head><body></body></html>",
    "html without a doctype": b"\n  <html lang=en><body>Sign in</body></html>",
    "ZIP": zip_archive(),
    "safetensors": safetensors_file(),
    "GGUF": b"GGUF" + struct.pack("<IQQ", 3, 0, 0),
    "ORT": struct.pack("<I", 24) + b"ORTM" + bytes(40),
}
OTHERS = {
    "pickle": pickle.dumps({"w": [1.0, 2.0]}),
    "PNG": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(17),
    "gzip": b"\x1f\x8b\x08\0\0\0\0\0\0\3" + bytes(20),
    "text": b"this is no model\n",
    "JSON": b'{"ir_version": 8}',
}


def refused(data: bytes, tmp_path: Path) -> list[onnxmap.ParseError]:
    """The errors of all ways to load `data` as a model."""
    path = tmp_path / "file.onnx"
    path.write_bytes(data)
    errors = []
    for read in (
        lambda: onnxmap.load(path),
        lambda: onnxmap.load(path, io="read"),
        lambda: onnxmap.load(path, check="lazy"),
        lambda: onnxmap.loads(data),
    ):
        with pytest.raises(onnxmap.ParseError) as caught:
            read()
        errors.append(caught.value)
    for error in errors[:3]:
        assert str(path) in str(error)
    assert len({error.code for error in errors}) == 1
    return errors


@pytest.mark.parametrize("name", FORMATS)
def test_the_error_says_what_the_file_looks_like(name: str, tmp_path: Path) -> None:
    for error in refused(FORMATS[name], tmp_path):
        assert name.split()[0].lower() in str(error).lower()
        assert error.code.startswith(("wire.", "model."))


@pytest.mark.parametrize("name", OTHERS)
def test_other_files_are_refused(name: str, tmp_path: Path) -> None:
    for error in refused(OTHERS[name], tmp_path):
        assert error.code.startswith(("wire.", "model."))
        assert not any(word in str(error) for word in ("LFS", "GGUF", "safetensors"))


def test_empty_file(tmp_path: Path) -> None:
    for error in refused(b"", tmp_path):
        assert error.code == "model.empty"
        assert "file is empty" in str(error)
        assert error.offset == 0
    assert onnxmap.loads_proto(b"", "ModelProto").ListFields() == []


@pytest.mark.parametrize("data", [wire.scalar(1, 8), wire.blob(2, b"p"), wire.scalar(999, 1)])
def test_no_graph(data: bytes, tmp_path: Path) -> None:
    for error in refused(data, tmp_path):
        assert error.code == "model.no_graph"
        assert "graph" in str(error)


def test_an_empty_graph_is_a_graph() -> None:
    assert len(onnxmap.loads(wire.blob(7, b"")).graph.nodes) == 0


APPENDED = {
    "0xff": (b"\xff", "wire.truncated"),
    "ZIP header": (b"PK\x03\x04\x14\0\0\0", "wire."),
    "pickle": (pickle.dumps([1]), "wire."),
    "PNG": (b"\x89PNG\r\n\x1a\n" + bytes(8), "wire."),
    "safetensors": (safetensors_file(), "wire."),
}


@pytest.mark.parametrize("name", APPENDED)
def test_appended_data_is_refused_at_its_offset(name: str, tmp_path: Path) -> None:
    tail, code = APPENDED[name]
    for error in refused(MODEL + tail, tmp_path):
        assert error.code.startswith(code)
        assert len(MODEL) <= error.offset <= len(MODEL) + len(tail)


def test_two_models_one_after_the_other_merge() -> None:
    second = wire.blob(7, wire.blob(5, wire.blob(8, b"w")))
    model = onnxmap.loads(MODEL + second)
    assert model.graph.name == "g"
    assert model.initializers.names() == ["w"]


def test_messages_escape_and_cut_what_the_file_says(tmp_path: Path) -> None:
    name = b"\x1b[31mred\n\0" + b"x" * 100_000
    bad = wire.blob(7, wire.blob(5, wire.blob(8, name) + wire.tag(4, 2) + b"\x7f"))
    path = tmp_path / "evil\n\x1b[31m.onnx"
    path.write_bytes(bad)
    with pytest.raises(onnxmap.ParseError) as caught:
        onnxmap.load(path)
    text = str(caught.value)
    assert len(text) < 1_000
    assert not set(text) & {"\x1b", "\n", "\0"}


def test_a_good_model_opens_after_every_refusal(tmp_path: Path) -> None:
    for data in [*FORMATS.values(), *OTHERS.values(), b"", b"\xff"]:
        refused(data, tmp_path)
        assert onnxmap.loads(MODEL).graph.name == "g"
    assert np.asarray([1]).sum() == 1
