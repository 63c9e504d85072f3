"""Types of 2, 4 and 6 bits, and typed fields: `packed()`, `tobytes()`, `tofile()`, slices."""

from __future__ import annotations

import io as python_io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from support.models.sample import external, model_of, write
from support.processes.subprocesses import facts_from
from support.tensors.stored import (
    NUMERIC,
    PACKED_BITS,
    Array,
    code_type,
    dtype_of,
    in_buffer,
    number_of,
    random_codes,
    stored,
    values_of,
    write_sparse,
)

import onnxmap

SHAPE = (3, 5, 7)  # 105 elements end in the middle of a byte in each of the packed types
COUNT = 105


def typed_entries(type_name: str, codes: Array) -> dict[str, list[Any]]:
    """The typed field for these elements. Source: onnx.proto, TensorProto, fields *_data."""
    dtype = dtype_of(type_name)
    if type_name in PACKED_BITS:
        bits = PACKED_BITS[type_name]
        if bits == 6:
            return {"int32_data": codes.tolist()}
        return {"int32_data": list(stored(type_name, codes))}
    if type_name in ("FLOAT", "COMPLEX64"):
        return {"float_data": codes.view(np.float32).tolist()}
    if type_name in ("DOUBLE", "COMPLEX128"):
        return {"double_data": codes.view(np.float64).tolist()}
    if type_name in ("UINT32", "UINT64"):
        return {"uint64_data": codes.tolist()}
    if type_name == "INT64":
        return {"int64_data": codes.view(np.int64).tolist()}
    whole = codes.view(dtype) if dtype.kind in "iu" else codes
    return {"int32_data": whole.tolist()}


def codes_of(type_name: str) -> Array:
    """Random bits without NaN. Python floats are used for typed fields, and change NaN payloads."""
    codes = random_codes(type_name, COUNT)
    if type_name in ("FLOAT", "COMPLEX64", "DOUBLE", "COMPLEX128"):
        parts = codes.view("u4" if type_name in ("FLOAT", "COMPLEX64") else "u8").copy()
        parts >>= parts.dtype.type(2)
        return parts.view(codes.dtype)
    return codes


Storage = Callable[[str, Array, Path], onnxmap.Tensor]


def in_file(message: TensorProto, folder: Path, **arguments: Any) -> onnxmap.Tensor:
    path = write(model_of([message]), folder / "model.onnx")
    return onnxmap.load(path, **arguments).initializers["t"]


def raw(type_name: str, codes: Array, folder: Path) -> onnxmap.Tensor:
    buffer, _ = in_buffer(type_name, SHAPE, stored(type_name, codes))
    return onnxmap.loads(buffer).initializers["t"]


def raw_read(type_name: str, codes: Array, folder: Path) -> onnxmap.Tensor:
    buffer, _ = in_buffer(type_name, SHAPE, stored(type_name, codes))
    (folder / "model.onnx").write_bytes(buffer)
    return onnxmap.load(folder / "model.onnx", io="read").initializers["t"]


def typed(type_name: str, codes: Array, folder: Path) -> onnxmap.Tensor:
    entries = typed_entries(type_name, codes)
    return in_file(
        TensorProto(name="t", dims=SHAPE, data_type=number_of(type_name), **entries), folder
    )


def in_data_file(type_name: str, codes: Array, folder: Path) -> onnxmap.Tensor:
    (folder / "w.bin").write_bytes(b"123" + stored(type_name, codes) + b"4")
    entries = {"location": "w.bin", "offset": "3", "length": str(len(stored(type_name, codes)))}
    return in_file(external("t", list(SHAPE), entries, number_of(type_name)), folder)


STORAGES: list[Storage] = [raw, raw_read, typed, in_data_file]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("type_name", NUMERIC)
def test_tobytes_is_the_layout_of_raw_data(
    type_name: str, storage: Storage, tmp_path: Path
) -> None:
    codes = codes_of(type_name)
    tensor = storage(type_name, codes, tmp_path)
    assert tensor.numpy().tobytes() == values_of(type_name, codes).tobytes()
    assert tensor.tobytes() == stored(type_name, codes)
    file = python_io.BytesIO()
    tensor.tofile(file)
    assert file.getvalue() == stored(type_name, codes)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("type_name", PACKED_BITS)
def test_packed(type_name: str, storage: Storage, tmp_path: Path) -> None:
    codes = codes_of(type_name)
    tensor = storage(type_name, codes, tmp_path)
    packed = tensor.packed()
    assert (packed.dtype, packed.ndim) == (np.uint8, 1)
    assert packed.tobytes() == stored(type_name, codes)
    assert packed.nbytes == -(-COUNT * PACKED_BITS[type_name] // 8)
    assert not packed.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        packed.flags.writeable = True
    in_place = storage in (raw, in_data_file)
    assert np.shares_memory(packed, tensor.packed()) == in_place


@pytest.mark.parametrize("type_name", PACKED_BITS)
def test_packed_of_a_buffer_is_that_buffer(type_name: str) -> None:
    data = stored(type_name, random_codes(type_name, 9))
    buffer, at = in_buffer(type_name, [9], data)
    packed = onnxmap.loads(buffer).initializers["t"].packed()
    assert packed.ctypes.data == buffer.ctypes.data + at
    del buffer
    assert packed.tobytes() == data  # the array keeps the buffer alive


@pytest.mark.parametrize("name", ["INT4", "UINT4", "FLOAT4E2M1", "INT2", "UINT2"])
def test_padding_bits_are_kept_in_packed_and_ignored_in_values(name: str) -> None:
    bits = PACKED_BITS[name]
    tensor = onnxmap.loads(in_buffer(name, [1], b"\xff")[0]).initializers["t"]
    assert tensor.packed().tobytes() == b"\xff"
    assert tensor.tobytes() == b"\xff"
    assert tensor.numpy().view(np.uint8).tolist() == [(1 << bits) - 1]


@pytest.mark.parametrize("name", PACKED_BITS)
def test_unpacked_bytes_have_the_code_in_the_low_bits(name: str) -> None:
    """As in ml_dtypes, the upper bits are zero, even for negative numbers."""
    bits = PACKED_BITS[name]
    codes = np.arange(1 << bits, dtype=np.uint8)
    tensor = onnxmap.loads(in_buffer(name, codes.shape, stored(name, codes))[0]).initializers["t"]
    array = tensor.numpy()
    assert array.view(np.uint8).tolist() == codes.tolist()
    assert array.tobytes() == array.astype(np.float32).astype(array.dtype).tobytes()


@pytest.mark.parametrize("type_name", [*NUMERIC, "STRING"])
def test_packed_is_for_packed_types(type_name: str) -> None:
    if type_name in PACKED_BITS:
        tensor = onnxmap.loads(in_buffer(type_name, [0], b"")[0]).initializers["t"]
        assert tensor.packed().shape == (0,)
        return
    message = TensorProto(name="t", dims=[0], data_type=number_of(type_name))
    tensor = onnxmap.loads(model_of([message]).SerializeToString()).initializers["t"]
    with pytest.raises(TypeError, match=type_name):
        tensor.packed()


def test_strings_have_no_layout_of_raw_data() -> None:
    message = TensorProto(name="t", dims=[1], data_type=8, string_data=[b"a"])
    tensor = onnxmap.loads(model_of([message]).SerializeToString()).initializers["t"]
    for write_out in (tensor.tobytes, lambda: tensor.tofile(python_io.BytesIO())):
        with pytest.raises(TypeError, match=r"(?i)string"):
            write_out()


KEYS: list[Any] = [
    0, -1, slice(1, 3), slice(None), slice(None, None, -1), slice(3, 1), (1, 2), (slice(None), 0),
    (..., 1), (..., slice(1, 6, 2)), (slice(1, None, 2), slice(None), -1), None, [0, 2], (0, 1, 1),
    (),
    np.array([True, False, True]), np.int64(2), (slice(2, 0, -1), 3, slice(None, None, -3)),
]  # fmt: skip


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("type_name", [*PACKED_BITS, "BFLOAT16", "INT64", "BOOL", "FLOAT"])
def test_slices_are_numpy_s(type_name: str, storage: Storage, tmp_path: Path) -> None:
    codes = codes_of(type_name)
    tensor = storage(type_name, codes, tmp_path)
    values = values_of(type_name, codes).reshape(SHAPE)
    for key in KEYS:
        ours, theirs = tensor[key], values[key]
        assert type(ours) is type(theirs), key
        assert np.shape(ours) == np.shape(theirs), key
        assert np.asarray(ours).dtype == theirs.dtype
        assert np.asarray(ours).tobytes() == theirs.tobytes(), key
    for key in (3, -4, (0, 5), (0, 0, 0, 0)):
        with pytest.raises(IndexError):
            tensor[key]
    assert len(tensor) == 3
    assert [row.tobytes() for row in tensor] == [row.tobytes() for row in values]


@pytest.mark.parametrize("type_name", ["INT4", "FLOAT6E2M3", "UINT2"])
def test_a_flat_slice_from_any_element(type_name: str) -> None:
    """Elements may begin inside bytes, 6-bit ones at four different places."""
    codes = random_codes(type_name, 40)
    tensor = onnxmap.loads(in_buffer(type_name, [40], stored(type_name, codes))[0]).initializers[
        "t"
    ]
    for begin in range(40):
        for end in (begin, begin + 1, begin + 7, 40):
            assert tensor[begin:end].view(np.uint8).tolist() == codes[begin:end].tolist()


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_a_slice_of_a_large_packed_tensor_is_cheap(io: str, tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    write_sparse(path, "UINT4", [1 << 31], b"\x21\x43")  # 2 GiB when unpacked
    code = """
    import onnxmap
    tensor = onnxmap.load(sys.argv[1], io=sys.argv[2]).initializers["t"]
    before = peak_kib()
    first, last = tensor[:3].astype(int).tolist(), tensor[-3:].astype(int).tolist()
    report(first=first, last=last, kib=peak_kib() - before)
    """
    facts = facts_from(code, str(path), io)
    assert (facts["first"], facts["last"]) == ([1, 2, 3], [2, 3, 4])
    assert facts["kib"] < 64 * 1024


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("type_name", NUMERIC)
def test_a_memoryview_has_the_values_or_is_refused(
    type_name: str, storage: Storage, tmp_path: Path
) -> None:
    codes = codes_of(type_name)
    tensor = storage(type_name, codes, tmp_path)
    values = values_of(type_name, codes).reshape(SHAPE)
    try:
        expected = memoryview(values)
    except ValueError:  # NumPy has no format for it, so onnxmap has none
        with pytest.raises(BufferError):
            memoryview(tensor)
        return
    if storage is typed and not tensor.is_view:  # no buffer before the values are decoded
        with pytest.raises(BufferError):
            memoryview(tensor)
        assert np.asarray(tensor).tobytes() == values.tobytes()
        return
    view = memoryview(tensor)
    assert (view.shape, view.itemsize) == (expected.shape, expected.itemsize)
    assert view.readonly
    assert np.asarray(view).dtype == values.dtype
    assert view.tobytes() == expected.tobytes()


def test_codes_fit_their_types() -> None:
    """The helpers of this file agree with the official reader, so that both cannot be wrong."""
    from onnx import numpy_helper

    for type_name in NUMERIC:
        codes = codes_of(type_name)
        message = TensorProto(name="t", dims=SHAPE, data_type=number_of(type_name))
        for field, entries in typed_entries(type_name, codes).items():
            getattr(message, field).extend(entries)
        theirs = numpy_helper.to_array(message)
        assert theirs.tobytes() == values_of(type_name, codes).tobytes(), type_name
        assert codes.dtype == code_type(type_name) or type_name in PACKED_BITS
