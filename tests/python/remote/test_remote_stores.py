"""Other file systems of fsspec: a real object store, memory, archives, a cache."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.models.paged import KINDS, stored
from support.remote.models import floats, write_external, write_inline
from support.remote.range_server import serving

import onnxmap

fsspec = pytest.importorskip("fsspec")
VALUES = floats(50_000)
MIB = 1 << 20
# Warnings of the S3 client, not ours: about its own event loop and dates.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:botocore"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:aiobotocore"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:moto"),
]


@pytest.fixture
def memory() -> Iterator[Any]:
    fs = fsspec.filesystem("memory")
    yield fs
    fs.store.clear()
    fs.pseudo_dirs[:] = [""]


@pytest.mark.parametrize("kind", KINDS)
def test_memory(memory: Any, tmp_path: Path, kind: str) -> None:
    case = stored(kind)
    case.write(tmp_path)
    for path in tmp_path.iterdir():
        memory.pipe_file(f"/models/{path.name}", path.read_bytes())
    model = onnxmap.load("memory://models/model.onnx")
    assert model.io == "remote"
    np.testing.assert_array_equal(model.initializers["t"].numpy(), case.values)
    np.testing.assert_array_equal(model.views()["t"], case.values)
    if case.data is not None:
        assert model.external_files == ["memory://models/w.bin"]


def test_at_the_root_of_memory(memory: Any, tmp_path: Path) -> None:
    path = write_external(tmp_path / "m.onnx", VALUES, b"sub/w.bin")
    memory.pipe_file("/m.onnx", path.read_bytes())
    memory.pipe_file("/sub/w.bin", VALUES.tobytes())
    tensor = onnxmap.load("memory://m.onnx").initializers["t"]
    np.testing.assert_array_equal(tensor.numpy(), VALUES)
    again = onnxmap.load(path, external_root="memory://").initializers["t"]
    np.testing.assert_array_equal(again.numpy(), VALUES)
    assert tensor.file == again.file == "memory://sub/w.bin"


def test_a_file_that_is_not_in_memory(memory: Any) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        onnxmap.load("memory://models/none.onnx")
    assert caught.value.filename == "memory://models/none.onnx"
    memory.mkdir("/models/folder.onnx")
    with pytest.raises(IsADirectoryError):
        onnxmap.load("memory://models/folder.onnx")


def test_memory_that_changes(memory: Any, tmp_path: Path) -> None:
    data = write_inline(tmp_path / "m.onnx", {"w": VALUES}).read_bytes()
    memory.pipe_file("/m.onnx", data)
    model = onnxmap.load("memory://m.onnx")
    memory.pipe_file("/m.onnx", data[:-1000])
    with pytest.raises(onnxmap.FileChangedError) as caught:
        model.views()
    assert caught.value.path == "memory://m.onnx"


def test_memory_that_becomes_shorter(memory: Any, tmp_path: Path) -> None:
    """This happens between two checks. The answer is too short, and no array gets any of it."""
    data = write_inline(tmp_path / "m.onnx", {"w": VALUES}).read_bytes()
    memory.pipe_file("/m.onnx", data)
    tensor = onnxmap.load("memory://m.onnx").initializers["w"]
    memory.pipe_file("/m.onnx", data[:-1000])
    with pytest.raises(onnxmap.FileChangedError) as caught:
        tensor.numpy()
    assert caught.value.path == "memory://m.onnx"


def test_an_archive(tmp_path: Path) -> None:
    write_external(tmp_path / "m.onnx", VALUES, b"sub/w.bin", tmp_path / "sub/w.bin")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(tmp_path / "m.onnx", "m.onnx")
        archive.write(tmp_path / "sub/w.bin", "sub/w.bin")
    for url in (
        f"zip://m.onnx::file://{tmp_path}/all.zip",
        f"zip://m.onnx::{tmp_path}/all.zip",
    ):
        tensor = onnxmap.load(url).initializers["t"]
        np.testing.assert_array_equal(tensor.numpy(), VALUES)
        assert tensor.file == url.replace("m.onnx", "sub/w.bin")


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # blockcache's own files
@pytest.mark.parametrize("kind", ["simplecache", "filecache", "blockcache"])
def test_a_cache_before_a_server(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    (tmp_path / "served").mkdir()
    path = write_external(
        tmp_path / "served/m.onnx", VALUES, b"my w.bin", tmp_path / "served/my w.bin"
    )
    with serving(path.parent) as server:
        cache = {kind: {"cache_storage": str(tmp_path / "cache")}}
        for _ in range(2):
            model = onnxmap.load(f"{kind}::{server.url}/m.onnx", storage_options=cache)
            np.testing.assert_array_equal(model.initializers["t"].numpy(), VALUES)
            (path.parent / "my w.bin").write_bytes(bytes(VALUES.nbytes))  # not asked for again
        sizes = {each.stat().st_size for each in (tmp_path / "cache").iterdir()}
        assert sizes >= {VALUES.nbytes, path.stat().st_size}


def test_an_unknown_scheme() -> None:
    with pytest.raises(ValueError, match="Protocol not known: nonsense"):
        onnxmap.load("nonsense://bucket/m.onnx")


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An S3 server on the loopback address, with a bucket. fsspec is configured to use it."""
    pytest.importorskip("s3fs")
    pytest.importorskip("flask")
    from moto.server import ThreadedMotoServer

    names = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    patch = pytest.MonkeyPatch()
    for name, value in {**names, "AWS_DEFAULT_REGION": "us-east-1"}.items():
        patch.setenv(name, value)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    patch.setitem(fsspec.config.conf, "s3", {"endpoint_url": f"http://{host}:{port}"})
    fs = fsspec.filesystem("s3")
    fs.mkdir("models")
    yield fs
    server.stop()
    patch.undo()
    type(fs).clear_instance_cache()


def test_s3(s3: Any, tmp_path: Path) -> None:
    """32 MB, in the model and beside it, written to and read from a server that speaks S3."""
    tensors = {"head": floats(1000), "a": floats(4 * MIB), "b": floats(100, seed=1)}
    outside = floats(4 * MIB, seed=2)
    inline = write_inline(tmp_path / "m.onnx", tensors)
    external = write_external(
        tmp_path / "x.onnx", outside, b"weights/w 1.bin", tmp_path / "weights/w 1.bin"
    )
    for path in (inline, external, tmp_path / "weights/w 1.bin"):
        s3.put_file(str(path), f"models/v1/{path.relative_to(tmp_path)}")
    model = onnxmap.load("s3://models/v1/m.onnx")
    assert (model.io, model.path) == ("remote", "s3://models/v1/m.onnx")
    for name, values in tensors.items():
        np.testing.assert_array_equal(model.initializers[name].numpy(), values)
    tensor = onnxmap.load("s3://models/v1/x.onnx").initializers["t"]
    assert tensor.file == "s3://models/v1/weights/w 1.bin"
    np.testing.assert_array_equal(tensor.numpy(), outside)
    np.testing.assert_array_equal(tensor[-5:], outside[-5:])
    again = pickle.loads(pickle.dumps(tensor))
    np.testing.assert_array_equal(again.numpy(), outside)


def test_s3_by_options_of_the_call(s3: Any, tmp_path: Path) -> None:
    path = write_inline(tmp_path / "m.onnx", {"w": VALUES})
    s3.put_file(str(path), "models/options/m.onnx")
    options = {"endpoint_url": s3.client_kwargs.get("endpoint_url") or s3.endpoint_url}
    model = onnxmap.load("s3://models/options/m.onnx", storage_options=options)
    np.testing.assert_array_equal(model.initializers["w"].numpy(), VALUES)


def test_s3_errors_and_changes(s3: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        onnxmap.load("s3://models/none.onnx")
    assert caught.value.filename == "s3://models/none.onnx"
    path = write_inline(tmp_path / "m.onnx", {"v": floats(20_000), "w": VALUES})
    s3.put_file(str(path), "models/m.onnx")
    model = onnxmap.load("s3://models/m.onnx")
    assert list(model.views()) == ["v", "w"]
    write_inline(tmp_path / "m.onnx", {"v": floats(20_000), "w": VALUES + 1})
    s3.put_file(str(path), "models/m.onnx")
    with pytest.raises(onnxmap.FileChangedError) as changed:
        model.views()
    assert changed.value.path == "s3://models/m.onnx"
    fresh = onnxmap.load("s3://models/m.onnx")
    np.testing.assert_array_equal(fresh.initializers["w"].numpy(), VALUES + 1)
