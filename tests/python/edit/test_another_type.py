"""Weights that get another type or shape: assignment warns of it, and `replace` keeps both."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

import onnxmap
from onnxmap._make import initializer_values
from onnxmap._make.initializer_values import replacement_for

W = np.arange(6, dtype=np.float32).reshape(2, 3)


def model() -> onnxmap.Model:
    return onnxmap.from_arrays({"w": W, "i": np.arange(4), "h": W.astype(np.float16)})


def test_the_slip_of_a_merged_adapter() -> None:
    """NumPy's scalars and arrays of float64 make a DOUBLE of a FLOAT."""
    m = model()
    a, b = np.ones((1, 3)), np.ones((2, 1))
    with pytest.warns(onnxmap.TensorWarning) as caught:
        m.initializers["w"] = m.initializers["w"].numpy() + 0.01 * b @ a
    text = str(caught[0].message)
    assert text == (
        "initializer 'w' was FLOAT of shape (2, 3), and is now DOUBLE of shape (2, 3); "
        "initializers.replace('w', values) keeps both; if you mean it, assign "
        "make_tensor('w', data_type, dims, values)"
    )
    assert caught[0].filename == __file__
    m = model()
    m.initializers.replace("w", W + 0.01 * b @ a)
    assert m.initializers["w"].dtype == onnxmap.DataType.FLOAT
    np.testing.assert_array_equal(m.initializers["w"].numpy(), (W + 0.01).astype(np.float32))


@pytest.mark.parametrize("values", [W.T.copy(), W[0], 1.5, W.astype(np.int32)])
def test_another_type_or_shape_warns_once(values: Any) -> None:
    m = model()
    with pytest.warns(onnxmap.TensorWarning, match="make_tensor") as caught:
        m.initializers["w"] = values
    assert len(caught) == 1
    np.testing.assert_array_equal(m.initializers["w"].numpy(), np.asarray(values))


def test_what_means_it_does_not_warn() -> None:
    m = model()
    m.initializers["w"] = W + 1
    m.initializers["new"] = np.zeros(3)
    m.initializers["w"] = onnxmap.make_tensor("w", onnxmap.DataType.DOUBLE, [3], np.zeros(3))
    m.initializers["w"] = onnx.numpy_helper.from_array(np.zeros(4, np.int64))
    m.initializers["w"] = m.initializers["h"]
    assert m.initializers["w"].dtype == onnxmap.DataType.FLOAT16


def test_a_warning_that_is_an_error_changes_nothing() -> None:
    m = onnxmap.loads(onnxmap.dumps(model()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(onnxmap.TensorWarning):
            m.initializers["w"] = np.zeros(3)
    assert not m.edited


@pytest.mark.parametrize("dtype", ["float16", "float64", "int64", ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", ["w", "h"])
def test_replace_casts(name: str, dtype: Any) -> None:
    m = model()
    values = (W * 3).astype(dtype)
    m.initializers.replace(name, values)
    old = {"w": np.float32, "h": np.float16}[name]
    found = m.initializers[name].numpy()
    assert found.dtype == old
    np.testing.assert_array_equal(found, values.astype(old))


def test_replace_keeps_the_memory_of_the_same_type() -> None:
    m = onnxmap.from_arrays({"w": np.zeros(5000, np.float32)})
    values = np.ones(5000, np.float32)
    m.initializers.replace("w", values)
    assert np.shares_memory(m.initializers["w"].numpy(), values)


def test_replace_refuses() -> None:
    m = onnxmap.loads(onnxmap.dumps(model()))
    with pytest.raises(
        ValueError, match=r"'w' has the shape \(2, 3\), and the values have \(3, 2\)"
    ):
        m.initializers.replace("w", W.T)
    with pytest.raises(TypeError, match="INT64, and the values are DOUBLE"):
        m.initializers.replace("i", np.full(4, 1.5))
    with pytest.raises(TypeError, match="convert them first"):
        m.initializers.replace("w", np.full((2, 3), "text"))
    with pytest.raises(KeyError, match="nothing"):
        m.initializers.replace("nothing", W)
    assert not m.edited


@pytest.mark.parametrize("number", [0, 99, -5, 1_000_000_000])
def test_replace_of_a_tensor_of_no_type(number: int) -> None:
    made = onnx.TensorProto(name="w", data_type=number, dims=[2], raw_data=bytes(8))
    data = onnx.ModelProto(ir_version=10, graph={"name": "g", "initializer": [made]})
    m = onnxmap.loads(data.SerializeToString(), lenient=True)
    with pytest.raises(TypeError, match="type of ONNX"):
        m.initializers.replace("w", np.zeros(2, np.float32))
    m = model()
    with pytest.raises(TypeError, match="type of ONNX"):
        m.initializers.replace("w", onnx.TensorProto(data_type=number, dims=[2, 3]))


def test_replace_while_another_thread_changes_the_type(monkeypatch: pytest.MonkeyPatch) -> None:
    m = model()
    made = [replacement_for(m.initializers, "w", np.full((2, 3), 7.0))]

    def replacement(*arguments: Any) -> Any:  # the first is of the type that it had before
        return made.pop() if made else replacement_for(*arguments)

    m.initializers["w"] = onnxmap.make_tensor("w", "float64", [2, 3], np.zeros(6))
    monkeypatch.setattr(initializer_values, "replacement_for", replacement)
    m.initializers.replace("w", np.full((2, 3), 7.0))
    assert m.initializers["w"].dtype == onnxmap.DataType.DOUBLE
    assert np.all(m.initializers["w"].numpy() == 7)


def test_a_hook_of_warnings_may_edit_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    m = onnxmap.from_arrays({f"w{i}": np.full(2, i, np.float32) for i in range(5)})

    def hook(*_: object, **__: object) -> None:
        del m.initializers["w0"]

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", hook)
        m.initializers["w2"] = np.full(4, 9.0)
    assert m.initializers.names() == ["w1", "w2", "w3", "w4"]
    assert m.initializers["w2"].numpy().tolist() == [9.0] * 4


def test_values_are_converted_once() -> None:
    class Changing:
        calls = 0

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
            self.calls += 1
            return W if self.calls == 1 else np.zeros(7)

    m, values = model(), Changing()
    m.initializers.replace("w", values)
    assert values.calls == 1
    np.testing.assert_array_equal(m.initializers["w"].numpy(), W)
