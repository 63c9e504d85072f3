"""New attributes, whose types follow from their values; see `make_node`."""

from __future__ import annotations

from typing import Any

from onnxmap._base.enums import AttributeType
from onnxmap._base.new_message import Message, new_message
from onnxmap._make.attribute_values import new_attribute


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
    kind = 0 if attr_type is None else int(AttributeType(attr_type))
    if kind == 0 and attr_type is not None:
        raise TypeError(f"attribute {name!r}: no value has the type UNDEFINED")
    attribute = new_attribute(name, value, kind)
    if doc_string:
        attribute.doc_string = doc_string
    return attribute


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
    required = {"name": name, "ref_attr_name": referred, "type": int(attr_type)}
    return new_message("AttributeProto", required, doc_string=doc_string or None)
