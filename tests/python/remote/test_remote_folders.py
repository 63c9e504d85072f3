"""Which remote files a model may name: only files below the URL of its own folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

import numpy as np
import pytest
from support.containment.table import TEXTS
from support.remote.models import floats, write_external, write_inline
from support.remote.range_server import Server, serving

import onnxmap

pytest.importorskip("aiohttp")
VALUES = floats(1000)
NAMES = {
    "a space": b"my weights.bin",
    "a percent sign": b"w%2e%2e.bin",
    "a question mark": b"w?x=1.bin",
    "a number sign": b"w#1.bin",
    "not ASCII": "gewichte-\N{LATIN SMALL LETTER A WITH DIAERESIS}.bin".encode(),
    "a plus": b"w+v.bin",
    "dots inside": b"sub/../w.bin",
    "doubled slashes": b"sub//./w.bin",
    "a URL of another host": b"http://example.org/w.bin",
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path) as told:
        yield told


@pytest.mark.parametrize("kind", NAMES)
def test_a_location_is_a_name_and_not_a_url(server: Server, kind: str) -> None:
    """Each file of the folder can be named. The request is exactly for its path."""
    name = NAMES[kind]
    write_external(server.folder / "a/m.onnx", VALUES, name)
    server.folder.joinpath("a/sub").mkdir()
    tensor = onnxmap.load(f"{server.url}/a/m.onnx").initializers["t"]
    server.forget()
    with pytest.raises(FileNotFoundError):
        tensor.numpy()
    plain = {"dots inside": b"w.bin", "doubled slashes": b"sub/w.bin"}.get(
        kind, name.replace(b"//", b"/")
    )
    for _, path, _ in server.requests:
        assert "?" not in path
        assert unquote_to_bytes(path) == b"/a/" + plain
    assert server.requests
    assert str(tensor.file).startswith(f"{server.url}/a/")


@pytest.mark.parametrize("verdict", ["ext.unsafe_path", "ext.location"])
def test_the_text_is_checked_as_for_local_models(server: Server, verdict: str) -> None:
    tried = 0
    for name, (text, expected) in TEXTS.items():
        if text is None or name == "a folder" or expected.code != verdict:
            continue  # only the server knows what is a folder
        text = text.replace(b"{root}", b"/srv")
        tried += 1
        write_external(server.folder / "a/m.onnx", VALUES, text)
        tensor = onnxmap.load(f"{server.url}/a/m.onnx").initializers["t"]
        server.forget()
        with pytest.raises(onnxmap.ExternalDataError) as caught:
            tensor.numpy()
        assert caught.value.code == verdict, text
        with pytest.raises(onnxmap.ExternalDataError):
            tensor.file  # noqa: B018
        assert not server.requests, text
    assert tried > 5


def test_no_local_file_is_opened(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a file of the current folder, nor one whose whole path is the location."""
    monkeypatch.chdir(tmp_path)
    Path("w.bin").write_bytes(VALUES.tobytes())
    write_external(server.folder / "a/m.onnx", VALUES, b"w.bin")
    with pytest.raises(FileNotFoundError) as caught:
        onnxmap.load(f"{server.url}/a/m.onnx").initializers["t"].numpy()
    assert caught.value.filename == f"{server.url}/a/w.bin"


def test_the_query_is_not_passed_on(server: Server) -> None:
    write_external(server.folder / "a/m.onnx", VALUES, b"w.bin", server.folder / "a/w.bin")
    url = f"{server.url}/a/m.onnx?token=a/b&x=../../y#part"
    model = onnxmap.load(url)
    tensor = model.initializers["t"]
    assert model.path == url
    assert tensor.file == f"{server.url}/a/w.bin"
    np.testing.assert_array_equal(tensor.numpy(), VALUES)
    asked = {path for _, path, _ in server.requests}
    assert any("token=a" in path for path in asked)
    assert "/a/w.bin" in asked


def test_a_root_of_another_kind(server: Server, tmp_path: Path) -> None:
    """A URL for a local model or a buffer, and a folder for a remote model."""
    local = write_external(tmp_path / "local/m.onnx", VALUES, b"w.bin", tmp_path / "data/w.bin")
    write_external(tmp_path / "far/m.onnx", VALUES, b"w.bin")
    for root in (f"{server.url}/data", f"{server.url}/data/", f"{server.url}/data?x=1"):
        for model in (
            onnxmap.load(local, external_root=root),
            onnxmap.loads(local.read_bytes(), external_root=root),
            onnxmap.load(f"{server.url}/far/m.onnx", external_root=root),
        ):
            tensor = model.initializers["t"]
            assert tensor.file == f"{server.url}/data/w.bin"
            np.testing.assert_array_equal(tensor.numpy(), VALUES)
    model = onnxmap.load(f"{server.url}/far/m.onnx", external_root=tmp_path / "data")
    assert model.initializers["t"].file == str(tmp_path / "data/w.bin")
    assert model.initializers["t"].is_view
    np.testing.assert_array_equal(model.initializers["t"].numpy(), VALUES)


def test_ways_of_reading(server: Server) -> None:
    write_inline(server.folder / "m.onnx", {"w": VALUES})
    url = f"{server.url}/m.onnx"
    for io in ("auto", "read"):
        assert onnxmap.load(url, io=io).io == "remote"
    with pytest.raises(ValueError, match='io="mmap" is for local files'):
        onnxmap.load(url, io="mmap")


def test_a_local_file_of_that_name_is_opened_first(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    host = server.url.removeprefix("http://")
    write_inline(tmp_path / "m.onnx", {"far": VALUES})
    write_inline(tmp_path / "http:" / host / "m.onnx", {"near": VALUES})
    model = onnxmap.load(f"{server.url}/m.onnx")
    assert (model.io, list(model.initializers)) == ("mmap", ["near"])
    assert not server.requests


def test_the_url_of_a_local_file_is_its_path(tmp_path: Path) -> None:
    path = write_external(tmp_path / "m.onnx", VALUES, b"w.bin", tmp_path / "w.bin")
    model = onnxmap.load(f"file://{path}")
    assert (model.io, model.path) == ("mmap", str(path))
    assert model.initializers["t"].is_view
    by_root = onnxmap.load(path, external_root=f"file://{tmp_path}")
    np.testing.assert_array_equal(by_root.initializers["t"].numpy(), VALUES)
