"""Judges of saved models, independent of onnxmap: what protobuf and plain reads of files find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto, numpy_helper

import onnxmap
from support.oracles.tensors import tensors_of

LEFT_BY_SAVES = (".onnxmap-tmp", ".onnxmap-old")
Value = tuple[Any, ...]


def entries_of(tensor: TensorProto) -> dict[str, str]:
    return {one.key: one.value for one in tensor.external_data}


def stored_bytes(tensor: TensorProto, folder: Path) -> bytes:
    """The bytes of an external tensor, read without regard to its type."""
    entries = entries_of(tensor)
    with (folder / entries["location"]).open("rb") as file:
        file.seek(int(entries.get("offset", "0")))
        data = file.read(int(entries["length"]) if "length" in entries else -1)
    assert len(data) == int(entries.get("length", len(data)))
    return data


def with_values(message: Any, folder: Path) -> Any:
    """The message with the values of all external tensors in raw_data."""
    for _, tensor in tensors_of(message):
        if tensor.data_location == TensorProto.EXTERNAL:
            tensor.raw_data = stored_bytes(tensor, folder)
            del tensor.external_data[:]
            tensor.ClearField("data_location")
    return message


def value_of(tensor: TensorProto) -> Value:
    """Type, shape and values; the fields themselves if the official package refuses them."""
    what = (tensor.name, tensor.data_type, tuple(tensor.dims))
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError):
        return (*what, tensor.SerializeToString(deterministic=True))
    return (*what, array.tolist() if array.dtype == object else array.tobytes())


def values_of(path: Path) -> dict[str, Value]:
    """The values of all tensors anywhere in a model, by their places."""
    message = with_values(ModelProto.FromString(path.read_bytes()), path.parent)
    return {where: value_of(tensor) for where, tensor in tensors_of(message)}


def structure_of(path: Path) -> bytes:
    """The model without what says where the values of its tensors are, and without the values."""
    message = ModelProto.FromString(path.read_bytes())
    for _, tensor in tensors_of(message):
        for field in list(TensorProto.DESCRIPTOR.fields_by_name):
            if field.endswith("_data") or field == "data_location":
                tensor.ClearField(field)
    return message.SerializeToString(deterministic=True)


def assert_same_model(
    saved: Path, source: Path, *, structure: bool = True, small_ones_outside: bool = False
) -> None:
    """The saved model has the values and the structure of the source, for all readers.

    `small_ones_outside`: its shapes may be in a data file, and then onnx cannot infer shapes.
    """
    assert values_of(saved) == values_of(source)
    if structure:
        assert structure_of(saved) == structure_of(source)
    if small_ones_outside and is_accepted(source) and not is_accepted(saved):
        with pytest.raises(onnx.shape_inference.InferenceError, match="parse data from external"):
            onnx.checker.check_model(str(saved), full_check=True)
    else:
        assert is_accepted(saved) >= is_accepted(source)
    with onnxmap.load(saved) as model:
        for _, tensor in model.tensors():
            if tensor.external is not None:
                tensor.numpy()
    try:
        onnx.load(source)
    except (DecodeError, ValueError, onnx.checker.ValidationError):
        return
    onnx.load(saved)


def is_accepted(path: Path) -> bool:
    """Whether the official checker accepts the file, its data files and its shapes."""
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, ValueError):
        return False
    return True


def assert_nothing_left(folder: Path) -> None:
    """No temporary file is left."""
    assert [path for path in folder.iterdir() if path.name.endswith(LEFT_BY_SAVES)] == []


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of all files below the folder, by path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
