"""`arrays`, `load_arrays` and `stream` of remote models make several requests at a time."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.models.paged import KINDS, stored
from support.remote.models import floats, write_inline
from support.remote.range_server import Fault, Server, serving

import onnxmap

pytest.importorskip("aiohttp")
MIB = 1 << 20
# Some tensors that one request reads together, and one that needs several requests.
TENSORS = {f"small.{i}": floats(25_000, seed=i) for i in range(12)} | {"large": floats(8 * MIB)}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path) as told:
        write_inline(tmp_path / "m.onnx", TENSORS)
        yield told


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_the_local_file(server: Server, kind: str) -> None:
    case = stored(kind)
    case.write(server.folder)
    url = f"{server.url}/model.onnx"
    np.testing.assert_array_equal(onnxmap.load_arrays(url)["t"], case.values)
    with onnxmap.load(url).stream() as stream:
        found = dict(stream)
    np.testing.assert_array_equal(found["t"], case.values)


def test_arrays(server: Server) -> None:
    model = onnxmap.load(f"{server.url}/m.onnx")
    assert model.initializers.names()
    server.forget()
    told: list[tuple[int, int]] = []
    arrays = model.arrays(progress=lambda done, total: told.append((done, total)))
    assert list(arrays) == list(TENSORS)
    for name, values in TENSORS.items():
        np.testing.assert_array_equal(arrays[name], values)
        assert arrays[name].flags.writeable
    assert len(server.reads) <= 6  # the large tensor needs four
    nbytes = sum(values.nbytes for values in TENSORS.values())
    assert server.sent < nbytes + 2000
    assert told[-1] == (nbytes, nbytes)
    halves = model.arrays(["large"], dtype="float16")
    np.testing.assert_array_equal(halves["large"], TENSORS["large"].astype(np.float16))


def test_requests_are_under_way_at_the_same_time(server: Server) -> None:
    model = onnxmap.load(f"{server.url}/m.onnx")
    assert list(model.initializers.items())
    server.gate.clear()
    opener = threading.Thread(target=lambda: (server.wait_for(4), server.gate.set()))
    opener.start()
    found = model.arrays("large")
    opener.join()
    np.testing.assert_array_equal(found["large"], TENSORS["large"])
    assert server.most_at_once >= 4


def test_stream(server: Server) -> None:
    model = onnxmap.load(f"{server.url}/m.onnx")
    names = []
    for name, array in model.stream(window="8MiB"):
        np.testing.assert_array_equal(array, TENSORS[name])
        names.append(name)
    assert names == list(TENSORS)


@pytest.mark.parametrize("way", ["arrays", "stream"])
def test_errors_come_from_the_threads(server: Server, way: str) -> None:
    model = onnxmap.load(f"{server.url}/m.onnx")
    offset = model.initializers["large"].offset
    assert offset is not None
    server.fault_at = {offset + 8 * MIB: Fault("status", 403)}
    with pytest.raises(PermissionError) as caught:
        dict(model.arrays() if way == "arrays" else model.stream())
    assert caught.value.filename == f"{server.url}/m.onnx"
    server.fault_at = {}
    server.etag = '"second"'
    with pytest.raises(onnxmap.FileChangedError):
        dict(model.arrays() if way == "arrays" else model.stream())


@pytest.mark.parametrize("way", ["arrays", "stream"])
def test_ctrl_c_ends_slow_requests(server: Server, way: str) -> None:
    model = onnxmap.load(f"{server.url}/m.onnx")
    assert list(model.initializers.items())
    server.gate.clear()
    timer = threading.Thread(
        target=lambda: (server.wait_for(1), signal.raise_signal(signal.SIGINT))
    )
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        dict(model.arrays("large") if way == "arrays" else model.stream("large"))
    assert server.held  # it has not answered
    timer.join()
    server.gate.set()
    np.testing.assert_array_equal(model.arrays("large")["large"], TENSORS["large"])


def test_closing_a_stream_does_not_wait_for_the_server(server: Server) -> None:
    model = onnxmap.load(f"{server.url}/m.onnx")
    server.gate_from = model.initializers["large"].offset or 0
    server.gate.clear()
    stream = model.stream(window="64MiB")
    assert next(stream)[0] == "small.0"
    server.wait_for(1)
    stream.close()
    assert server.held
