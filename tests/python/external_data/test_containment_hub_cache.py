"""Models in a Hugging Face cache: the model and its data are links into a folder of blobs."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from support.containment.tree import CANARY, VALUES, model_bytes, write

import onnxmap

REVISION = "0123456789abcdef0123456789abcdef01234567"


class Cache:
    """models--ORGANISATION--NAME, as huggingface_hub lays it out."""

    def __init__(self, hub: Path, name: str) -> None:
        self.folder = hub / f"models--organisation--{name}"
        self.snapshot = self.folder / "snapshots" / REVISION
        (self.folder / "blobs").mkdir(parents=True)

    def blob(self, content: bytes) -> Path:
        path = self.folder / "blobs" / hashlib.sha256(content).hexdigest()
        path.write_bytes(content)
        return path

    def add(self, name: str, content: bytes) -> Path:
        blob, link = self.blob(content), self.snapshot / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to("../" * (name.count("/") + 2) + f"blobs/{blob.name}")
        assert link.resolve() == blob.resolve()
        return link


def bytes_of(values: list[float], folder: Path) -> bytes:
    write(folder / "values", values)
    return (folder / "values").read_bytes()


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "hub", "one")


@pytest.mark.parametrize("folder", ["", "onnx/", "onnx/fp16/"])
@pytest.mark.parametrize("io", ["mmap", "read"])
def test_model_and_data_are_links_into_blobs(
    cache: Cache, tmp_path: Path, folder: str, io: str
) -> None:
    model = cache.add(f"{folder}model.onnx", model_bytes({"w": b"model.onnx_data"}))
    cache.add(f"{folder}model.onnx_data", bytes_of(VALUES, tmp_path))
    for options in ({}, {"link_policy": "contained"}, {"link_policy": "trusted"}):
        loaded = onnxmap.load(model, io=io, **options)
        assert loaded.initializers["w"].numpy().tolist() == VALUES
    with pytest.raises(onnxmap.UnsafePathError, match="symlink") as caught:
        onnxmap.load(model, io=io, link_policy="strict").initializers["w"].numpy()
    assert 'link_policy="contained"' in str(caught.value)


def test_the_data_keep_the_name_of_the_link(cache: Cache, tmp_path: Path) -> None:
    model = cache.add("model.onnx", model_bytes({"w": b"model.onnx_data"}))
    data = cache.add("model.onnx_data", bytes_of(VALUES, tmp_path))
    loaded = onnxmap.load(model)
    assert loaded.initializers["w"].file == str(data)
    assert loaded.external_files == [str(data)]


def test_data_in_a_folder_that_is_a_link(cache: Cache, tmp_path: Path) -> None:
    blob = cache.blob(bytes_of(VALUES, tmp_path))
    model = cache.add("model.onnx", model_bytes({"w": b"weights/" + blob.name.encode()}))
    (cache.snapshot / "weights").symlink_to("../../blobs")
    assert onnxmap.load(model).initializers["w"].numpy().tolist() == VALUES
    with pytest.raises(onnxmap.UnsafePathError, match="symlink"):
        onnxmap.load(model, link_policy="strict").initializers["w"].numpy()


def test_the_cache_is_reached_by_a_link(cache: Cache, tmp_path: Path) -> None:
    """As if HF_HOME were on another disk."""
    cache.add("model.onnx", model_bytes({"w": b"model.onnx_data"}))
    cache.add("model.onnx_data", bytes_of(VALUES, tmp_path))
    (tmp_path / "home").symlink_to("hub")
    path = tmp_path / "home" / cache.snapshot.relative_to(tmp_path / "hub") / "model.onnx"
    assert onnxmap.load(path).initializers["w"].numpy().tolist() == VALUES
    (tmp_path / "snapshot").symlink_to(cache.snapshot)
    path = tmp_path / "snapshot/model.onnx"
    assert onnxmap.load(path).initializers["w"].numpy().tolist() == VALUES


def test_a_link_into_the_blobs_of_another_model(cache: Cache, tmp_path: Path) -> None:
    other = Cache(tmp_path / "hub", "other")
    secret = other.blob(bytes_of(CANARY, tmp_path))
    model = cache.add(
        "model.onnx", model_bytes({"w": b"model.onnx_data", "f": b"more/" + secret.name.encode()})
    )
    place = Path("../../..") / other.folder.name / "blobs"
    (cache.snapshot / "model.onnx_data").symlink_to(place / secret.name)
    (cache.snapshot / "more").symlink_to(place)
    for name in ("w", "f"):
        with pytest.raises(onnxmap.UnsafePathError, match="symlink"):
            onnxmap.load(model).initializers[name].numpy()
        trusted = onnxmap.load(model, link_policy="trusted")
        assert trusted.initializers[name].numpy().tolist() == CANARY


def test_only_the_data_file_is_a_link(cache: Cache, tmp_path: Path) -> None:
    """The model is a copy, so nothing says that the blobs belong to it."""
    link = cache.add("model.onnx", model_bytes({"w": b"model.onnx_data"}))
    cache.add("model.onnx_data", bytes_of(VALUES, tmp_path))
    content = link.read_bytes()
    link.unlink()
    link.write_bytes(content)
    with pytest.raises(onnxmap.UnsafePathError, match="symlink"):
        onnxmap.load(link).initializers["w"].numpy()


def test_a_model_that_links_through_links(tmp_path: Path) -> None:
    """The model's real folder is that of the file, not that of a link on the way to it."""
    for folder in ("seen", "between", "real"):
        (tmp_path / folder).mkdir()
    locations = {"real": b"to real", "between": b"to between", "beside": b"beside.bin"}
    (tmp_path / "real/model.onnx").write_bytes(model_bytes(locations))
    (tmp_path / "between/model.onnx").symlink_to("../real/model.onnx")
    (tmp_path / "seen/model.onnx").symlink_to("../between/model.onnx")
    write(tmp_path / "real/w.bin", VALUES)
    write(tmp_path / "real/beside.bin", VALUES)
    write(tmp_path / "between/w.bin", CANARY)
    (tmp_path / "seen/to real").symlink_to("../real/w.bin")
    (tmp_path / "seen/to between").symlink_to("../between/w.bin")
    model = onnxmap.load(tmp_path / "seen/model.onnx")
    assert model.initializers["real"].numpy().tolist() == VALUES
    with pytest.raises(onnxmap.UnsafePathError, match="symlink"):
        model.initializers["between"].numpy()
    with pytest.raises(
        FileNotFoundError
    ):  # looked up beside the given name, not beside the real file
        model.initializers["beside"].numpy()
