"""Models in protobuf's text format and JSON, as files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from onnxmap import _core
from onnxmap._limits import Limits
from onnxmap._options import Options
from onnxmap._proto_json import Form, message_json
from onnxmap._text_heads import looks_like_json_model, looks_like_text_model
from onnxmap.errors import ParseError, SaveError

if TYPE_CHECKING:
    from onnxmap._file_forms import FileForm
    from onnxmap._messages import Message


_HEAD_BYTES = 4096


def bytes_of_text_file(name: bytes) -> tuple[bytes, FileForm] | None:
    """Return the model of a file in protobuf's text format or JSON, and which of the two it is."""
    with open(name, "rb") as file:
        try:
            head = file.read(_HEAD_BYTES)
        except OSError:  # a file of the system that cannot be read from its beginning
            return None
        is_json = looks_like_json_model(head)
        if not is_json and not looks_like_text_model(head):
            return None
        text = (head + file.read()).decode(errors="surrogateescape")
    from onnxmap.interop.protobuf import bytes_of_json, bytes_of_text

    if is_json:
        return bytes_of_json(text, "ModelProto"), "json"
    return bytes_of_text(text, "ModelProto"), "textproto"


def text_of(data: bytes, form: FileForm) -> bytes:
    """Return a model, given in binary form, in a text form.

    Raises:
        SaveError: the text would be another model (`save.format`).
        ModuleNotFoundError: google.protobuf is missing (`pip install 'onnxmap[proto]'`).
    """
    from onnxmap.interop.protobuf import bytes_of_json, bytes_of_text

    message = _opened(data)
    try:
        if form == "json":
            text = _json_of(message)
            back = bytes_of_json(text, "ModelProto")
        else:
            parts: list[str] = []
            message._write_text(parts.append, longest=2**64 - 1, limited=False)
            text = "".join(parts)
            back = bytes_of_text(text, "ModelProto")
        encoded = text.encode()
    except (ParseError, UnicodeEncodeError) as error:
        raise _no_text(form, str(error)) from None
    if _opened(back) != message:
        raise _no_text(form, "it has fields that ONNX does not know, or odd numbers")
    return encoded


def _json_of(message: Message) -> str:
    return json.dumps(message_json(message, Form(proto_names=True)), indent=2) + "\n"


def _opened(data: bytes) -> Message:
    return _core.load_buffer(data, "ModelProto", Options(limits=Limits()), b"").proto


def _no_text(form: FileForm, why: str) -> SaveError:
    return SaveError(
        f'format={form!r} would give another model when it is read: {why}; use format="protobuf"',
        code="save.format",
    )
