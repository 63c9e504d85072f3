"""Tests of what makes new messages run with protobuf's messages, and with onnxmap's own."""

from __future__ import annotations

import pytest
from support.canonical import message_class

from onnxmap import _core


@pytest.fixture(params=["protobuf", "onnxmap"])
def messages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose messages the functions make."""
    if request.param == "protobuf":
        monkeypatch.setattr(_core, "new", lambda name: message_class(name)())
