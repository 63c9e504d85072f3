"""Failed requests: which of them are tried again, and the error in the end."""

from __future__ import annotations

import asyncio
import errno
import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.processes.subprocesses import child
from support.remote.models import floats, write_external, write_inline
from support.remote.range_server import Fault, Server, serving

import onnxmap
from onnxmap._remote import requests

pytest.importorskip("aiohttp")
fsspec = pytest.importorskip("fsspec")
from fsspec.implementations.memory import MemoryFileSystem

VALUES = floats(100_000)
TRANSIENT = {
    "500": Fault("status", 500),
    "503": Fault("status", 503, {"Retry-After": "0"}),
    "429": Fault("status", 429),
    "408": Fault("status", 408),
    "reset": Fault("reset"),
    "short": Fault("short"),
}
FINAL = {
    "404": (Fault("status", 404), FileNotFoundError, errno.ENOENT),
    "410": (Fault("status", 410), FileNotFoundError, errno.ENOENT),
    "403": (Fault("status", 403), PermissionError, errno.EACCES),
    "401": (Fault("status", 401), PermissionError, errno.EACCES),
    "400": (Fault("status", 400), OSError, errno.EIO),
    "416": (Fault("status", 416), OSError, errno.EIO),
    "long": (Fault("long"), OSError, errno.EIO),
    "encoded": (Fault("encoded"), OSError, errno.EIO),
    "elsewhere": (Fault("elsewhere"), OSError, errno.EIO),
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path) as told:
        write_inline(tmp_path / "m.onnx", {"v": floats(20_000), "w": VALUES})
        yield told


def opened(server: Server) -> onnxmap.Tensor:
    tensor = onnxmap.load(f"{server.url}/m.onnx").initializers["w"]
    server.forget()
    return tensor


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between attempts; `test_a_pause_that_the_server_asks_for` looks at their length."""
    monkeypatch.setattr(requests, "PAUSES", (0.01, 0.01, 0.01))


@pytest.mark.usefixtures("short_pauses")
@pytest.mark.parametrize("kind", TRANSIENT)
def test_temporary_failures_are_tried_again(server: Server, kind: str) -> None:
    fault = TRANSIENT[kind]
    server.faults = [fault, fault, None, fault]  # also for the first request
    tensor = opened(server)
    server.faults = [fault, fault, fault]
    np.testing.assert_array_equal(tensor.numpy(), VALUES)
    assert len(server.reads) == 4


@pytest.mark.usefixtures("short_pauses")
@pytest.mark.parametrize("kind", TRANSIENT)
def test_after_four_attempts_it_is_an_error(server: Server, kind: str) -> None:
    tensor = opened(server)
    server.fault_of_all = TRANSIENT[kind]
    with pytest.raises(OSError, match=r"\(4 attempts\).*/m\.onnx") as caught:
        tensor.numpy()
    assert caught.value.filename == f"{server.url}/m.onnx"
    # aiohttp itself tries again if a connection is lost.
    assert len(server.reads) == 8 if kind == "reset" else 4
    server.fault_of_all = None
    np.testing.assert_array_equal(tensor.numpy(), VALUES)


@pytest.mark.parametrize("kind", FINAL)
def test_permanent_failures_are_not_tried_again(server: Server, kind: str) -> None:
    fault, cls, number = FINAL[kind]
    tensor = opened(server)
    server.faults = [fault]
    with pytest.raises(cls) as caught:
        tensor.numpy()
    url = f"{server.url}/m.onnx"
    assert (caught.value.errno, caught.value.filename) == (number, url)
    assert url in str(caught.value)
    assert len(server.reads) == 1
    np.testing.assert_array_equal(tensor.numpy(), VALUES)


@pytest.mark.parametrize(
    ("fault", "said"), [("elsewhere", "another range"), ("huge", "how large the file is")]
)
def test_an_impossible_first_answer(server: Server, fault: str, said: str) -> None:
    server.fault_at = {0: Fault(fault)}
    with pytest.raises(OSError, match=said) as caught:
        onnxmap.load(f"{server.url}/m.onnx")
    assert (caught.value.errno, caught.value.filename) == (errno.EIO, f"{server.url}/m.onnx")


class _Sizes(MemoryFileSystem):  # type: ignore[misc]
    """A store that tells a size."""

    protocol = "sizes"
    cachable = False
    size: object = None

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "type": "file", "size": self.size}


@pytest.mark.parametrize("size", [None, "5", -1, 1 << 63])
def test_a_store_that_gives_an_impossible_size(
    size: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Sizes, "size", size)
    fsspec.register_implementation("sizes", _Sizes, clobber=True)
    with pytest.raises(OSError, match="how large") as caught:
        onnxmap.load("sizes://m.onnx")
    assert (caught.value.errno, caught.value.filename) == (errno.EIO, "sizes://m.onnx")


@pytest.mark.parametrize("kind", ["404", "403"])
def test_a_model_that_is_not_there(server: Server, kind: str) -> None:
    fault, cls, _ = FINAL[kind]
    server.faults = [fault]
    with pytest.raises(cls) as caught:
        onnxmap.load(f"{server.url}/m.onnx")
    assert caught.value.filename == f"{server.url}/m.onnx"


@pytest.mark.parametrize(
    ("status", "code", "cls"),
    [(404, "ext.missing", FileNotFoundError), (403, "ext.permission", PermissionError)],
)
def test_a_data_file_that_is_not_there(
    server: Server, status: int, code: str, cls: type[OSError]
) -> None:
    write_external(server.folder / "x.onnx", VALUES, b"w.bin")
    tensor = onnxmap.load(f"{server.url}/x.onnx").initializers["t"]
    server.fault_of_all = Fault("status", status)
    with pytest.raises(cls) as caught:
        tensor.numpy()
    error = caught.value
    assert isinstance(error, onnxmap.ExternalDataError)
    assert (error.code, error.tensor, error.location) == (code, "t", "w.bin")
    assert error.filename == f"{server.url}/w.bin"


def test_a_data_file_that_is_too_short(server: Server) -> None:
    write_external(server.folder / "x.onnx", VALUES, b"w.bin", server.folder / "w.bin")
    os.truncate(server.folder / "w.bin", 1000)
    tensor = onnxmap.load(f"{server.url}/x.onnx").initializers["t"]
    with pytest.raises(onnxmap.ExternalDataError, match="file has 1000 bytes") as caught:
        tensor.numpy()
    assert caught.value.code == "ext.bounds"


def test_a_server_without_ranges_sends_next_to_nothing(server: Server) -> None:
    values = floats(8 << 20)
    write_inline(server.folder / "large.onnx", {"w": values})
    server.ranges = False
    with pytest.raises(OSError, match="does not support ranges") as caught:
        onnxmap.load(f"{server.url}/large.onnx")
    assert caught.value.errno == errno.EOPNOTSUPP
    assert server.sent < 8 << 20  # this much fits into buffers on the way; the file has 32 MiB
    assert len(server.requests) == 1
    server.ranges = True
    tensor = onnxmap.load(f"{server.url}/large.onnx").initializers["w"]
    server.ranges = False
    with pytest.raises(OSError, match="does not support ranges"):
        tensor.numpy()


def test_a_small_file_needs_no_ranges(server: Server) -> None:
    from onnx import numpy_helper

    proto = numpy_helper.from_array(floats(100), "x")
    (server.folder / "x.pb").write_bytes(proto.SerializeToString())
    server.ranges = False
    found = onnxmap.load_tensor(f"{server.url}/x.pb").numpy()
    np.testing.assert_array_equal(found, numpy_helper.to_array(proto))


@pytest.mark.parametrize(
    ("asked", "pause"),
    [
        ("1", 1.0), ("3600", 1.5), ("soon", requests.PAUSES[0]),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 1.5),
        ("Sun, 06 Nov 1994 08:49:37 GMT", requests.PAUSES[0]),
        ("Sun, 06 Nov 1994 08:49:37 -0000", requests.PAUSES[0]),
        ("Sun, 99 Nov 1994", requests.PAUSES[0]),
    ],
)  # fmt: skip
def test_a_pause_that_the_server_asks_for(
    server: Server, asked: str, pause: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "LONGEST_PAUSE", 1.5)
    tensor = opened(server)
    server.faults = [Fault("status", 503, {"Retry-After": asked})]
    pauses = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    np.testing.assert_array_equal(tensor.numpy(), VALUES)
    assert pauses == [pause]
    assert len(server.reads) == 2


def test_no_server_listens() -> None:
    with pytest.raises(OSError, match=r"127\.0\.0\.1:9/m\.onnx"):
        onnxmap.load("http://127.0.0.1:9/m.onnx")


def test_an_error_of_one_of_many_requests(server: Server) -> None:
    values = floats(20 << 20)
    write_inline(server.folder / "large.onnx", {"v": floats(20_000), "w": values})
    tensor = onnxmap.load(f"{server.url}/large.onnx").initializers["w"]
    assert tensor.offset is not None
    for piece in (0, 4, 9):
        server.fault_at = {tensor.offset + piece * (8 << 20): Fault("status", 403)}
        with pytest.raises(PermissionError):
            tensor.numpy()
    server.fault_at = {}
    np.testing.assert_array_equal(tensor.numpy(), values)


def test_each_thread_gets_the_error_of_its_own_request(server: Server) -> None:
    """The error has its own text, and nothing of it depends on another thread."""
    model = onnxmap.load(f"{server.url}/m.onnx")
    server.fault_of_all = Fault("status", 404)

    def read(_: int) -> str:
        try:
            model.initializers["w"].numpy()
        except FileNotFoundError as error:
            return str(error.filename)
        return "nothing"

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(read, range(64))) == {f"{server.url}/m.onnx"}


def test_errors_survive_a_pickle(server: Server) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        onnxmap.load(f"{server.url}/none.onnx")
    again = pickle.loads(pickle.dumps(caught.value))
    cause = caught.value.__cause__  # packages like tblib pickle the traceback as well
    assert vars(pickle.loads(pickle.dumps(cause))) == vars(cause)
    assert (type(again), again.filename) == (FileNotFoundError, f"{server.url}/none.onnx")


def test_ctrl_c_ends_a_slow_request(server: Server) -> None:
    """In a child process in which only the main thread can wait."""
    code = """
import sys, onnxmap
tensor = onnxmap.load(sys.argv[1]).initializers["w"]
print("loaded", flush=True)
sys.stdin.readline()
try:
    tensor.numpy()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    with child(sys.executable, "-c", code, f"{server.url}/m.onnx") as (process, given, told):
        assert told.readline() == b"loaded\n"
        server.gate.clear()
        given.write(b"\n")
        given.flush()
        server.wait_for(1)
        process.send_signal(signal.SIGINT)
        assert told.readline() == b"interrupted\n"
        assert server.held  # it has not answered
        assert process.wait(30) == 0


def test_an_abandoned_read_writes_nothing(server: Server) -> None:
    """The answer comes after the caller has left, and `out` belongs to someone else by then."""
    values = floats(20 << 20)
    write_inline(server.folder / "large.onnx", {"v": floats(20_000), "w": values})
    tensor = onnxmap.load(f"{server.url}/large.onnx").initializers["w"]
    out = np.zeros(values.size, np.float32)
    server.gate.clear()
    timer = threading.Thread(
        target=lambda: (server.wait_for(5), signal.raise_signal(signal.SIGINT))
    )
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        tensor.numpy(out=out)
    timer.join()
    out[:] = -1
    server.gate.set()
    np.testing.assert_array_equal(tensor.numpy(), values)
    assert (out == -1).all()
