"""Tensors in a pickle. A tensor of a file is pickled as a reference, any other with its values.

A reference takes a few hundred bytes. It says where the values are, and has a digest of samples of
them to detect a change of the file. Unpickling opens the file, in this process or another. A tensor
that was stored in its model is unpickled as a tensor whose external data are in the model's file.

A pickle names `_by_value` or `_by_reference` of this module. Stored pickles depend on these names.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from onnxmap import _core, _remote
from onnxmap._base.enums import DataLocation, DataType
from onnxmap._base.options import Options
from onnxmap._base.paths import absolute_or_url, absolute_path, is_url
from onnxmap.errors import ExternalDataError, FileChangedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from onnxmap._base.options import Io
    from onnxmap._base.paths import Path
    from onnxmap._remote.files import PickledFile, RemoteFolder

# The digest covers all bytes of a small tensor. For a large one it covers samples of `_SAMPLE`
# bytes: the first bytes, the last ones, and some between.
_SAMPLE = 4 << 10
_SAMPLES = 16

_new_root: ContextVar[str | None] = ContextVar("onnxmap.relocate", default=None)


@contextlib.contextmanager
def relocate(root: Path) -> Iterator[None]:
    """Unpickle tensors, inside the block, from the files of the same names below `root`.

    Use it if the files were copied to another folder or machine. `root`, a path or a URL, replaces
    the folder of the model, or of its external data. The files must have the same size and content.
    Other threads are not affected.

    Example:
        >>> with onnxmap.relocate("/data/models"):  # doctest: +SKIP
        ...     tensor = pickle.loads(pickled)
    """
    token = _new_root.set(absolute_or_url(root))
    try:
        yield
    finally:
        _new_root.reset(token)


def relocated_to() -> str | None:
    """Return the root of the innermost `relocate` of this context."""
    return _new_root.get()


def reduce_tensor(tensor: _core.Tensor) -> tuple[Callable[..., Any], tuple[object, ...]]:
    """See `Tensor.__reduce__`."""
    reference = reference_to(tensor)
    if reference is None:
        _, _, lenient, _ = tensor.proto._reading()
        return _by_value, (_message(tensor), lenient)
    return _by_reference, tuple(with_digest(reference, tensor))


class Reference(NamedTuple):
    """Where the values of a tensor are in a file, and how to detect a change of the file."""

    header: bytes  # the TensorProto without its values
    root: str  # the folder; no file outside is opened
    location: str  # the path of the file below it, links resolved; empty if root is a file's URL
    name: str  # the same path before links were resolved
    offset: int
    nbytes: int
    file_size: int
    policy: tuple[Any, bool, Any, bool]  # see ProtoView._reading
    digest: bytes = b""  # of samples of the values; empty if they have not been read yet


def reference_to(tensor: _core.Tensor) -> Reference | None:
    """Return a reference to the values, or None if the values themselves must be pickled.

    It names the file that the tensor has open, in a folder that the model may read from. No value
    is read, so the digest is empty.
    """
    place = tensor._reference()
    if place is None:
        return None
    root, location, name, offset, nbytes, file_size, has_hard_links = place
    _, (links, hardlinks, io, watch), _, _ = tensor.proto._reading()
    if not root.startswith(b"/"):
        url = os.fsencode(tensor.file or "")
        name = location
        # The tensor is in the model's own file, or was unpickled from such a tensor. The caller
        # chose the URL of this file, and it may hold anything, even a query.
        if not tensor.is_external or url == root:
            root, location = url, b""
            name = os.fsencode(_remote.files.name_of(os.fsdecode(url)))
        if not _core.is_safe_location(name):
            return None
    elif not tensor.is_external:  # the caller chose this file, so its other hard links do no harm
        hardlinks = hardlinks or has_hard_links
    places = os.fsdecode(root), os.fsdecode(location), os.fsdecode(name)
    policy = links, hardlinks, io, watch
    return Reference(_header(tensor), *places, offset, nbytes, file_size, policy)


def with_digest(reference: Reference, tensor: _core.Tensor) -> Reference:
    """Return the reference with its digest. This reads samples of the values."""
    return reference._replace(digest=digest_of(tensor._read, reference.nbytes, tensor.file))


def open_reference(reference: Reference, io: Io | None = None) -> _core.Tensor:
    """Open the tensor of a reference.

    Args:
        reference: the reference.
        io: how to read the file, instead of how the model was read; see `load`.

    Raises:
        FileChangedError: the file changed after the reference was made.
    """
    links, hardlinks, first_io, watch = reference.policy
    options = Options(links, hardlinks, io or first_io, watch=watch)
    moved = _new_root.get()
    # A copied folder may hold a file where this one held a link.
    location = reference.name if moved else reference.location or reference.name
    folder = moved or reference.root
    name = os.fsencode(folder)
    root: bytes | PickledFile | RemoteFolder = absolute_path(name)
    if is_url(name):
        remote = _remote.files
        root = remote.RemoteFolder(folder, options, recently=True)
        if not (moved or reference.location):
            root = remote.PickledFile(folder, options)
    entries = {"location": location, "offset": reference.offset, "length": reference.nbytes}
    place = _encoded(data_location=int(DataLocation.EXTERNAL), external_data=_entries(entries))
    tensor = _tensor_of(reference.header + place, options, root)
    try:
        found_size = tensor._file_size()
    except ExternalDataError as error:
        if error.code != "ext.bounds":
            raise
        found_size = None  # the file is shorter than it was
    if found_size != reference.file_size or with_digest(reference, tensor) != reference:
        raise other_file(tensor.file or os.path.join(folder, location), "tensor", tensor.name)
    return tensor


def other_file(path: str, kind: str, name: str = "") -> FileChangedError:
    """Return the error for a file that is not the one from which a model or tensor was pickled."""
    text = f"{path!r} is not the file that was pickled; restore it, or pickle the {kind} again"
    if kind == "tensor":
        text = f"tensor {name[:200]!r}: {text}"
    return FileChangedError(text, path=path, filename=path)


def _by_value(message: bytes, lenient: bool) -> _core.Tensor:
    return _tensor_of(message, Options(lenient=lenient), b"")


def _by_reference(*fields: Any) -> _core.Tensor:
    return open_reference(Reference(*fields))


def _tensor_of(message: bytes, options: Options, root: Any) -> _core.Tensor:
    tensor: _core.Tensor = _core.load_buffer(message, "TensorProto", options, root).root()
    return tensor


def digest_of(
    read: Callable[[int, int], bytes | bytearray], nbytes: int, file: str | None
) -> bytes:
    """Return a digest of samples of `nbytes` bytes; `read(offset, count)` returns bytes of them."""
    begins, count = [0], nbytes
    if nbytes > _SAMPLES * _SAMPLE:
        begins = [i * (nbytes - _SAMPLE) // (_SAMPLES - 1) for i in range(_SAMPLES)]
        count = _SAMPLE
    if file is not None and is_url(os.fsencode(file)):
        with ThreadPoolExecutor(len(begins), "onnxmap-samples") as pool:  # each one is a request
            samples = list(pool.map(lambda begin: read(begin, count), begins))
    else:
        samples = [read(begin, count) for begin in begins]
    return hashlib.blake2b(b"".join(samples), digest_size=16).digest()


def _message(tensor: _core.Tensor) -> bytes:
    message = None if tensor.is_external else tensor._message()
    if message is not None:
        return message
    # The message does not hold the bytes: one of several segments, or an empty range of a file.
    if tensor.dtype == DataType.STRING:
        return _header(tensor) + _encoded(string_data=tensor.numpy().reshape(-1).tolist())
    return _header(tensor) + _encoded(raw_data=tensor.tobytes())


def _header(tensor: _core.Tensor) -> bytes:
    """The TensorProto without its values."""
    message = tensor.proto
    texts = {key: getattr(tensor, key) for key in ("name", "doc_string") if message.HasField(key)}
    props = _entries(tensor.metadata_props)
    return _encoded(dims=tensor.shape, data_type=int(tensor.dtype), metadata_props=props, **texts)


def _encoded(**fields: Any) -> bytes:
    """The bytes of a TensorProto."""
    return _core.new("TensorProto", **fields).SerializeToString()


def _entries(texts: Any) -> list[dict[str, str]]:
    return [{"key": key, "value": str(text)} for key, text in texts.items()]
