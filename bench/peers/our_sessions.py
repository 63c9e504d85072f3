"""Sessions of onnxruntime that onnxmap opens."""

from __future__ import annotations

from functools import partial
from typing import Any

import onnxmap
import onnxmap.interop.ort  # imported at first use; the peer imports all at once
from bench.peers import sessions


def _open(path: str, prepack: bool) -> Any:
    return onnxmap.load(path).session(["CPUExecutionProvider"], prepack=prepack)


session = partial(sessions.session, open_session=_open, prepack=False)
prepacked_session = partial(sessions.session, open_session=_open, prepack=True)
session_that_ran = partial(sessions.session_that_ran, open_session=_open)
prepacked_session_that_ran = partial(sessions.session_that_ran, open_session=_open, prepack=True)
_run = partial(sessions.run_of_session, open_session=_open)
run_2 = partial(_run, prepack=False, batch=2)
run_2_prepacked = partial(_run, prepack=True, batch=2)
run_256 = partial(_run, prepack=False, batch=256)
run_256_prepacked = partial(_run, prepack=True, batch=256)
