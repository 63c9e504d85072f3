"""Dask arrays of a model behind a URL. Each task requests only its own chunk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dask
import numpy as np
import pytest
from support.remote.models import floats, write_external, write_inline
from support.remote.range_server import Server, serving

import onnxmap

COUNT, ROW = 4096, 256  # 4 MiB


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path) as found:
        yield found


def test_a_task_reads_its_chunk(server: Server) -> None:
    values = floats(COUNT * ROW)
    write_inline(server.folder / "model.onnx", {"t": values, "small": floats(3)})
    model = onnxmap.load(f"{server.url}/model.onnx")
    array = model.to_dask(["t"], chunks=64 << 10)["t"]
    before = server.sent
    assert array.npartitions == COUNT * ROW // (64 << 10)
    assert server.sent == before
    with dask.config.set(scheduler="synchronous"):
        assert np.array_equal(array[-1000:].compute(), values[-1000:])
        assert server.sent - before < 3 * 64 << 10
        assert np.array_equal(array.compute(), values)
    assert server.sent - before < values.nbytes + (1 << 20)


def test_other_processes_open_the_url(server: Server) -> None:
    values = floats(COUNT)
    write_external(
        server.folder / "model.onnx", values, b"data/w.bin", server.folder / "data/w.bin"
    )
    array = onnxmap.load(f"{server.url}/model.onnx").to_dask(chunks=1000)["t"]
    assert np.array_equal(array.compute(scheduler="processes", num_workers=1), values)


def test_the_names_of_arrays_identify_the_state_of_the_file(server: Server) -> None:
    write_inline(server.folder / "model.onnx", {"t": floats(10)})
    url = f"{server.url}/model.onnx"
    first = onnxmap.load(url).to_dask()["t"].name
    assert onnxmap.load(url).to_dask()["t"].name == first
    server.etag = '"second"'
    assert onnxmap.load(url).to_dask()["t"].name != first
