"""onnxruntime: a session without optimisations is the least it can make of a model."""

from __future__ import annotations

from functools import partial
from typing import Any

import onnxruntime

from bench.peers import sessions
from bench.peers.usual import Usual

load = Usual("onnxruntime").load


def _open(path: str, prepack: bool) -> Any:
    """A session with the usual optimisations."""
    options = onnxruntime.SessionOptions()
    if not prepack:
        options.add_session_config_entry("session.disable_prepacking", "1")
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


session = partial(sessions.session, open_session=_open, prepack=False)
prepacked_session = partial(sessions.session, open_session=_open, prepack=True)
session_that_ran = partial(sessions.session_that_ran, open_session=_open)
