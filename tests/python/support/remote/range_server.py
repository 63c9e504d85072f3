"""An HTTP server for ranges of files on the loopback address. It counts requests, and can fail."""

from __future__ import annotations

import io
import os
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

_PIECE = 1 << 20


@dataclass
class Fault:
    """A fault that the server gives to a request instead of an answer.

    Attributes:
        kind: "status", "reset" (of the connection), "short" (a body that ends too early), "long"
            (a body that is too long), "encoded", "elsewhere" (another range), "huge" (an impossible
            size), "late" (the answer comes after `seconds`), "slow" (each `piece` bytes of the
            answer, including its head, come after `seconds`), "slow body" (only the body is slow).
        status: the status for "status".
        headers: additional headers.
        seconds: the time for "late", "slow" and "slow body".
        piece: bytes of each piece for "slow" and "slow body".
    """

    kind: str
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.05
    piece: int = 1


@dataclass
class Server:
    """The served files, the requests so far, and the faults to come.

    Attributes:
        folder: the folder of the served files.
        requests: method, path and range of each request, in order.
        sent: bytes of bodies.
        faults: for the next requests for more than one byte, in order; None means an answer.
        fault_of_all: for all requests, while it is set.
        fault_at: for requests that begin at this offset.
        ranges: False if ranges are not supported, as in many simple servers.
        etag: the ETag of all files; None: they have neither an ETag nor a modification time.
        gate: while it is cleared, answers wait, except to requests for one byte.
        gate_from: requests before this offset do not wait at the gate.
        now: the number of requests that are being answered.
        held: the number of them that wait at the gate.
        most_at_once: the largest value that `now` had.
    """

    folder: Path
    url: str = ""
    requests: list[tuple[str, str, tuple[int, int] | None]] = field(default_factory=list)
    sent: int = 0
    faults: list[Fault | None] = field(default_factory=list)
    fault_of_all: Fault | None = None
    fault_at: dict[int, Fault] = field(default_factory=dict)
    ranges: bool = True
    etag: str | None = '"first"'
    gate: threading.Event = field(default_factory=threading.Event)
    gate_from: int = 0
    now: int = 0
    held: int = 0
    most_at_once: int = 0
    lock: threading.Condition = field(default_factory=threading.Condition)

    def wait_for(self, count: int) -> None:
        """Wait until this many requests are held at the gate."""
        with self.lock:
            assert self.lock.wait_for(lambda: self.held >= count, timeout=60)

    def forget(self) -> None:
        """Start counting from zero."""
        with self.lock:
            self.requests.clear()
            self.sent = self.most_at_once = 0

    @property
    def reads(self) -> list[tuple[int, int]]:
        """The ranges of the requests for more than one byte."""
        return [asked for _, _, asked in self.requests if asked is not None and asked[1] > 1]

    @property
    def looks(self) -> int:
        """The number of requests for the state of a file."""
        return sum(asked == (0, 1) for _, _, asked in self.requests)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are two writes: Nagle's algorithm would hold each body back for 40 ms.
    disable_nagle_algorithm = True
    told: Server

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        told = self.told
        asked = self._range()
        with told.lock:
            told.requests.append((self.command, self.path, asked))
            look = asked == (0, 1)
            fault = told.fault_of_all or told.fault_at.get(asked[0] if asked else 0)
            if fault is None and told.faults and not look:
                fault = told.faults.pop(0)
            told.now += 1
            told.most_at_once = max(told.most_at_once, told.now)
        try:
            begin = asked[0] if asked else 0
            if not look and begin >= told.gate_from and not told.gate.is_set():
                with told.lock:
                    told.held += 1
                    told.lock.notify_all()
                told.gate.wait(120)
                with told.lock:
                    told.held -= 1
            self._answer(asked, fault)
        except (BrokenPipeError, ConnectionResetError):  # the client has left
            self.close_connection = True
        finally:
            with told.lock:
                told.now -= 1

    def _range(self) -> tuple[int, int] | None:
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        return None if found is None else (int(found[1]), int(found[2]) - int(found[1]) + 1)

    def _answer(self, asked: tuple[int, int] | None, fault: Fault | None) -> None:
        kind = "" if fault is None else fault.kind
        if fault is not None and kind == "status":
            self._head(fault.status, {"Content-Length": "0", **fault.headers})
            return
        if kind == "reset":
            hard = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, hard)
            self.connection.close()
            self.close_connection = True
            return
        if fault is not None and kind == "late":
            time.sleep(fault.seconds)
        if fault is not None and kind == "slow":
            self._become_slow(fault)
        path = self.told.folder / unquote(self.path.partition("?")[0]).lstrip("/")
        if not path.is_file():
            self._head(404, {"Content-Length": "0"})
            return
        size = path.stat().st_size
        if asked is None or not self.told.ranges:
            self._head(200, {"Content-Length": str(size)})
            self._body(path, 0, size)
            return
        begin, end = asked[0], min(sum(asked), size)
        if begin >= size:
            self._head(416, {"Content-Range": f"bytes */{size}", "Content-Length": "0"})
            return
        if kind == "elsewhere":
            begin, end = begin + 1, end + 1
        told_size = "9" * 5000 if kind == "huge" else size
        headers = {"Content-Range": f"bytes {begin}-{end - 1}/{told_size}"}
        nbytes = end - begin
        if kind == "encoded":
            headers["Content-Encoding"] = "gzip"
        # A body that is shorter than announced, and ends with the connection.
        length = nbytes + 7 if kind == "long" else nbytes
        headers["Content-Length"] = str(length)
        self._head(206, headers)
        if fault is not None and kind == "slow body":
            self._become_slow(fault)
        self._body(path, begin, nbytes // 2 if kind == "short" else nbytes)
        if kind == "long":
            self.wfile.write(b"surplus")
        if kind == "short":
            self.close_connection = True

    def _become_slow(self, fault: Fault) -> None:
        self.wfile = _SlowWriter(self.wfile, fault)
        self.close_connection = True

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        if self.told.etag is not None:
            headers = {"ETag": self.told.etag, **headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _body(self, path: Path, begin: int, nbytes: int) -> None:
        with path.open("rb") as file:
            for offset in range(begin, begin + nbytes, _PIECE):
                piece = os.pread(file.fileno(), min(_PIECE, begin + nbytes - offset), offset)
                with self.told.lock:  # before the client has it and asks what was sent
                    self.told.sent += len(piece)
                self.wfile.write(piece)


class _SlowWriter(io.BufferedIOBase):
    """Write a piece at a time. Raises an error if the client leaves."""

    def __init__(self, file: BinaryIO, fault: Fault) -> None:
        self._file, self._fault = file, fault

    def write(self, data: bytes) -> int:
        view = memoryview(data)
        for begin in range(0, len(view), self._fault.piece):
            time.sleep(self._fault.seconds)
            self._file.write(view[begin : begin + self._fault.piece])
        return len(view)


class _Threads(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: object) -> None:
        """Print nothing: clients in these tests leave early."""


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """Serve a folder until the end of the block."""
    told = Server(folder)
    told.gate.set()
    handler = type("Handler", (_Handler,), {"told": told})
    http = _Threads(("127.0.0.1", 0), handler)
    told.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield told
    finally:
        told.gate.set()
        http.shutdown()
        http.server_close()
        thread.join()
