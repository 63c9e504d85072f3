"""Opening models, and files of any message."""

from __future__ import annotations

import errno
import mmap
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxmap import _core, _remote
from onnxmap._base.options import Options
from onnxmap._base.paths import absolute_path, checked_name, is_url
from onnxmap._files.model import Model
from onnxmap._write.text_files import bytes_of_text_file
from onnxmap.errors import REMEDIES, FileChangedError, ParseError, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Unpack

    from onnxmap._base.limits import Limits
    from onnxmap._base.options import Check, Io, LinkPolicy, LoadOptions
    from onnxmap._base.paths import Path
    from onnxmap._read.bulk_arrays import FloatType
    from onnxmap._remote.files import RemoteFolder
    from onnxmap._show.progress import ProgressArgument

    # collections.abc.Buffer is Python 3.12's.
    Buffer = bytes | bytearray | memoryview | mmap.mmap | np.ndarray
    Storage = Mapping[str, object] | None

_LOADS_PROTO = "loads_proto({}, {!r})"
_BUFFERS = (bytearray, memoryview, mmap.mmap, np.ndarray)


def load(
    path: Path,
    external_root: Path | None = None,
    link_policy: LinkPolicy = "contained",
    allow_hardlinks: bool = False,
    io: Io = "auto",
    check: Check = "full",
    watch: bool = True,
    lenient: bool = False,
    limits: Limits | None = None,
    storage_options: Storage = None,
) -> Model:
    """Return the model in a file, without reading its weights.

    By default the file is mapped. Its structure is read now, a tensor when it is used.

    A file that begins like a model in protobuf's text format or JSON is read as that.

    Args:
        path: the path of the file, or a URL that fsspec reads (`https://…`, `s3://…`). If it is a
            URL, requests for ranges read the structure, and each tensor when it is used.
        external_root: the folder that external locations are relative to, a path or a URL. By
            default, the folder of the model.
        link_policy: which symbolic links to external data are followed. "contained": links that
            end in `external_root`. If `path` itself is a link (as in a Hugging Face cache), also
            links that end in the real folder of the model file. "strict": none. "trusted": all.
            Every policy refuses a location that, as a string, leads out of the folder, and one that
            names no regular file.
        allow_hardlinks: read external files that have another hard link. The other link may be
            outside the folder.
        io: "mmap" maps the files. "read" maps nothing and reads each tensor when it is used, so a
            later truncation of the file does no harm. "auto" maps, but reads if mapping is refused
            or the file is on a network file system.
        check: "full" checks the whole file as protobuf does. "lazy" checks the typed payload of a
            tensor at the first access.
        watch: raise FileChangedError if the size or modification time of a file has changed since
            the file was opened. They are checked while loading and at the start of calls that read
            much (`views()`, whole columns). They are also checked when a tensor is read, but at
            most every 10 ms.
        lenient: read some invalid tensors as onnx reads them, and warn (`TensorWarning`), instead
            of raising TensorError. These are tensors with data in more than one field, with more
            packed bytes than they need, or with integers out of range.
        limits: bounds on the time and memory that the file may cost. For URLs, also on the time
            that a server may take.
        storage_options: for URLs: options for fsspec, in addition to its own configuration.

    Raises:
        ParseError: the file is not an ONNX model; `.offset` and `.path` say where it goes wrong.
        LimitError: the file exceeds one of the limits.
        TransferTimeoutError: the server exceeds one of the limits.
        FileChangedError: the file was written while it was loaded.
        OSError: the file cannot be read.
        ImportError: a package that URLs need is missing (`pip install 'onnxmap[remote]'`).

    Example:
        >>> import onnxmap
        >>> model = onnxmap.load("model.onnx")  # doctest: +SKIP
        >>> model.initializers["conv1.weight"].numpy()  # doctest: +SKIP
    """
    options = Options(
        link_policy=link_policy,
        allow_hardlinks=allow_hardlinks,
        io=io,
        check=check,
        watch=watch,
        lenient=lenient,
        limits=limits,
        external_root=external_root,
        storage_options=storage_options,
    )
    try:
        document, name = open_file(path, "ModelProto", options)
    except ParseError as error:
        # What is not regular is a pipe, which would have to be waited for.
        is_regular = error.code != "model.not_regular"
        model = _load_text(checked_name(path), options) if is_regular else None
        if model is None:
            raise
        return model
    _check_view(document, name)
    return Model(document, name, options)


def _load_text(name: bytes, options: Options) -> Model | None:
    """The model in a file in a text form; None for any other file."""
    try:
        found = None if is_url(name) else bytes_of_text_file(name)
        if found is None:
            return None
        root = _root(options, _folder_of(name))
        document = _core.load_buffer(found[0], "ModelProto", options, root, require_model=True)
    except ParseError as wrong:
        place = printable(repr(os.fsdecode(name)))
        wrong.args = (f"{place}: {str(wrong).removeprefix('buffer: ')}",)
        raise wrong from None
    return Model(document, name, options, found[1])


def _check_view(document: _core.Document, name: bytes) -> None:
    """Raise FileChangedError if a model is a view of a file that has changed since."""
    prefix = _core.VIEW_KEYS
    props = document.proto.metadata_props
    noted = {one.key: one.value for one in props if one.key.startswith(prefix)}
    location = noted.get(f"{prefix}file", "").encode("utf-8", "surrogateescape")
    if not location or is_url(name) or not _core.is_safe_location(location):
        return
    shown = os.fsdecode(os.path.join(_folder_of(name), location))
    now = os.stat(shown)
    state = {f"{prefix}size": str(now.st_size), f"{prefix}modified_ns": str(now.st_mtime_ns)}
    if not state.items() <= noted.items():
        message = f"{os.fsdecode(name)!r} is a view of {shown!r}, which has changed since"
        raise FileChangedError(message, path=shown, remedy=REMEDIES["view"])


def loads(
    buffer: Buffer,
    external_root: Path | None = None,
    link_policy: LinkPolicy = "contained",
    allow_hardlinks: bool = False,
    io: Io = "auto",
    check: Check = "full",
    watch: bool = True,
    lenient: bool = False,
    limits: Limits | None = None,
    storage_options: Storage = None,
) -> Model:
    """Return the model in a buffer (bytes, memoryview, mmap, ndarray), without copying it.

    The buffer must be C-contiguous. It is kept alive as long as the model or one of its arrays.
    External data need an `external_root`; `io`, `watch`, `storage_options` and the policies apply
    to external files only. For the arguments and errors, see `load`.
    """
    options = Options(
        link_policy=link_policy,
        allow_hardlinks=allow_hardlinks,
        io=io,
        check=check,
        watch=watch,
        lenient=lenient,
        limits=limits,
        external_root=external_root,
        storage_options=storage_options,
    )
    return Model(open_buffer(buffer, "ModelProto", options, require_model=True), None, options)


def load_arrays(
    path: Path,
    names: Sequence[str] | str | None = None,
    dtype: FloatType = None,
    threads: int | None = None,
    progress: ProgressArgument = False,
    **options: Unpack[LoadOptions],
) -> dict[str, np.ndarray[Any, Any]]:
    """Return the initializers of a model as new arrays by name, read in parallel.

    The file is closed afterwards. The first arguments are those of `Model.arrays`, the options
    those of `load`. For the errors, see these two.

    Example:
        >>> weights = onnxmap.load_arrays("model.onnx", "*.weight")  # doctest: +SKIP
    """
    with load(path, **options) as model:
        return model.arrays(names, dtype, threads, progress)


def load_proto(
    path: Path,
    message: str,
    *,
    io: Io = "auto",
    limits: Limits | None = None,
    storage_options: Storage = None,
) -> _core.ProtoView:
    """Return a view of a file that holds one message of the schema.

    For example, `load_proto(path, "NodeProto")`. A ModelProto is checked only as protobuf checks
    it: it needs no graph, and may even be empty.
    """
    check_name(message)
    call = _LOADS_PROTO.format("{}", message)
    options = Options(io=io, limits=limits, storage_options=storage_options)
    return open_file(path, message, options, call)[0].proto


def loads_proto(buffer: Buffer, message: str, *, limits: Limits | None = None) -> _core.ProtoView:
    """Return a view of a message in a buffer, without copying it; see `load_proto`."""
    check_name(message)
    call = _LOADS_PROTO.format("{}", message)
    return open_buffer(buffer, message, Options(limits=limits), call).proto


def wrap(view: _core.ProtoView) -> Any:
    """Return the object for the message of a view: a Node, a Graph, a Tensor ...

    It is the inverse of `.proto`, and shares the file or buffer of the view.

    Raises:
        TypeError: the message has no class of its own, or is a model, which `loads` opens.
        ValueError: it is a TypeProto without a type.

    Example:
        >>> node = onnxmap.wrap(onnxmap.load_proto("node.pb", "NodeProto"))  # doctest: +SKIP
    """
    if not isinstance(view, _core.ProtoView):
        raise TypeError(f"wrap takes a ProtoView, not {type(view).__name__}")
    if view.message_type == "ModelProto":
        raise TypeError("for a Model, use onnxmap.loads(view.SerializeToString())")
    found = _core.wrap(view)
    if found is None:
        raise ValueError("the TypeProto says no type")
    if isinstance(found, _core.ProtoView):
        raise TypeError(f"{view.message_type} has no class of its own; use the view itself")
    return found


def check_name(message: object) -> None:
    """Raise TypeError if the name of a type of message is no str."""
    if not isinstance(message, str):
        raise TypeError(f"message must be a str like 'NodeProto', not {type(message).__name__}")


def open_buffer(
    buffer: Buffer,
    message: str,
    options: Options,
    call: str = "loads({})",
    *,
    require_model: bool = False,
) -> _core.Document:
    """Open the document of a message in a buffer; errors name the function of `call`.

    With `require_model`, a message without a graph is refused, too.
    """
    function = call.partition("(")[0]
    of_path = function.replace("loads", "load")
    if isinstance(buffer, str | os.PathLike):
        raise TypeError(f"{function} takes the bytes themselves; {of_path} takes a path")
    _check_kind(buffer, message, f"{function} takes bytes", call)
    root = _root(options, b"")
    try:
        return _core.load_buffer(buffer, message, options, root, require_model=require_model)
    except ParseError as error:
        if isinstance(buffer, bytes) and os.path.exists(buffer):
            advice = f"these bytes are the path of a file, which {of_path} opens"
            error.args = (f"{error}; {advice}",)
        raise


def open_file(
    path: Path, message: str, options: Options, call: str = "loads({})"
) -> tuple[_core.Document, bytes]:
    """Open the document of a file or a URL. Return its name as bytes, too.

    `call` is the call for bytes instead of a path, which errors advise.
    """
    _check_kind(path, message, "path must be a path", call, _BUFFERS)
    name = checked_name(path, _advice(call))
    if is_url(name):
        if options.io == "mmap":
            raise ValueError('io="mmap" is for local files; for a URL, use io="auto" or io="read"')
        url, remote = os.fsdecode(name), _remote.files
        own = remote.RemoteFolder(url, options, of_file=True)
        with remote.opening_file(url, options) as file:
            return _core.load_remote(file, message, options, _root(options, own), own.url), name
    folder = _folder_of(name)
    try:
        return _core.load_file(name, message, options, _root(options, folder), folder), name
    except OSError as error:
        # The bytes of a file are hardly ever a name: they have control characters.
        if error.errno in (errno.ENOENT, errno.ENAMETOOLONG) and min(name, default=32) < 32:
            error.strerror = f"{error.strerror}{_advice(call)}"
        raise


def _check_kind(
    given: Any, message: str, takes: str, call: str, buffers: tuple[type, ...] = ()
) -> None:
    """Raise TypeError if a message or a file object was given, or one of these buffers.

    The error says which call takes its bytes.
    """
    kind, data = type(given).__name__, "data"
    if hasattr(given, "SerializeToString"):
        data = "message.SerializeToString()"
        kind = given.message_type if isinstance(given, _core.ProtoView) else kind
        if kind != message:
            call = _LOADS_PROTO.format("{}", kind)
    elif hasattr(given, "read") and not isinstance(given, mmap.mmap):
        kind, data = "file object", "file.read()"
    elif not isinstance(given, buffers):
        return
    used = call.replace("{}", data, 1)
    raise TypeError(f"{takes}, not a {kind}; use onnxmap.{used} for that")


def _root(options: Options, usual: bytes | RemoteFolder) -> bytes | RemoteFolder:
    """A folder for external data, in the form that the core takes; `usual` if none is given."""
    if options.external_root is None:
        return usual
    name = os.fsencode(options.external_root)
    return _remote.files.RemoteFolder(os.fsdecode(name), options) if is_url(name) else name


def _advice(call: str) -> str:
    """What an error adds if the bytes of a file may have been given as its path."""
    return f"; use onnxmap.{call.replace('{}', 'data', 1)} for the bytes of a file"


def _folder_of(name: bytes) -> bytes:
    return os.path.dirname(absolute_path(name))
