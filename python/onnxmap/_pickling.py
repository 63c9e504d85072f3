"""Tensors in a pickle. A tensor of a file is pickled as a reference, any other with its values.

A reference takes a few hundred bytes. It says where the values are, and has a digest of samples of
them to detect a change of the file. Unpickling opens the file, in this process or another. A tensor
that was stored in its model is unpickled as a tensor whose external data are in the model's file.

A pickle names `_by_value` or `_by_reference` of this module. Stored pickles depend on these names.
"""

from __future__ import annotations

import contextlib
import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from onnxmap import _core
from onnxmap._enums import DataLocation, DataType
from onnxmap._options import Options
from onnxmap._paths import absolute_path, is_url
from onnxmap.errors import ExternalDataError, FileChangedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    _Read = Callable[[int, int], bytes | bytearray]

    from onnxmap._remote.files import PickledFile, PickledFolder

# In a reference, the options of `load` are one text, like "contained+hardlinks+io=read".
_HARDLINKS, _IO, _UNWATCHED = "hardlinks", "io=", "unwatched"
_FILE = "file"  # for a remote model: the root is the URL of the file itself

# The digest covers all bytes of a small tensor. For a large one it covers samples of `_SAMPLE`
# bytes: the first bytes, the last ones, and some between.
_SAMPLE = 4 << 10
_SAMPLES = 16

_new_root: ContextVar[str | None] = ContextVar("onnxmap.relocate", default=None)


@contextlib.contextmanager
def relocate(
    root: str | bytes | os.PathLike[str] | os.PathLike[bytes],
) -> Iterator[None]:
    """Unpickle tensors, inside the block, from the files of the same names below `root`.

    Use it if the files were copied to another folder or machine. `root`, a path or a URL, replaces
    the folder of the model, or of its external data. The files must have the same size and content.
    Other threads are not affected.

    Example:
        >>> with onnxmap.relocate("/data/models"):  # doctest: +SKIP
        ...     tensor = pickle.loads(pickled)
    """
    name = os.fsencode(root)
    token = _new_root.set(os.fsdecode(name if is_url(name) else absolute_path(name)))
    try:
        yield
    finally:
        _new_root.reset(token)


def relocated_to() -> str | None:
    """Return the root of the innermost `relocate` of this context."""
    return _new_root.get()


def reduce_tensor(
    tensor: _core.Tensor,
) -> tuple[Callable[..., _core.Tensor], tuple[object, ...]]:
    """See `Tensor.__reduce__`."""
    reference = reference_to(tensor)
    if reference is None:
        return _by_value, (_message(tensor), tensor._lenient)
    return _by_reference, tuple(with_digest(reference, tensor))


class Reference(NamedTuple):
    """Where the values of a tensor are in a file, and how to detect a change of the file."""

    header: bytes  # the TensorProto without its values
    root: str  # the folder; no file outside is opened
    location: str  # the path of the file below the folder, links resolved
    name: str  # the same path before links were resolved
    offset: int
    nbytes: int
    file_size: int
    digest: bytes  # of samples of the values; empty if they have not been read yet
    policy: str  # the options of `load`, see _policy_word


def reference_to(tensor: _core.Tensor) -> Reference | None:
    """Return a reference to the values, or None if the values themselves must be pickled.

    It names the file that the tensor has open, in a folder that the model may read from. No value
    is read, so the digest is empty.
    """
    place = tensor._reference()
    if place is None:
        return None
    root, location, name, offset, nbytes, file_size, has_hard_links = place
    links, allow_hardlinks, io, watch = tensor._policy
    if not root.startswith(b"/"):
        return _remote_reference(tensor, place)
    if not tensor.is_external:  # the caller chose this file, so its other hard links do no harm
        allow_hardlinks = allow_hardlinks or has_hard_links
    return Reference(
        _header(tensor),
        os.fsdecode(root),
        os.fsdecode(location),
        os.fsdecode(name),
        offset,
        nbytes,
        file_size,
        b"",
        _policy_word(links, allow_hardlinks, io, watch),
    )


def with_digest(reference: Reference, tensor: _core.Tensor) -> Reference:
    """Return the reference with its digest. This reads samples of the values."""
    return reference._replace(digest=_digest(tensor, reference.nbytes))


def open_reference(reference: Reference, io: str | None = None) -> _core.Tensor:
    """Open the tensor of a reference.

    Args:
        reference: the reference.
        io: how to read the file, instead of how the model was read; see `load`.

    Raises:
        FileChangedError: the file changed after the reference was made.
    """
    if io is not None:
        words = [word for word in reference.policy.split("+") if not word.startswith(_IO)]
        reference = reference._replace(policy="+".join([*words, _IO + io]))
    return _by_reference(*reference)


def _remote_reference(
    tensor: _core.Tensor, place: tuple[bytes, bytes, bytes, int, int, int, bool]
) -> Reference | None:
    from onnxmap._remote.files import name_of

    root, location, _, offset, nbytes, file_size, _ = place
    policy = _policy_word(*tensor._policy)
    url = tensor.file
    assert url is not None  # a tensor without a file has no place
    # The tensor is in the model's own file, or was unpickled from such a tensor. Then the root is
    # the URL of the file: the caller chose that URL, and it may hold anything, even a query.
    if not tensor.is_external or os.fsencode(url) == root:
        root, location = os.fsencode(url), os.fsencode(name_of(url))
        policy += f"+{_FILE}"
    if not _core.is_safe_location(location):
        return None
    name = os.fsdecode(location)
    header = _header(tensor)
    return Reference(header, os.fsdecode(root), name, name, offset, nbytes, file_size, b"", policy)


def _by_value(message: bytes, lenient: bool) -> _core.Tensor:
    return _tensor_of(message, b"", Options(lenient=lenient))


def _by_reference(
    header: bytes,
    root: str,
    location: str,
    name: str,
    offset: int,
    nbytes: int,
    file_size: int,
    digest: bytes,
    policy: str,
) -> _core.Tensor:
    policy = str(policy)
    options = _options_of(policy)
    folder = _new_root.get()
    is_file = _FILE in policy.split("+") and folder is None
    if folder is None:
        folder = root
    else:
        location = name  # a copied folder may hold a file where this one held a link
    entries = {"location": location, "offset": str(offset), "length": str(nbytes)}
    message = header + _encoded(
        data_location=int(DataLocation.EXTERNAL), external_data=_entries(entries)
    )
    tensor = _tensor_of(message, _root_of(folder, is_file), options)
    try:
        found_size = tensor._file_size()
    except ExternalDataError as error:
        if error.code != "ext.bounds":
            raise
        found_size = None  # the file is shorter than it was
    if found_size != file_size or _digest(tensor, nbytes) != digest:
        path = tensor.file or os.path.join(folder, location)
        raise FileChangedError(
            f"tensor {tensor.name[:200]!r}: {path!r} is not the file that was pickled; "
            "restore it, or pickle the tensor again",
            code="file.changed",
            path=path,
            filename=path,
        )
    return tensor


def _root_of(folder: str, is_file: bool) -> bytes | PickledFolder | PickledFile:
    name = os.fsencode(folder)
    if not is_url(name):
        return absolute_path(name)
    from onnxmap._remote.files import PickledFile, PickledFolder

    return PickledFile(folder) if is_file else PickledFolder(folder)


def _policy_word(links: str, allow_hardlinks: bool, io: str, watch: bool) -> str:
    words = [links]
    if allow_hardlinks:
        words.append(_HARDLINKS)
    if io != "auto":
        words.append(_IO + io)
    if not watch:
        words.append(_UNWATCHED)
    return "+".join(words)


def _options_of(policy: str) -> Options:
    links, *words = policy.split("+")
    modes: list[Any] = [word.removeprefix(_IO) for word in words if word.startswith(_IO)] or [
        "auto"
    ]
    known: Any = links
    unknown = {word for word in words if not word.startswith(_IO)} - {
        _HARDLINKS,
        _UNWATCHED,
        _FILE,
    }
    if unknown:
        raise ValueError(
            f"the pickle has the unknown policy {policy!r}; unpickle it with a later onnxmap"
        )
    return Options(
        link_policy=known,
        allow_hardlinks=_HARDLINKS in words,
        io=modes[0],
        watch=_UNWATCHED not in words,
    )


def _tensor_of(
    message: bytes, root: bytes | PickledFolder | PickledFile, options: Options
) -> _core.Tensor:
    tensor = _core.load_buffer(message, "TensorProto", options, root).root()
    assert isinstance(tensor, _core.Tensor)
    return tensor


def _digest(tensor: _core.Tensor, nbytes: int) -> bytes:
    is_remote = tensor.file is not None and is_url(os.fsencode(tensor.file))
    return digest_of(tensor._read, nbytes, is_remote)


def digest_of(read: _Read, nbytes: int, is_remote: bool) -> bytes:
    """Return a digest of samples of `nbytes` bytes; `read(offset, count)` returns bytes of them."""
    import hashlib

    digest = hashlib.blake2b(digest_size=16)
    if nbytes <= _SAMPLES * _SAMPLE:
        digest.update(read(0, nbytes))
    else:
        begins = [i * (nbytes - _SAMPLE) // (_SAMPLES - 1) for i in range(_SAMPLES)]
        for sample in _samples(read, begins, is_remote):
            digest.update(sample)
    return digest.digest()


def _samples(read: _Read, begins: list[int], is_remote: bool) -> list[bytes | bytearray]:
    if not is_remote:
        return [read(begin, _SAMPLE) for begin in begins]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(begins), "onnxmap-samples") as pool:  # each sample is a request
        return list(pool.map(lambda begin: read(begin, _SAMPLE), begins))


def _message(tensor: _core.Tensor) -> bytes:
    message = None if tensor.is_external else tensor._message()
    if message is not None:
        return message
    # The message does not hold the bytes: one of several segments, or an empty range of a file.
    if tensor.dtype == DataType.STRING:
        texts = tensor.numpy().reshape(-1)
        return _header(tensor) + _encoded(string_data=list(texts))
    return _header(tensor) + _encoded(raw_data=tensor.tobytes())


def _header(tensor: _core.Tensor) -> bytes:
    """The TensorProto without its values."""
    fields: dict[str, Any] = {"dims": tensor.shape, "data_type": int(tensor.dtype)}
    for name in ("name", "doc_string"):
        if tensor.proto.HasField(name):
            fields[name] = getattr(tensor, name)
    fields["metadata_props"] = _entries(tensor.metadata_props)
    return _encoded(**fields)


def _encoded(**fields: Any) -> bytes:
    """The bytes of a TensorProto."""
    return _core.new("TensorProto", **fields).SerializeToString()


def _entries(texts: Any) -> list[Any]:
    return [_core.new("StringStringEntryProto", key=key, value=text) for key, text in texts.items()]
