"""Opening models, tensors, values and operator sets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._model import Model, OperatorSet
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
    """A model, opened by mapping its file and reading its structure; no weight is touched.

    Args:
        path: of the file, or a URL that fsspec reads (`https://…`, `s3://…`): then its structure,
            and each tensor when it is asked for, are read by requests for ranges.
        external_root: folder that external locations are relative to, a path or a URL; the model's
            own by default.
        link_policy: which symbolic links external data may be behind. "contained": those that end
            in that folder, or in the real folder of the model file where `path` is a link (as in
            a Hugging Face cache); "strict": none; "trusted": all. A location that leads out by
            its text, or names no regular file, is refused under each of them.
        allow_hardlinks: read external files that have another hard link; it may be outside.
        io: "mmap"; "read": nothing is mapped, and each tensor is read when it is asked for, so that
            truncating the file later cannot hurt; "auto": mmap, but read where mapping is refused
            or the file is on a network file system.
        check: "full" gives protobuf's own verdict on the whole file; "lazy" leaves the typed
            payloads of tensors to the first access.
        watch: raise FileChangedError where the size or the time of modification of a file has
            changed since it was opened. Looked at here, when a call that reads much begins, and
            when a tensor is read, at most every 10 ms.
        lenient: read a tensor with data in more than one field, with more packed bytes than it
            needs or with integers out of range as onnx reads it, and warn (`TensorWarning`);
            otherwise reading it raises TensorError.
        limits: bounds on what the file may ask for, and for URLs on how long a server may take.
        storage_options: for URLs: what fsspec is told, beside its own configuration.

    Raises:
        ParseError: the file is no ONNX model; `.offset` and `.path` say where it goes wrong.
        LimitError: it exceeds one of the limits; TransferTimeoutError: its server does.
        FileChangedError: it was written to meanwhile.
        OSError: it cannot be read.
        ImportError: a package is missing that URLs need (`pip install 'onnxmap[remote]'`).

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
    """A model from any C-contiguous buffer (bytes, memoryview, mmap, ndarray), not copied.

    The buffer is held as long as the model or one of its arrays lives. External data need an
    `external_root`; `io`, `watch` and the policies are about them. Raises as `load` does.
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
    """The initializers of a model as fresh arrays by name, read in parallel; nothing stays open.

    The first arguments are those of `Model.arrays`, the others those of `load`. Raises as these do.

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
    """A view of any message of the schema, as the file has it: `load_proto(p, "NodeProto")`.

    Of a ModelProto it asks no more than protobuf does: no graph, not even a byte.
    """
    _check_name(message)
    return _load_document(path, message, Options(io=io, limits=limits)).proto


def loads_proto(buffer: Buffer, message: str, *, limits: Limits | None = None) -> _core.ProtoView:
    """As `load_proto`, from a buffer that is not copied."""
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
    """A tensor from a file that holds one serialized TensorProto. Arguments are as for `load`."""
    options = Options(link_policy, allow_hardlinks, io, "full", watch, lenient, limits)
    tensor = _load_document(path, "TensorProto", options).root()
    assert isinstance(tensor, _core.Tensor)
    return tensor


def load_operator_set(path: Path, *, io: Io = "auto", limits: Limits | None = None) -> OperatorSet:
    """An operator set from a file that holds one serialized OperatorSetProto."""
    options = Options(io=io, limits=limits)
    return OperatorSet(_load_document(path, "OperatorSetProto", options).proto)


def load_value(
    path: Path,
    kind: Kind,
    *,
    limits: Limits | None = None,
) -> Value:
    """A value of onnx-data.proto from a file: the inputs and outputs of test data.

    Args:
        path: of the file.
        kind: "sequence" gives a list, "map" a dict, "optional" a value or None, "tensor" an array;
            arrays are read-only views where they can be.
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
    """Inputs and outputs of a backend-test folder, like `test_data_set_0`, each in order.

    Args:
        folder: with files `input_0.pb`, `output_0.pb` and so on.
        model: whose inputs and outputs say which values are sequences or optionals; by default
            `model.onnx` beside the folder, and without that every value is a tensor.

    Returns:
        Two lists of arrays (or lists, dicts, None, as the model declares).
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
    """The document of a file or a URL, and which one it is."""
    name = _file_name(path)
    given = None
    if external_root is not None:
        given = _root(external_root, storage_options, options.limits)
    if not is_url(name):
        folder = _folder_of(name)
        root = folder if given is None else given
        return _core.load_file(name, message, options, root, folder), name
    if options.io == "mmap":
        raise ValueError('io="mmap" is for local files; a URL is read by requests')
    from onnxmap._remote.files import RemoteFolder, opening_file

    url = os.fsdecode(name)
    own = RemoteFolder.of_file(url, storage_options, options.limits)
    with opening_file(url, storage_options, options.limits) as file:
        root = own if given is None else given
        return _core.load_remote(file, message, options, root, own.url), name


def _root(
    path: Path, storage_options: Mapping[str, object] | None, limits: Limits | None
) -> bytes | RemoteFolder:
    """A folder for external data, as the core takes it."""
    name = without_file_scheme(os.fsencode(path))
    if not is_url(name):
        return _absolute(name)
    from onnxmap._remote.files import RemoteFolder

    return RemoteFolder(os.fsdecode(name), storage_options, limits)


def _file_name(path: Path) -> bytes:
    if hasattr(path, "read"):
        raise TypeError("a path is needed; for a file object: onnxmap.loads(file.read())")
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
