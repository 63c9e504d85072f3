"""Sparse initializers that are assigned, added and deleted by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper
from support.models.sample import floats, model_of
from support.oracles.canonical import message_class

import onnxmap


def sparse(*values: float) -> onnxmap.ProtoView:
    return onnxmap.make_sparse_tensor(
        np.array(values, np.float32), np.arange(len(values), dtype=np.int64), [9]
    )


@pytest.fixture
def model() -> onnxmap.Model:
    made = model_of([])
    made.graph.node.append(helper.make_node("Relu", ["used"], ["y"]))
    for name in ("used", "free"):
        one = made.graph.sparse_initializer.add(values=floats(name, 1), dims=[9])
        one.indices.CopyFrom(helper.make_tensor("", 7, [1], [0]))
    return onnxmap.loads(made.SerializeToString())


def names(model: onnxmap.Model) -> list[str]:
    found = message_class("ModelProto").FromString(onnxmap.dumps(model))
    return [str(one.values.name) for one in found.graph.sparse_initializer]


def test_a_new_name_goes_to_the_end_and_a_known_one_keeps_its_place(model: onnxmap.Model) -> None:
    tensors = model.graph.sparse_initializers
    given = sparse(1, 2)
    tensors["new"] = given
    tensors["used"] = tensors["new"]
    tensors["free"] = message_class("SparseTensorProto").FromString(sparse(3).SerializeToString())
    assert names(model) == ["used", "free", "new"]
    assert list(tensors) == names(model)
    assert tensors["used"].to_dense().tolist() == [1, 2] + [0] * 7
    assert tensors["free"].values.numpy().tolist() == [3]
    assert given.values.name == ""
    again = onnxmap.loads(onnxmap.dumps(model)).graph.sparse_initializers
    assert [tensor.nnz for tensor in again.values()] == [2, 1, 2]


def test_what_no_node_uses_can_be_deleted(model: onnxmap.Model) -> None:
    tensors = model.graph.sparse_initializers
    free = tensors["free"]
    del tensors["free"]
    assert names(model) == ["used"]
    assert free.nnz == 1
    with pytest.raises(ValueError, match=r"'used' is used by .*Relu.*: change what uses it first"):
        del tensors["used"]
    with pytest.raises(KeyError, match="no tensor is named 'fre'"):
        del tensors["fre"]
    model.graph.nodes.clear()
    assert tensors.pop("used").name == "used"
    assert tensors.pop("used", None) is None
    assert tensors.setdefault("w", sparse(5)).nnz == 1
    tensors.update(v=sparse(1, 2, 3))
    assert names(model) == ["w", "v"]
    tensors.clear()
    assert names(model) == []
    model.revert()
    assert list(tensors) == ["used", "free"]


@pytest.mark.parametrize(
    ("name", "given", "error", "said"),
    [
        ("w", np.ones(3), TypeError, "make_sparse_tensor"),
        ("w", None, TypeError, "make_sparse_tensor"),
        ("", sparse(1), ValueError, "needs a name"),
        (5, sparse(1), TypeError, "is a str, not int"),
    ],
)
def test_a_wrong_value_changes_nothing(
    model: onnxmap.Model, name: Any, given: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        model.graph.sparse_initializers[name] = given
    assert not model.edited


def test_a_tensor_of_another_model_with_external_data_is_copied(tmp_path: Any) -> None:
    values = np.arange(1, 5, dtype=np.float32)
    (tmp_path / "w.bin").write_bytes(values.tobytes())
    made = model_of([])
    one = made.graph.sparse_initializer.add(dims=[9])
    one.values.CopyFrom(helper.make_tensor("w", 1, [4], values.tobytes(), raw=True))
    one.values.ClearField("raw_data")
    one.values.data_location = 1
    one.values.external_data.add(key="location", value="w.bin")
    one.indices.CopyFrom(helper.make_tensor("", 7, [4], range(4)))
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    target = onnxmap.loads(model_of([]).SerializeToString())
    target.graph.sparse_initializers["v"] = onnxmap.load(
        tmp_path / "m.onnx"
    ).graph.sparse_initializers["w"]
    again = onnxmap.loads(onnxmap.dumps(target)).graph.sparse_initializers["v"]
    assert again.values.numpy().tolist() == values.tolist()


def test_a_name_is_that_of_one_initializer_dense_or_sparse(model: onnxmap.Model) -> None:
    model.initializers["w"] = np.zeros(2, np.float32)
    with pytest.raises(ValueError, match="'w' is a name of initializers already: remove that one"):
        model.graph.sparse_initializers["w"] = sparse(1)
    with pytest.raises(ValueError, match="'free' is a name of sparse_initializers already"):
        model.initializers["free"] = np.zeros(2, np.float32)
    del model.graph.sparse_initializers["free"]
    model.initializers["free"] = np.zeros(2, np.float32)
    assert list(model.initializers) == ["w", "free"]
