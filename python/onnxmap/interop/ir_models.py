"""Whole models for onnx_ir, on tensors that read the mapping, and their way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxmap._base.enums import DataType
from onnxmap._base.extras import extra
from onnxmap.errors import TensorError
from onnxmap.interop.ir import MappedTensor, giving, proto_of
from onnxmap.interop.without_weights import Tokens, put_inline, structure_of

with extra("ir"):
    import onnx_ir
    from onnx import ModelProto

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxmap import _core
    from onnxmap._base.new_message import Message

_NOT_MAPPED = (DataType.STRING, DataType.UNDEFINED)
_TENSOR, _TENSORS = onnx_ir.AttributeType.TENSOR, onnx_ir.AttributeType.TENSORS


def to_ir_model(document: _core.Document) -> onnx_ir.Model:
    """See `Model.to_ir`."""
    tokens = Tokens()

    def take(message: Message, tensor: _core.Tensor, *_: object) -> None:
        if _can_be_mapped(tensor):
            tokens.put(message, tensor)
        elif tensor.is_external:
            put_inline(message, tensor)  # onnx_ir would open any file, in any folder

    proto = ModelProto.FromString(structure_of(document, take))
    model = onnx_ir.from_proto(proto)
    for graph in _graphs_of(model):
        for value in graph.initializers.values():
            value.const_value = _mapped(value.const_value, tokens)
        for node in graph:
            _map_attributes(node.attributes, tokens)
    for function in model.functions.values():
        _map_attributes(function.attributes, tokens)
    return model


def structure_with_tokens(model: onnx_ir.Model) -> tuple[bytes, Tokens, Message | None]:
    """Return a ModelProto with tokens for mapped tensors, and the message of one of these.

    The message is that of an external tensor, if there is one.
    """
    if not isinstance(model, onnx_ir.Model):
        raise TypeError(f"expected an onnx_ir.Model, not {type(model).__name__}")
    tokens = Tokens()
    try:
        with giving(tokens):
            proto = proto_of(model)
    except Exception:  # noqa: BLE001 -- a tensor of another class may compute with a token
        return proto_of(model).SerializeToString(), Tokens(), None
    taken = sorted(tokens.tensors, key=lambda tensor: not tensor.is_external)
    return proto.SerializeToString(), tokens, taken[0].proto if taken else None


def _can_be_mapped(tensor: _core.Tensor) -> bool:
    """Whether onnx_ir can have the tensor as a MappedTensor. It needs a type and a shape."""
    if tensor.proto.HasField("segment"):
        return False
    try:
        return tensor.dtype not in _NOT_MAPPED and tensor.size >= 0
    except TensorError:
        return False


def _graphs_of(model: onnx_ir.Model) -> Iterator[Any]:
    for outer in (model.graph, *(function.graph for function in model.functions.values())):
        yield outer
        yield from outer.subgraphs()


def _map_attributes(attributes: Any, tokens: Tokens) -> None:
    for name, attribute in list(attributes.items()):
        if attribute.is_ref() or attribute.value is None:  # one of a function without a default
            continue
        if attribute.type == _TENSOR:
            value = _mapped(attribute.value, tokens)
        elif attribute.type == _TENSORS:
            value = [_mapped(each, tokens) for each in attribute.value]
        else:
            continue
        attributes[name] = onnx_ir.Attr(
            name, attribute.type, value, doc_string=attribute.doc_string
        )


def _mapped(tensor: Any, tokens: Tokens) -> Any:
    if not isinstance(tensor, onnx_ir.ExternalTensor):
        return tensor
    found = tokens.at(str(tensor.location), tensor.offset)
    return tensor if found is None else MappedTensor(found)
