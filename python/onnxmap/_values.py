"""Values of onnx-data.proto: sequences, maps and optionals, and the folders of test data."""

from __future__ import annotations

import os
import pathlib
import re
from typing import TYPE_CHECKING

from onnxmap import _core, _loading
from onnxmap._enums import DataType
from onnxmap._model import Model
from onnxmap.errors import ParseError

if TYPE_CHECKING:
    from onnxmap._loading import Path, Value

MESSAGE_OF_KIND = {
    "tensor": "TensorProto",
    "sequence": "SequenceProto",
    "map": "MapProto",
    "optional": "OptionalProto",
}

# Which field holds the values of each element type.
# Source: onnx-data.proto, SequenceProto.DataType and OptionalProto.DataType.
_KIND_OF_ELEMENT = {1: "tensor", 2: "sparse_tensor", 3: "sequence", 4: "map", 5: "optional"}


def value_of(proto: _core.ProtoView) -> Value:
    """The value of a TensorProto, SequenceProto, MapProto or OptionalProto."""
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
            f"a map has {len(keys)} keys and {len(values)} values", code="model.map_size"
        )
    return dict(zip(keys, values, strict=True))


def _elements(proto: _core.ProtoView) -> _core.MessageList | list[_core.ProtoView]:
    """The values of a SequenceProto; without a type that is known, the values that are there."""
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


def read_test_data(folder: Path, model: Model | Path | None) -> tuple[list[Value], list[Value]]:
    """See `onnxmap.load_test_data`."""
    place = pathlib.Path(os.fsdecode(folder)).absolute()
    if model is None:
        beside = place.parent / "model.onnx"
        model = beside if beside.exists() else None
    if model is not None and not isinstance(model, Model):
        model = _loading.load(model)
    declared = ([], []) if model is None else (model.graph.inputs, model.graph.outputs)
    names = [file.name for file in place.iterdir()]
    return (
        _read_values(place, names, "input", declared[0]),
        _read_values(place, names, "output", declared[1]),
    )


def _read_values(
    folder: pathlib.Path, names: list[str], stem: str, declared: object
) -> list[Value]:
    pattern = re.compile(rf"{stem}_(\d+)\.pb")
    numbers = sorted(int(match[1]) for match in map(pattern.fullmatch, names) if match)
    kinds = [_kind_of(info) for info in declared]  # type: ignore[attr-defined]
    return [
        _loading.load_value(
            folder / f"{stem}_{number}.pb",
            kinds[number] if number < len(kinds) else "tensor",  # type: ignore[arg-type]
        )
        for number in numbers
    ]


def _kind_of(info: _core.ValueInfo) -> str:
    which = info.proto.type.WhichOneof("value")
    kinds = {"sequence_type": "sequence", "map_type": "map", "optional_type": "optional"}
    return kinds.get(which, "tensor")
