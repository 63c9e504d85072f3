"""Opening tensors, operator sets, and values of onnx-data.proto: sequences, maps and optionals."""

from __future__ import annotations

import errno
import os
import pathlib
import re
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

from onnxmap import _core
from onnxmap._base.options import Options
from onnxmap._files.load import load, open_buffer, open_file
from onnxmap._files.model import Model
from onnxmap.errors import ParseError, TensorError, warn
from onnxmap.types import MapType, OptionalType, SequenceType

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from typing_extensions import Unpack

    from onnxmap._base.limits import Limits
    from onnxmap._base.options import FileOptions, Io
    from onnxmap._base.paths import Path
    from onnxmap._core import OperatorSet
    from onnxmap._files.load import Buffer

    Value = np.ndarray | list["Value"] | dict[object, "Value"] | None

Kind = Literal["tensor", "sequence", "map", "optional"]

# Source: onnx-operators.proto, OperatorSetProto.magic.
MAGIC = "ONNXOPSET"
_KINDS = ("tensor", "sequence", "map", "optional")
# Which message of onnx-data.proto holds a value that is no tensor.
_KINDS_OF_TYPES: dict[type, Kind] = {
    SequenceType: "sequence", MapType: "map", OptionalType: "optional",
}  # fmt: skip
_PASS_THE_MODEL = "if the file holds no tensor, pass the model: load_test_data(folder, model=...)"


def load_tensor(
    path: Path, *, external_root: Path | None = None, **options: Unpack[FileOptions]
) -> _core.Tensor:
    """Return the tensor in a file that holds one TensorProto. For the arguments, see `load`.

    Raises:
        ParseError: the file is empty (`model.empty`), or holds something else (`model.not_tensor`
            if it could be read as a tensor without a type).
    """
    call = "loads_tensor({})"
    given = Options(**options, external_root=external_root)
    return _tensor(*open_file(path, "TensorProto", given, call))


def loads_tensor(
    buffer: Buffer, *, external_root: Path | None = None, **options: Unpack[FileOptions]
) -> _core.Tensor:
    """Return the tensor in a buffer that holds one TensorProto, without copying it; see `loads`."""
    call = "loads_tensor({})"
    given = Options(**options, external_root=external_root)
    return _tensor(open_buffer(buffer, "TensorProto", given, call))


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
    call = "wrap(onnxmap.loads_proto({}, 'OperatorSetProto'))"
    options = Options(io=io, limits=limits)
    document, name = open_file(path, "OperatorSetProto", options, call)
    magic = document.proto.magic
    if magic != MAGIC:
        why = document.why_not() or "this is not an operator set"
        text = f"{os.fsdecode(name)!r}: {why}: its magic is {magic[:80]!r}, not {MAGIC!r}"
        raise ParseError(text, code="model.not_operator_set", offset=0, path="magic")
    found: OperatorSet = _core.wrap(document.proto)
    return found


def load_value(path: Path, kind: Kind, *, limits: Limits | None = None) -> Value:
    """Return the value in a file of test data: an input or output, as onnx-data.proto stores it.

    Args:
        path: the path of the file.
        kind: "tensor" gives an array, "sequence" a list, "map" a dict, "optional" a value or None.
            Arrays are read-only views if the stored bytes allow it.
        limits: as for `load`.

    Source: onnx-data.proto.
    """
    message = message_of_kind(kind)
    call = f"loads_value({{}}, {kind!r})"
    return _value_of(open_file(path, message, Options(limits=limits), call)[0].proto)


def loads_value(buffer: Buffer, kind: Kind, *, limits: Limits | None = None) -> Value:
    """Return the value in a buffer, without copying it; see `load_value`."""
    message = message_of_kind(kind)
    call = f"loads_value({{}}, {kind!r})"
    return _value_of(open_buffer(buffer, message, Options(limits=limits), call).proto)


class TestData(NamedTuple):
    """The values in a backend-test folder, in the order of the files.

    Attributes:
        inputs: the values of the files `input_0.pb`, `input_1.pb` and so on.
        outputs: the values of the files `output_0.pb` and so on.
    """

    inputs: list[Value]
    outputs: list[Value]


def load_test_data(folder: Path, model: Model | Path | None = None) -> TestData:
    """Return the inputs and outputs in a backend-test folder, like `test_data_set_0`.

    Args:
        folder: the folder with the files `input_0.pb`, `output_0.pb` and so on.
        model: the model whose inputs and outputs say which values are sequences or optionals. By
            default, `model.onnx` beside the folder; if there is none, every value is a tensor.

    Returns:
        The lists `inputs` and `outputs`, which can also be unpacked. Their items are arrays, or
        lists, dicts or None if the model declares such types.

    Raises:
        FileNotFoundError: the folder has neither `input_0.pb` nor `output_0.pb`, or is missing.
    """
    place = pathlib.Path(os.fsdecode(folder)).absolute()
    if model is None:
        beside = place.parent / "model.onnx"
        model = beside if beside.exists() else None
    if model is not None and not isinstance(model, Model):
        model = load(model)
    inputs: Iterable[_core.ValueInfo] = () if model is None else model.graph.inputs
    outputs: Iterable[_core.ValueInfo] = () if model is None else model.graph.outputs
    files = {stem: _numbered_files(place, stem) for stem in ("input", "output")}
    if not any(files.values()):
        inside = sorted(found.name for found in place.glob("test_data_set_*") if found.is_dir())
        hint = f"; {inside[0]!r} is inside" if inside else ""
        text = f"the folder has no input_0.pb and no output_0.pb{hint}"
        raise FileNotFoundError(errno.ENOENT, text, str(place))
    return TestData(_values_of(files["input"], inputs), _values_of(files["output"], outputs))


def _values_of(
    files: list[tuple[int, pathlib.Path]], declared: Iterable[_core.ValueInfo]
) -> list[Value]:
    kinds = [_KINDS_OF_TYPES.get(type(info.type), "tensor") for info in declared]
    values = []
    for number, file in files:
        kind = kinds[number] if number < len(kinds) else "tensor"
        try:
            values.append(load_value(file, kind))
        except (ParseError, TensorError) as error:
            if not kinds:
                error.args = (f"{file}: {error}; {_PASS_THE_MODEL}",)
            raise
    return values


def message_of_kind(kind: Kind) -> str:
    """Return the name of the message that holds a value of this kind.

    Raises:
        ValueError: there is no such kind.
    """
    if kind not in _KINDS:
        raise ValueError(f"kind must be one of {sorted(_KINDS)}, not {kind!r}")
    return f"{kind.capitalize()}Proto"


def _value_of(proto: _core.ProtoView) -> Value:
    """Return the value of a TensorProto, SequenceProto, MapProto or OptionalProto."""
    message = proto.message_type
    if message == "TensorProto":
        return _core.wrap(proto).numpy()
    if message == "SparseTensorProto":
        return _core.wrap(proto)
    if message == "SequenceProto":
        return [_value_of(value) for value in _core.sequence_values(proto)]
    if message == "OptionalProto":
        value = _core.optional_value(proto)
        return None if value is None else _value_of(value)
    assert message == "MapProto"
    keys = [_text(key) if isinstance(key, bytes) else key for key in _core.map_keys(proto)]
    values = _value_of(proto.values)
    assert isinstance(values, list)  # a SequenceProto
    found = dict(zip(keys, values, strict=True))
    if len(found) < len(keys):
        repeated, _ = Counter(keys).most_common(1)[0]
        text = f"keys: {repeated!r} occurs more than once; the last one counts"
        warn("RepeatedKeyWarning", f"{text}, and the MapProto itself (load_proto) has all")
    return found


def _text(key: bytes) -> str | bytes:
    try:
        return key.decode()
    except UnicodeDecodeError:
        return key


def _numbered_files(folder: pathlib.Path, stem: str) -> list[tuple[int, pathlib.Path]]:
    """Return the files `input_0.pb`, `input_1.pb`... of a folder with their numbers, in order."""
    name = re.compile(rf"{stem}_(\d+)\.pb")
    found = ((name.fullmatch(file.name), file) for file in folder.iterdir())
    return sorted((int(match[1]), file) for match, file in found if match)
