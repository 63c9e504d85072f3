"""Models and messages in a pickle. A model of a file is a reference to the file, others are values.

A reference has the size of the file and a digest of samples of it, to detect a change. A message
has its bytes, and names the folder of its external data if it has some. A change of such data is
not noticed.

If a model of a file was edited, its pickle has the edited message as well, without large weights.
It refers to those that are in a file, the model's own or that of an assigned Tensor. Other values
are in the pickle.

A pickle names `_model_of_file`, `_model_of_bytes` or `_message` of this module. Stored pickles
depend on these names.
"""

from __future__ import annotations

import os
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._base.options import Options, options_of
from onnxmap._base.paths import absolute_or_url, is_url
from onnxmap._files.load import load, loads, open_buffer, wrap
from onnxmap._files.model import Model
from onnxmap._read.pickled_tensors import digest_of, other_file, reference_to, relocated_to
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    from collections.abc import Callable

    _Reduced = tuple[Callable[..., Any], tuple[object, ...]]

    # Where a large weight of an edited model is: offset and length in its file, or another tensor.
    _Weight = tuple[int, int] | _core.Tensor

_LEAST_WEIGHT = 4096  # bytes; fewer are in the pickle


def reduce_model(model: Model) -> _Reduced:
    document, path = model._open(), model.path
    if path is None:
        return _model_of_bytes, (model.proto.SerializeToString(), model._options.unusual())
    path = absolute_or_url(path)
    if not is_url(os.fsencode(path)):
        _core.check_in_place(document)
    digest = digest_of(document.read, document.nbytes, path)
    edits = _without_weights(model) if document.edited else ()
    return _model_of_file, (path, model._options.unusual(), document.nbytes, digest, *edits)


def _model_of_bytes(data: bytes, options: dict[str, Any]) -> Model:
    return loads(data, **options)


def _model_of_file(
    path: str,
    options: dict[str, Any],
    size: int,
    digest: bytes,
    edited: bytes | None = None,
    weights: dict[int, _Weight] | None = None,
) -> Model:
    folder = relocated_to()
    if folder is not None:
        path = os.path.join(folder, os.path.basename(path))  # noqa: PTH118, PTH119 -- may be a URL
        options = {name: value for name, value in options.items() if name != "external_root"}
    model = load(path, **options)
    document = model._open()
    if document.nbytes != size or digest_of(document.read, size, path) != digest:
        raise other_file(path, "model")
    if edited is None:
        return model
    document.proto.CopyFrom(_opened(edited, model).proto)
    tensors = _tensors(document)
    for position, weight in (weights or {}).items():
        proto = tensors[position].proto
        if isinstance(weight, tuple):
            _core.hold_loaded(proto, *weight)
        elif not _core.hold_values(proto, weight):
            proto.raw_data = weight.tobytes()
    return model


def _without_weights(model: Model) -> tuple[bytes, dict[int, _Weight]]:
    """The edited message without large weights, and those by their position in `_tensors`."""
    copy = _opened(b"", model)
    copy.proto.CopyFrom(model.proto)
    weights: dict[int, _Weight] = {}
    pairs = zip(_tensors(model._open()), _tensors(copy), strict=True)
    for position, (tensor, copied) in enumerate(pairs):
        weight = _weight(tensor)
        if weight is not None:
            weights[position] = weight
            copied.proto.raw_data = b""
    return copy.proto.SerializeToString(), weights


def _opened(message: bytes, model: Model) -> _core.Document:
    options = Options(limits=model._options.limits)
    return _core.load_buffer(message, "ModelProto", options, b"")


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


def reduce_message(message: Any) -> _Reduced:
    is_view = isinstance(message, _core.ProtoView)
    view = message if is_view else message.proto
    place = os.fsdecode(view._reading()[0]) or None
    data, options = view.SerializeToString(), options_of(view).unusual()
    return _message, (data, view.message_type, is_view, place, options)


def _message(
    data: bytes, name: str, is_view: bool, root: str | None, options: dict[str, Any]
) -> Any:
    if root is not None:
        root = relocated_to() or root
    view = open_buffer(data, name, Options(**options, external_root=root)).proto
    return view if is_view else wrap(view)
