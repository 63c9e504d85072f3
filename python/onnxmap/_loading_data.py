"""Opening tensors, values of test data, and operator sets."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from onnxmap import _core
from onnxmap._loading import load, open_buffer, open_file
from onnxmap._model import Model
from onnxmap._operator_set import MAGIC, OperatorSet
from onnxmap._options import Options
from onnxmap.errors import ParseError, TensorError

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable

    from onnxmap._limits import Limits
    from onnxmap._loading import Buffer
    from onnxmap._options import Io, LinkPolicy
    from onnxmap._paths import Path
    from onnxmap._values import Kind, Value


def load_tensor(
    path: Path,
    *,
    external_root: Path | None = None,
    link_policy: LinkPolicy = "contained",
    allow_hardlinks: bool = False,
    io: Io = "auto",
    watch: bool = True,
    lenient: bool = False,
    limits: Limits | None = None,
) -> _core.Tensor:
    """Return the tensor in a file that holds one TensorProto. For the arguments, see `load`.

    Raises:
        ParseError: the file is empty (`model.empty`), or holds something else (`model.not_tensor`
            if it could be read as a tensor without a type).
    """
    options = Options(link_policy, allow_hardlinks, io, "full", watch, lenient, limits)
    in_bytes = "loads_tensor({})"
    return _tensor(*open_file(path, "TensorProto", options, external_root, in_bytes=in_bytes))


def loads_tensor(
    buffer: Buffer,
    *,
    external_root: Path | None = None,
    link_policy: LinkPolicy = "contained",
    allow_hardlinks: bool = False,
    io: Io = "auto",
    watch: bool = True,
    lenient: bool = False,
    limits: Limits | None = None,
) -> _core.Tensor:
    """Return the tensor in a buffer that holds one TensorProto, without copying it; see `loads`."""
    options = Options(link_policy, allow_hardlinks, io, "full", watch, lenient, limits)
    return _tensor(open_buffer(buffer, "TensorProto", options, external_root, "loads_tensor"))


def _tensor(document: _core.Document, name: bytes | None = None) -> _core.Tensor:
    place = "buffer" if name is None else repr(os.fsdecode(name))
    if document.nbytes == 0:
        raise ParseError(f"{place}: the file is empty", code="model.empty", offset=0)
    # A small model can be read as a tensor of unknown type.
    reason = "" if document.proto.data_type else document.why_not()
    if reason:
        raise ParseError(f"{place}: {reason}", code="model.not_tensor", offset=0)
    tensor = document.root()
    assert isinstance(tensor, _core.Tensor)
    return tensor


def load_operator_set(path: Path, *, io: Io = "auto", limits: Limits | None = None) -> OperatorSet:
    """Return the operator set in a file that holds one OperatorSetProto.

    Raises:
        ParseError: the file is no operator set: its `magic` is not "ONNXOPSET"
            (`model.not_operator_set`), or it is malformed.

    Source: onnx-operators.proto, OperatorSetProto.magic.
    """
    document, name = open_file(
        path,
        "OperatorSetProto",
        Options(io=io, limits=limits),
        in_bytes="wrap(onnxmap.loads_proto({}, 'OperatorSetProto'))",
    )
    magic = document.proto.magic
    if magic != MAGIC:
        raise ParseError(
            f"{os.fsdecode(name)!r}: {document.why_not() or 'this is not an operator set'}: its "
            f"magic is {magic[:80]!r}, not {MAGIC!r}",
            code="model.not_operator_set",
            offset=0,
            path="magic",
        )
    return OperatorSet(document.proto)


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
    from onnxmap._values import message_of_kind, value_of

    message = message_of_kind(kind)
    in_bytes = f"loads_value({{}}, {kind!r})"
    return value_of(open_file(path, message, Options(limits=limits), in_bytes=in_bytes)[0].proto)


def loads_value(buffer: Buffer, kind: Kind, *, limits: Limits | None = None) -> Value:
    """Return the value in a buffer, without copying it; see `load_value`."""
    from onnxmap._values import message_of_kind, value_of

    message = message_of_kind(kind)
    return value_of(open_buffer(buffer, message, Options(limits=limits), None, "loads_value").proto)


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

    Raises:
        FileNotFoundError: the folder has neither `input_0.pb` nor `output_0.pb`, or is missing.
    """
    import pathlib

    from onnxmap._values import numbered_files

    place = pathlib.Path(os.fsdecode(folder)).absolute()
    if model is None:
        beside = place.parent / "model.onnx"
        model = beside if beside.exists() else None
    if model is not None and not isinstance(model, Model):
        model = load(model)
    inputs: Iterable[_core.ValueInfo] = () if model is None else model.graph.inputs
    outputs: Iterable[_core.ValueInfo] = () if model is None else model.graph.outputs
    files = {stem: numbered_files(place, stem) for stem in ("input", "output")}
    if not any(files.values()):
        inside = sorted(found.name for found in place.glob("test_data_set_*") if found.is_dir())
        hint = f"; {inside[0]!r} is inside" if inside else ""
        text = f"the folder has no input_0.pb and no output_0.pb{hint}"
        raise FileNotFoundError(errno.ENOENT, text, str(place))
    return _values_of(files["input"], inputs), _values_of(files["output"], outputs)


def _values_of(
    files: list[tuple[int, pathlib.Path]], declared: Iterable[_core.ValueInfo]
) -> list[Value]:
    from onnxmap._values import kind_of

    kinds = [kind_of(info) for info in declared]
    values = []
    for number, file in files:
        kind = kinds[number] if number < len(kinds) else "tensor"
        try:
            values.append(load_value(file, kind))
        except (ParseError, TensorError) as error:
            if kinds:
                raise
            advice = (
                "; if the file holds no tensor, pass the model: load_test_data(folder, model=...)"
            )
            fields = {name: getattr(error, name) for name in error._fields}
            raise type(error)(f"{file}: {error}{advice}", **fields) from None
    return values
