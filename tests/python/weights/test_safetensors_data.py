"""`external_data="w.safetensors"`: data files that are valid safetensors files as well."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
import safetensors
from safetensors.numpy import load_file
from support.oracles.tensors import assert_same_array
from support.saves.models import SAVE_MODELS

import onnxmap


def same_values(path: Path, model: onnxmap.Model) -> None:
    """The file has the values of every tensor of the model that has any."""
    found = onnxmap.load(path)
    for (where, ours), (_, theirs) in zip(model.tensors(), found.tensors(), strict=True):
        assert values_of(ours) == values_of(theirs), where


def values_of(tensor: onnxmap.Tensor) -> bytes | str:
    try:
        return str(tensor.numpy()) if tensor.dtype.name == "STRING" else tensor.tobytes()
    except onnxmap.TensorError as error:
        return error.code


REFUSED = {"every_type": "of type COMPLEX128", "small_and_odd": "of type INT4"}


@pytest.mark.parametrize("name", SAVE_MODELS)
def test_any_model(name: str, tmp_path: Path) -> None:
    model = onnxmap.load(SAVE_MODELS[name](tmp_path))
    (tmp_path / "out").mkdir()
    path = tmp_path / "out/m.onnx"
    save = partial(
        model.save, path, external_data="w.safetensors", size_threshold_bytes=1, attributes=True
    )
    if name in REFUSED:
        with pytest.raises(onnxmap.SaveError, match=REFUSED[name]):
            save()
        assert list(path.parent.iterdir()) == []
        return
    report = save(sync=False)
    same_values(path, model)
    data = tmp_path / "out/w.safetensors"
    assert data.exists() == (len(report.files) == 2)
    if not data.exists():
        return
    stored = {
        name: bytes(info["data"]) for name, info in safetensors.deserialize(data.read_bytes())
    }
    external = {
        (each.name if where.startswith("graph.initializer[") else where): each.tobytes()
        for where, each in onnxmap.load(path).tensors()
        if each.external
    }
    assert stored == external


def test_both_readers_read_the_same_file(tmp_path: Path) -> None:
    arrays = {
        "i": np.arange(5000, dtype=np.int8), "w": np.arange(8000, dtype=np.float32),
        "b": np.arange(3000).astype(ml_dtypes.bfloat16), "d": np.arange(999.0),
    }  # fmt: skip
    model = onnxmap.from_arrays(arrays)
    model.save(tmp_path / "m.onnx", external_data="w.safetensors", sync=False)
    assert_same = {name: load_file(tmp_path / "w.safetensors")[name] for name in ("i", "w", "d")}
    for name, array in assert_same.items():
        assert_same_array(array, arrays[name])
    official = onnx.load(tmp_path / "m.onnx")
    for each in official.graph.initializer:
        assert_same_array(onnx.numpy_helper.to_array(each), arrays[each.name])
    for name, tensor in onnxmap.load(tmp_path / "m.onnx").initializers.items():
        assert tensor.is_view, name  # wide types come first, so all are aligned
    onnxmap.load_safetensors(tmp_path / "w.safetensors")


def test_shards(tmp_path: Path) -> None:
    arrays = {f"w{i}": np.full(1000, i, np.float32) for i in range(7)}
    model = onnxmap.from_arrays(arrays)
    report = model.save(
        tmp_path / "m.onnx", external_data="w.safetensors", max_shard_size_bytes=9000, sync=False
    )
    shards = [Path(file) for file in report.files[:-1]]
    assert [shard.name for shard in shards] == [
        f"w-0000{i}-of-00004.safetensors" for i in range(1, 5)
    ]
    found = {name: array for shard in shards for name, array in load_file(shard).items()}
    assert {name: array.tolist() for name, array in found.items()} == {
        name: array.tolist() for name, array in arrays.items()
    }
    same_values(tmp_path / "m.onnx", model)


def test_several_models_on_one_file(tmp_path: Path) -> None:
    a = onnxmap.from_arrays({"a": np.arange(2000.0)})
    b = onnxmap.from_arrays({"b": np.arange(3000.0)})
    models = {tmp_path / "a.onnx": a, tmp_path / "b.onnx": b}
    onnxmap.save_all(models, "w.safetensors", dedupe=False, sync=False)
    assert set(load_file(tmp_path / "w.safetensors")) == {"a", "b"}
    for path, model in models.items():
        same_values(path, model)
    # Tensors that are the same are stored once, and two of one name are refused.
    same = {tmp_path / "a.onnx": a, tmp_path / "c.onnx": a}
    onnxmap.save_all(same, "v.safetensors", sync=False)
    assert (tmp_path / "v.safetensors").stat().st_size < 16_200
    for path in same:
        same_values(path, a)
    others = {tmp_path / "a.onnx": a, tmp_path / "c.onnx": onnxmap.from_arrays({"a": np.ones(999)})}
    with pytest.raises(onnxmap.SaveError, match="the name of two tensors"):
        onnxmap.save_all(others, "v.safetensors")
    with pytest.raises(ValueError, match="dedupe"):
        onnxmap.save_all(models, "w.safetensors", dedupe=True)


def test_equal_ranges_are_stored_twice(tmp_path: Path) -> None:
    """The format forbids that tensors share bytes."""
    model = onnxmap.from_arrays({"a": np.arange(2000.0)})
    model.save(tmp_path / "a.onnx", external_data="a.data", sync=False)
    proto = onnx.load(tmp_path / "a.onnx", load_external_data=False)
    proto.graph.initializer.add().CopyFrom(proto.graph.initializer[0])
    proto.graph.initializer[1].name = "b"
    onnx.save(proto, tmp_path / "b.onnx")
    onnxmap.load(tmp_path / "b.onnx").save(
        tmp_path / "c.onnx", external_data="c.safetensors", sync=False
    )
    found = load_file(tmp_path / "c.safetensors")
    assert found["a"].tolist() == found["b"].tolist() == np.arange(2000.0).tolist()


def test_alignment_is_that_of_the_first_tensor(tmp_path: Path) -> None:
    model = onnxmap.from_arrays({"a": np.arange(2000.0)})
    model.save(tmp_path / "a.onnx", external_data="a.safetensors", alignment=4096, sync=False)
    external = onnxmap.load(tmp_path / "a.onnx").initializers["a"].external
    assert external is not None
    assert external.offset == 4096
    assert load_file(tmp_path / "a.safetensors")["a"].tolist() == np.arange(2000.0).tolist()
