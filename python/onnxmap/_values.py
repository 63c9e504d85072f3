"""Values of onnx-data.proto: sequences, maps and optionals. Files of a test data folder."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Literal

from onnxmap import _core
from onnxmap.errors import warn_repeated
from onnxmap.types import MapType, OptionalType, SequenceType

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    Value = np.ndarray | list["Value"] | dict[object, "Value"] | None

Kind = Literal["tensor", "sequence", "map", "optional"]

_MESSAGE_OF_KIND = {
    "tensor": "TensorProto",
    "sequence": "SequenceProto",
    "map": "MapProto",
    "optional": "OptionalProto",
}


def message_of_kind(kind: Kind) -> str:
    """Return the name of the message that holds a value of this kind.

    Raises:
        ValueError: there is no such kind.
    """
    if kind not in _MESSAGE_OF_KIND:
        raise ValueError(f"kind must be one of {sorted(_MESSAGE_OF_KIND)}, not {kind!r}")
    return _MESSAGE_OF_KIND[kind]


def value_of(proto: _core.ProtoView) -> Value:
    """Return the value of a TensorProto, SequenceProto, MapProto or OptionalProto."""
    message = proto.message_type
    if message == "TensorProto":
        return _core.wrap(proto).numpy()
    if message == "SparseTensorProto":
        return _core.wrap(proto)
    if message == "SequenceProto":
        return [value_of(value) for value in _core.sequence_values(proto)]
    if message == "OptionalProto":
        value = _core.optional_value(proto)
        return None if value is None else value_of(value)
    assert message == "MapProto"
    keys = [_text(key) if isinstance(key, bytes) else key for key in _core.map_keys(proto)]
    values = value_of(proto.values)
    assert isinstance(values, list)  # a SequenceProto
    found = dict(zip(keys, values, strict=True))
    if len(found) < len(keys):
        repeated, _ = Counter(keys).most_common(1)[0]
        warn_repeated("keys", repeated, "the MapProto itself (load_proto)")
    return found


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
