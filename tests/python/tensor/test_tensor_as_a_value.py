"""A Tensor in place of a number or a sequence. Python never takes its bytes for text."""

from __future__ import annotations

import io
import operator
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from support.tensors.stored import NUMERIC, dtype_of, number_of

import onnxmap


def tensor_of(tmp_path: Path, array: Any) -> onnxmap.Tensor:
    made = array if isinstance(array, TensorProto) else numpy_helper.from_array(array, "t")
    path = tmp_path / "t.pb"
    path.write_bytes(made.SerializeToString())
    return onnxmap.load_tensor(path)


def test_a_scalar_is_a_number(tmp_path: Path) -> None:
    five = tensor_of(tmp_path, np.array(53, np.uint8))  # its only byte is the digit 5
    assert (int(five), float(five), complex(five), operator.index(five)) == (53, 53.0, 53, 53)
    assert five.item() == 53
    half = tensor_of(tmp_path, np.array(0.5, np.float32))
    assert (float(half), half.item()) == (0.5, 0.5)
    with pytest.raises(TypeError):
        operator.index(half)


def test_iteration_of_typed_values(tmp_path: Path) -> None:
    typed = TensorProto(data_type=TensorProto.INT64, dims=[3], int64_data=[5, 6, 7])
    tensor = tensor_of(tmp_path, typed)
    assert [*tensor] == [5, 6, 7]
    assert 6 in tensor
    assert 8 not in tensor
    assert max(tensor) == 7


def test_a_writable_view_is_refused(tmp_path: Path) -> None:
    tensor = tensor_of(tmp_path, np.ones(3, np.float32))
    with pytest.raises(ValueError, match="copy=False"):
        tensor.numpy(copy=False, writable=True)
    with pytest.raises(ValueError, match="writable"):
        tensor.numpy(out=np.empty(3, np.float32), writable=True)


def test_copy_may_be_any_object_with_a_truth(tmp_path: Path) -> None:
    tensor = tensor_of(tmp_path, np.ones(3, np.float32))
    assert tensor.numpy(copy=np.True_).flags.writeable  # the type may come first
    assert tensor.numpy(np.float64).dtype == np.float64  # the type may come first


REAL = [name for name in NUMERIC if name != "BOOL" and "COMPLEX" not in name]


@pytest.mark.parametrize("source", REAL)
def test_every_type_becomes_every_other(source: str, tmp_path: Path) -> None:
    """If ml_dtypes has no cast, values go through float32, which has all small values."""
    made = TensorProto(data_type=number_of(source), dims=[4])
    codes = numpy_helper.from_array(np.array([0, 1, 1, 0], np.float32).astype(dtype_of(source)))
    made.raw_data = codes.raw_data
    tensor = tensor_of(tmp_path, made)
    for target in NUMERIC:
        wanted = dtype_of(target)
        array = tensor.numpy(dtype=wanted)
        into = tensor.numpy(out=np.empty(4, wanted))
        assert array.dtype == into.dtype == wanted
        assert array.tobytes() == into.tobytes()
        if "E8M0" not in source + target and target != "BOOL":
            assert array.astype(np.complex64).tolist() == [0, 1, 1, 0], target


def test_names_of_types_that_only_ml_dtypes_has(tmp_path: Path) -> None:
    tensor = tensor_of(tmp_path, np.ones(3, np.float32))
    assert tensor.numpy(dtype="bfloat16").dtype.name == "bfloat16"
    assert tensor.numpy(dtype="int4").dtype.name == "int4"


def test_a_descriptor_is_not_a_path(tmp_path: Path) -> None:
    tensor = tensor_of(tmp_path, np.ones(3, np.float32))
    with (tmp_path / "out").open("wb") as file:
        with pytest.raises(TypeError):
            tensor.tofile(file.fileno())
        os.fstat(file.fileno())  # still open


def test_files_that_accept_no_bytes(tmp_path: Path) -> None:
    tensor = tensor_of(tmp_path, np.ones(3, np.float32))

    class Full(io.RawIOBase):
        def write(self, _: object) -> int:
            return 0

    class Busy(io.RawIOBase):
        def write(self, _: object) -> None:
            return None

    with pytest.raises(OSError, match="no more"):
        tensor.tofile(Full())
    with pytest.raises(BlockingIOError):
        tensor.tofile(Busy())
