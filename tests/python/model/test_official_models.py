"""Every model and stored value of the official wheel, field by field and tensor by tensor."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto
from support.oracles.canonical import assert_equal_everywhere, message_class
from support.oracles.tensors import assert_same_array, compare_tensor, tensors_of

import onnxmap

ROOT = Path(onnx.__file__).parent
MODELS = sorted(ROOT.rglob("*.onnx"))
VALUES = sorted(ROOT.rglob("*.pb"))


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT / "backend" / "test" / "data"))


def test_the_wheel_has_them_all() -> None:
    assert (len(MODELS), len(VALUES)) == (149, 327)


@pytest.mark.parametrize("path", MODELS, ids=relative)
def test_model_field_by_field(path: Path) -> None:
    message = message_class("ModelProto").FromString(path.read_bytes())
    model = onnxmap.load(path)
    assert_equal_everywhere(model.proto, message, "ModelProto")
    assert str(model.proto) == str(message)


@pytest.mark.parametrize("path", MODELS, ids=relative)
def test_model_tensor_by_tensor(path: Path) -> None:
    message = message_class("ModelProto").FromString(path.read_bytes())
    theirs = dict(tensors_of(message))
    ours = list(onnxmap.load(path).tensors())
    assert sorted(where for where, _ in ours) == sorted(theirs)
    for where, tensor in ours:
        compare_tensor(tensor, theirs[where])


def test_models_have_tensors_of_both_kinds_of_storage() -> None:
    """The test reads them all: raw ones as views, typed ones decoded."""
    seen: Counter[str] = Counter()
    for path in MODELS:
        message = message_class("ModelProto").FromString(path.read_bytes())
        theirs = dict(tensors_of(message))
        seen.update(compare_tensor(t, theirs[where]) for where, t in onnxmap.load(path).tensors())
    assert seen["view"] == 2227
    assert seen["decoded"] == 1933
    assert seen.total() == 2227 + 1933


@pytest.mark.parametrize("path", MODELS, ids=relative)
def test_read_mode_and_lazy_check_read_the_same(path: Path) -> None:
    message = message_class("ModelProto").FromString(path.read_bytes())
    for options in ({"io": "read"}, {"io": "mmap"}, {"check": "lazy"}):
        model = onnxmap.load(path, **options)
        assert str(model.proto) == str(message), options
        theirs = dict(tensors_of(message))
        for where, tensor in model.tensors():
            compare_tensor(tensor, theirs[where])


@pytest.mark.parametrize("path", VALUES, ids=relative)
def test_stored_value(path: Path) -> None:
    """All 327 are tensors."""
    message = TensorProto.FromString(path.read_bytes())
    view = onnxmap.load_proto(path, "TensorProto")
    assert_equal_everywhere(view, message, "TensorProto")
    assert str(view) == str(message)
    compare_tensor(onnxmap.load_tensor(path), message)


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in VALUES if path.stem == "input_0"}), ids=relative
)
def test_data_set(folder: Path) -> None:
    inputs, outputs = onnxmap.load_test_data(folder)
    for stem, arrays in (("input", inputs), ("output", outputs)):
        files = sorted(folder.glob(f"{stem}_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
        assert len(arrays) == len(files)
        for array, file in zip(arrays, files, strict=True):
            theirs = onnx.numpy_helper.to_array(TensorProto.FromString(file.read_bytes()))
            assert_same_array(array, theirs)
