"""Readers that are stricter than protobuf read the files of aligned saves."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper
from support import wire_bytes
from support.run_options import LONG
from support.saves.models import SAVE_MODELS

import onnxmap

DATA_TYPE, NAME, RAW_DATA = 2, 8, 9  # numbers of fields of TensorProto
SCRIPT = Path(__file__).with_name("other_readers.cjs")
ONNX_MODELS = Path(onnx.__file__).parent / "backend" / "test" / "data"


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The value of the varint at a position, and the number of its bytes."""
    value = 0
    for i, byte in enumerate(data[at:]):
        value |= (byte & 127) << 7 * i
        if byte < 128:
            return value, i + 1
    raise ValueError("the varint does not end")


def fields(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Number, value or length, and bytes of the varint after the tag, of each field."""
    at = 0
    while at < len(data):
        tag, width = varint(data, at)
        assert width == 1
        value, value_width = varint(data, at + width)
        at += width + value_width + (value if tag & 7 == wire_bytes.LENGTH else 0)
        yield tag >> 3, value, value_width


@pytest.mark.parametrize("alignment", [2, 64, 128])
def test_any_padding_is_made_of_short_values(alignment: int, tmp_path: Path) -> None:
    """Of tensors whose names differ by a byte in length, the paddings take all lengths."""
    paths = [tmp_path / f"{i}.onnx" for i in range(2 * alignment)]
    extra = set()
    for i, path in enumerate(paths):
        tensor = numpy_helper.from_array(np.arange(300, dtype=np.int16), "n" * 16)
        graph = onnx.GraphProto(name="g" * (i + 1), initializer=[tensor])
        model = onnx.ModelProto(ir_version=10, graph=graph)
        onnxmap.save(model, path, alignment=alignment, sync=False)
        data = path.read_bytes()
        assert onnx.load(path) == model
        begin = data.index(tensor.raw_data)
        assert begin % alignment == 0
        (saved,) = (found for found in (onnxmap.load(path).initializers.all()))
        content = saved.proto.SerializeToString()
        types = [each for each in fields(content) if each[0] == DATA_TYPE]
        assert {value for _, value, _ in types} == {TensorProto.INT16}
        assert all(width <= 5 for _, _, width in types)
        extra.add(len(content) - tensor.ByteSize())
    assert extra == set(range(alignment))


def other_reader(name: str, folder: Path) -> list[str]:
    """The command that reads files; the test is skipped if something is not installed."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    if name == "netron":
        found = importlib.util.find_spec("netron")
        if found is None or found.origin is None:
            pytest.skip("the package netron is not installed")
        scripts = folder / "netron"
        scripts.mkdir()
        for script in Path(found.origin).parent.glob("*.js"):
            shutil.copy(script, scripts)
        (scripts / "package.json").write_text('{"type": "module"}')
        return [node, str(SCRIPT), str(scripts)]
    has_package = subprocess.run(
        [node, "-e", "require('onnx-proto')"], check=False, capture_output=True
    )
    if has_package.returncode != 0:
        pytest.skip("npm install onnx-proto, and name its node_modules in NODE_PATH")
    return [node, str(SCRIPT), "protobufjs"]


def known_models(folder: Path) -> Iterator[onnx.ModelProto]:
    for make in SAVE_MODELS.values():
        yield onnx.load(make(folder), load_external_data=True)
    for path in sorted(ONNX_MODELS.rglob("*.onnx"))[::20]:
        yield onnx.load(path, load_external_data=False)


def padded_files(folder: Path) -> list[Path]:
    """Known models, and one with many tensors, saved with several alignments."""
    rng = np.random.default_rng(34)
    many = onnx.GraphProto(name="many")
    for i in range(500):
        array = rng.integers(-99, 99, rng.integers(1, 50)).astype(np.int16)
        many.initializer.append(numpy_helper.from_array(array, "n" * (i % 130) + str(i)))
    models = [onnx.ModelProto(ir_version=10, graph=many), *known_models(folder)]
    paths = []
    for i, model in enumerate(models):
        for alignment in (16, 64, 4096):
            path = folder / f"{i}-{alignment}.onnx"
            onnxmap.save(
                onnxmap.loads(model.SerializeToString()), path, alignment=alignment, sync=False
            )
            paths.append(path)
    return paths


@pytest.mark.skipif(not LONG, reason="a release run")
@pytest.mark.parametrize("reader", ["protobufjs", "netron"])
def test_readers_in_javascript(reader: str, tmp_path: Path) -> None:
    command = other_reader(reader, tmp_path)
    paths = [str(path) for path in padded_files(tmp_path)]
    assert len(paths) > 50
    command += paths
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    for path in paths:
        expected = {
            tensor.name: [
                tensor.data_type,
                list(tensor.dims),
                hashlib.sha1(tensor.raw_data).hexdigest(),
            ]
            for tensor in onnx.load(path, load_external_data=False).graph.initializer
        }
        assert found[path] == expected


@pytest.mark.skipif(not LONG, reason="a release run")
@pytest.mark.parametrize("alignment", [64, 4096])
def test_openvino(alignment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MNN is not tried: its converter installs packages and sends logs when it is imported."""
    monkeypatch.setitem(sys.modules, "openvino_telemetry", None)
    openvino = pytest.importorskip("openvino")
    source, saved = SAVE_MODELS["chain"](tmp_path), tmp_path / "saved.onnx"
    onnxmap.save(onnxmap.load(source), saved, alignment=alignment, sync=False)
    read = openvino.Core().read_model(saved)
    values = {op.data.tobytes() for op in read.get_ops() if op.get_type_name() == "Constant"}
    assert {array.tobytes() for array in onnxmap.load_arrays(source).values()} <= values
