"""Sessions of the official wheel's models give the outputs of sessions of their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from support.models.node_cases import some_cases
from support.run_options import EXHAUSTIVE

import onnxmap

onnxruntime = pytest.importorskip("onnxruntime")  # its newest release needs Python 3.11

CPU = ["CPUExecutionProvider"]
ROOT = Path(onnx.__file__).parent / "backend/test/data"
MODELS = sorted(ROOT.rglob("*.onnx"))[:: 1 if EXHAUSTIVE else 5]


def quiet_options() -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return options


def opened(make: Any) -> Any:
    """The session, or the text of the refusal."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001 -- whatever it raises is compared
        return str(error)


def flat(value: Any) -> Any:
    """A value that compares bit for bit."""
    if isinstance(value, list):
        return [flat(one) for one in value]
    if isinstance(value, dict):
        return {key: flat(one) for key, one in value.items()}
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype, value.shape, value.tobytes()
    return value.tolist() if isinstance(value, np.ndarray) else value


def outputs(session: Any, feeds: dict[str, Any]) -> Any:
    try:
        return flat(session.run(None, feeds))
    except Exception as error:  # noqa: BLE001 -- whatever it raises is compared
        return type(error).__name__


@pytest.mark.parametrize("path", MODELS, ids=lambda path: str(path.relative_to(ROOT)))
def test_same_outputs(path: Path) -> None:
    options = quiet_options()
    theirs = opened(lambda: onnxruntime.InferenceSession(str(path), options, providers=CPU))
    model = onnxmap.load(path)
    ours = opened(lambda: model.session(CPU, options))
    if isinstance(theirs, str):
        assert isinstance(ours, str)
        return
    folder = path.parent / "test_data_set_0"
    inputs = onnxmap.load_test_data(folder, model)[0] if folder.is_dir() else []
    names = [value.name for value in theirs.get_inputs()]
    feeds = dict(zip(names, inputs, strict=False))
    assert outputs(ours, feeds) == outputs(theirs, feeds)


def test_onnxruntime_runs_most_of_them() -> None:
    """Else the test above would compare errors."""
    ran = 0
    for path in MODELS:
        folder = path.parent / "test_data_set_0"
        session = opened(lambda path=path: onnxmap.load(path).session(CPU, quiet_options()))
        if isinstance(session, str) or not folder.is_dir():
            continue
        inputs = onnxmap.load_test_data(folder)[0]
        names = [value.name for value in session.get_inputs()]
        ran += not isinstance(outputs(session, dict(zip(names, inputs, strict=False))), str)
    assert ran > len(MODELS) / 2


def test_node_cases(tmp_path: Path) -> None:
    ran = 0
    path, options = tmp_path / "model.onnx", quiet_options()
    for case in some_cases():
        path.write_bytes(case.model.SerializeToString())
        theirs = opened(lambda: onnxruntime.InferenceSession(str(path), options, providers=CPU))
        ours = opened(lambda: onnxmap.load(path).session(CPU, options))
        assert isinstance(ours, str) == isinstance(theirs, str), case.name
        if isinstance(theirs, str):
            continue
        names = [value.name for value in theirs.get_inputs()]
        feeds = dict(zip(names, case.data_sets[0][0], strict=False))
        found = outputs(theirs, feeds)
        assert outputs(ours, feeds) == found, case.name
        ran += not isinstance(found, str)
    assert ran > len(some_cases()) / 2
