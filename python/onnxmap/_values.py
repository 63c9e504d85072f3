"""Values of onnx-data.proto: sequences, maps and optionals. Files of a test data folder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from onnxmap import _core
from onnxmap._enums import DataType
from onnxmap.errors import ParseError
from onnxmap.types import MapType, OptionalType, SequenceType

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy as np

    Value = np.ndarray | list["Value"] | dict[object, "Value"] | None

Kind = Literal["tensor", "sequence", "map", "optional"]

MESSAGE_OF_KIND = {
    "tensor": "TensorProto",
    "sequence": "SequenceProto",
    "map": "MapProto",
    "optional": "OptionalProto",
}

# The field that holds the values, by element type.
# Source: onnx-data.proto, SequenceProto.DataType and OptionalProto.DataType.
_KIND_OF_ELEMENT = {1: "tensor", 2: "sparse_tensor", 3: "sequence", 4: "map", 5: "optional"}


def value_of(proto: _core.ProtoView) -> Value:
    """Return the value of a TensorProto, SequenceProto, MapProto or OptionalProto."""
    message = proto.message_type
    if message == "TensorProto":
        return _core.wrap(proto).numpy()
    if message == "SparseTensorProto":
        return _core.wrap(proto)
    if message == "SequenceProto":
        return [value_of(value) for value in _elements(proto)]
    if message == "OptionalProto":
        kind = _KIND_OF_ELEMENT.get(proto.elem_type)
        if kind is None or not proto.HasField(f"{kind}_value"):
            return None
        return value_of(getattr(proto, f"{kind}_value"))
    assert message == "MapProto"
    values = value_of(proto.values)
    assert isinstance(values, list)  # a SequenceProto
    keys = _keys(proto)
    if len(keys) != len(values):
        raise ParseError(
            f"a map has {len(keys)} keys but {len(values)} values", code="model.map_size"
        )
    return dict(zip(keys, values, strict=True))


def _elements(proto: _core.ProtoView) -> Iterable[_core.ProtoView]:
    """The values of a SequenceProto; if its type is unknown, the first values that it has."""
    kinds = [_KIND_OF_ELEMENT[proto.elem_type]] if proto.elem_type in _KIND_OF_ELEMENT else []
    for kind in kinds or _KIND_OF_ELEMENT.values():
        values = getattr(proto, f"{kind}_values")
        if kinds or len(values):
            return values
    return []


def _keys(proto: _core.ProtoView) -> list[object]:
    if proto.key_type == DataType.STRING:
        return [_text(key) for key in proto.string_keys]
    return list(proto.keys)


def _text(key: bytes) -> str | bytes:
    try:
        return key.decode()
    except UnicodeDecodeError:
        return key


def numbered_files(folder: Path, stem: str) -> list[tuple[int, Path]]:
    """Return the files `input_0.pb`, `input_1.pb`... of a folder with their numbers, in order."""
    name = re.compile(rf"{stem}_(\d+)\.pb")
    found = ((name.fullmatch(file.name), file) for file in folder.iterdir())
    return sorted((int(match[1]), file) for match, file in found if match)


def kind_of(info: _core.ValueInfo) -> Kind:
    """Return which message of onnx-data.proto holds a value of this type."""
    kinds: dict[type, Kind] = {
        SequenceType: "sequence",
        MapType: "map",
        OptionalType: "optional",
    }
    return kinds.get(type(info.type), "tensor")
