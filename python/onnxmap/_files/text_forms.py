"""Messages from protobuf's text format and from its JSON, which google.protobuf parses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onnxmap._files.load import loads, loads_proto
from onnxmap._write.text_files import parsed_text
from onnxmap.errors import ParseError

if TYPE_CHECKING:
    from onnxmap import _core
    from onnxmap._base.file_forms import FileForm
    from onnxmap._base.limits import Limits
    from onnxmap._base.paths import Path
    from onnxmap._files.model import Model


def from_text(
    text: str | bytes,
    message_type: str,
    *,
    external_root: Path | None = None,
    limits: Limits | None = None,
) -> Model | _core.ProtoView:
    """Return the message that protobuf's text format describes, as `str(model.proto)` writes it.

    A number in the place of a name is an unknown field, as `to_text(print_unknown_fields=True)`
    prints it. Braces after the number enclose a message, also if they were printed for a group.
    Element types may be names: `data_type: FLOAT`.

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
    return _message("textproto", text, message_type, external_root, limits)


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
    return _message("json", text, message_type, external_root, limits)


def _message(
    form: FileForm,
    text: object,
    message_type: str,
    external_root: Path | None,
    limits: Limits | None,
) -> Model | _core.ProtoView:
    loads_proto(b"", message_type)  # there is no such type: the error that other functions raise
    given = text if form == "json" and isinstance(text, Mapping) else _decoded(text)
    data = parsed_text(form, given, message_type)
    if message_type == "ModelProto":
        return loads(data, external_root, limits=limits)
    return loads_proto(data, message_type, limits=limits)


def _decoded(text: object) -> str:
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    if not isinstance(text, bytes):
        raise TypeError(f"text must be a str or bytes, not {type(text).__name__}")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ParseError("the text is not UTF-8", code="model.text", offset=error.start) from None
