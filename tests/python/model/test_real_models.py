"""Models that people run, from two wheels on PyPI, downloaded without dependencies."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from support.oracles.canonical import assert_equal_everywhere
from support.oracles.tensors import assert_same_array, compare_tensor, must_be_a_view, tensors_of
from support.run_options import IN_CI, SANITIZED

import onnxmap

pytestmark = pytest.mark.skipif(SANITIZED, reason="well-formed models; wire/ has hostile ones")

WHEELS = ["rapidocr-onnxruntime==1.4.4", "silero-vad==6.2.3"]
MODELS = {
    "ch_PP-OCRv4_det_infer.onnx": 4_745_517,
    "ch_PP-OCRv4_rec_infer.onnx": 10_857_958,
    "ch_ppocr_mobile_v2.0_cls_infer.onnx": 585_532,
    "silero_vad.onnx": 2_327_524,
    "silero_vad_16k_op15.onnx": 1_289_603,
    "silero_vad_16k_sequence.onnx": 1_246_165,
    "silero_vad_half.onnx": 1_280_395,
    "silero_vad_op18_ifless.onnx": 2_845_718,
    "silero_vad_openvino_16k.onnx": 1_288_203,
}


def download(folder: Path) -> None:
    """Download the wheels that are missing. pip's cache makes the second time cheap."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
    ]
    command += ["--disable-pip-version-check", "--only-binary=:all:", "--ignore-requires-python"]
    result = subprocess.run(
        [*command, *WHEELS], capture_output=True, text=True, timeout=300, check=False
    )
    if result.returncode:
        raise ConnectionError(result.stderr.strip().splitlines()[-1] if result.stderr else "pip")


@pytest.fixture(scope="session")
def wheel_models(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models of both wheels. ONNXMAP_TEST_WHEELS may name a folder with the wheels."""
    given = os.environ.get("ONNXMAP_TEST_WHEELS")
    cache = getattr(pytestconfig, "cache", None)  # there is no cache under -p no:cacheprovider
    if given:
        wheels = Path(given)
    elif cache is not None:
        wheels = Path(cache.mkdir("onnxmap-wheels"))
    else:
        wheels = tmp_path_factory.mktemp("wheels")
    if len(list(wheels.glob("*.whl"))) < len(WHEELS):
        try:
            download(wheels)
        except (OSError, subprocess.TimeoutExpired) as error:
            if IN_CI:
                raise
            pytest.skip(f"the wheels cannot be downloaded: {error}")
    folder = tmp_path_factory.mktemp("models")
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".onnx"):
                    (folder / Path(name).name).write_bytes(archive.read(name))
    return folder


def test_all_nine_models_are_there(wheel_models: Path) -> None:
    assert {path.name: path.stat().st_size for path in wheel_models.iterdir()} == MODELS


@pytest.mark.parametrize("name", MODELS)
def test_field_by_field(wheel_models: Path, name: str) -> None:
    message = onnx.load(wheel_models / name)
    model = onnxmap.load(wheel_models / name)
    assert_equal_everywhere(model.proto, message, "ModelProto")
    assert str(model.proto) == str(message)


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("name", MODELS)
def test_tensor_by_tensor(wheel_models: Path, name: str, io: str) -> None:
    theirs = dict(tensors_of(onnx.load(wheel_models / name)))
    ours = list(onnxmap.load(wheel_models / name, io=io).tensors())
    assert sorted(where for where, _ in ours) == sorted(theirs)
    for where, tensor in ours:
        compare_tensor(tensor, theirs[where])


@pytest.mark.parametrize("name", MODELS)
def test_columns_and_views(wheel_models: Path, name: str) -> None:
    message = onnx.load(wheel_models / name)
    model = onnxmap.load(wheel_models / name)
    nodes = message.graph.node
    assert model.graph.op_types() == [node.op_type for node in nodes]
    assert model.graph.node_inputs() == [list(node.input) for node in nodes]
    assert model.graph.node_outputs() == [list(node.output) for node in nodes]
    assert [node.op_type for node in model.graph.nodes] == [node.op_type for node in nodes]
    theirs = {t.name: t for t in message.graph.initializer}
    assert model.initializers.names() == list(theirs)
    views = model.views()
    assert list(views) == list(theirs)
    file = np.memmap(wheel_models / name, mode="r")
    for key, view in views.items():
        assert_same_array(view, numpy_helper.to_array(theirs[key]))
        if not must_be_a_view(theirs[key]):
            continue
        offset = model.initializers[key].offset
        if view.nbytes:
            assert file[offset : offset + view.nbytes].tobytes() == theirs[key].raw_data
