"""Files that are not ONNX models are refused. The error says what they look like."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import OperatorSetProto, TensorProto, helper
from support import wire_bytes as wire
from support.hostile.other_formats import FORMATS as OTHER_FORMATS

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
    "ONNX's own text form": b'<ir_version: 8, opset_import: ["" : 17]>\ng () => () {}',
    "OpenVINO": b'<?xml version="1.0"?>\n<net name="m" version="11"><layers/></net>',
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
    assert len({error.code for error in errors[:3]}) == 1
    return errors


@pytest.mark.parametrize("name", FORMATS)
def test_the_error_says_what_the_file_looks_like(name: str, tmp_path: Path) -> None:
    for error in refused(FORMATS[name], tmp_path):
        assert name.split()[0].lower() in str(error).lower()
        assert error.code.startswith(("wire.", "model."))


@pytest.mark.parametrize("name", ["xz", "bzip2", "Zstandard", "tar"])
def test_archives_and_compressed_files_are_named(name: str, tmp_path: Path) -> None:
    for error in refused(OTHER_FORMATS[name], tmp_path):
        assert f"it looks like a{'n' * (name == 'xz')} {name} " in str(error)


@pytest.mark.parametrize("name", OTHERS)
def test_other_files_are_refused(name: str, tmp_path: Path) -> None:
    for error in refused(OTHERS[name], tmp_path):
        assert error.code.startswith(("wire.", "model."))
        assert not any(word in str(error) for word in ("LFS", "GGUF", "safetensors"))


TENSOR = helper.make_tensor("t", TensorProto.FLOAT, [3], [1, 2, 3]).SerializeToString()
SCALAR = helper.make_tensor("t", TensorProto.FLOAT, [], [1]).SerializeToString()
PACKED = wire.blob(1, b"\2\3") + wire.scalar(2, 1)  # as protobuf's proto3 writes the shape
OPERATORS = OperatorSetProto(magic="ONNXOPSET", opset_version=1).SerializeToString()
LOADERS: dict[str, tuple[Any, str]] = {
    "model": (onnxmap.load, "an ONNX model"),
    "tensor": (onnxmap.load_tensor, "a tensor"),
    "operator set": (onnxmap.load_operator_set, "an operator set"),
    "sequence": (lambda path: onnxmap.load_value(path, "sequence"), "a SequenceProto"),
    "optional": (lambda path: onnxmap.load_proto(path, "OptionalProto"), "an OptionalProto"),
}
KINDS = {
    "tensor": (TENSOR, "a tensor (onnxmap.load_tensor reads it)"),
    "scalar": (SCALAR, "a tensor (onnxmap.load_tensor reads it)"),
    "packed shape": (PACKED, "a tensor (onnxmap.load_tensor reads it)"),
    "model": (MODEL, "a model (onnxmap.load reads it)"),
    "model before zeros": (MODEL + bytes(9), "a model (onnxmap.load reads it)"),
    "long model": (MODEL + wire.blob(2, bytes(999)), "a model (onnxmap.load reads it)"),
    "operator set": (OPERATORS, "an operator set (onnxmap.load_operator_set reads it)"),
    "text": (b"lay out the weights\n", "text"),
    "numpy": (b"\x93NUMPY\1\0", "a NumPy file (numpy.load reads it)"),
}


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        (asked, given)
        for asked in ("model", "tensor", "operator set")
        for given in KINDS
        if f" {asked} " not in f" {KINDS[given][1]}"
    ],
)
def test_another_kind_of_file_is_named(asked: str, given: str, tmp_path: Path) -> None:
    load, expected = LOADERS[asked]
    data, kind = KINDS[given]
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(onnxmap.ParseError) as caught:
        load(tmp_path / "file")
    assert f": this is not {expected}; it looks like {kind}" in str(caught.value)
    assert caught.value.code.startswith(("wire.", "model."))


@pytest.mark.parametrize("asked", LOADERS)
def test_bytes_that_begin_like_no_message(asked: str, tmp_path: Path) -> None:
    load, expected = LOADERS[asked]
    (tmp_path / "file").write_bytes(b"\xfe\x07\xff\0" * 80)
    with pytest.raises(onnxmap.ParseError, match=f": this is not {expected} \\("):
        load(tmp_path / "file")


def test_a_truncated_file_is_still_of_its_kind(tmp_path: Path) -> None:
    load: Any
    models = [MODEL[:-1], MODEL + b"\xff", MODEL + bytes(9)]
    tensors = [TENSOR[:-1], TENSOR + bytes(9)]
    for load, data in [(onnxmap.load, each) for each in models] + [
        (onnxmap.load_tensor, each) for each in tensors
    ]:
        (tmp_path / "file").write_bytes(data)
        with pytest.raises(onnxmap.ParseError) as caught:
            load(tmp_path / "file")
        assert "this is not" not in str(caught.value)


def test_an_empty_tensor_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    load: Any
    for load, given in ((onnxmap.load_tensor, tmp_path / "file"), (onnxmap.loads_tensor, b"")):
        with pytest.raises(onnxmap.ParseError, match="the file is empty") as caught:
            load(given)
        assert caught.value.code == "model.empty"
    assert onnxmap.loads_proto(b"", "TensorProto").ListFields() == []


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
