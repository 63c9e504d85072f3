"""Messages from protobuf's text format and from its JSON, which google.protobuf parses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onnxmap._loading import check_name, loads, loads_proto
from onnxmap._text_heads import BYTE_ORDER_MARK
from onnxmap.errors import ParseError

if TYPE_CHECKING:
    from onnxmap import _core
    from onnxmap._limits import Limits
    from onnxmap._model import Model
    from onnxmap._paths import Path


def from_text(
    text: str | bytes,
    message_type: str,
    *,
    external_root: Path | None = None,
    limits: Limits | None = None,
) -> Model | _core.ProtoView:
    """Return the message that protobuf's text format describes, as `str(model.proto)` writes it.

    Args:
        text: the text; bytes are UTF-8.
        message_type: the type of the message, like "ModelProto".
        external_root: for a model: the folder that external locations are relative to.
        limits: as for `load`.

    Returns:
        A Model for "ModelProto", and a ProtoView for any other type.

    Raises:
        ParseError: the text is malformed (`model.text`). The message has the line and the column,
            `.offset` the offset in bytes.
        ModuleNotFoundError: google.protobuf is missing (`pip install 'onnxmap[proto]'`).

    Example:
        >>> onnxmap.from_text('op_type: "Relu"', "NodeProto")  # doctest: +SKIP

    Source: protobuf.dev/reference/protobuf/textformat-spec.
    """
    _check_type(message_type)
    from onnxmap.interop.protobuf import bytes_of_text

    data = bytes_of_text(_decoded(text), message_type)
    return _opened(data, message_type, external_root, limits)


def from_json(
    text: str | bytes | Mapping[str, Any],
    message_type: str,
    *,
    external_root: Path | None = None,
    limits: Limits | None = None,
) -> Model | _core.ProtoView:
    """Return the message that protobuf's JSON describes, as `model.proto.to_json()` writes it.

    The names of fields may be those of onnx.proto, or in lowerCamelCase.

    Args:
        text: the JSON, or the dict that it stands for.
        message_type: the type of the message, like "ModelProto".
        external_root: for a model: the folder that external locations are relative to.
        limits: as for `load`.

    Returns:
        A Model for "ModelProto", and a ProtoView for any other type.

    Raises:
        ParseError: the JSON is malformed, or does not describe such a message (`model.text`);
            `.path` says where.
        ModuleNotFoundError: google.protobuf is missing (`pip install 'onnxmap[proto]'`).

    Source: protobuf.dev/programming-guides/json.
    """
    _check_type(message_type)
    from onnxmap.interop.protobuf import bytes_of_json

    given = text if isinstance(text, Mapping) else _decoded(text)
    data = bytes_of_json(given, message_type)
    return _opened(data, message_type, external_root, limits)


def _check_type(message_type: str) -> None:
    check_name(message_type)
    loads_proto(b"", message_type)  # there is no such type: the error that other functions raise


def _decoded(text: object) -> str:
    if isinstance(text, str):
        return text.removeprefix(BYTE_ORDER_MARK.decode())
    if not isinstance(text, bytes):
        raise TypeError(f"text must be a str or bytes, not {type(text).__name__}")
    try:
        return text.removeprefix(BYTE_ORDER_MARK).decode()
    except UnicodeDecodeError as error:
        raise ParseError("the text is not UTF-8", code="model.text", offset=error.start) from None


def _opened(
    data: bytes, message_type: str, external_root: Path | None, limits: Limits | None
) -> Model | _core.ProtoView:
    if message_type == "ModelProto":
        return loads(data, external_root, limits=limits)
    return loads_proto(data, message_type, limits=limits)
