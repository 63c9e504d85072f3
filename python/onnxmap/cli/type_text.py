"""Types of values as text, like `FLOAT [N, 3]` or `optional sequence of INT64 []`."""

from __future__ import annotations

from onnxmap import DataType
from onnxmap.cli.text import escape, shape_in_words
from onnxmap.types import (
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
)


def type_name(number: int) -> str:
    """Return the name of a tensor's element type, or "type N" if ONNX has no type of number N."""
    try:
        return DataType(number).name
    except ValueError:
        return f"type {number}"


def type_in_words(declared: object) -> str:
    """Return the type of a value as text; "undeclared" if it has none."""
    match declared:
        case TensorType(dtype, shape):
            return f"{type_name(dtype)} {shape_in_words(shape)}"
        case SparseTensorType(dtype, shape):
            return f"sparse {type_name(dtype)} {shape_in_words(shape)}"
        case SequenceType(elem_type):
            return f"sequence of {type_in_words(elem_type)}"
        case OptionalType(elem_type):
            return f"optional {type_in_words(elem_type)}"
        case MapType(key_type, value_type):
            return f"map of {type_name(key_type)} to {type_in_words(value_type)}"
        case OpaqueType(domain, name):
            return f"opaque {escape(f'{domain}.{name}')}"
        case _:
            return "undeclared"
