"""onnxruntime: a session without optimisations is the least it can make of a model."""

from __future__ import annotations

from functools import partial
from typing import Any

import onnxruntime

from bench.peers import sessions
from bench.peers.usual import Files, Peer, Usual

_options = onnxruntime.SessionOptions()
_options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
_options.log_severity_level = 4  # failures come as exceptions


def _bare_session(files: Files) -> Any:
    return onnxruntime.InferenceSession(files.model, _options, providers=["CPUExecutionProvider"])


load = Usual(Peer(open=_bare_session)).load


def _open(path: str, prepack: bool) -> Any:
    """A session with the usual optimisations."""
    options = onnxruntime.SessionOptions()
    if not prepack:
        options.add_session_config_entry("session.disable_prepacking", "1")
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


session = partial(sessions.session, open_session=_open, prepack=False)
prepacked_session = partial(sessions.session, open_session=_open, prepack=True)
session_that_ran = partial(sessions.session_that_ran, open_session=_open)
