"""A user's script that makes a session, for type checkers; see `lists_of_messages.py`."""

from __future__ import annotations

import onnxmap


def providers_of(model: onnxmap.Model, options: object = None) -> list[str]:
    session = model.session(["CPUExecutionProvider"], options, prepack=False)
    return list(session.get_providers())
