"""Types of values as text, like `FLOAT scalar` or `optional sequence of INT64 any shape`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxmap._schema import type_name
from onnxmap._text import escape
from onnxmap.cli.text import shape_in_words

if TYPE_CHECKING:
    from onnxmap import ProtoView


def type_in_words(declared: ProtoView) -> str:
    """Return the type that a TypeProto declares; "undeclared" if it is empty."""
    match declared.WhichOneof("value"):
        case "tensor_type":
            return _tensor_in_words(declared.tensor_type)
        case "sparse_tensor_type":
            return f"sparse {_tensor_in_words(declared.sparse_tensor_type)}"
        case "sequence_type":
            return f"sequence of {type_in_words(declared.sequence_type.elem_type)}"
        case "optional_type":
            return f"optional {type_in_words(declared.optional_type.elem_type)}"
        case "map_type":
            key = type_name(declared.map_type.key_type)
            return f"map of {key} to {type_in_words(declared.map_type.value_type)}"
        case "opaque_type":
            return f"opaque {escape(f'{declared.opaque_type.domain}.{declared.opaque_type.name}')}"
        case _:
            return "undeclared"


def _tensor_in_words(tensor: ProtoView) -> str:
    shape = [_dimension(dim) for dim in tensor.shape.dim] if tensor.HasField("shape") else None
    return f"{type_name(tensor.elem_type)} {shape_in_words(shape)}"


def _dimension(dim: ProtoView) -> int | str | None:
    match dim.WhichOneof("value"):
        case "dim_value":
            return int(dim.dim_value)
        case "dim_param":
            return str(dim.dim_param)
        case _:
            return None
