"""The places where `onnx.numpy_helper.to_array` is wrong, each with the sentence of onnx.proto.

The test of element types leaves these places out of its comparison. A test here fails if a sentence
disappears from onnx.proto, or if the official package mends a place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, numpy_helper
from support.models.sample import external, model_of, write

import onnxmap

Values = list[Any]
FILE = b"\0\0\x80\x3f\0\0\0\x40"  # 1.0 and 2.0


def tensor(data_type: str, dims: list[int], **fields: Any) -> TensorProto:
    number = TensorProto.DataType.Value(data_type)
    return TensorProto(name="w", dims=dims, data_type=number, **fields)


def outside(data_type: str, dims: list[int], **fields: Any) -> TensorProto:
    made = external("w", dims, {"location": "w.bin"}, TensorProto.DataType.Value(data_type))
    made.MergeFrom(TensorProto(**fields))
    return made


@dataclass(frozen=True)
class Deviation:
    make: Callable[[], TensorProto]
    sentence: str  # the sentence of onnx.proto
    theirs: Values | type[Exception]
    ours: Values | str  # the values, or the code of the refusal


ONE_FIELD = (
    "Depending on the data_type field, exactly one of the fields below with name ending in _data "
    "is used to store the elements of the tensor."
)
ONE_ELEMENT = (
    "For data types with a bit-width of 8 or greater, each `int32_data` stores one element."
)
STRINGS_APART = (
    "The only exception is the string case, where one is required to store the content in the "
    "repeated bytes string_data field."
)
UTF_8 = "Each element of string_data is a UTF-8 encoded Unicode string."

RIGHT_TENSORS = {
    "NUL at the end of a string": Deviation(
        lambda: tensor("STRING", [3], string_data=[b"a\0", b"\0", b"\0b"]),
        UTF_8, ["a", "", "\0b"], ["a\0", "\0", "\0b"],
    ),
    "external data without a length, followed by others": Deviation(
        lambda: outside("FLOAT", [1]),
        '"length" (optional) - number of bytes containing data.', ValueError, [1.0],
    ),
    "a segment": Deviation(
        lambda: tensor(
            "FLOAT", [1], raw_data=FILE[:4], segment=TensorProto.Segment(begin=0, end=1)
        ),
        "For very large tensors, we may want to store them in chunks, in which case the following "
        "fields will specify the segment that is stored in the current TensorProto.",
        ValueError, [1.0],
    ),
}  # fmt: skip

WRONG_TENSORS = {
    "a string that is not UTF-8": Deviation(
        lambda: tensor("STRING", [2], string_data=[b"\xff", b"b"]),
        UTF_8, UnicodeDecodeError, [b"\xff", "b"],
    ),
    "a negative dimension": Deviation(
        lambda: tensor("FLOAT", [-1], raw_data=FILE),
        "The shape of the tensor.", [1.0, 2.0], "tensor.negative_dim",
    ),
    "raw_data and a typed field": Deviation(
        lambda: tensor("FLOAT", [1], raw_data=FILE[:4], float_data=[5]),
        ONE_FIELD, [1.0], "tensor.ambiguous_data",
    ),
    "two typed fields": Deviation(
        lambda: tensor("FLOAT", [1], float_data=[5], int32_data=[7]),
        ONE_FIELD, [5.0], "tensor.ambiguous_data",
    ),
    "external and in-file data": Deviation(
        lambda: outside("FLOAT", [2], raw_data=FILE[4:] * 2),
        "MUST be one of: - DEFAULT - data stored inside the protobuf message.",
        [1.0, 2.0], "tensor.ambiguous_data",
    ),
    "another type's field": Deviation(
        lambda: tensor("INT64", [0], float_data=[5]),
        "When this field is present, the data_type field MUST be FLOAT or COMPLEX64",
        [], "tensor.wrong_field",
    ),
    "raw_data of strings": Deviation(
        lambda: tensor("STRING", [0], raw_data=b"x"),
        "When this field is present, the data_type field MUST NOT be STRING or UNDEFINED",
        [], "tensor.string_raw",
    ),
    "external strings": Deviation(
        lambda: outside("STRING", [0]), STRINGS_APART, [], "tensor.string_external"
    ),
    "4-bit raw_data too long": Deviation(
        lambda: tensor("UINT4", [2], raw_data=b"\x21\x43"),
        "uint4 and int4 values must be packed to 4bitx2, the first element is stored in the 4 LSB "
        "and the second element is stored in the 4 MSB.",
        [1, 2], "tensor.data_size",
    ),
    "2-bit raw_data too long": Deviation(
        lambda: tensor("UINT2", [4], raw_data=b"\xe4\xff"),
        "uint2 and int2 values must be packed to 2bitx4", [0, 1, 2, 3], "tensor.data_size",
    ),
    "6-bit raw_data too long": Deviation(
        lambda: tensor("FLOAT6E2M3", [1], raw_data=b"\x08\0"),
        "the packed byte length is ceil(6 * num_elements / 8).", [1.0], "tensor.data_size",
    ),
    "6-bit padding": Deviation(
        lambda: tensor("FLOAT6E2M3", [1], raw_data=b"\x48"),
        "If the element count is not a multiple of 4, the final group is zero-padded",
        [1.0], "tensor.padding",
    ),
    "too many 4-bit entries": Deviation(
        lambda: tensor("UINT4", [2], int32_data=[0x21, 0x43]),
        "For 4-bit data types, each `int32_data` stores two elements.", [1, 2], "tensor.data_size",
    ),
    "too many 2-bit entries": Deviation(
        lambda: tensor("UINT2", [4], int32_data=[0xE4, 0]),
        "For 2-bit data types, each `int32_data` stores four elements.",
        [0, 1, 2, 3], "tensor.data_size",
    ),
    "6-bit entries out of range": Deviation(
        lambda: tensor("FLOAT6E2M3", [1], int32_data=[64 + 8]),
        "bits 6-31 MUST be zero.", [1.0], "tensor.value_range",
    ),
    "4-bit entries out of range": Deviation(
        lambda: tensor("UINT4", [2], int32_data=[300]),
        "Each pair of uint4, int4, and float4 values MUST be packed as two 4-bit elements into a "
        "single byte.",
        [12, 2], "tensor.value_range",
    ),
    "8-bit values out of range": Deviation(
        lambda: tensor("UINT8", [2], int32_data=[300, -129]),
        ONE_ELEMENT, [44, 127], "tensor.value_range",
    ),
    "16-bit values out of range": Deviation(
        lambda: tensor("INT16", [1], int32_data=[70000]), ONE_ELEMENT, [4464], "tensor.value_range"
    ),
    "float16 out of range": Deviation(
        lambda: tensor("FLOAT16", [1], int32_data=[0x10000 + 0x3C00]),
        "(b)float16 and float8 values MUST be converted bit-wise into an unsigned integer "
        "representation before being written to the buffer.",
        [1.0], "tensor.value_range",
    ),
    "uint32 out of range": Deviation(
        lambda: tensor("UINT32", [1], uint64_data=[(1 << 32) + 5]),
        "For uint64 and uint32 values", [5], "tensor.value_range",
    ),
}  # fmt: skip

DEVIATIONS = RIGHT_TENSORS | WRONG_TENSORS


def proto_text() -> str:
    """The comments of the installed onnx.proto in one line."""
    text = (Path(onnx.__file__).parent / "onnx.proto").read_text()
    return re.sub(r"\s+", " ", re.sub(r"^\s*//", " ", text, flags=re.MULTILINE))


@pytest.mark.parametrize("name", DEVIATIONS)
def test_onnx_proto_still_says_so(name: str) -> None:
    assert DEVIATIONS[name].sentence in proto_text()


@pytest.mark.parametrize("name", DEVIATIONS)
def test_the_official_reading_still_differs(name: str, tmp_path: Path) -> None:
    case = DEVIATIONS[name]
    (tmp_path / "w.bin").write_bytes(FILE)
    if isinstance(case.theirs, type):
        with pytest.raises(case.theirs):
            numpy_helper.to_array(case.make(), str(tmp_path))
    else:
        assert numpy_helper.to_array(case.make(), str(tmp_path)).tolist() == case.theirs
    assert case.theirs != case.ours


@pytest.mark.parametrize("name", DEVIATIONS)
def test_our_reading_follows_onnx_proto(name: str, tmp_path: Path) -> None:
    case = DEVIATIONS[name]
    (tmp_path / "w.bin").write_bytes(FILE)
    path = write(model_of([case.make()]), tmp_path / "model.onnx")
    tensor = onnxmap.load(path).initializers["w"]
    if isinstance(case.ours, list):
        assert tensor.numpy().tolist() == case.ours
        return
    with pytest.raises(onnxmap.TensorError) as caught:
        tensor.numpy()
    assert caught.value.code == case.ours
