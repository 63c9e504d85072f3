"""Opening models, tensors, values and operator sets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from onnxmap import _core
from onnxmap.limits import Limits
from onnxmap.model import Model, OperatorSet

if TYPE_CHECKING:
    import mmap

    import numpy as np

    # collections.abc.Buffer is Python 3.12's.
    Buffer = bytes | bytearray | memoryview | mmap.mmap | np.ndarray

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
    Io = Literal["auto", "mmap", "read"]
    Check = Literal["full", "lazy"]
    Value = np.ndarray | list["Value"] | dict[object, "Value"] | None

_DEFAULT_LIMITS = Limits()


def _limits(limits: Limits | None) -> Limits:
    if limits is None:
        return _DEFAULT_LIMITS
    if not isinstance(limits, Limits):
        raise TypeError(f"limits must be an onnxmap.Limits, not {type(limits).__name__}")
    return limits


def load(
    path: Path,
    external_root: Path | None = None,
    *,
    io: Io = "auto",
    check: Check = "full",
    lenient: bool = False,
    limits: Limits | None = None,
) -> Model:
    """A model, opened by mapping its file and reading its structure; no weight is touched.

    Args:
        path: of the file.
        external_root: folder that external locations are relative to; the model's own by default.
        io: "mmap"; "read": nothing is mapped, and each tensor is read when it is asked for, so that
            truncating the file later cannot hurt; "auto": mmap, but read where mapping is refused
            or the file is on a network file system.
        check: "full" gives protobuf's own verdict on the whole file; "lazy" leaves the typed
            payloads of tensors to the first access.
        lenient: read a tensor with data in more than one field, with more packed bytes than it
            needs or with integers out of range as onnx reads it, and warn (`TensorWarning`);
            otherwise reading it raises TensorError.
        limits: bounds on what the file may ask for.

    Raises:
        ParseError: the file is no ONNX model; `.offset` and `.path` say where it goes wrong.
        LimitError: it exceeds one of the limits.
        OSError: it cannot be read.

    Example:
        >>> import onnxmap
        >>> model = onnxmap.load("model.onnx")  # doctest: +SKIP
        >>> model.initializers["conv1.weight"].numpy()  # doctest: +SKIP
    """
    name = _file_name(path)
    folder = _folder_of(name)
    root = folder if external_root is None else _absolute(external_root)
    document = _core.load_file(
        name, "ModelProto", io, check, root, _limits(limits), lenient, folder
    )
    return Model(document, name)


def loads(
    buffer: Buffer,
    external_root: Path | None = None,
    *,
    io: Io = "auto",
    check: Check = "full",
    lenient: bool = False,
    limits: Limits | None = None,
) -> Model:
    """A model from any C-contiguous buffer (bytes, memoryview, mmap, ndarray), not copied.

    The buffer is held as long as the model or one of its arrays lives. External data need an
    `external_root`; `io` is how they are read. Raises as `load` does.
    """
    root = b"" if external_root is None else _absolute(external_root)
    document = _core.load_buffer(
        buffer, "ModelProto", io, check, root, _limits(limits), lenient, require_model=True
    )
    return Model(document, None)


def load_proto(
    path: Path, message: str, *, io: Io = "auto", limits: Limits | None = None
) -> _core.ProtoView:
    """A view of any message of the schema, as the file has it: `load_proto(p, "NodeProto")`.

    Of a ModelProto it asks no more than protobuf does: no graph, not even a byte.
    """
    return _load_document(path, message, io=io, limits=limits).proto


def loads_proto(buffer: Buffer, message: str, *, limits: Limits | None = None) -> _core.ProtoView:
    """As `load_proto`, from a buffer that is not copied."""
    return _core.load_buffer(buffer, message, "auto", "full", b"", _limits(limits)).proto


def load_tensor(
    path: Path, *, io: Io = "auto", lenient: bool = False, limits: Limits | None = None
) -> _core.Tensor:
    """A tensor from a file that holds one serialized TensorProto. Arguments are as for `load`."""
    tensor = _load_document(path, "TensorProto", io=io, limits=limits, lenient=lenient).root()
    assert isinstance(tensor, _core.Tensor)
    return tensor


def load_operator_set(path: Path, *, io: Io = "auto", limits: Limits | None = None) -> OperatorSet:
    """An operator set from a file that holds one serialized OperatorSetProto."""
    return OperatorSet(_load_document(path, "OperatorSetProto", io=io, limits=limits).proto)


def load_value(
    path: Path,
    kind: Literal["tensor", "sequence", "map", "optional"],
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
    from onnxmap.values import MESSAGE_OF_KIND, value_of

    if kind not in MESSAGE_OF_KIND:
        raise ValueError(f"kind must be one of {sorted(MESSAGE_OF_KIND)}, not {kind!r}")
    document = _load_document(path, MESSAGE_OF_KIND[kind], io="auto", limits=limits)
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
    from onnxmap.values import read_test_data

    return read_test_data(folder, model)


def _load_document(
    path: Path, message: str, *, io: str, limits: Limits | None, lenient: bool = False
) -> _core.Document:
    name = _file_name(path)
    folder = _folder_of(name)
    return _core.load_file(name, message, io, "full", folder, _limits(limits), lenient, folder)


def _file_name(path: Path) -> bytes:
    if hasattr(path, "read"):
        raise TypeError("a path is needed; for a file object: onnxmap.loads(file.read())")
    name = os.fsencode(path)
    if b"://" in name and not os.path.exists(name):
        raise ValueError(f"URLs are not read by this version: {os.fsdecode(name)}")
    if b"\0" in name:
        raise ValueError("embedded null byte")
    return name


def _absolute(path: Path) -> bytes:
    return os.path.abspath(os.fsencode(path))


def _folder_of(name: bytes) -> bytes:
    return os.path.dirname(os.path.abspath(name))
