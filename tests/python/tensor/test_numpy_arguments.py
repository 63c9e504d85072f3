"""`Tensor.numpy(dtype=, out=, copy=)` gives astype's values, in the caller's array or a new one."""

from __future__ import annotations

import itertools
import platform
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from support.models.sample import model_of
from support.tensors.stored import (
    NUMERIC,
    PACKED_BITS,
    Array,
    at_offset,
    code_type,
    dtype_of,
    in_buffer,
    number_of,
    random_codes,
    stored,
    values_of,
)

import onnxmap

SHAPE = (3, 5, 7)


def tensor_and_values(
    type_name: str, shape: tuple[int, ...] = SHAPE
) -> tuple[onnxmap.Tensor, Array]:
    """A tensor stored as raw_data, and an array of the same values from NumPy and ml_dtypes."""
    codes = random_codes(type_name, int(np.prod(shape)))
    buffer, _ = in_buffer(type_name, shape, stored(type_name, codes))
    return onnxmap.loads(buffer).initializers["t"], values_of(type_name, codes).reshape(shape)


def typed_tensor(type_name: str, values: list[float], **field: list[Any]) -> onnxmap.Tensor:
    tensor = TensorProto(name="t", dims=[len(values)], data_type=number_of(type_name), **field)
    return onnxmap.loads(model_of([tensor]).SerializeToString()).initializers["t"]


def astype(values: Array, dtype: Any) -> Array:
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def converted(tensor: onnxmap.Tensor, dtype: Any, **arguments: Any) -> Array:
    """`numpy(dtype=...)`. If NumPy converts, it may raise its own floating-point warnings."""
    with np.errstate(all="ignore"):
        array = tensor.numpy(dtype=dtype, **arguments)
    assert isinstance(array, np.ndarray)
    return array


def assert_same_bits(ours: Array, theirs: Array) -> None:
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if platform.machine() == "aarch64":  # where NumPy makes some NaN quiet, as an addition does
        ours, theirs = ours + ours.dtype.type(0), theirs + theirs.dtype.type(0)
    assert ours.tobytes() == theirs.tobytes()


TARGETS = ["float64", "float32", "float16", "int8", "uint16", "int64", "complex64", "bool"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type_name", NUMERIC)
def test_dtype_has_astype_s_values(type_name: str, target: str) -> None:
    tensor, values = tensor_and_values(type_name)
    if np.dtype(target).kind in "iu" and type_name.startswith(
        ("FLOAT", "BFLOAT", "DOUBLE", "COMPLEX")
    ):
        # The cast of NaN, infinity and large values to integers is undefined, so all values are
        # small.
        tensor, values = small_values(type_name)
    if values.dtype.kind == "c" and np.dtype(target).kind in "fiu":
        for convert in (values.astype, lambda dtype: tensor.numpy(dtype=dtype)):
            with np.errstate(all="ignore"), pytest.warns(np.exceptions.ComplexWarning):
                convert(target)
        return
    assert_same_bits(converted(tensor, target), astype(values, target))


def small_values(type_name: str) -> tuple[onnxmap.Tensor, Array]:
    """Values that all integer types have."""
    low = 1 if type_name == "FLOAT8E8M0" else 0  # this type has no zero
    numbers = np.arange(105) % 2 + low
    values = numbers.astype(np.float32).astype(dtype_of(type_name)).reshape(SHAPE)
    codes = values.view(code_type(type_name)).reshape(-1)
    buffer, _ = in_buffer(type_name, SHAPE, stored(type_name, codes))
    return onnxmap.loads(buffer).initializers["t"], values


@pytest.mark.parametrize("type_name", ["FLOAT", "FLOAT8E5M2", "INT4", "INT64"])
@pytest.mark.parametrize("target", ["bfloat16", "float8_e4m3fn", "float4_e2m1fn"])
def test_dtype_may_be_one_of_ml_dtypes(type_name: str, target: str) -> None:
    import ml_dtypes

    tensor, values = tensor_and_values(type_name)
    dtype = np.dtype(getattr(ml_dtypes, target))
    assert_same_bits(converted(tensor, dtype), astype(values, dtype))
    assert_same_bits(converted(tensor, getattr(ml_dtypes, target)), astype(values, dtype))


def test_conversions_that_ml_dtypes_lacks_go_through_float32() -> None:
    import ml_dtypes

    tensor, values = tensor_and_values("INT4")
    with pytest.raises(TypeError, match="float8_e8m0fnu"):
        values.astype(ml_dtypes.float8_e8m0fnu)
    expected = values.astype(np.float32).astype(ml_dtypes.float8_e8m0fnu)
    assert_same_bits(tensor.numpy(dtype=ml_dtypes.float8_e8m0fnu), expected)


def test_dtype_in_all_of_numpy_s_spellings() -> None:
    tensor, values = tensor_and_values("FLOAT16")
    spellings: list[Any] = [
        np.float32, "float32", "f4", "<f4", np.dtype(np.float32), onnxmap.DataType.FLOAT, np.single,
    ]  # fmt: skip
    for spelling in spellings:
        assert_same_bits(tensor.numpy(dtype=spelling), values.astype(np.float32))
    assert tensor.numpy(dtype=float).dtype == np.float64
    assert converted(tensor, onnxmap.DataType.BFLOAT16).dtype == dtype_of("BFLOAT16")
    assert tensor.numpy(dtype=None).dtype == np.float16
    big_endian = tensor.numpy(dtype=">f4")
    assert_same_bits(big_endian, values.astype(">f4"))
    for nonsense in ("no such type", onnxmap.DataType.UNDEFINED, object()):
        with pytest.raises(TypeError):
            tensor.numpy(dtype=nonsense)


@pytest.mark.parametrize("type_name", NUMERIC)
def test_its_own_dtype_is_not_a_conversion(type_name: str) -> None:
    tensor, values = tensor_and_values(type_name)
    for dtype in (values.dtype, tensor.dtype):
        array = tensor.numpy(dtype=dtype)
        assert_same_bits(array, values)
        assert np.shares_memory(array, tensor.numpy()) == tensor.is_view


@pytest.mark.parametrize("source", ["FLOAT16", "FLOAT", "INT4", "INT32"])
def test_a_converted_array_is_read_only_unless_asked(source: str) -> None:
    tensor, _ = tensor_and_values(source)
    targets = {"float64", "float32", "float16"} - {tensor.dtype.numpy().name}
    for target in targets:
        assert not converted(tensor, target).flags.writeable
        for wanted in ({"copy": True}, {"writable": True}):
            array = converted(tensor, target, **wanted)
            assert array.flags.writeable
            array[...] = 1
        assert not (converted(tensor, target) == 1).all()


def test_dtype_of_a_typed_tensor() -> None:
    tensor = typed_tensor("FLOAT16", [0, 0, 0], int32_data=[0x3C00, 0xC000, 0x7C00])
    assert tensor.numpy(dtype=np.float32).tolist() == [1.0, -2.0, np.inf]
    assert converted(tensor, np.int64, copy=True)[:2].tolist() == [1, -2]
    tensor = typed_tensor("INT4", [0, 0, 0], int32_data=[0x8F, 0x07])
    assert tensor.numpy(dtype=np.float32).tolist() == [-1.0, -8.0, 7.0]
    tensor = typed_tensor("DOUBLE", [0, 0], double_data=[0.1, 1e300])
    assert_same_bits(converted(tensor, "f4"), np.float32([0.1, np.inf]))


def test_strings_convert_as_numpy_s_objects_do() -> None:
    tensor = typed_tensor("STRING", [0, 0], string_data=[b"1", b"22"])
    expected = np.array(["1", "22"], object)
    for dtype in ("U2", np.int64, object):
        assert tensor.numpy(dtype=dtype).tolist() == expected.astype(dtype).tolist()
    typed = typed_tensor("STRING", [0], string_data=[b"no number"])
    with pytest.raises(ValueError, match="no number"):
        typed.numpy(dtype=np.int64)


def contiguous(shape: tuple[int, ...], dtype: Any) -> Array:
    return np.empty(shape, dtype)


def fortran(shape: tuple[int, ...], dtype: Any) -> Array:
    return np.empty(shape, dtype, order="F")


def strided(shape: tuple[int, ...], dtype: Any) -> Array:
    return np.empty((shape[0], 2 * shape[1], 3 * shape[2]), dtype)[:, ::2, ::3]


def reversed_(shape: tuple[int, ...], dtype: Any) -> Array:
    return np.empty(shape, dtype)[::-1, :, ::-1]


def misaligned(shape: tuple[int, ...], dtype: Any) -> Array:
    return at_offset(int(np.prod(shape)), dtype, 3)[0].reshape(shape)


def transposed(shape: tuple[int, ...], dtype: Any) -> Array:
    return np.empty((shape[2], shape[0], shape[1]), dtype).transpose(1, 2, 0)


Layout = Callable[[tuple[int, ...], Any], Array]
LAYOUTS: list[Layout] = [contiguous, fortran, strided, reversed_, misaligned, transposed]


@pytest.mark.parametrize("type_name", NUMERIC)
def test_out_of_any_layout(type_name: str) -> None:
    tensor, values = tensor_and_values(type_name)
    targets = {values.dtype, np.dtype(np.float32), np.dtype(np.complex128)}
    targets -= {np.dtype(np.float32)} if values.dtype.kind == "c" else set()
    for dtype, layout in itertools.product(targets, LAYOUTS):
        out = layout(SHAPE, dtype)
        with np.errstate(all="ignore"):
            assert tensor.numpy(out=out) is out
        assert_same_bits(np.ascontiguousarray(out), astype(values, dtype))
        assert out.flags.writeable
        with np.errstate(all="ignore"):
            assert tensor.numpy(dtype=dtype, out=out) is out


@pytest.mark.parametrize("type_name", ["FLOAT", "INT2", "FLOAT16"])
def test_out_leaves_the_gaps_of_its_strides_alone(type_name: str) -> None:
    tensor, values = tensor_and_values(type_name)
    room = np.full((3, 10, 21), 42, np.float32)
    tensor.numpy(out=room[:, 1::2, 2::3])
    assert_same_bits(room[:, 1::2, 2::3].copy(), values.astype(np.float32))
    room[:, 1::2, 2::3] = 42
    assert (room == 42).all()


@pytest.mark.parametrize("shape", [(), (0,), (4, 0, 3), (1,) * 64])
def test_out_of_every_shape(shape: tuple[int, ...]) -> None:
    tensor, values = tensor_and_values("FLOAT16", shape)
    out = np.full(shape, 7, np.float32)
    assert tensor.numpy(out=out) is out
    assert_same_bits(out, values.astype(np.float32).reshape(shape))


def test_out_must_have_the_shape() -> None:
    tensor, _ = tensor_and_values("FLOAT16")
    for shape in [(3, 5), (3, 7, 5), (105,), (1, 3, 5, 7), (3, 5, 8), ()]:
        out = np.full(shape, 7, np.float32)
        with pytest.raises(ValueError, match="shape"):
            tensor.numpy(out=out)
        assert (out == 7).all()


def test_out_must_be_a_writable_array() -> None:
    tensor, _ = tensor_and_values("FLOAT16")
    out = np.full(SHAPE, 7, np.float32)
    out.flags.writeable = False
    with pytest.raises(ValueError, match=r"read-only|writ"):
        tensor.numpy(out=out)
    assert (out == 7).all()
    for other in ([0.0] * 105, bytearray(420), memoryview(bytearray(420)), 7, "out"):
        with pytest.raises(TypeError):
            tensor.numpy(out=other)
    with pytest.raises(ValueError, match="dtype"):
        tensor.numpy(out=np.empty(SHAPE, np.float32), dtype=np.float64)


def test_out_of_strings() -> None:
    tensor = typed_tensor("STRING", [0, 0], string_data=[b"a", b"\xff"])
    out = np.empty(2, object)
    assert tensor.numpy(out=out) is out
    assert out.tolist() == ["a", b"\xff"]


@pytest.mark.parametrize("shift", [-64, -4, -3, 0, 1, 4, 60])
@pytest.mark.parametrize("target", ["FLOAT", "FLOAT16", "INT32"])
def test_out_over_the_stored_bytes_themselves(target: str, shift: int) -> None:
    """The result is the same as if the two arrays did not share memory."""
    codes = random_codes("FLOAT16", 1000) & 0x83FF | 0x3C00  # 1 or 2, which all types have
    values = values_of("FLOAT16", codes)
    head_room = 2 * 4096
    buffer, at = in_buffer("FLOAT16", [1000], stored("FLOAT16", codes))
    room = np.zeros(buffer.size + 2 * head_room, np.uint8)
    room[head_room : head_room + buffer.size] = buffer
    tensor = onnxmap.loads(room[head_room : head_room + buffer.size]).initializers["t"]
    dtype = dtype_of(target)
    begin = head_room + at + shift
    out = room[begin : begin + 1000 * dtype.itemsize].view(dtype)
    assert np.shares_memory(out, tensor.numpy())
    tensor.numpy(out=out)
    assert_same_bits(out.copy(), values.astype(dtype))


@pytest.mark.parametrize("type_name", NUMERIC)
def test_copy_false_refuses_work(type_name: str) -> None:
    tensor, values = tensor_and_values(type_name)
    if type_name in PACKED_BITS:
        assert not tensor.is_view
        for arguments in ({}, {"dtype": values.dtype}):
            with pytest.raises(ValueError, match="copy"):
                tensor.numpy(copy=False, **arguments)
    else:
        assert np.shares_memory(tensor.numpy(copy=False), tensor.numpy())
        assert np.shares_memory(tensor.numpy(copy=False, dtype=values.dtype), tensor.numpy())
    other = np.float16 if values.dtype != np.float16 else np.float32
    with pytest.raises(ValueError, match="copy"):
        tensor.numpy(copy=False, dtype=other)


@pytest.mark.parametrize("type_name", NUMERIC)
def test_copy_true_is_the_caller_s_own(type_name: str) -> None:
    tensor, values = tensor_and_values(type_name)
    array = tensor.numpy(copy=True)
    assert_same_bits(array, values)
    assert array.flags.writeable
    assert array.flags.c_contiguous
    assert array.flags.aligned
    assert not np.shares_memory(array, tensor.numpy())
    array.view(np.uint8)[...] = 0
    assert_same_bits(tensor.numpy(), values)


@pytest.mark.parametrize("type_name", NUMERIC)
def test_asarray_and_array(type_name: str) -> None:
    tensor, values = tensor_and_values(type_name)
    assert_same_bits(np.asarray(tensor), values)
    assert not np.asarray(tensor).flags.writeable
    own = np.array(tensor)
    assert_same_bits(own, values)
    assert own.flags.writeable
    if values.dtype.kind != "c":
        with np.errstate(all="ignore"):
            assert_same_bits(np.asarray(tensor, dtype=np.float32), astype(values, np.float32))
    if type_name in PACKED_BITS:
        with pytest.raises(ValueError, match="copy"):
            np.array(tensor, copy=False)
    else:
        assert np.shares_memory(np.array(tensor, copy=False), tensor.numpy())


def test_a_tensor_that_cannot_be_read_says_so_in_every_form() -> None:
    message = model_of([TensorProto(name="bad", dims=[3], data_type=1, raw_data=b"1234")])
    bad = onnxmap.loads(message.SerializeToString()).initializers["bad"]
    ways = [{"dtype": "f8"}, {"copy": True}, {"writable": True}, {"out": np.zeros(3, "f4")}]
    for arguments in ways:
        with pytest.raises(onnxmap.TensorError) as caught:
            bad.numpy(**arguments)
        assert (caught.value.code, caught.value.tensor) == ("tensor.data_size", "bad")
    with pytest.raises(TypeError):
        bad.numpy(np.float32, None)  # only dtype may be given without its name
    with pytest.raises(TypeError):
        bad.numpy(order="F")


class Liar(np.ndarray):
    """An array that reports wrong facts about itself, as any subclass may."""

    @property
    def shape(self) -> tuple[int, ...]:
        return SHAPE

    @property
    def dtype(self) -> Any:
        return np.dtype(np.float32)

    @property
    def ctypes(self) -> Any:
        raise AssertionError("nobody needs to ask")


@pytest.mark.parametrize("type_name", ["FLOAT", "INT64"])
def test_out_is_checked_by_its_memory(type_name: str) -> None:
    tensor, values = tensor_and_values(type_name)
    guarded = np.zeros(200, np.uint8)
    with pytest.raises(ValueError, match="shape"):
        tensor.numpy(out=guarded[:16].view(Liar))
    assert not guarded.any()
    out = np.zeros(SHAPE, values.dtype).view(Liar)
    assert tensor.numpy(out=out) is out
    assert np.array_equal(np.asarray(out), values)


def test_out_must_be_an_array() -> None:
    """An object that only claims to be an array would be copied, and would stay unchanged."""

    class Pretender:
        __class__ = np.ndarray

        def __array__(self, *_: Any, **__: Any) -> Array:
            return np.zeros(SHAPE, np.float32)

    tensor, _ = tensor_and_values("FLOAT")
    with pytest.raises(TypeError, match="out must be"):
        tensor.numpy(out=Pretender())
