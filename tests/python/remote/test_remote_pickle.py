"""Pickled tensors of remote models contain a URL, which the unpickling process opens."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.processes.subprocesses import facts_from
from support.remote.models import floats, write_external, write_inline
from support.remote.range_server import Server, serving

import onnxmap

pytest.importorskip("aiohttp")
VALUES = floats(300_000)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path) as told:
        write_inline(tmp_path / "a/m.onnx", {"t": VALUES})
        write_external(tmp_path / "a/x.onnx", VALUES, b"w 1.bin", tmp_path / "a/w 1.bin")
        yield told


@pytest.mark.parametrize("name", ["m.onnx", "x.onnx"])
def test_by_reference(server: Server, name: str) -> None:
    tensor = onnxmap.load(f"{server.url}/a/{name}").initializers["t"]
    server.forget()
    data = pickle.dumps(tensor)
    assert len(data) < 400
    assert server.sent < 70_000  # 16 samples of 4 KiB
    server.forget()
    again = pickle.loads(data)
    assert (again.name, again.shape, again.dtype) == (tensor.name, tensor.shape, tensor.dtype)
    assert again.file == tensor.file
    assert again.offset == tensor.offset
    np.testing.assert_array_equal(again.numpy(), VALUES)
    assert pickle.loads(pickle.dumps(again)).file == tensor.file


@pytest.mark.parametrize("name", ["m.onnx", "x.onnx"])
def test_in_another_process(server: Server, name: str, tmp_path: Path) -> None:
    data = pickle.dumps(onnxmap.load(f"{server.url}/a/{name}").initializers["t"])
    (tmp_path / "t.pickle").write_bytes(data)
    facts = facts_from(
        """
        import pickle
        from pathlib import Path
        tensor = pickle.loads(Path(sys.argv[1]).read_bytes())
        report(sum=float(tensor.numpy().astype("float64").sum()), file=tensor.file)
        """,
        str(tmp_path / "t.pickle"),
    )
    assert facts["sum"] == VALUES.astype("float64").sum()
    assert facts["file"].startswith(f"{server.url}/a/")


def test_the_query_of_a_model_goes_with_it(server: Server) -> None:
    """It may be what gives access. The caller chose the URL."""
    url = f"{server.url}/a/m.onnx?token=1"
    data = pickle.dumps(onnxmap.load(url).initializers["t"])
    server.forget()
    np.testing.assert_array_equal(pickle.loads(data).numpy(), VALUES)
    assert {path for _, path, _ in server.requests} == {"/a/m.onnx?token=1"}


def test_options_do_not_go_with_it(server: Server) -> None:
    """Options may be passwords, so they are not pickled. The other process has its own options."""
    secret = {"headers": {"Authorization": "Bearer sesame"}}
    url = f"{server.url}/a/m.onnx"
    data = pickle.dumps(onnxmap.load(url, storage_options=secret).initializers["t"])
    assert b"sesame" not in data
    np.testing.assert_array_equal(pickle.loads(data).numpy(), VALUES)


@pytest.mark.parametrize("name", ["m.onnx", "x.onnx"])
def test_a_file_that_changed(server: Server, name: str) -> None:
    data = pickle.dumps(onnxmap.load(f"{server.url}/a/{name}").initializers["t"])
    write_inline(server.folder / "a/m.onnx", {"t": VALUES + 1})
    (server.folder / "a/w 1.bin").write_bytes((VALUES + 1).tobytes())
    server.etag = '"second"'
    with pytest.raises(onnxmap.FileChangedError) as caught:
        pickle.loads(data)
    assert caught.value.path.startswith(f"{server.url}/a/")


@pytest.mark.parametrize("name", ["m.onnx", "x.onnx"])
def test_relocated(server: Server, name: str) -> None:
    """From one URL to another, to a folder, and from a folder to a URL."""
    folder = server.folder / "a"
    far = pickle.dumps(onnxmap.load(f"{server.url}/a/{name}").initializers["t"])
    near = pickle.dumps(onnxmap.load(folder / name).initializers["t"])
    copy = server.folder / "b"
    copy.mkdir()
    for path in folder.iterdir():
        path.rename(copy / path.name)
    for data in (far, near):
        with pytest.raises((FileNotFoundError, onnxmap.FileChangedError)):
            pickle.loads(data)
        with onnxmap.relocate(copy):
            tensor = pickle.loads(data)
        assert tensor.is_view
        assert str(tensor.file).startswith(f"{copy}/")
        np.testing.assert_array_equal(tensor.numpy(), VALUES)
        with onnxmap.relocate(f"{server.url}/b/"):
            tensor = pickle.loads(data)
        assert str(tensor.file).startswith(f"{server.url}/b/")
        np.testing.assert_array_equal(tensor.numpy(), VALUES)


def test_many_tensors_of_one_file(server: Server) -> None:
    """The tensors have one source, and one check every ten seconds is enough for it."""
    tensors = {f"t{i}": floats(100, seed=i) for i in range(50)}
    write_inline(server.folder / "many.onnx", tensors)
    model = onnxmap.load(f"{server.url}/many.onnx")
    data = pickle.dumps(list(model.initializers.values()))
    del model
    server.forget()
    again = pickle.loads(data)
    assert server.looks == 1
    assert len(server.reads) == 50
    for tensor, values in zip(again, tensors.values(), strict=True):
        np.testing.assert_array_equal(tensor.numpy(), values)
