"""Faults of tensors are found once, and in a fixed order."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import TensorProto
from support.checks.rules import errors_in
from support.models.sample import external, model_of, write

import onnxmap


def tensor(name: str, data_type: int, dims: list[int], raw_data: bytes) -> TensorProto:
    return TensorProto(name=name, data_type=data_type, dims=dims, raw_data=raw_data)


VALUES = tensor("s", TensorProto.FLOAT, [2], bytes(8))
INDICES = tensor("", TensorProto.INT64, [2], b"\1" + bytes(7) + b"\2" + bytes(7))


@pytest.mark.parametrize(
    ("values", "indices", "rule", "part"),
    [
        (tensor("s", 99, [2], bytes(8)), INDICES, "tensor.dtype", ".values"),
        (tensor("s", 1, [-2], bytes(8)), INDICES, "tensor.negative_dim", ".values"),
        (VALUES, tensor("", 7, [-2], bytes(16)), "tensor.negative_dim", ".indices"),
        (VALUES, tensor("", 7, [2], bytes(9)), "tensor.data_size", ".indices"),
        (VALUES, tensor("", 6, [2], bytes(8)), "tensor.sparse_dtype", ""),
    ],
)
def test_a_fault_of_a_part_is_none_of_the_whole(
    values: TensorProto, indices: TensorProto, rule: str, part: str
) -> None:
    model = model_of([])
    model.graph.sparse_initializer.add(values=values, indices=indices, dims=[4])
    found = errors_in(model.SerializeToString())
    assert found == [(rule, f"graph.sparse_initializer[0]{part}")]


def test_a_sparse_tensor_without_dimensions() -> None:
    """onnx.checker refuses it, too."""
    model = model_of([])
    model.graph.sparse_initializer.add(values=VALUES, indices=INDICES)
    place = "graph.sparse_initializer[0]"
    assert errors_in(model.SerializeToString()) == [("tensor.sparse_rank", place)]


def test_an_initializer_of_an_input_that_is_no_tensor() -> None:
    model = model_of([VALUES])
    value = model.graph.input.add(name="s")
    value.type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT
    found = errors_in(model.SerializeToString())
    assert found == [("graph.initializer_type", "graph.initializer[0]")]


def test_a_type_that_the_ir_version_does_not_have() -> None:
    """onnx.proto says under Version which one added BFLOAT16."""
    model = model_of([tensor("w", TensorProto.BFLOAT16, [1], bytes(2))])
    value = model.graph.input.add(name="w")
    value.type.tensor_type.elem_type = TensorProto.BFLOAT16
    for version, expected in ((3, ["tensor.dtype_version", "type.version"]), (4, [])):
        model.ir_version = version
        report = onnxmap.loads(model.SerializeToString()).check(select="*version")
        assert sorted(each.rule for each in report) == expected


def test_each_tensor_that_overlaps_another_is_found(tmp_path: Path) -> None:
    """The last two are the same bytes, which is no fault, and both overlap the first."""
    tensors = [
        external(name, [4], {"location": "w", "offset": str(offset)})
        for name, offset in [("a", 0), ("b", 8), ("c", 8)]
    ]
    (tmp_path / "w").write_bytes(bytes(24))
    model = onnxmap.load(write(model_of(tensors), tmp_path / "model.onnx"))
    found = [each.where for each in model.check(select="ext.overlap")]
    assert found == ["graph.initializer[1]", "graph.initializer[2]"]


def test_overlaps_are_in_the_order_of_the_files(tmp_path: Path) -> None:
    """Of the first use of each file, then of the offsets in it."""
    offsets = [16, 0, 8]
    tensors = [
        external(f"{location}{offset}", [4], {"location": location, "offset": str(offset)})
        for location in "zamb"
        for offset in offsets
    ]
    for location in "zamb":
        (tmp_path / location).write_bytes(bytes(32))
    model = onnxmap.load(write(model_of(tensors), tmp_path / "model.onnx"))
    found = [(each.where, each.message.split()[-1]) for each in model.check(select="ext.overlap")]
    place = "graph.initializer[{}]".format
    assert found == [
        (place(first + at), place(first + before))
        for first in (0, 3, 6, 9)
        for at, before in ((2, 1), (0, 2))
    ]
