"""Models and messages in a pickle. A model of a file is a reference to the file, others are values.

A reference has the size of the file and a digest of samples of it, to detect a change. A message
has its bytes, and names the folder of its external data if it has some. A change of such data is
not noticed.

If a model of a file was edited, its pickle has the edited message as well, without large weights.
It refers to those that are in a file, the model's own or that of an assigned Tensor. Other values
are in the pickle.

A pickle names `_model_of_file`, `_edited_model`, `_model_of_bytes` or `_message` of this module.
Stored pickles depend on these names.
"""

from __future__ import annotations

import copyreg
import os
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._graph import Graph
from onnxmap._limits import Limits
from onnxmap._loading import load, loads, open_buffer, wrap
from onnxmap._model import Model
from onnxmap._operator_set import OperatorSet
from onnxmap._options import Options
from onnxmap._paths import absolute_path, is_url
from onnxmap._pickling import digest_of, reference_to, relocated_to
from onnxmap.errors import FileChangedError, OnnxMapError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LEAST_WEIGHT = 4096  # bytes; fewer are in the pickle

_Reduced = tuple["Callable[..., Any]", tuple[object, ...]]

_MESSAGES: tuple[type, ...] = (
    Graph,
    OperatorSet,
    _core.Attribute,
    _core.DeviceConfiguration,
    _core.Function,
    _core.IntIntListEntry,
    _core.Node,
    _core.NodeDeviceConfiguration,
    _core.Operator,
    _core.ProtoView,
    _core.QuantizationAnnotation,
    _core.ShardedDim,
    _core.ShardingSpec,
    _core.SimpleShardedDim,
    _core.SparseTensor,
    _core.TrainingInfo,
    _core.ValueInfo,
)


def _reduce_model(model: Model) -> _Reduced:
    document = model._open()
    options = {name: value for name, value in model._options.items() if value is not None}
    if model.path is None:
        return _model_of_bytes, (model.proto.SerializeToString(), options)
    name = os.fsencode(model.path)
    if not is_url(name):
        _core.check_in_place(document)
    path = os.fsdecode(name if is_url(name) else absolute_path(name))
    place = (path, options, document.nbytes, _digest(document, is_url(name)))
    if not document.edited:
        return _model_of_file, place
    return _edited_model, (place, *_without_weights(model))


def _model_of_bytes(data: bytes, options: dict[str, Any]) -> Model:
    return loads(data, **options)


def _model_of_file(path: str, options: dict[str, Any], size: int, digest: bytes) -> Model:
    folder = relocated_to()
    if folder is not None:
        path = os.path.join(folder, os.path.basename(path))  # noqa: PTH118, PTH119 -- may be a URL
        options = {name: value for name, value in options.items() if name != "external_root"}
    model = load(path, **options)
    document = model._open()
    if document.nbytes != size or _digest(document, is_url(os.fsencode(path))) != digest:
        raise FileChangedError(
            f"{path!r} is not the file that was pickled; restore it, or pickle the model again",
            code="file.changed",
            path=path,
            filename=path,
        )
    return model


# Where a large weight of an edited model is: offset and length in its file, or another tensor.
_Weight = tuple[int, int] | _core.Tensor


def _without_weights(model: Model) -> tuple[bytes, dict[int, _Weight]]:
    """The edited message without large weights, and those by their position in `_tensors`."""
    copy = _opened(b"", model._options)
    copy.proto.CopyFrom(model.proto)
    weights: dict[int, _Weight] = {}
    pairs = zip(_tensors(model._open()), _tensors(copy), strict=True)
    for position, (tensor, copied) in enumerate(pairs):
        weight = _weight(tensor)
        if weight is not None:
            weights[position] = weight
            copied.proto.raw_data = b""
    return copy.proto.SerializeToString(), weights


def _opened(message: bytes, options: Mapping[str, Any]) -> _core.Document:
    return _core.load_buffer(message, "ModelProto", Options(limits=options.get("limits")), b"")


def _tensors(document: _core.Document) -> list[_core.Tensor]:
    """All tensors, in an order that does not depend on the order of fields in the file."""
    return [tensor for _, tensor in sorted(document.tensors(), key=itemgetter(0))]


def _weight(tensor: _core.Tensor) -> _Weight | None:
    """Where large `raw_data` are; None if they are small, or in no file."""
    loaded = _core.loaded_raw_data(tensor.proto)
    if loaded is not None:
        return loaded if loaded[1] >= _LEAST_WEIGHT else None
    if tensor.is_external or not tensor.proto.HasField("raw_data"):
        return None
    try:
        reference = reference_to(tensor)
    except OnnxMapError:  # the values and the shape do not agree
        return None
    is_large = reference is not None and reference.nbytes >= _LEAST_WEIGHT
    return tensor if is_large else None


def _edited_model(
    place: tuple[str, dict[str, Any], int, bytes], message: bytes, weights: dict[int, _Weight]
) -> Model:
    model = _model_of_file(*place)
    document = model._open()
    document.proto.CopyFrom(_opened(message, model._options).proto)
    tensors = _tensors(document)
    for position, weight in weights.items():
        proto = tensors[position].proto
        if isinstance(weight, tuple):
            _core.hold_loaded(proto, *weight)
        elif not _core.hold_values(proto, weight):
            proto.raw_data = weight.tobytes()
    return model


def _digest(document: _core.Document, is_remote: bool) -> bytes:
    return digest_of(document.read, document.nbytes, is_remote)


def _reduce_message(message: Any) -> _Reduced:
    is_view = isinstance(message, _core.ProtoView)
    view = message if is_view else message.proto
    root, (link_policy, allow_hardlinks, io, watch), lenient, limits = view._reading()
    given = Options(
        link_policy, allow_hardlinks, io, watch=watch, lenient=lenient, limits=Limits(**limits)
    )
    usual = Options()
    options: dict[str, Any] = {
        option: getattr(given, option)
        for option in Options.__slots__
        if getattr(given, option) != getattr(usual, option)
    }
    return _message, (
        view.SerializeToString(),
        view.message_type,
        is_view,
        os.fsdecode(root) or None,
        options,
    )


def _message(
    data: bytes, name: str, is_view: bool, root: str | None, options: dict[str, Any]
) -> Any:
    if root is not None:
        root = relocated_to() or root
    view = open_buffer(data, name, Options(**options), root, "loads_proto").proto
    return view if is_view else wrap(view)


copyreg.pickle(Model, _reduce_model)
for _class in _MESSAGES:
    copyreg.pickle(_class, _reduce_message)
