"""Models as messages of protobuf, with their values, without them, or with references to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._write.options import MOST_FOR_PROTOBUF
from onnxmap.errors import SaveError, TensorError
from onnxmap.interop.from_libraries import descriptor
from onnxmap.interop.protobuf import message_class
from onnxmap.interop.without_weights import clear_values, is_large, range_of, refer, structure_of
from onnxmap.types import MessageType

if TYPE_CHECKING:
    from onnxmap._base.new_message import Message


def to_proto(document: _core.Document, weights: str) -> Any:
    """See `Model.to_proto`."""
    if weights not in _TAKES:
        raise ValueError(f"weights must be one of {', '.join(map(repr, _TAKES))}, not {weights!r}")
    take = _TAKES[weights]
    if take is None and document.proto.ByteSize() > MOST_FOR_PROTOBUF:
        text = 'protobuf holds no message of more than 2 GiB; use weights="reference"'
        raise SaveError(text, code="save.too_large")
    data = document.proto.SerializeToString() if take is None else structure_of(document, take)
    return model_class().FromString(data)


def model_class() -> Any:
    """Return the class `ModelProto` of onnx, or an equal one if onnx is not installed."""
    found = descriptor("ModelProto")
    if isinstance(found, MessageType):
        return message_class("ModelProto")
    return found._concrete_class


def _refer(message: Message, tensor: _core.Tensor, is_inline: bool, _where: str) -> None:
    if is_inline or not is_large(tensor):
        return
    try:
        stored = range_of(tensor)
    except TensorError:
        return  # values that do not fit their shape stay as they are
    if stored is not None:
        refer(message, *stored)


def _drop(message: Message, tensor: _core.Tensor, is_inline: bool, _where: str) -> None:
    if is_large(tensor) and not is_inline:
        clear_values(message)


_TAKES = {"copy": None, "reference": _refer, "none": _drop}
