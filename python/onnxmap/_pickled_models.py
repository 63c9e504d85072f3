"""Models and messages in a pickle. A model of a file is a reference to the file, others are values.

A reference has the size of the file and a digest of samples of it, to detect a change. A message
has its bytes, and names the folder of its external data if it has some. A change of such data is
not noticed.

A pickle names `_model_of_file`, `_model_of_bytes` or `_message` of this module. Stored pickles
depend on these names.
"""

from __future__ import annotations

import copyreg
import os
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._graph import Graph
from onnxmap._limits import Limits
from onnxmap._loading import load, loads, open_buffer, wrap
from onnxmap._model import Model
from onnxmap._operator_set import OperatorSet
from onnxmap._options import Options
from onnxmap._paths import absolute_path, is_url
from onnxmap._pickling import digest_of, relocated_to
from onnxmap.errors import FileChangedError

if TYPE_CHECKING:
    from collections.abc import Callable

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
    path = os.fsdecode(name if is_url(name) else absolute_path(name))
    size = document.nbytes
    return _model_of_file, (path, options, size, _digest(document, is_url(name)))


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
