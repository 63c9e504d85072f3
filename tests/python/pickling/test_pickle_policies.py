"""A pickled reference opens its file like the model: behind links, and with other hard links."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.models.sample import external, floats, model_of, write

import onnxmap

COUNT = 2_000
VALUES = np.arange(COUNT, dtype=np.float32)


def write_model(path: Path) -> None:
    tensors = [
        floats("inside", COUNT),
        external("outside", [COUNT], {"location": "weights.data"}),
    ]
    write(model_of(tensors), path)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A folder like the Hugging Face cache: both files are links into `blobs`."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "main"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    write_model(blobs / "1111")
    (blobs / "2222").write_bytes(VALUES.tobytes())
    (snapshot / "model.onnx").symlink_to("../../blobs/1111")
    (snapshot / "weights.data").symlink_to("../../blobs/2222")
    return snapshot


def unpickled(folder: Path, name: str, **arguments: Any) -> onnxmap.Tensor:
    tensor = onnxmap.load(folder / "model.onnx", **arguments).initializers[name]
    pickled = pickle.dumps(tensor)
    assert len(pickled) < COUNT  # pickled by reference
    return pickle.loads(pickled)


@pytest.mark.parametrize("name", ["inside", "outside"])
def test_files_of_a_cache(cache: Path, name: str) -> None:
    found = unpickled(cache, name)
    assert found.numpy().tolist() == VALUES.tolist()
    assert Path(found.file).parent == cache.parents[1] / "blobs"


def test_a_link_that_is_followed_only_if_links_are_trusted(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    models = tmp_path / "models"
    elsewhere.mkdir()
    models.mkdir()
    write_model(models / "model.onnx")
    (elsewhere / "data").write_bytes(VALUES.tobytes())
    (models / "weights.data").symlink_to(elsewhere / "data")
    assert unpickled(models, "outside", link_policy="trusted").numpy()[7] == 7
    with pytest.raises(onnxmap.UnsafePathError):
        unpickled(models, "outside")


def test_a_data_file_with_two_names(tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx")
    (tmp_path / "weights.data").write_bytes(VALUES.tobytes())
    tensor = onnxmap.load(tmp_path / "model.onnx").initializers["outside"]
    pickled = pickle.dumps(tensor)
    os.link(tmp_path / "weights.data", tmp_path / "second")
    with pytest.raises(onnxmap.UnsafePathError, match="hard link"):
        pickle.loads(pickled)  # as the model would refuse it
    assert unpickled(tmp_path, "outside", allow_hardlinks=True).numpy()[7] == 7


def test_the_model_s_own_file_may_have_two_names(tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx")
    os.link(tmp_path / "model.onnx", tmp_path / "second")
    assert unpickled(tmp_path, "inside").numpy().tolist() == floats_of_the_model(tmp_path)


def floats_of_the_model(folder: Path) -> list[float]:
    return onnxmap.load(folder / "model.onnx").initializers["inside"].numpy().tolist()


@pytest.mark.parametrize("name", ["aux.onnx", "model.onnx:v2", "a\\b.onnx", "model "])
def test_models_whose_names_no_location_may_have(tmp_path: Path, name: str) -> None:
    """They are pickled by value, because a reference to them would be refused."""
    write_model(tmp_path / name)
    tensor = onnxmap.load(tmp_path / name).initializers["inside"]
    assert pickle.loads(pickle.dumps(tensor)).numpy().tolist() == tensor.numpy().tolist()


@pytest.mark.parametrize("policy", ["contained", "strict", "trusted"])
@pytest.mark.parametrize("allow_hardlinks", [False, True])
def test_the_policy_survives_a_second_pickle(
    tmp_path: Path, policy: str, allow_hardlinks: bool
) -> None:
    write_model(tmp_path / "model.onnx")
    (tmp_path / "weights.data").write_bytes(VALUES.tobytes())
    once = unpickled(tmp_path, "outside", link_policy=policy, allow_hardlinks=allow_hardlinks)
    again = pickle.loads(pickle.dumps(once))
    policies = [each.proto._reading()[1] for each in (once, again)]
    assert policies == [(policy, allow_hardlinks, "auto", True)] * 2
    assert again.numpy().tolist() == VALUES.tolist()
