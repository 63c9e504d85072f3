"""Slow servers: a minimum speed and a timeout put an end to every wait."""

from __future__ import annotations

import asyncio
import errno
import math
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.processes.subprocesses import child
from support.remote.models import floats, write_external, write_inline
from support.remote.range_server import Fault, Server, serving

import onnxmap

pytest.importorskip("aiohttp")
fsspec = pytest.importorskip("fsspec")
from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.memory import MemoryFileSystem

VALUES = floats(100_000)
FAST_ENOUGH = Fault("slow body", seconds=0.05, piece=20_000)
SLOW = {
    "head": Fault("slow"),
    "body": Fault("slow body"),
    "silent": Fault("late", seconds=10),
}
# Only for servers that must not be waited for: a server that sends 20 bytes per second is noticed
# in less than a second. A good server on a busy machine may be that slow.
STRICT = onnxmap.Limits(low_speed_limit=1000, low_speed_time=0.3)


@contextmanager
def made_strict(limits: onnxmap.Limits) -> Iterator[None]:
    """An open file has the limits of STRICT."""
    names = ("low_speed_limit", "low_speed_time")
    before = [getattr(limits, name) for name in names]
    for name in names:
        setattr(limits, name, getattr(STRICT, name))
    yield
    for name, value in zip(names, before, strict=True):
        setattr(limits, name, value)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path) as told:
        write_inline(tmp_path / "m.onnx", {"v": floats(20_000), "w": VALUES})
        write_external(tmp_path / "x.onnx", VALUES, b"w.bin", tmp_path / "w.bin")
        yield told


@contextmanager
def timed_out(code: str, url: str) -> Iterator[None]:
    """The block must raise a TransferTimeoutError."""
    with pytest.raises(onnxmap.TransferTimeoutError) as caught:
        yield
    error = caught.value
    assert (error.code, error.errno, error.filename) == (code, errno.ETIMEDOUT, url)
    assert isinstance(error, TimeoutError)
    assert isinstance(error, onnxmap.LimitError)
    assert url in str(error)
    assert f"onnxmap.Limits({code.partition('.')[2]}" in str(error)
    assert str(error).isprintable()
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code, again.filename) == (str(error), code, url)


@pytest.mark.parametrize("kind", SLOW)
def test_loading_from_a_slow_server(server: Server, kind: str) -> None:
    server.fault_of_all = SLOW[kind]
    url = f"{server.url}/m.onnx"
    with timed_out("limit.low_speed", url):
        onnxmap.load(url, limits=STRICT)


@pytest.mark.parametrize("kind", SLOW)
def test_reading_a_tensor_from_a_slow_server(server: Server, kind: str) -> None:
    limits = onnxmap.Limits()
    tensor = onnxmap.load(f"{server.url}/m.onnx", limits=limits).initializers["w"]
    server.fault_of_all = SLOW[kind]
    with made_strict(limits), timed_out("limit.low_speed", f"{server.url}/m.onnx"):
        tensor.numpy()
    server.fault_of_all = None
    np.testing.assert_array_equal(tensor.numpy(), VALUES)


READS: dict[str, Callable[[onnxmap.Model], object]] = {
    "numpy": lambda model: model.initializers["t"].numpy(),
    "slice": lambda model: model.initializers["t"][5:9],
    "arrays": lambda model: model.arrays(),
    "stream": lambda model: list(model.stream()),
}


@pytest.mark.parametrize("way", READS)
def test_reading_a_data_file_from_a_slow_server(server: Server, way: str) -> None:
    model = onnxmap.load(server.folder / "x.onnx", external_root=server.url, limits=STRICT)
    server.fault_of_all = SLOW["body"]
    with timed_out("limit.low_speed", f"{server.url}/w.bin"):
        READS[way](model)


def test_a_server_that_is_fast_enough(server: Server) -> None:
    limits = onnxmap.Limits(low_speed_limit=1000, low_speed_time=0.75)
    tensor = onnxmap.load(f"{server.url}/m.onnx", limits=limits).initializers["w"]
    server.fault_of_all = Fault("slow body", seconds=0.05, piece=20_000)
    np.testing.assert_array_equal(tensor.numpy(), VALUES)


def test_any_speed_may_be_allowed(server: Server) -> None:
    write_inline(server.folder / "small.onnx", {"w": VALUES[:5]})
    server.fault_of_all = Fault("slow body", seconds=0.01)
    url = f"{server.url}/small.onnx"
    with timed_out("limit.low_speed", url):
        onnxmap.load(url, limits=onnxmap.Limits(low_speed_limit=1000, low_speed_time=0.1))
    limits = onnxmap.Limits(low_speed_limit=0, low_speed_time=0.1)
    onnxmap.load(url, limits=limits).initializers["w"].numpy()


def test_all_requests_of_one_load_share_the_timeout(server: Server) -> None:
    """Each request is answered within the timeout, but all together take longer."""
    write_inline(server.folder / "many.onnx", {f"t{i}": floats(20_000) for i in range(20)})
    url = f"{server.url}/many.onnx"
    server.fault_of_all = Fault("late", seconds=0.2)
    with timed_out("limit.timeout", url):
        onnxmap.load(url, limits=onnxmap.Limits(timeout=0.8))
    assert 1 < len(server.reads) < 20


def test_each_read_after_loading_has_the_whole_timeout(server: Server) -> None:
    model = onnxmap.load(f"{server.url}/m.onnx", limits=onnxmap.Limits(timeout=2))
    server.fault_of_all = Fault("late", seconds=0.8)
    for _ in range(3):
        np.testing.assert_array_equal(model.initializers["w"].numpy(), VALUES)
    server.fault_of_all = None
    large = floats(400_000)
    write_inline(server.folder / "m2.onnx", {"v": floats(20_000), "w": large})
    tensor = onnxmap.load(f"{server.url}/m2.onnx", limits=onnxmap.Limits(timeout=1))
    server.fault_of_all = FAST_ENOUGH
    with timed_out("limit.timeout", f"{server.url}/m2.onnx"):
        tensor.initializers["w"].numpy()


@pytest.mark.parametrize(
    "load",
    [
        lambda url, limits: onnxmap.load_arrays(url, limits=limits),
        lambda url, limits: onnxmap.load_tensor(url, limits=limits),
        lambda url, limits: onnxmap.load_value(url, "tensor", limits=limits),
        lambda url, limits: onnxmap.load_operator_set(url, limits=limits),
        lambda url, limits: onnxmap.load_proto(url, "TensorProto", limits=limits),
    ],
)
def test_every_function_that_opens_a_url(server: Server, load: Callable[..., object]) -> None:
    server.fault_of_all = SLOW["body"]
    url = f"{server.url}/m.onnx"
    with timed_out("limit.timeout", url):
        load(url, onnxmap.Limits(timeout=0.3))


def test_a_pickled_reference_has_the_default_limits(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    pickled = pickle.dumps(onnxmap.load(f"{server.url}/m.onnx").initializers["w"])
    assert len(pickled) < 10_000
    assert onnxmap.Limits().low_speed_limit > 0
    monkeypatch.setattr("onnxmap._base.options._DEFAULT_LIMITS", STRICT)
    server.fault_of_all = SLOW["body"]
    with timed_out("limit.low_speed", f"{server.url}/m.onnx"):
        pickle.loads(pickled).numpy()


class _HangingAsync(AsyncFileSystem):  # type: ignore[misc]
    """An object store that at most tells the size."""

    protocol = "hangs-async"
    cachable = False
    size: int | None = 1000

    async def _info(self, path: str, **_: Any) -> dict[str, Any]:
        if self.size is None:
            await asyncio.sleep(1000)
        return {"name": path, "type": "file", "size": self.size}

    async def _cat_file(self, path: str, **_: Any) -> bytes:
        await asyncio.sleep(1000)
        raise AssertionError


class _HangingSync(MemoryFileSystem):  # type: ignore[misc]
    """A file system that blocks the calling thread."""

    protocol = "hangs-sync"
    cachable = False
    size: int | None = 1000
    hangs = threading.Event()

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        if self.size is None:
            self.hangs.wait(20)
        return {"name": path, "type": "file", "size": self.size}

    def cat_file(self, path: str, **_: Any) -> bytes:
        self.hangs.wait(20)
        raise OSError("too late")


@pytest.fixture(params=[_HangingAsync, _HangingSync])
def hanging(request: pytest.FixtureRequest) -> Iterator[Any]:
    cls = request.param
    fsspec.register_implementation(cls.protocol, cls, clobber=True)
    yield cls
    cls.size = 1000
    _HangingSync.hangs.set()
    _HangingSync.hangs.clear()


@pytest.mark.parametrize("size", [1000, None])
def test_other_file_systems_that_hang(hanging: Any, size: int | None) -> None:
    hanging.size = size
    url = f"{hanging.protocol}://m.onnx"
    with timed_out("limit.timeout", url):
        onnxmap.load(url, limits=onnxmap.Limits(timeout=0.3))


def test_a_speed_is_asked_of_an_object_store(hanging: Any) -> None:
    """A blocking file system may fetch a whole file for a few bytes, so its speed is not judged."""
    judged = hanging is _HangingAsync
    limits = onnxmap.Limits(
        low_speed_limit=100_000, low_speed_time=0.3, timeout=8 if judged else 0.8
    )
    url = f"{hanging.protocol}://m.onnx"
    with timed_out("limit.low_speed" if judged else "limit.timeout", url):
        onnxmap.load(url, limits=limits)


def test_bytes_for_other_reads_count(server: Server) -> None:
    """A read may have to wait for the requests of other reads."""
    limits = onnxmap.Limits(low_speed_limit=1000, low_speed_time=1)
    tensor = onnxmap.load(f"{server.url}/x.onnx", limits=limits).initializers["t"]
    other = onnxmap.load(f"{server.url}/m.onnx").initializers["w"]
    server.fault_of_all = Fault("slow body", seconds=0.1, piece=20_000)  # two seconds
    reader = threading.Thread(target=other.numpy)
    reader.start()
    deadline = time.monotonic() + 20
    while server.reads[-1:] != [(other.offset, VALUES.nbytes)] and time.monotonic() < deadline:
        time.sleep(0.01)
    with server.lock:
        server.fault_of_all = Fault("late", seconds=20)
    with pytest.raises(onnxmap.TransferTimeoutError) as caught:
        tensor.numpy()
    assert caught.value.code == "limit.low_speed"
    assert not reader.is_alive()  # the pause began when the other read was done


def test_a_process_that_was_stopped_does_not_blame_the_server(server: Server) -> None:
    code = """
import sys, onnxmap
limits = onnxmap.Limits(low_speed_limit=1000, low_speed_time=2)
tensor = onnxmap.load(sys.argv[1], limits=limits).initializers["w"]
print("loaded", flush=True)
sys.stdin.readline()
print(tensor.numpy().size, flush=True)
"""
    with child(sys.executable, "-c", code, f"{server.url}/m.onnx") as (process, given, told):
        assert told.readline() == b"loaded\n"
        server.gate.clear()
        given.write(b"\n")
        given.flush()
        server.wait_for(1)
        process.send_signal(signal.SIGSTOP)
        time.sleep(2.5)  # more than a slow machine leaves between two checks
        process.send_signal(signal.SIGCONT)
        time.sleep(0.4)
        server.gate.set()
        assert told.readline() == f"{VALUES.size}\n".encode()
        assert process.wait(30) == 0


@pytest.mark.parametrize("name", ["timeout", "low_speed_time"])
def test_numbers_of_seconds(name: str) -> None:
    for wrong in (0, -1, math.nan, -math.inf):
        with pytest.raises(ValueError, match=f"{name} must be a positive number of seconds"):
            onnxmap.Limits(**{name: wrong})
    with pytest.raises(TypeError):
        onnxmap.Limits(**{name: [1]})
    assert getattr(onnxmap.Limits(**{name: 3}), name) == 3.0
    assert onnxmap.Limits(**{name: 3}) != onnxmap.Limits()


class _Rude(MemoryFileSystem):  # type: ignore[misc]
    """Its errors quote the server, like those of aiohttp."""

    protocol = "rude"
    cachable = False

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        raise RuntimeError("400, message:\n  Bad header\r\x1b[2J\u202e\ud800" + "x" * 5000)


def test_messages_escape_and_cut_what_the_client_says() -> None:
    fsspec.register_implementation("rude", _Rude, clobber=True)
    with pytest.raises(OSError, match="4 attempts") as caught:
        onnxmap.load("rude://m.onnx")
    message = str(caught.value)
    assert "message:\\n  Bad header\\r\\x1b[2J\\u202e\\ud800xxx" in message
    assert message.isprintable()
    assert len(message) < 1000
