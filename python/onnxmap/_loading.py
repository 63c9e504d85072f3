"""Opening models, tensors, values and operator sets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._model import Model
from onnxmap._operator_set import OperatorSet
from onnxmap._options import Options
from onnxmap._paths import absolute_path, is_url, without_file_scheme

if TYPE_CHECKING:
    import mmap
    import pathlib
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np

    from onnxmap._bulk import FloatType
    from onnxmap._limits import Limits
    from onnxmap._options import Check, Io, LinkPolicy
    from onnxmap._progress import ProgressArgument
    from onnxmap._remote.files import RemoteFolder
    from onnxmap._values import Kind, Value

    # collections.abc.Buffer is Python 3.12's.
    Buffer = bytes | bytearray | memoryview | mmap.mmap | np.ndarray

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


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
    document, name = _open(path, "ModelProto", options, external_root, storage_options)
    return Model(document, name)


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
    root = b"" if external_root is None else _root(external_root, None, options.limits)
    document = _core.load_buffer(buffer, "ModelProto", options, root, require_model=True)
    return Model(document, None)


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
    _check_name(message)
    return _load_document(path, message, Options(io=io, limits=limits)).proto


def loads_proto(buffer: Buffer, message: str, *, limits: Limits | None = None) -> _core.ProtoView:
    """Return a view of a message in a buffer, without copying it; see `load_proto`."""
    _check_name(message)
    return _core.load_buffer(buffer, message, Options(limits=limits), b"").proto


def load_tensor(
    path: Path,
    *,
    link_policy: LinkPolicy = "contained",
    allow_hardlinks: bool = False,
    io: Io = "auto",
    watch: bool = True,
    lenient: bool = False,
    limits: Limits | None = None,
) -> _core.Tensor:
    """Return the tensor in a file that holds one TensorProto. For the arguments, see `load`."""
    options = Options(link_policy, allow_hardlinks, io, "full", watch, lenient, limits)
    tensor = _load_document(path, "TensorProto", options).root()
    assert isinstance(tensor, _core.Tensor)
    return tensor


def load_operator_set(path: Path, *, io: Io = "auto", limits: Limits | None = None) -> OperatorSet:
    """Return the operator set in a file that holds one OperatorSetProto."""
    options = Options(io=io, limits=limits)
    return OperatorSet(_load_document(path, "OperatorSetProto", options).proto)


def load_value(
    path: Path,
    kind: Kind,
    *,
    limits: Limits | None = None,
) -> Value:
    """Return the value in a file of test data: an input or output, as onnx-data.proto stores it.

    Args:
        path: the path of the file.
        kind: "tensor" gives an array, "sequence" a list, "map" a dict, "optional" a value or None.
            Arrays are read-only views if the stored bytes allow it.
        limits: as for `load`.

    Source: onnx-data.proto.
    """
    from onnxmap._values import MESSAGE_OF_KIND, value_of

    if kind not in MESSAGE_OF_KIND:
        raise ValueError(f"kind must be one of {sorted(MESSAGE_OF_KIND)}, not {kind!r}")
    document = _load_document(path, MESSAGE_OF_KIND[kind], Options(limits=limits))
    return value_of(document.proto)


def load_test_data(
    folder: Path, model: Model | Path | None = None
) -> tuple[list[Value], list[Value]]:
    """Return the inputs and outputs in a backend-test folder, like `test_data_set_0`.

    Args:
        folder: the folder with the files `input_0.pb`, `output_0.pb` and so on.
        model: the model whose inputs and outputs say which values are sequences or optionals. By
            default, `model.onnx` beside the folder; if there is none, every value is a tensor.

    Returns:
        Two lists in the order of the files. Their items are arrays, or lists, dicts or None if the
        model declares such types.
    """
    import pathlib

    place = pathlib.Path(os.fsdecode(folder)).absolute()
    if model is None:
        beside = place.parent / "model.onnx"
        model = beside if beside.exists() else None
    if model is not None and not isinstance(model, Model):
        model = load(model)
    inputs: Iterable[_core.ValueInfo] = () if model is None else model.graph.inputs
    outputs: Iterable[_core.ValueInfo] = () if model is None else model.graph.outputs
    return _numbered_values(place, "input", inputs), _numbered_values(place, "output", outputs)


def _numbered_values(
    folder: pathlib.Path, stem: str, declared: Iterable[_core.ValueInfo]
) -> list[Value]:
    from onnxmap._values import kind_of, numbered_files

    kinds = [kind_of(info) for info in declared]
    return [
        load_value(file, kinds[number] if number < len(kinds) else "tensor")
        for number, file in numbered_files(folder, stem)
    ]


def _check_name(message: object) -> None:
    if not isinstance(message, str):
        raise TypeError(f"message must be a str like 'NodeProto', not {type(message).__name__}")


def _load_document(path: Path, message: str, options: Options) -> _core.Document:
    return _open(path, message, options, None, None)[0]


def _open(
    path: Path,
    message: str,
    options: Options,
    external_root: Path | None,
    storage_options: Mapping[str, object] | None,
) -> tuple[_core.Document, bytes]:
    """The document of a file or a URL, and its name as bytes."""
    name = _file_name(path)
    given = None
    if external_root is not None:
        given = _root(external_root, storage_options, options.limits)
    if not is_url(name):
        folder = _folder_of(name)
        root = folder if given is None else given
        return _core.load_file(name, message, options, root, folder), name
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


def _file_name(path: Path) -> bytes:
    if hasattr(path, "read"):
        raise TypeError(
            "path must be a path, not a file object; use onnxmap.loads(file.read()) for that"
        )
    name = without_file_scheme(os.fsencode(path))
    if b"\0" in name:
        raise ValueError("embedded null byte")
    return name


def _absolute(name: bytes) -> bytes:
    if b"\0" in name:
        raise ValueError("embedded null byte")
    return absolute_path(name)


def _folder_of(name: bytes) -> bytes:
    return os.path.dirname(absolute_path(name))
