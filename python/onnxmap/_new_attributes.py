"""New attributes, whose types follow from their values; see `_new_messages`."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from typing import Any

from onnxmap import _core
from onnxmap._enums import AttributeType
from onnxmap._messages import Message, copy_into, message_name, new_message
from onnxmap._new_types import as_type_proto, is_type
from onnxmap._text import escape

# The fields of AttributeProto that hold values of each type.
_FIELDS = {
    AttributeType.FLOAT: "f",
    AttributeType.INT: "i",
    AttributeType.STRING: "s",
    AttributeType.TENSOR: "t",
    AttributeType.GRAPH: "g",
    AttributeType.SPARSE_TENSOR: "sparse_tensor",
    AttributeType.TYPE_PROTO: "tp",
}
_LISTS = {
    AttributeType.FLOATS: "floats",
    AttributeType.INTS: "ints",
    AttributeType.STRINGS: "strings",
    AttributeType.TENSORS: "tensors",
    AttributeType.GRAPHS: "graphs",
    AttributeType.SPARSE_TENSORS: "sparse_tensors",
    AttributeType.TYPE_PROTOS: "type_protos",
}
_ELEMENTS = {AttributeType[f"{kind.name}S"]: kind for kind in _FIELDS}
_OF_MESSAGE = {
    "TensorProto": AttributeType.TENSOR,
    "GraphProto": AttributeType.GRAPH,
    "SparseTensorProto": AttributeType.SPARSE_TENSOR,
    "TypeProto": AttributeType.TYPE_PROTO,
}


def make_attribute(
    name: str,
    value: Any,
    doc_string: str | None = None,
    attr_type: AttributeType | int | None = None,
) -> Message:
    """Return a new AttributeProto whose type follows from the value.

    Args:
        name: the name of the attribute.
        value: a number, a text, bytes, a tensor, a graph, a sparse tensor, a type, or a list of
            values of one type. A bool is an integer. A type is a TypeProto or one of
            `onnxmap.types`. A tensor is a TensorProto, a Tensor, or an array. An array in one
            dimension of numbers or texts is a list, as `onnx.helper` takes it, unless `attr_type`
            is TENSOR.
        doc_string: the documentation of the attribute.
        attr_type: the type. An empty list needs it.

    Raises:
        TypeError: the value has no type of ONNX, or another type than `attr_type`.
        ValueError: the value is an empty list without `attr_type`, or a list of different types.
    """
    attribute = new_message("AttributeProto")
    fill_attribute(attribute, name, value, doc_string, attr_type)
    return attribute


def fill_attribute(
    attribute: Message,
    name: str,
    value: Any,
    doc_string: str | None,
    attr_type: AttributeType | int | None,
) -> None:
    """Set an empty AttributeProto, as `make_attribute` makes it."""
    wanted = None if attr_type is None else AttributeType(attr_type)
    shown = escape(repr(name))
    if wanted == AttributeType.TENSOR and _is_array(value):
        kind: AttributeType | None = AttributeType.TENSOR
    else:
        kind = _single_type(value, is_element=False)
    attribute.name = name
    if doc_string:
        attribute.doc_string = doc_string
    if kind is not None:
        _set_single(attribute, kind, value)
    else:
        if not isinstance(value, Iterable):
            what = type(value).__name__
            raise TypeError(f"attribute {shown}: a value of type {what} has no type of ONNX")
        values = list(value)
        kind = _list_type(shown, values) if wanted is None else wanted
        if kind not in _LISTS:
            raise TypeError(f"attribute {shown}: a list cannot be of type {kind.name}")
        _set_list(attribute, kind, values)
    if wanted is not None and kind != wanted:
        raise TypeError(f"attribute {shown}: a value of type {kind.name} is not {wanted.name}")
    attribute.type = int(kind)


def attribute_of(name: str, value: Any, beside: Message, like: Message | None = None) -> Message:
    """Return a new AttributeProto with this name.

    `value` is an attribute, which is copied, or what `make_attribute` takes. Its external data stay
    external if the message `beside` has the same folder. An empty list has the type of `like`, an
    AttributeProto.
    """
    kind = message_name(value)
    made = _core.new_beside(beside, "AttributeProto") if kind else new_message("AttributeProto")
    if kind == "AttributeProto":
        copy_into(made, value)
        made.name = name
        return made
    is_empty = isinstance(value, Sequence) and not isinstance(value, str | bytes) and not value
    fill_attribute(made, name, value, None, like.type if is_empty and like is not None else None)
    return made


def set_value(attribute: Message, value: Any) -> None:
    """Give an AttributeProto another value; its name and documentation stay."""
    made = attribute_of(attribute.name, value, attribute, attribute)
    made.ClearField("doc_string")
    changed = _core.new_beside(attribute, "AttributeProto")
    changed.CopyFrom(attribute)
    for field in (*_FIELDS.values(), *_LISTS.values(), "ref_attr_name"):
        changed.ClearField(field)
    changed.MergeFrom(made)
    attribute.CopyFrom(changed)


def make_attribute_ref(
    name: str,
    attr_type: AttributeType | int,
    doc_string: str | None = None,
    *,
    ref_attr_name: str | None = None,
) -> Message:
    """Return a new AttributeProto that takes its value from an attribute of the function.

    Args:
        name: the name of the attribute.
        attr_type: its type.
        doc_string: its documentation.
        ref_attr_name: the name of the function's attribute; by default, the same name.

    Raises:
        ValueError: the name is empty.
    """
    referred = name if ref_attr_name is None else ref_attr_name
    if not referred:
        raise ValueError("ref_attr_name must not be empty")
    attribute = new_message("AttributeProto")
    attribute.name = name
    attribute.type = int(attr_type)
    attribute.ref_attr_name = referred
    if doc_string:
        attribute.doc_string = doc_string
    return attribute


def _is_array(value: Any) -> bool:
    import numpy as np

    return isinstance(value, np.ndarray)


def _single_type(value: Any, *, is_element: bool) -> AttributeType | None:
    """The type of a value that is no list; None for anything else."""
    import numpy as np

    if isinstance(value, (numbers.Integral, np.bool_)):
        return AttributeType.INT
    if isinstance(value, numbers.Real):
        return AttributeType.FLOAT
    if isinstance(value, (str, bytes)):
        return AttributeType.STRING
    if isinstance(value, np.ndarray):
        is_list = value.ndim == 1 and value.dtype.kind in "iufUSO" and not is_element
        return None if is_list else AttributeType.TENSOR
    return AttributeType.TYPE_PROTO if is_type(value) else _OF_MESSAGE.get(message_name(value))


def _list_type(shown: str, values: list[Any]) -> AttributeType:
    """The type of a list, from its elements. Integers among floats are floats."""
    if not values:
        raise ValueError(
            f"attribute {shown}: an empty list has no type; "
            "use onnxmap.make_attribute(name, [], attr_type=...)"
        )
    found = {_single_type(value, is_element=True) for value in values}
    if found == {AttributeType.INT, AttributeType.FLOAT}:
        found = {AttributeType.FLOAT}
    kind = found.pop()
    if kind is None or found:
        raise ValueError(f"attribute {shown}: the elements of a list must have one type of ONNX")
    return AttributeType[f"{kind.name}S"]


def _set_single(attribute: Message, kind: AttributeType, value: Any) -> None:
    from onnxmap._new_tensors import text_bytes

    field = _FIELDS[kind]
    if kind == AttributeType.INT:
        attribute.i = int(value)
    elif kind == AttributeType.FLOAT:
        attribute.f = float(value)
    elif kind == AttributeType.STRING:
        attribute.s = text_bytes(value)
    else:
        _copy_value(getattr(attribute, field), kind, value)


def _set_list(attribute: Message, kind: AttributeType, values: list[Any]) -> None:
    from onnxmap._new_tensors import text_bytes

    target, single = getattr(attribute, _LISTS[kind]), _ELEMENTS[kind]
    found = {_single_type(value, is_element=True) for value in values}
    if not found <= {single, AttributeType.INT if single == AttributeType.FLOAT else single}:
        raise TypeError(f"the elements of the list are not of type {single.name}")
    if kind == AttributeType.INTS:
        target.extend(int(value) for value in values)
    elif kind == AttributeType.FLOATS:
        target.extend(float(value) for value in values)
    elif kind == AttributeType.STRINGS:
        target.extend(text_bytes(value) for value in values)
    else:
        for value in values:
            _copy_value(target.add(), single, value)


def _copy_value(target: Message, kind: AttributeType, value: Any) -> None:
    from onnxmap._new_tensors import copy_tensor

    if kind == AttributeType.TENSOR:
        copy_tensor(target, value)
    else:
        copy_into(target, as_type_proto(value) if kind == AttributeType.TYPE_PROTO else value)
