"""Everything that the comments of onnx.proto forbid in a TensorProto, as error codes.

This oracle is as independent as `tensor_encoder`: it reads protobuf's own message. If there are
several faults, a reader may report any of them.
"""

from __future__ import annotations

import math

from onnx import TensorProto

from support.hostile.bad_tensors import TYPED_FIELDS, accepted_entries
from support.oracles import tensor_encoder as encoder
from support.oracles.tensor_encoder import ELEMENT_TYPES, ElementType

MOST = (1 << 63) - 1
HIGHEST_RANK = 64
KIND_OF_NUMBER = {kind.number: kind for kind in ELEMENT_TYPES.values()}


def faults(tensor: TensorProto) -> set[str]:
    """The codes of all faults of a tensor that stands alone and has its data in the message."""
    kind = KIND_OF_NUMBER.get(tensor.data_type)
    found = shape_faults(tensor, kind) | segment_faults(tensor)
    return found if kind is None else found | place_faults(tensor, kind) | data_faults(tensor, kind)


def shape_faults(tensor: TensorProto, kind: ElementType | None) -> set[str]:
    found = set() if kind else {"tensor.dtype"}
    if len(tensor.dims) > HIGHEST_RANK:
        found.add("tensor.rank")
    if any(dim < 0 for dim in tensor.dims):
        found.add("tensor.negative_dim")
    itemsize = kind.dtype.itemsize if kind else 1
    # NumPy also demands it of the dimensions that are not zero.
    if math.prod(dim for dim in tensor.dims if dim) * itemsize > MOST:
        found.add("tensor.size_overflow")
    return found


def fields_of(tensor: TensorProto) -> list[str]:
    """The typed fields that are not empty."""
    return [name for name in TYPED_FIELDS if len(getattr(tensor, name))]


def place_faults(tensor: TensorProto, kind: ElementType) -> set[str]:
    found = set()
    typed, raw = fields_of(tensor), tensor.HasField("raw_data")
    if len(typed) + raw > 1:
        found.add("tensor.ambiguous_data")
    if any(name != kind.field for name in typed):
        found.add("tensor.wrong_field")
    if kind.is_text and raw:
        found.add("tensor.string_raw")
    return found


def segment_faults(tensor: TensorProto) -> set[str]:
    """A segment that stands alone must be the whole tensor."""
    whole = (0, math.prod(tensor.dims))
    segment = tensor.segment
    is_piece = segment.HasField("begin") or segment.HasField("end")
    apart = is_piece and (tensor.segment.begin, tensor.segment.end) != whole
    return {"tensor.segment"} if apart else set()


def data_faults(tensor: TensorProto, kind: ElementType) -> set[str]:
    count, found = math.prod(tensor.dims), set()
    if tensor.HasField("raw_data") and not kind.is_text:
        size = -(-count * kind.bits // 8)
        if len(tensor.raw_data) != size:
            return {"tensor.data_size"}
        stream = int.from_bytes(tensor.raw_data, "little")
        return {"tensor.padding"} if kind.bits == 6 and stream >> count * kind.bits else found
    per_entry = {2: 4, 4: 2}.get(kind.bits, 1)
    entries = getattr(tensor, kind.field)
    parts = 2 if kind.name.startswith("COMPLEX") else 1
    if len(entries) != -(-count // per_entry) * parts:
        found.add("tensor.data_size")
    low, high = (0, (1 << 32) - 1) if kind.name == "UINT32" else accepted_entries(kind)
    narrow = kind.field == "int32_data" or kind.name == "UINT32"
    if narrow and any(not low <= value <= high for value in entries):
        found.add("tensor.value_range")
    return found


def values_as_text(tensor: TensorProto) -> list[str | bytes]:
    """The elements of a STRING tensor."""
    return [encoder.text_value(text) for text in tensor.string_data]
