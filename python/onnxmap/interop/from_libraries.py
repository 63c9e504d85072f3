"""What comes from other libraries: models (`from_proto`, `from_ir`), and types of messages."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._base.later import import_module, importing
from onnxmap._base.options import options_of
from onnxmap._base.paths import is_url
from onnxmap._files.load import loads
from onnxmap._files.model import Model
from onnxmap.errors import ExternalDataError, TensorError
from onnxmap.interop.without_weights import (
    VALUE_FIELDS,
    FileRange,
    clear_values,
    entries_of,
    give_values,
    range_of,
)
from onnxmap.types import message_type

if TYPE_CHECKING:
    import onnx_ir

    from onnxmap._base.new_message import Message


def from_proto(proto: Any, weights: Model | Iterable[Model] | None = None) -> Model:
    """Return a model of a ModelProto, whose values come back from the models that have them.

    It is the way back from `Model.to_proto(weights="reference")` and `"none"`, after another
    library changed the structure. Values of at least 4096 bytes are neither read nor copied: the
    model refers to the files, buffers and arrays of the models in `weights`, which may be closed
    then.

    Args:
        proto: a ModelProto of protobuf. It is copied, with the values that it has.
        weights: the model from which the structure was made, or several. A tensor with a
            reference gets the values of the tensor at that place, whatever its name is now. A
            tensor without values gets those of the tensor of its name, type and shape. A tensor
            without a name, in an attribute, is found by the name of the node's first output.

    Returns:
        A model whose external data are in the folder of the first of these models. It is edited:
        `revert()` takes the values out again.

    Raises:
        TypeError: `proto` is no ModelProto, or `weights` has no models.
        TensorError: the values of a tensor are in none of the models, or it is not clear which
            tensor has them (`tensor.no_values`).
        ExternalDataError: an external file, to which an entry refers, cannot be read.
        ParseError: the message is no model.
    """
    if (kind := _core.message_type_of(proto)) != "ModelProto":
        raise TypeError(f"expected a ModelProto, not {kind or type(proto).__name__}")
    data = getattr(proto, "proto", proto).SerializeToString()
    if weights is None:
        return loads(data)
    models = [weights] if isinstance(weights, Model) else list(weights)
    if not models or not all(isinstance(model, Model) for model in models):
        raise TypeError("weights must be a Model, or models")
    documents = [model._open() for model in models]
    view, root = documents[0].proto, os.fsdecode(documents[0].external_root) or None
    structure = _beside(data, view, root)
    found = _Values(documents).of_tensors(structure._open())
    tensors = [tensor for _, tensor in structure._open().tensors()]
    if any(tensors[i].is_external for i in found):
        # If a tensor is loaded as an external one, a save puts new values into a data file.
        for i in found:
            clear_values(tensors[i].proto)
        structure = _beside(structure.proto.SerializeToString(), view, root)
        tensors = [tensor for _, tensor in structure._open().tensors()]
    for i, tensor in found.items():
        give_values(tensors[i].proto, tensor)
    return structure


def from_ir(model: onnx_ir.Model) -> Model:
    """Return the model of an onnx_ir model, whose mapped tensors are not read.

    It is the way back from `Model.to_ir`, after passes of onnx_ir. The message of a tensor of
    `to_ir` comes back byte for byte, except for its name, shape, documentation and metadata, and
    refers to the same values. Tensors of other classes come with their values, or stay external.

    Args:
        model: an `onnx_ir.Model`.

    Returns:
        A model that is edited: `revert()` takes the mapped values out again. Its external data are
        in the folder of those of `model`.

    Raises:
        TypeError: `model` is no `onnx_ir.Model`.
        ValueError: external tensors of onnx_ir are in different folders.
        ParseError: the model has no graph.
        ImportError: onnx_ir is not installed.
    """
    ir = import_module("onnxmap.interop.ir")  # needs onnx_ir
    ir_models = import_module("onnxmap.interop.ir_models")
    data, tokens, first = ir_models.structure_with_tokens(model)
    folder = ir.folder_of(model)
    if first is None:
        return loads(data, folder)
    root = os.fsdecode(folder if folder is not None else first._reading()[0]) or None
    made = _beside(data, first, root)
    if tokens.complete_all(made.proto):
        return made
    # A tensor of another class has made its values of a token.
    return loads(ir.proto_of(model).SerializeToString(), folder)


def _beside(data: bytes, view: Message, root: str | None) -> Model:
    """A model of these bytes, which is read as the document of a message is read."""
    return loads(data, root, **options_of(view).unusual())


class _Values:
    """The tensors of some models, by the places of their values and by their names."""

    def __init__(self, documents: list[_core.Document]) -> None:
        self._documents = documents
        self._by_range: dict[FileRange, list[_core.Tensor]] = {}
        self._by_entry: dict[tuple[tuple[str, str], ...], list[_core.Tensor]] = {}
        for document in documents:
            for _, tensor in document.tensors():
                self._add(tensor)

    def _add(self, tensor: _core.Tensor) -> None:
        if tensor.is_external:
            self._by_entry.setdefault(_entry_key(tensor.proto), []).append(tensor)
        try:
            stored = range_of(tensor)
        except (TensorError, ExternalDataError):
            return  # no structure refers to it
        if stored is not None:
            self._by_range.setdefault(stored, []).append(tensor)

    def of_tensors(self, document: _core.Document) -> dict[int, _core.Tensor]:
        """Return the tensors that have the values of a structure's, by the positions of these.

        Tensors of the structure that need nothing are left out.
        """
        outputs = cache(lambda: _first_outputs(document))
        found: dict[int, _core.Tensor] = {}
        for i, (where, tensor) in enumerate(document.tensors()):
            if tensor.is_external:
                one = self._at_entry(tensor)
                if one is None:
                    _check_reachable(tensor)
                elif not _has_entry_of(tensor, one):
                    found[i] = one
            elif not _has_values(tensor):
                found[i] = self._named(tensor, _name_key(where, tensor.proto, outputs()))
        return found

    def _at_entry(self, tensor: _core.Tensor) -> _core.Tensor | None:
        message = tensor.proto
        entries = entries_of(message)
        found: list[_core.Tensor] = []
        with suppress(KeyError, ValueError):
            stored = FileRange(entries["location"], int(entries["offset"]), int(entries["length"]))
            found = self._by_range.get(stored, [])
        return _best(found or self._by_entry.get(_entry_key(message), []), tensor)

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], list[_core.Tensor]]:
        found: dict[tuple[str, str], list[_core.Tensor]] = {}
        for document in self._documents:
            outputs = _first_outputs(document)
            for where, each in document.tensors():
                found.setdefault(_name_key(where, each.proto, outputs), []).append(each)
        return found

    def _named(self, tensor: _core.Tensor, key: tuple[str, str]) -> _core.Tensor:
        message = tensor.proto
        same = (message.data_type, message.dims)
        named = self._by_name.get(key, [])
        found = [each for each in named if (each.proto.data_type, each.proto.dims) == same]
        # A tensor that never had values stays without them.
        if len(found) == 1 or (found and not any(_has_values(each) for each in found)):
            return found[0]
        fault = "several tensors" if found else "no tensor"
        text = f"and {fault} of the models have its name, type and shape; make the structure with"
        raise _no_values(tensor, f'{text} to_proto(weights="reference")')


def _first_outputs(document: _core.Document) -> dict[str, str]:
    """The first outputs of the nodes of a model, by the paths of the nodes."""
    return {where: node.outputs[0] for where, node in document.nodes() if node.outputs}


def _name_key(where: str, message: Message, outputs: dict[str, str]) -> tuple[str, str]:
    """The name of a tensor; for one in an attribute, the node's output and the attribute."""
    node, _, attribute = where.rpartition(".attribute[")
    is_in_attribute = attribute.endswith(".t") or ".tensors[" in attribute
    if message.name or not is_in_attribute:
        return message.name, ""
    return outputs.get(node, ""), attribute


def _entry_key(message: Message) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(entries_of(message).items()))


def _has_values(tensor: _core.Tensor) -> bool:
    message = tensor.proto
    has_any = any(field.name in VALUE_FIELDS for field, _ in message.ListFields())
    return has_any or math.prod(message.dims) == 0


def _best(found: list[_core.Tensor], tensor: _core.Tensor) -> _core.Tensor | None:
    """The tensor that is most like another one, of those with an equal entry."""

    def likeness(each: _core.Tensor) -> tuple[bool, bool]:
        proto, message = each.proto, tensor.proto
        same_type = proto.data_type == message.data_type and proto.dims == message.dims
        return same_type, proto.name == message.name

    if not found:
        return None
    most = max(map(likeness, found))
    best = [each for each in found if likeness(each) == most]
    if len({_file_of(each) for each in best}) > 1:
        raise _no_values(tensor, "and several models have its entry, for files of their own")
    return best[0]


def _has_entry_of(tensor: _core.Tensor, other: _core.Tensor) -> bool:
    """Whether two tensors are external ones of the same folder with the same entry."""
    is_same_folder = tensor.proto._reading()[0] == other.proto._reading()[0]
    same_entry = _entry_key(tensor.proto) == _entry_key(other.proto)
    return other.is_external and same_entry and is_same_folder


def _file_of(tensor: _core.Tensor) -> str | None:
    try:
        return tensor.file
    except (TensorError, ExternalDataError):
        return None


def _check_reachable(tensor: _core.Tensor) -> None:
    """Raise an error if an entry that no model has leads to no file of the first model's folder."""
    location = entries_of(tensor.proto).get("location", "")
    if Path(location).is_absolute() or is_url(os.fsencode(location)):
        raise _no_values(tensor, f"and no tensor of the models is at its place in {location!r}")
    _ = tensor.file


def _no_values(tensor: _core.Tensor, fault: str) -> TensorError:
    name = tensor.name or _core.tensor_path(tensor)
    text = f"tensor {name!r} has no values, {fault}"
    return TensorError(text, code="tensor.no_values", tensor=name)


def descriptor(message: str) -> Any:
    """Return protobuf's Descriptor of a message; its MessageType if `onnx` does not have it."""
    with importing, suppress(ImportError, KeyError):
        from onnx import onnx_data_pb2, onnx_operators_ml_pb2  # noqa: F401 -- they register theirs

        return onnx_data_pb2.DESCRIPTOR.pool.FindMessageTypeByName(f"onnx.{message}")
    return message_type(message)
