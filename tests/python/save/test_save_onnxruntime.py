"""onnxruntime runs saved models, and gives the same outputs as for their sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.saves.models import SAVE_MODELS

import onnxmap

onnxruntime = pytest.importorskip("onnxruntime")  # its newest release needs Python 3.11
OPTIONS: dict[str, dict[str, Any]] = {
    "inline": {"external_data": False},
    "outside": {"external_data": "sub/w.data", "size_threshold_bytes": 0, "attributes": True},
    "shards": {"external_data": "part.data", "max_shard_size_bytes": 2000, "checksum": True},
    "dedupe": {"external_data": "once.data", "dedupe": True, "alignment": 64},
    "view": {"external_data": "view"},
    "aligned": {"alignment": 4096, "external_data": False},
}
INPUTS: dict[str, dict[str, Any]] = {
    "chain": {"x": np.ones((2, 16), np.float32)},
    "chain_outside": {"x": np.ones((2, 20), np.float32)},
    "shared": {"x": np.ones((2, 20), np.float32)},
    "nested": {"x": np.ones((16, 16), np.float32), "cond": np.array(True)},
}


def outputs(path: Path, name: str) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, INPUTS[name])


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", INPUTS)
def test_same_outputs(name: str, options: str, tmp_path: Path) -> None:
    source, saved = SAVE_MODELS[name](tmp_path), tmp_path / "saved.onnx"
    onnxmap.save(onnxmap.load(source), saved, sync=False, **OPTIONS[options])
    for ours, theirs in zip(outputs(saved, name), outputs(source, name), strict=True):
        assert ours.tobytes() == theirs.tobytes()


def test_an_edit_changes_the_outputs(tmp_path: Path) -> None:
    path = SAVE_MODELS["chain_outside"](tmp_path)
    model = onnxmap.load(path)
    before = outputs(path, "chain_outside")[0]
    model.initializers["w2"] = model.initializers["w2"].numpy() * 2
    model.save(path, sync=False)
    np.testing.assert_allclose(outputs(path, "chain_outside")[0], before * 2, rtol=1e-5)
    onnxmap.append(path, metadata_props={"license": "MIT"})
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert session.get_modelmeta().custom_metadata_map == {"license": "MIT"}
