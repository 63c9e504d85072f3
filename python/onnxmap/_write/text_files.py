"""Models in protobuf's text format and JSON, as files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._base.later import import_module
from onnxmap._base.limits import Limits
from onnxmap._base.options import Options
from onnxmap.errors import ParseError, SaveError

if TYPE_CHECKING:
    from onnxmap._base.file_forms import FileForm
    from onnxmap._base.new_message import Message


_HEAD_BYTES = 4096


def parsed_text(form: FileForm, given: Any, message: str = "ModelProto") -> bytes:
    """Return the message that a text form describes, as bytes; see `from_text` and `from_json`."""
    interop = import_module("onnxmap.interop.protobuf")  # needs google.protobuf
    return interop.bytes_of_form(form, given, message)


def bytes_of_text_file(name: bytes) -> tuple[bytes, FileForm] | None:
    """Return the model of a file in protobuf's text format or JSON, and which of the two it is."""
    with open(name, "rb") as file:
        try:
            head = file.read(_HEAD_BYTES)
        except OSError:  # a file of the system that cannot be read from its beginning
            return None
        form: Any = _core.text_form(head)
        if form is None:
            return None
        return parsed_text(form, (head + file.read()).decode(errors="surrogateescape")), form


def locations_in_text(name: bytes) -> list[bytes] | None:
    """Return the external locations that a model in a text form names; None for other files."""
    found = bytes_of_text_file(name)
    if found is None:
        return None
    return _core.file_locations(_core.load_buffer(found[0], "ModelProto", Options(), b""))


def text_of(data: bytes, form: FileForm) -> bytes:
    """Return a model, given in binary form, in a text form.

    Raises:
        SaveError: the text would be another model (`save.format`).
        ModuleNotFoundError: google.protobuf is missing (`pip install 'onnxmap[proto]'`).
    """
    message = _opened(data)
    parts: list[str] = []
    try:
        write = message.write_json if form == "json" else message.write_text
        write(parts.append)
        text = "".join(parts) + ("\n" if form == "json" else "")
        back = _opened(parsed_text(form, text))
        encoded = text.encode()
    except (ParseError, UnicodeEncodeError) as error:
        raise _no_text(form, str(error)) from None
    if back != message:
        raise _no_text(form, "it has fields that ONNX does not know, or odd numbers")
    return encoded


def _opened(data: bytes) -> Message:
    return _core.load_buffer(data, "ModelProto", Options(limits=Limits()), b"").proto


def _no_text(form: FileForm, why: str) -> SaveError:
    text = f"format={form!r} would give another model when it is read: {why}"
    return SaveError(f'{text}; use format="protobuf"', code="save.format")
