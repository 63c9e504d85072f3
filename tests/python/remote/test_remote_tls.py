"""Secure connections that fail: the error says so, and is not that of a missing permission."""

from __future__ import annotations

import datetime as dt
import errno
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import onnxmap

pytest.importorskip("aiohttp")
pytest.importorskip("fsspec")
x509 = pytest.importorskip("cryptography.x509")


def self_signed(folder: Path) -> Path:
    """A file with a certificate that nobody trusts, and its key."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now).not_valid_after(now + dt.timedelta(days=1))
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file = folder / "server.pem"
    file.write_bytes(
        made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, *form)
    )
    return file


@contextmanager
def server(certificate: Path | None) -> Iterator[str]:
    """The URL of a server that only makes connections; without a certificate, plain ones."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if certificate is not None:
        context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):  # closed below
                while True:
                    connection = listening.accept()[0]
                    with connection, suppress(OSError):
                        if certificate is not None:
                            context.wrap_socket(connection, server_side=True).close()
                        else:
                            connection.recv(100)
                            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"https://127.0.0.1:{listening.getsockname()[1]}/m.onnx"
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_a_certificate_that_is_not_trusted(tmp_path: Path) -> None:
    with server(self_signed(tmp_path)) as url, pytest.raises(ConnectionError) as caught:
        onnxmap.load(url)
    assert not isinstance(caught.value, PermissionError)
    assert (caught.value.errno, caught.value.filename) == (errno.ECONNABORTED, url)
    said = str(caught.value.strerror)
    assert said.startswith("the server's certificate is not trusted: self-signed certificate; to ")
    assert said.endswith("name its file in SSL_CERT_FILE")


def test_a_server_without_tls() -> None:
    with server(None) as url, pytest.raises(ConnectionError, match="no secure connection: ") as no:
        onnxmap.load(url)
    assert no.value.filename == url
