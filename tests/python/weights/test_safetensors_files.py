"""`save_safetensors` and `load_safetensors`, held against the official package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
import safetensors
from safetensors.numpy import load_file
from support.oracles.tensor_encoder import ELEMENT_TYPES
from support.oracles.tensors import assert_same_array
from support.saves.models import SAVE_MODELS
from support.tensors.examples import STORAGES, example_of, store
from support.tensors.safetensors_types import SAFETENSORS_TYPES

import onnxmap

CARRIED = {*SAFETENSORS_TYPES, "FLOAT4E2M1", "FLOAT6E2M3", "FLOAT6E3M2"}


def raw_bytes(path: Path) -> dict[str, tuple[str, list[int], bytes]]:
    """The type, shape and bytes of each tensor, as the official package reads them."""
    return {
        name: (info["dtype"], info["shape"], bytes(info["data"]))
        for name, info in safetensors.deserialize(path.read_bytes())
    }


def official_file(arrays: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """The file that the official package writes."""
    kept = {
        name: np.frombuffer(array.tobytes() or b"0", np.uint8) for name, array in arrays.items()
    }
    given = {
        name: safetensors.TensorSpec(
            dtype=array.dtype.name,
            shape=array.shape,
            data_ptr=kept[name].ctypes.data,
            data_len=array.nbytes,
        )
        for name, array in arrays.items()
    }
    return bytes(safetensors.serialize(given, metadata))


def arrays_of_official_types() -> dict[str, np.ndarray]:
    shapes = [(3, 4), (), (0, 2), (5,), (1, 1, 8)]
    return {
        f"{shape} {kind}": example_of(ELEMENT_TYPES[kind], shape, "raw").array
        for shape in shapes
        for kind in SAFETENSORS_TYPES
    }


def test_the_file_is_that_of_the_official_package(tmp_path: Path) -> None:
    arrays = arrays_of_official_types() | {'"\\/\n\x01\x7fä😀': np.ones(3, np.float32)}
    for metadata in ({}, {"a\n": 'b"'}):
        model = onnxmap.from_arrays(arrays, metadata)
        report = onnxmap.save_safetensors(model, tmp_path / "m.safetensors", sync=False)
        written = (tmp_path / "m.safetensors").read_bytes()
        assert written == official_file(arrays, metadata or None)
        assert report.files == [str(tmp_path / "m.safetensors")]
        assert report.bytes_written + report.bytes_copied == len(written)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kind", sorted(CARRIED))
def test_every_type_and_storage_there_and_back(kind: str, storage: str, tmp_path: Path) -> None:
    for shape in ((), (8,), (0,), (4, 12)):
        if ELEMENT_TYPES[kind].bits < 8 and shape == ():
            continue
        stored = store(example_of(ELEMENT_TYPES[kind], shape, storage), "w.bin")
        (tmp_path / "w.bin").write_bytes(stored.file or b"")
        graph = onnx.GraphProto(name="g")
        graph.initializer.append(onnx.TensorProto.FromString(stored.message))
        data = onnx.ModelProto(ir_version=10, graph=graph).SerializeToString()
        model = onnxmap.loads(data, external_root=tmp_path)
        onnxmap.save_safetensors(model, tmp_path / "w.safetensors", sync=False)
        (found,) = raw_bytes(tmp_path / "w.safetensors").values()
        assert found[1:] == (list(shape), stored.raw)
        back = onnxmap.load_safetensors(tmp_path / "w.safetensors")
        ours, theirs = model.initializers["w"], back.initializers["w"]
        assert (theirs.dtype, theirs.shape) == (ours.dtype, ours.shape)
        assert_same_array(theirs.numpy(), ours.numpy())


def test_tensors_are_views_of_the_file(tmp_path: Path) -> None:
    arrays = {
        "b": np.arange(6, dtype=np.float32).reshape(2, 3),
        "a": np.ones(3, ml_dtypes.bfloat16),
    }
    (tmp_path / "m.safetensors").write_bytes(official_file(arrays, {"format": "pt"}))
    model = onnxmap.load_safetensors(tmp_path / "m.safetensors")
    assert list(model.initializers) == ["b", "a"]  # in the order of the file
    assert dict(model.metadata_props) == {"format": "pt"}
    for name, array in arrays.items():
        tensor = model.initializers[name]
        assert tensor.external is not None
        assert tensor.external.location == "m.safetensors"
        assert tensor.is_view
        assert_same_array(tensor.numpy(), array)
    assert model.check().ok
    assert list(onnxmap.load_safetensors(tmp_path / "m.safetensors", io="read").arrays()) == [
        "b",
        "a",
    ]


def test_a_model_saved_beside_the_file_refers_to_it(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(official_file({"w": np.arange(9000.0)}, {"format": "pt"}))
    model = onnxmap.load_safetensors(path)
    assert model.save(tmp_path / "m.onnx", sync=False).bytes_referenced == 72000
    assert (tmp_path / "m.onnx").stat().st_size < 400
    onnx.load(tmp_path / "m.onnx")
    (tmp_path / "other").mkdir()
    model.save(tmp_path / "other/m.onnx", sync=False)
    assert (tmp_path / "other/m.safetensors").read_bytes() == path.read_bytes()
    onnxmap.copy_model(tmp_path / "m.onnx", tmp_path / "copy.onnx")
    assert (tmp_path / "copy.safetensors").read_bytes() == path.read_bytes()
    model.save(tmp_path / "inline.onnx", external_data=False, sync=False)
    assert_same_array(
        onnxmap.load(tmp_path / "inline.onnx").initializers["w"].numpy(), np.arange(9e3)
    )


def test_shards_and_their_index(tmp_path: Path) -> None:
    arrays = {f"layer.{i}": np.full((i + 1, 100), i, np.float32) for i in range(9)}
    model = onnxmap.from_arrays(arrays, {"format": "pt"})
    report = onnxmap.save_safetensors(
        model, tmp_path / "m.safetensors", max_shard_size_bytes=5000, sync=False
    )
    index = json.loads((tmp_path / "m.safetensors.index.json").read_text())
    assert report.files[-1] == str(tmp_path / "m.safetensors.index.json")
    assert index["metadata"] == {"total_size": sum(array.nbytes for array in arrays.values())}
    assert set(index["weight_map"]) == set(arrays)
    shards = sorted(set(index["weight_map"].values()))
    assert shards == [Path(file).name for file in report.files[:-1]]
    assert len(shards) > 3
    for shard in shards:
        with safetensors.safe_open(tmp_path / shard, "np") as file:
            assert file.metadata() == {"format": "pt"}
            assert {name for name in arrays if index["weight_map"][name] == shard} == set(
                file.keys()
            )
    back = onnxmap.load_safetensors(tmp_path / "m.safetensors.index.json")
    assert set(back.initializers) == set(arrays)
    for name, array in arrays.items():
        assert_same_array(back.initializers[name].numpy(), array)
    assert dict(back.metadata_props) == {"format": "pt"}


def test_one_shard_has_no_index(tmp_path: Path) -> None:
    model = onnxmap.from_arrays({"w": np.ones(3)})
    report = onnxmap.save_safetensors(
        model, tmp_path / "m.safetensors", max_shard_size_bytes=1 << 20
    )
    assert report.files == [str(tmp_path / "m.safetensors")]
    assert sorted(tmp_path.iterdir()) == [tmp_path / "m.safetensors"]


def test_names_choose_tensors(tmp_path: Path) -> None:
    model = onnxmap.from_arrays({"a.w": np.ones(1), "b.w": np.ones(2), "s": "text"}, {"k": "v"})
    path = tmp_path / "m.safetensors"
    onnxmap.save_safetensors(model, path, "*.w", metadata=False, sync=False)
    assert {name: array.shape for name, array in load_file(path).items()} == {
        "a.w": (1,),
        "b.w": (2,),
    }
    assert not onnxmap.load_safetensors(path).metadata_props
    onnxmap.save_safetensors(model, path, ["b.w"], sync=False)
    assert list(load_file(path)) == ["b.w"]
    with pytest.raises(KeyError, match=r"a\.w"):
        onnxmap.save_safetensors(model, path, ["a.v"])
    with pytest.raises(onnxmap.UnknownNameError, match=r"no initializer matches 'c\.\*'"):
        onnxmap.save_safetensors(model, path, "c.*")
    assert list(load_file(path)) == ["b.w"]
    onnxmap.save_safetensors(model, path, np.array(["a.w"]), sync=False)  # type: ignore[arg-type]
    assert list(load_file(path)) == ["a.w"]
    onnxmap.save_safetensors(model, path, [], sync=False)
    assert load_file(path) == {}


def is_carried(tensor: onnxmap.Tensor) -> bool:
    bits = ELEMENT_TYPES[tensor.dtype.name].bits * int(np.prod(tensor.shape))
    return tensor.dtype.name in CARRIED and bits % 8 == 0


@pytest.mark.parametrize("name", SAVE_MODELS)
def test_the_weights_of_any_model(name: str, tmp_path: Path) -> None:
    """Only initializers of the main graph; what cannot be carried is named, and nothing written."""
    model = onnxmap.load(SAVE_MODELS[name](tmp_path))
    (tmp_path / "out").mkdir()
    path = tmp_path / "out/w.safetensors"
    tensors = list(model.initializers.all())
    names = [each.name for each in tensors]
    bad = {each.name for each in tensors if not is_carried(each) or names.count(each.name) > 1}
    bad |= set(model.graph.sparse_initializers)
    if bad:
        with pytest.raises(onnxmap.SaveError) as caught:
            onnxmap.save_safetensors(model, path)
        is_named = any(repr(each) in str(caught.value) for each in bad)
        assert (caught.value.code, is_named) in {
            ("save.not_carried", True),
            ("save.segments", False),
        }
        assert list(path.parent.iterdir()) == []
    good = [key for key in names if key and key not in bad]
    onnxmap.save_safetensors(model, path, good, sync=False)
    found = raw_bytes(path)
    assert set(found) == set(good)
    for key in good:
        assert found[key][2] == model.initializers[key].tobytes()


def test_the_empty_name(tmp_path: Path) -> None:
    """It is a key in both formats. In the model, only `all()` has the tensor."""
    arrays = {"": np.arange(3.0), "b": np.ones(2)}
    (tmp_path / "w.safetensors").write_bytes(official_file(arrays))
    model = onnxmap.load_safetensors(tmp_path / "w.safetensors")
    model.extract_weights(tmp_path / "a.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == official_file(arrays)
    model.extract_weights(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as found:
        assert {name: each.tolist() for name, each in found.items()} == {
            name: each.tolist() for name, each in arrays.items()
        }
    again = onnxmap.load_npz(tmp_path / "a.npz")
    assert {each.name: each.tobytes() for each in again.initializers.all()} == {
        name: each.tobytes() for name, each in arrays.items()
    }


def test_what_the_format_cannot_hold(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    for arrays, reason in (
        ({"__metadata__": np.ones(1)}, "whose name the format reserves"),
        ({"a\0b": np.ones(1)}, "null byte"),
        ({"i": np.ones(2, ml_dtypes.int4)}, "of type INT4"),
        ({"c": np.ones(2, np.complex128)}, "of type COMPLEX128"),
        ({"s": "text"}, "of type STRING"),
        ({"f": np.ones(3, ml_dtypes.float4_e2m1fn)}, "ends within a byte"),
        ({f"s{i}": "text" for i in range(13)}, "and 3 more"),
    ):
        with pytest.raises(onnxmap.SaveError, match=reason):
            onnxmap.save_safetensors(onnxmap.from_arrays(arrays), path)
    model = onnxmap.from_arrays({"w": np.ones(1)})
    model.proto.graph.initializer[0].name = "\udcff"
    with pytest.raises(onnxmap.SaveError, match="not UTF-8"):
        onnxmap.save_safetensors(model, path)
    model = onnxmap.from_arrays({"w": np.ones(1)})
    model.proto.metadata_props.add(key="k", value="1")
    model.proto.metadata_props.add(key="k", value="2")
    with pytest.raises(onnxmap.SaveError, match="'k' twice"):
        onnxmap.save_safetensors(model, path)
    assert list(tmp_path.iterdir()) == []


def test_a_data_file_of_another_model_is_not_replaced(tmp_path: Path) -> None:
    model = onnxmap.from_arrays({"w": np.arange(9000.0)})
    model.save(tmp_path / "m.onnx", external_data="w.safetensors", sync=False)
    other = onnxmap.from_arrays({"v": np.ones(3)})
    with pytest.raises(onnxmap.SaveError) as caught:
        onnxmap.save_safetensors(other, tmp_path / "w.safetensors")
    assert caught.value.code == "save.own_data"
    with pytest.raises(FileExistsError):
        onnxmap.save_safetensors(other, tmp_path / "w.safetensors", overwrite=False)


def test_onto_the_file_that_was_loaded(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(official_file({"w": np.arange(9000.0), "v": np.ones(3)}))
    model = onnxmap.load_safetensors(path)
    del model.initializers["v"]
    onnxmap.save_safetensors(model, path, sync=False)
    assert path.read_bytes() == official_file({"w": np.arange(9000.0)})
    assert_same_array(model.initializers["w"].numpy(), np.arange(9000.0))  # of the old file


def test_progress_counts_bytes(tmp_path: Path) -> None:
    model = onnxmap.from_arrays({"w": np.zeros(3 << 20)})
    seen: list[tuple[int, int]] = []
    path = tmp_path / "w.safetensors"
    onnxmap.save_safetensors(model, path, progress=lambda *at: seen.append(at), sync=False)
    assert seen[-1] == (path.stat().st_size,) * 2
    assert len(seen) >= 2


@pytest.mark.parametrize("extension", ["safetensors", "npz", "npy"])
def test_values_that_are_not_valid(extension: str, tmp_path: Path) -> None:
    """A file without the tensor would look complete."""
    good = onnx.TensorProto(name="g", data_type=1, dims=[1], raw_data=bytes(4))
    short = onnx.TensorProto(name="b", data_type=1, dims=[2], raw_data=bytes(4))
    untyped = onnx.TensorProto(name="b", dims=[1], raw_data=bytes(4))
    for tensors in ([good, short], [short], [untyped], [good, untyped]):
        graph = onnx.GraphProto(name="g", initializer=tensors)
        model = onnxmap.loads(onnx.ModelProto(ir_version=10, graph=graph).SerializeToString())
        with pytest.raises(onnxmap.TensorError, match="'b'"):
            model.extract_weights(tmp_path / f"w.{extension}")
    assert list(tmp_path.iterdir()) == []


def test_arguments(tmp_path: Path) -> None:
    model = onnxmap.from_arrays({"w": np.ones(3)})
    with pytest.raises(TypeError, match="metadata must be a bool, not dict"):
        onnxmap.save_safetensors(model, tmp_path / "w", metadata={})  # type: ignore[arg-type]
    (tmp_path / "w.index.json").mkdir()  # of no interest for one file
    onnxmap.save_safetensors(model, tmp_path / "w", sync=False)
    assert onnxmap.diff(onnxmap.load_safetensors(tmp_path / "w"), model).same
    with pytest.raises(FileNotFoundError) as caught:
        onnxmap.save_safetensors(model, tmp_path / "none/w.safetensors")
    assert str(caught.value.filename).endswith("none/w.safetensors")
