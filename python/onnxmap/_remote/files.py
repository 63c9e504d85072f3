"""Files and folders behind URLs: `https://`, `s3://`, `memory://` and all others of fsspec.

No file is downloaded as a whole. The core asks a `RemoteFile` for ranges of bytes when it needs
them, from any thread. A long range is split into pieces, and several are requested at a time.
"""

from __future__ import annotations

import os
import posixpath
import time
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from onnxmap._base.extras import extra
from onnxmap._base.later import importing
from onnxmap._base.limits import Limits
from onnxmap._remote.http import HttpFile
from onnxmap._remote.requests import BlockingFile, RemoteFile

with extra("remote"):
    import fsspec.asyn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxmap._base.options import Options

# Bytes that the first request for a model's file asks for: the core reads that many first.
_HEAD = 64 << 10

# While many tensors are opened one by one, a file is checked at most this often; as in the core.
_RECENT_SECONDS = 10.0

_open_files = weakref.WeakValueDictionary[tuple[str, str, Limits], RemoteFile]()


class RemoteFolder:
    """A folder behind a URL that holds data files.

    Attributes:
        url: the URL of the folder, without a slash at the end.
    """

    def __init__(
        self, url: str, options: Options, *, of_file: bool = False, recently: bool = False
    ) -> None:
        """Find the folder of a URL.

        Args:
            url: the URL of the folder, or of a file in it.
            options: the arguments for fsspec, and how long requests for its files may take.
            of_file: the URL is that of a file.
            recently: take a file that is open already without asking the server, if it was checked
                a few seconds ago. Thousands of references in a pickle may name one file.
        """
        if not of_file and not url.endswith("://"):
            url = url.rstrip("/")
        self._fs, path = _file_system(url, options)
        self._limits, self._recently = options.limits, recently
        self._before, self._after = _around(self._fs, path, url)
        path = _without_query(path)
        parent = path.rpartition("/")[0]
        if of_file and not parent.endswith(":/"):  # a URL of HTTP that has only a host
            path = parent
        self._path = path.rstrip("/")
        self.url = self._shown(self._path)

    def url_of(self, location: bytes) -> str:
        """Return the URL of a file in the folder, to be shown to people."""
        return self._shown(self._path_of(location))

    def open(self, location: bytes) -> RemoteFile:
        """Open a file in the folder.

        Args:
            location: the path relative to the folder. The caller has checked that it does not lead
                out. Its characters have no special meaning in the URL.
        """
        path = self._path_of(location)
        return _open(self._fs, path, self._shown(path), self._limits, recently=self._recently)

    def _shown(self, path: str) -> str:
        return self._before + path + self._after

    def _path_of(self, location: bytes) -> str:
        name = posixpath.normpath(location)  # not above the folder, as the caller has checked
        slash = "/" if self._path else self._fs.root_marker
        shown = quote(name) if _is_http(self._path) else os.fsdecode(name)
        return f"{self._path}{slash}{shown}"


class PickledFile:
    """A model's file that holds a pickled tensor. The core uses it like a folder."""

    def __init__(self, url: str, options: Options) -> None:
        self.url, self._options = url, options

    def url_of(self, location: bytes) -> str:
        """Return the URL of the file for any location."""
        return self.url

    def open(self, location: bytes) -> RemoteFile:
        """Open the file for any location."""
        fs, path = _file_system(self.url, self._options)
        return _open(fs, path, self.url, self._options.limits, recently=True)


@contextmanager
def opening_file(url: str, options: Options) -> Iterator[RemoteFile]:
    """Yield the file that a URL names. All reads of it in the block share one timeout."""
    fs, path = _file_system(url, options)
    file = _class_for(fs, path)(fs, path, url, options.limits, _HEAD)
    try:
        yield file
    finally:
        file.until = None


def name_of(url: str) -> str:
    """Return the last name in a URL, decoded as the name of a file."""
    path = url.partition("::")[0]
    name = _without_query(path).rpartition("/")[2]
    return unquote(name) if _is_http(path) else name


def _open(fs: Any, path: str, url: str, limits: Limits, *, recently: bool) -> RemoteFile:
    key = (fs._fs_token, path, limits)
    known = _open_files.get(key) if recently else None
    if known is None or time.monotonic() > known.looked_at + _RECENT_SECONDS:
        known = _class_for(fs, path)(fs, path, url, limits)
        _open_files[key] = known
    return known


def _around(fs: Any, path: str, url: str) -> tuple[str, str]:
    """The parts of a URL before and after its path."""
    before, found, after = url.partition(path) if path else ("", "", "")
    if not found:  # for example the root
        before, after = str(fs.unstrip_protocol(path)).removesuffix(path), ""
        if not path and fs.root_marker == "/":
            before = before.removesuffix("/")
    return before, after


def _without_query(path: str) -> str:
    return path.partition("#")[0].partition("?")[0] if _is_http(path) else path


def _is_http(path: str) -> bool:
    return path.startswith(("http://", "https://"))


def _class_for(fs: Any, path: str) -> type[RemoteFile]:
    if not isinstance(fs, fsspec.asyn.AsyncFileSystem):
        return BlockingFile
    return HttpFile if _is_http(path) and hasattr(fs, "set_session") else RemoteFile


def _file_system(url: str, options: Options) -> Any:
    """The file system of fsspec and the path in it."""
    try:
        with importing:  # fsspec imports what the URL needs; get_loop() has a lock of its own
            fsspec.asyn.get_loop()
            return fsspec.url_to_fs(url, **dict(options.storage_options or {}))
    except ImportError as error:
        scheme = url.partition("://")[0]
        # fsspec names the package in the cause of its error.
        package = (error.name or getattr(error.__cause__, "name", None) or "").partition(".")[0]
        more = "" if package in ("", "fsspec", "aiohttp") else f" {package}"
        message = f"reading {scheme}:// URLs needs {package or 'another package'}"
        message += f": {error}; pip install 'onnxmap[remote]'{more}"
        raise ImportError(message, name=package or None) from error
