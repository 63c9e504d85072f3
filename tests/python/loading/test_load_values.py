"""Stored values: tensors, sequences, maps, optionals, test data folders, operator sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.onnx_operators_ml_pb2 import OperatorSetProto
from support.models.sample import write
from support.oracles.canonical import canonical
from support.oracles.tensors import assert_same_array

import onnxmap


def test_load_tensor(tmp_path: Path) -> None:
    tensor = numpy_helper.from_array(np.arange(6, dtype=np.int16).reshape(2, 3), "t")
    path = write(tensor, tmp_path / "input_0.pb")
    ours = onnxmap.load_tensor(path)
    assert (ours.name, ours.shape, ours.dtype) == ("t", (2, 3), onnxmap.DataType.INT16)
    assert_same_array(ours.numpy(), numpy_helper.to_array(tensor))
    bad = tmp_path / "bad.pb"
    bad.write_bytes(b"\xff")
    with pytest.raises(onnxmap.ParseError):
        onnxmap.load_tensor(bad)


def test_load_value_sequence(tmp_path: Path) -> None:
    arrays = [np.arange(n, dtype=np.float32) for n in range(3)]
    path = tmp_path / "input_0.pb"
    path.write_bytes(numpy_helper.from_list(arrays, "s").SerializeToString())
    ours = onnxmap.load_value(path, "sequence")
    assert isinstance(ours, list)
    for one, other in zip(ours, arrays, strict=True):
        assert_same_array(one, other)


def test_load_value_map(tmp_path: Path) -> None:
    given = {3: np.float32([1, 2]), -1: np.float32([3, 4])}
    path = tmp_path / "input_0.pb"
    path.write_bytes(numpy_helper.from_dict(given, "m").SerializeToString())
    ours = onnxmap.load_value(path, "map")
    assert list(ours) == [3, -1]
    assert [value.tolist() for value in ours.values()] == [[1, 2], [3, 4]]


def test_load_value_map_of_texts(tmp_path: Path) -> None:
    path = tmp_path / "input_0.pb"
    message = onnx.MapProto(key_type=onnx.TensorProto.STRING)
    message.string_keys.extend(["é".encode(), b"\xff"])
    message.values.CopyFrom(numpy_helper.from_list([np.int8([1]), np.int8([2])]))
    path.write_bytes(message.SerializeToString())
    ours = onnxmap.load_value(path, "map")
    assert {key: value.tolist() for key, value in ours.items()} == {"é": [1], b"\xff": [2]}


@pytest.mark.parametrize("key_type", [onnx.TensorProto.INT64, onnx.TensorProto.STRING])
def test_a_repeated_key_of_a_map_is_not_lost_silently(key_type: int) -> None:
    values = [numpy_helper.from_array(np.array([i])) for i in range(3)]
    message = onnx.MapProto(key_type=key_type)
    if key_type == onnx.TensorProto.STRING:
        message.string_keys.extend([b"1", b"1", b"2"])
    else:
        message.keys.extend([1, 1, 2])
    message.values.CopyFrom(onnx.SequenceProto(elem_type=1, tensor_values=values))
    with pytest.warns(onnxmap.RepeatedKeyWarning, match=r"'?1'? occurs more than once") as caught:
        found: Any = onnxmap.loads_value(message.SerializeToString(), "map")
    assert [array.item() for array in found.values()] == [1, 2]
    assert "MapProto" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_load_value_map_of_another_number_of_keys(tmp_path: Path) -> None:
    path = tmp_path / "input_0.pb"
    message = numpy_helper.from_dict({3: np.int8([1]), 4: np.int8([2])}, "m")
    del message.keys[1]
    path.write_bytes(message.SerializeToString())
    with pytest.raises(onnxmap.ParseError, match="1 keys but 2 values") as caught:
        onnxmap.load_value(path, "map")
    assert caught.value.code == "model.map_size"


def test_load_value_sequence_without_element_type(tmp_path: Path) -> None:
    path = tmp_path / "input_0.pb"
    message = numpy_helper.from_list([np.int8([1]), np.int8([2])], "s")
    message.elem_type = 0
    path.write_bytes(message.SerializeToString())
    assert [one.tolist() for one in onnxmap.load_value(path, "sequence")] == [[1], [2]]
    path.write_bytes(b"")
    assert onnxmap.load_value(path, "sequence") == []


def test_load_value_optional(tmp_path: Path) -> None:
    path = tmp_path / "input_0.pb"
    path.write_bytes(numpy_helper.from_optional(np.int32([7]), "o").SerializeToString())
    assert onnxmap.load_value(path, "optional").tolist() == [7]
    path.write_bytes(numpy_helper.from_optional(None, "o").SerializeToString())
    assert onnxmap.load_value(path, "optional") is None
    path.write_bytes(numpy_helper.from_optional([np.int8([1])], "o").SerializeToString())
    assert [one.tolist() for one in onnxmap.load_value(path, "optional")] == [[1]]


def test_load_value_of_an_unknown_kind(tmp_path: Path) -> None:
    path = tmp_path / "input_0.pb"
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="sequence"):
        onnxmap.load_value(path, "tuple")


def test_load_test_data_sorts_by_number(tmp_path: Path) -> None:
    for index in range(12):
        write(numpy_helper.from_array(np.int64([index])), tmp_path / f"input_{index}.pb")
    inputs, outputs = onnxmap.load_test_data(tmp_path)
    assert [int(one[0]) for one in inputs] == list(range(12))
    assert outputs == []
    found = onnxmap.load_test_data(tmp_path)
    assert (len(found.inputs), found.outputs) == (12, [])
    assert isinstance(found, onnxmap.TestData)


def test_load_operator_set(tmp_path: Path) -> None:
    opset = OperatorSetProto(
        magic="ONNXOPSET", ir_version=7, domain="d", opset_version=3, doc_string="text"
    )
    opset.operator.add(op_type="Twice", since_version=2, status=1, doc_string="doubles")
    path = tmp_path / "ops.onnx"
    path.write_bytes(opset.SerializeToString())
    ours = onnxmap.load_operator_set(path)
    assert (ours.magic, ours.domain, ours.opset_version) == ("ONNXOPSET", "d", 3)
    assert [one.op_type for one in ours.operators] == ["Twice"]
    assert ours.operators[0].since_version == 2
    assert canonical(ours.proto, "OperatorSetProto") == canonical(opset, "OperatorSetProto")
