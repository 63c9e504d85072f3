"""Pickled tensors of files with special names, behind links, and without bytes."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from onnx import GraphProto, ModelProto, TensorProto, numpy_helper

import onnxmap

VALUES = np.arange(8, dtype=np.float32)


def write_model(path: Path, *tensors: TensorProto) -> None:
    path.parent.mkdir(exist_ok=True)
    made = tensors or [numpy_helper.from_array(VALUES, "w")]
    graph = GraphProto(name="g", initializer=made)
    path.write_bytes(ModelProto(ir_version=13, graph=graph).SerializeToString())


@pytest.mark.parametrize("name", ["c:m.onnx", "\\m.onnx", "a\\..\\..\\m.onnx", "x_ORT_MEM_ADDR_"])
def test_names_that_are_unsafe_as_locations(name: str, tmp_path: Path) -> None:
    write_model(tmp_path / name)
    tensor = onnxmap.load(tmp_path / name).initializers["w"]
    assert pickle.loads(pickle.dumps(tensor)).numpy().tolist() == VALUES.tolist()


@pytest.mark.parametrize("real", ["m.onnx", "deadbeef"])
def test_a_model_behind_a_link(real: str, tmp_path: Path) -> None:
    write_model(tmp_path / "blobs" / real)
    (tmp_path / "snapshot").mkdir()
    link = tmp_path / "snapshot" / "m.onnx"
    link.symlink_to(tmp_path / "blobs" / real)
    pickled = pickle.dumps(onnxmap.load(link).initializers["w"])
    assert pickle.loads(pickled).numpy().tolist() == VALUES.tolist()

    (tmp_path / "copy").mkdir()
    shutil.copy(link, tmp_path / "copy" / "m.onnx")
    with onnxmap.relocate(tmp_path / "copy"):
        moved = pickle.loads(pickled)
    assert moved.numpy().tolist() == VALUES.tolist()
    assert moved.file == str(tmp_path / "copy" / "m.onnx")


def test_an_external_tensor_without_elements(tmp_path: Path) -> None:
    empty = TensorProto(name="w", data_type=1, dims=[0, 3], data_location=TensorProto.EXTERNAL)
    empty.external_data.add(key="location", value="w.data")
    (tmp_path / "w.data").write_bytes(b"")
    write_model(tmp_path / "m.onnx", empty)
    tensor = onnxmap.load(tmp_path / "m.onnx").initializers["w"]
    again = pickle.loads(pickle.dumps(tensor))
    assert again.numpy().shape == (0, 3)
    assert again.name == "w"


def test_the_functions_that_a_pickle_names(tmp_path: Path) -> None:
    """Stored pickles need these names."""
    write_model(tmp_path / "m.onnx")
    tensor = onnxmap.load(tmp_path / "m.onnx").initializers["w"]
    by_value = onnxmap.loads((tmp_path / "m.onnx").read_bytes()).initializers["w"]
    for pickled, name in ((tensor, "_by_reference"), (by_value, "_by_value")):
        found = pickle.dumps(pickled, protocol=2)  # protocol 0 writes a global as a line of text
        assert f"connxmap._read.pickled_tensors\n{name}\n".encode() in found
