"""Remote files that change after they were opened, and how often the server is asked about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.remote.models import floats, write_external, write_inline
from support.remote.range_server import Server, serving

import onnxmap

pytest.importorskip("aiohttp")
VALUES, OTHERS = floats(100_000), floats(100_000, seed=1)
HEAD = floats(20_000)  # bytes before the tensors, so that the first answer does not contain them


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path) as told:
        write_inline(tmp_path / "m.onnx", {"v": HEAD, "w": VALUES})
        yield told


def replace(server: Server, *, etag: str | None, size: bool) -> None:
    values = OTHERS[:-1] if size else OTHERS
    write_inline(server.folder / "m.onnx", {"v": HEAD, "w": values})
    server.etag = etag


@pytest.mark.parametrize("watch", [True, False])
@pytest.mark.parametrize("how", ["etag", "size", "size without an etag"])
def test_a_change_shows_in_the_next_answer(server: Server, how: str, watch: bool) -> None:
    """With and without `watch`, no array mixes values of two states."""
    server.etag = None if how == "size without an etag" else '"first"'
    url = f"{server.url}/m.onnx"
    model = onnxmap.load(url, watch=watch)
    replace(server, etag='"second"' if how == "etag" else server.etag, size=how != "etag")
    with pytest.raises(onnxmap.FileChangedError) as caught:
        model.initializers["w"].numpy()
    error = caught.value
    assert (error.code, error.path, error.filename) == ("file.changed", url, url)
    assert "has changed since it was opened" in str(error)
    fresh = onnxmap.load(url).initializers["w"].numpy()
    np.testing.assert_array_equal(fresh, OTHERS[: fresh.size])


def test_an_etag_that_is_only_weaker_is_the_same(server: Server) -> None:
    model = onnxmap.load(f"{server.url}/m.onnx")
    server.etag = 'W/"first"'
    np.testing.assert_array_equal(model.initializers["w"].numpy(), VALUES)


def test_a_data_file_that_changes(server: Server) -> None:
    write_external(server.folder / "x.onnx", VALUES, b"w.bin", server.folder / "w.bin")
    model = onnxmap.load(f"{server.url}/x.onnx")
    np.testing.assert_array_equal(model.initializers["t"].numpy(), VALUES)
    (server.folder / "w.bin").write_bytes(OTHERS.tobytes() + b"more")
    server.etag = '"second"'
    with pytest.raises(onnxmap.FileChangedError) as caught:
        model.initializers["t"].numpy()
    assert caught.value.path == f"{server.url}/w.bin"


def test_bulk_calls_check_once_and_single_tensors_do_not(server: Server) -> None:
    model = onnxmap.load(f"{server.url}/m.onnx")
    assert list(model.initializers.items())
    server.forget()
    for _ in range(20):
        model.initializers["w"].numpy()
        assert model.initializers["v"].shape == HEAD.shape
    assert (len(server.reads), server.looks) == (20, 0)
    model.views()
    assert server.looks == 1
    replace(server, etag='"second"', size=False)
    with pytest.raises(onnxmap.FileChangedError):
        model.views()


def test_without_watching_there_are_no_checks(server: Server) -> None:
    model = onnxmap.load(f"{server.url}/m.onnx", watch=False)
    model.views()
    model.initializers.shapes()
    assert server.looks == 0


def test_a_check_counts_for_ten_seconds(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The references of a pickle, too, which each open the file themselves."""
    import pickle

    from onnxmap._remote import files as remote

    write_external(server.folder / "x.onnx", VALUES, b"w.bin", server.folder / "w.bin")
    model = onnxmap.load(f"{server.url}/x.onnx")
    data = pickle.dumps(model.initializers["t"])
    del model
    server.forget()
    tensors = [pickle.loads(data) for _ in range(10)]
    assert server.looks == 1
    monkeypatch.setattr(remote, "_RECENT_SECONDS", -1.0)
    pickle.loads(data)
    assert server.looks == 2
    np.testing.assert_array_equal(tensors[9].numpy(), VALUES)
