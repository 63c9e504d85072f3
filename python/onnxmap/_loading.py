"""Opening models, and files of any message."""

from __future__ import annotations

import errno
import mmap
import os
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._file_forms import BINARY
from onnxmap._model import Model
from onnxmap._operator_set import OperatorSet
from onnxmap._options import Options
from onnxmap._paths import absolute_path, is_url, without_file_scheme
from onnxmap._text import escape
from onnxmap.errors import FileChangedError, ParseError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from onnxmap._bulk import FloatType
    from onnxmap._limits import Limits
    from onnxmap._options import Check, Io, LinkPolicy
    from onnxmap._paths import Path
    from onnxmap._progress import ProgressArgument
    from onnxmap._remote.files import RemoteFolder

    # collections.abc.Buffer is Python 3.12's.
    Buffer = bytes | bytearray | memoryview | mmap.mmap | np.ndarray


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
    storage_options: Mapping[str, object] | None = None,
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
            Every policy refuses a location whose text leads out of the folder, and a location that
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
        lenient: read some wrong tensors as onnx reads them, and warn (`TensorWarning`), instead of
            raising TensorError. These are tensors with data in more than one field, with more
            packed bytes than they need, or with integers out of range.
        limits: bounds on the time and memory that the file may cost. For URLs, also on the time
            that a server may take.
        storage_options: for URLs: options for fsspec, beside its own configuration.

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
    options = Options(link_policy, allow_hardlinks, io, check, watch, lenient, limits)
    form = BINARY
    try:
        document, name = open_file(path, "ModelProto", options, external_root, storage_options)
    except ParseError as error:
        if error.code == "model.not_regular":  # a pipe, which would have to be waited for
            raise
        name = _file_name(path, "ModelProto", "loads({})")
        root = _folder_of(name) if external_root is None else external_root
        from onnxmap._model_texts import bytes_of_text_file

        try:
            found = None if is_url(name) else bytes_of_text_file(name)
            if found is None:
                raise error from None
            data, form = found
            document = open_buffer(data, "ModelProto", options, root, "load", require_model=True)
        except ParseError as wrong:
            raise (wrong if wrong is error else _of_file(name, wrong)) from None
    else:
        _check_view(document, name)
    return Model(document, name, _arguments(options, external_root), form)


def _of_file(name: bytes, error: ParseError) -> ParseError:
    """The error of a text, with the name of its file."""
    text = f"{escape(repr(os.fsdecode(name)))}: {str(error).removeprefix('buffer: ')}"
    return ParseError(text, code=error.code, offset=error.offset, path=error.path)


def _check_view(document: _core.Document, name: bytes) -> None:
    """Raise FileChangedError if a model is a view of a file that has changed since."""
    noted = {
        entry.key: entry.value
        for entry in document.proto.metadata_props
        if entry.key.startswith(_core.VIEW_KEYS)
    }
    location = noted.get(_core.VIEW_KEYS + "file", "").encode("utf-8", "surrogateescape")
    if not noted or is_url(name) or not _core.is_safe_location(location):
        return
    shown = os.fsdecode(os.path.join(_folder_of(name), location))
    now = os.stat(shown)
    state = (str(now.st_size), str(now.st_mtime_ns))
    if state != (noted.get(_core.VIEW_KEYS + "size"), noted.get(_core.VIEW_KEYS + "modified_ns")):
        raise FileChangedError(
            f"{os.fsdecode(name)!r} is a view of {shown!r}, which has changed since; "
            'load that file, and save the view again with external_data="view"',
            code="file.changed",
            path=shown,
        )


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
) -> Model:
    """Return the model in a buffer (bytes, memoryview, mmap, ndarray), without copying it.

    The buffer must be C-contiguous. It is kept alive as long as the model or one of its arrays.
    External data need an `external_root`; `io`, `watch` and the policies apply to external files
    only. For the arguments and errors, see `load`.
    """
    options = Options(link_policy, allow_hardlinks, io, check, watch, lenient, limits)
    document = open_buffer(
        buffer, "ModelProto", options, external_root, "loads", require_model=True
    )
    return Model(document, None, _arguments(options, external_root))


def load_arrays(
    path: Path,
    names: Sequence[str] | str | None = None,
    dtype: FloatType = None,
    threads: int | None = None,
    progress: ProgressArgument = False,
    *,
    external_root: Path | None = None,
    link_policy: LinkPolicy = "contained",
    allow_hardlinks: bool = False,
    io: Io = "auto",
    check: Check = "full",
    watch: bool = True,
    lenient: bool = False,
    limits: Limits | None = None,
    storage_options: Mapping[str, object] | None = None,
) -> dict[str, np.ndarray[Any, Any]]:
    """Return the initializers of a model as new arrays by name, read in parallel.

    The file is closed afterwards. The first arguments are those of `Model.arrays`, the others those
    of `load`. For the errors, see these two.

    Example:
        >>> weights = onnxmap.load_arrays("model.onnx", "*.weight")  # doctest: +SKIP
    """
    with load(
        path,
        external_root,
        link_policy,
        allow_hardlinks,
        io,
        check,
        watch,
        lenient,
        limits,
        storage_options,
    ) as model:
        return model.arrays(names, dtype, threads, progress)


def load_proto(
    path: Path, message: str, *, io: Io = "auto", limits: Limits | None = None
) -> _core.ProtoView:
    """Return a view of a file that holds one message of the schema.

    For example, `load_proto(path, "NodeProto")`. A ModelProto is checked only as protobuf checks
    it: it needs no graph, and may even be empty.
    """
    check_name(message)
    in_bytes = f"loads_proto({{}}, {message!r})"
    return open_file(path, message, Options(io=io, limits=limits), in_bytes=in_bytes)[0].proto


def loads_proto(buffer: Buffer, message: str, *, limits: Limits | None = None) -> _core.ProtoView:
    """Return a view of a message in a buffer, without copying it; see `load_proto`."""
    check_name(message)
    return open_buffer(buffer, message, Options(limits=limits), None, "loads_proto").proto


def wrap(view: _core.ProtoView) -> Any:
    """Return the object that a view is the message of: a Node, a Graph, a Tensor ...

    It is the inverse of `.proto`, and shares the file or buffer of the view.

    Raises:
        TypeError: the message has no class of its own, or is a model, which `loads` opens.
        ValueError: it is a TypeProto that says no type.

    Example:
        >>> node = onnxmap.wrap(onnxmap.load_proto("node.pb", "NodeProto"))  # doctest: +SKIP
    """
    if not isinstance(view, _core.ProtoView):
        raise TypeError(f"wrap takes a ProtoView, not {type(view).__name__}")
    if view.message_type == "OperatorSetProto":
        return OperatorSet(view)
    if view.message_type == "ModelProto":
        raise TypeError("for a Model, use onnxmap.loads(view.SerializeToString())")
    found = _core.wrap(view)
    if found is None:
        raise ValueError("the TypeProto says no type")
    if isinstance(found, _core.ProtoView):
        raise TypeError(f"{view.message_type} has no class of its own; use the view itself")
    return found


def _arguments(options: Options, external_root: Path | None) -> dict[str, Any]:
    """The arguments that open the model again in another process."""
    given: dict[str, Any] = {name: getattr(options, name) for name in Options.__slots__}
    if external_root is not None:
        root = without_file_scheme(os.fsencode(external_root))
        given["external_root"] = os.fsdecode(root if is_url(root) else absolute_path(root))
    return given


def check_name(message: object) -> None:
    """Raise TypeError if the name of a type of message is no str."""
    if not isinstance(message, str):
        raise TypeError(f"message must be a str like 'NodeProto', not {type(message).__name__}")


def open_buffer(
    buffer: Buffer,
    message: str,
    options: Options,
    external_root: Path | None,
    caller: str,
    *,
    require_model: bool = False,
) -> _core.Document:
    """Open the document of a message in a buffer; errors name the function `caller`.

    With `require_model`, a message without a graph is refused, too.
    """
    of_path = caller.replace("loads", "load")
    given: object = buffer
    if hasattr(given, "SerializeToString"):
        name = _message_name(given)
        if name != message:
            advice = f"loads_proto(message.SerializeToString(), {name!r})"
            raise TypeError(f"{caller} takes the bytes of a {message}; use onnxmap.{advice}")
        raise TypeError(f"{caller} takes bytes; give it message.SerializeToString() of the {name}")
    if isinstance(given, str) or hasattr(given, "__fspath__"):
        raise TypeError(f"{caller} takes the bytes themselves; {of_path} takes a path")
    if hasattr(given, "read") and not isinstance(given, mmap.mmap):
        raise TypeError(f"{caller} takes bytes, not a file object; give it file.read()")
    root = b"" if external_root is None else _root(external_root, None, options.limits)
    try:
        return _core.load_buffer(buffer, message, options, root, require_model=require_model)
    except ParseError as error:
        if not _is_path(given):
            raise
        advice = f"; these bytes are the path of a file, which {of_path} opens"
        raise ParseError(
            f"{error}{advice}", code=error.code, offset=error.offset, path=error.path
        ) from None


def _is_path(given: object) -> bool:
    return isinstance(given, bytes) and b"\0" not in given and os.path.exists(given)


def open_file(
    path: Path,
    message: str,
    options: Options,
    external_root: Path | None = None,
    storage_options: Mapping[str, object] | None = None,
    in_bytes: str = "loads({})",
) -> tuple[_core.Document, bytes]:
    """Open the document of a file or a URL. Return its name as bytes, too.

    `in_bytes` is the call for bytes instead of a path, which errors advise.
    """
    name = _file_name(path, message, in_bytes)
    given = None
    if external_root is not None:
        given = _root(external_root, storage_options, options.limits)
    if not is_url(name):
        folder = _folder_of(name)
        root = folder if given is None else given
        try:
            return _core.load_file(name, message, options, root, folder), name
        except OSError as error:
            # The bytes of a file are hardly ever a name: they have control characters.
            if error.errno in (errno.ENOENT, errno.ENAMETOOLONG) and _has_controls(name):
                error.strerror = f"{error.strerror}; {_advice(in_bytes)}"
            raise
    if options.io == "mmap":
        raise ValueError('io="mmap" is for local files; for a URL, use io="auto" or io="read"')
    from onnxmap._remote.files import RemoteFolder, opening_file

    url = os.fsdecode(name)
    own = RemoteFolder.of_file(url, storage_options, options.limits)
    with opening_file(url, storage_options, options.limits) as file:
        root = own if given is None else given
        return _core.load_remote(file, message, options, root, own.url), name


def _root(
    path: Path, storage_options: Mapping[str, object] | None, limits: Limits | None
) -> bytes | RemoteFolder:
    """A folder for external data, in the form that the core takes."""
    name = without_file_scheme(os.fsencode(path))
    if not is_url(name):
        return _absolute(name)
    from onnxmap._remote.files import RemoteFolder

    return RemoteFolder(os.fsdecode(name), storage_options, limits)


def _has_controls(name: bytes) -> bool:
    return any(byte < ord(" ") for byte in name)


def _file_name(path: Path, message: str, in_bytes: str) -> bytes:
    given: object = path
    kind = type(given).__name__
    if hasattr(given, "SerializeToString"):
        kind = _message_name(given)
        if kind != message:
            in_bytes = f"loads_proto({{}}, {kind!r})"
        raise _not_a_path(kind, in_bytes, "message.SerializeToString()")
    is_buffer = isinstance(given, (bytearray, memoryview, mmap.mmap))
    if is_buffer or hasattr(given, "__array_interface__"):
        raise _not_a_path(kind, in_bytes, "data")
    if hasattr(given, "read"):
        raise _not_a_path("file object", in_bytes, "file.read()")
    name = without_file_scheme(os.fsencode(path))
    if b"\0" in name:
        raise ValueError(f"embedded null byte in a path; {_advice(in_bytes)}")
    return name


def _message_name(message: object) -> str:
    """The type of a protobuf object or view, like NodeProto."""
    return message.message_type if isinstance(message, _core.ProtoView) else type(message).__name__


def _not_a_path(kind: str, in_bytes: str, data: str) -> TypeError:
    call = in_bytes.replace("{}", data, 1)
    return TypeError(f"path must be a path, not a {kind}; use onnxmap.{call} for that")


def _advice(in_bytes: str) -> str:
    return f"use onnxmap.{in_bytes.replace('{}', 'data', 1)} for the bytes of a file"


def _absolute(name: bytes) -> bytes:
    if b"\0" in name:
        raise ValueError("embedded null byte")
    return absolute_path(name)


def _folder_of(name: bytes) -> bytes:
    return os.path.dirname(absolute_path(name))
