"""Recognises models in protobuf's text format and JSON by how their files begin."""

from __future__ import annotations

import re

from onnxmap._schema import message_rows

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SPACE = rb"(?:\s|#[^\n]*\n)*"  # also comments, in the text format
_FIRST_FIELD = re.compile(_SPACE + rb"([a-z]\w*)" + _SPACE + rb"[:{<]")
_FIRST_KEY = re.compile(rb'\s*\{\s*"(\w+)"\s*:')
# Control characters other than tabs and ends of lines: a text has none, nearly every message some.
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def looks_like_text_model(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is a model in protobuf's text format."""
    found = _FIRST_FIELD.match(head.removeprefix(BYTE_ORDER_MARK))
    return found is not None and not _BINARY.search(head) and found[1].decode() in _names()


def looks_like_json_model(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is a model in protobuf's JSON."""
    found = _FIRST_KEY.match(head.removeprefix(BYTE_ORDER_MARK))
    if found is None or _BINARY.search(head):
        return False
    return _without_case(found[1].decode()) in {_without_case(name) for name in _names()}


def _names() -> set[str]:
    return set(message_rows("ModelProto"))


def _without_case(name: str) -> str:
    return name.replace("_", "").lower()
