"""Every element type in every storage: our reading, the encoder and `to_array` agree.

The encoder (`tensor_encoder`) follows the comments of onnx.proto. If the official reading of an
example is wrong, only the encoder is compared. `test_official_deviations` lists these cases, and
checks that the official reading is still wrong.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, numpy_helper
from support import wire_bytes as wire
from support.oracles import tensor_encoder as encoder
from support.oracles.tensor_encoder import ELEMENT_TYPES, ElementType
from support.oracles.tensors import assert_same_array
from support.run_options import EXHAUSTIVE, LONG, SANITIZED
from support.tensors.examples import (
    STORAGES,
    Example,
    Stored,
    example_of,
    examples,
    storages_of,
    store,
)

import onnxmap

# The number of examples of all five storages together: 500; in CI 2,000; with ONNXMAP_TEST_LONG
# 200,000.
EXAMPLES = (200_000 if LONG else 250 if SANITIZED else 2_000 if EXHAUSTIVE else 500) // len(
    STORAGES
)
READERS = ("loads", "mmap", "read", "load_tensor")
FIXED_SHAPES = [(), (0,), (3, 0, 2), (1,), (2,), (5,), (3, 5), (2, 3, 4), (1,) * 63 + (7,)]

_numbers = itertools.count()


def as_model(message: bytes, before: int = 0) -> bytes:
    pad = wire.blob(encoder.UNKNOWN, bytes(before))
    return pad + wire.blob(7, wire.blob(5, message))


def read(stored: Stored, reader: str, folder: Path, number: int) -> onnxmap.Tensor:
    """The tensor from a buffer, a mapped file, a file that is read, or a data file."""
    if reader == "load_tensor":
        path = folder / f"{number}.pb"
        path.write_bytes(stored.message)
        return onnxmap.load_tensor(path)
    data = as_model(stored.message, before=number % 16)
    if reader == "loads":
        return onnxmap.loads(data, external_root=folder).initializers["w"]
    path = folder / f"{number}.onnx"
    path.write_bytes(data)
    return onnxmap.load(path, io=reader).initializers["w"]


def official_reading_is_right(example: Example, stored: Stored) -> bool:
    """Whether `to_array` must agree. `test_official_deviations` lists the exceptions."""
    if example.kind.is_text:
        return all(is_plain(text) for text in example.elements)
    whole_file = example.storage == "external" and b"length" not in stored.message
    return stored.to_the_end if whole_file else True


def is_plain(text: bytes) -> bool:
    return not text.endswith(b"\0") and isinstance(encoder.text_value(text), str)


def without_padding(kind: ElementType, raw: bytes, count: int) -> bytes:
    used = count * kind.bits
    return (int.from_bytes(raw, "little") & ((1 << used) - 1)).to_bytes(len(raw), "little")


def check(example: Example, reader: str, folder: Path) -> None:
    number = next(_numbers)  # new names for all files, because mapped files must keep their bytes
    stored = store(example, f"{number}.bin")
    if stored.file is not None:
        (folder / f"{number}.bin").write_bytes(stored.file)
    tensor = read(stored, reader, folder, number)
    expected = example.array
    array = tensor.numpy()
    assert_same_array(array, expected)
    if official_reading_is_right(example, stored):
        message = TensorProto.FromString(stored.message)
        assert_same_array(array, numpy_helper.to_array(message, str(folder)))
    check_facts(example, stored, reader, tensor, array)
    for file in folder.glob(f"{number}.*"):
        file.unlink()


def check_facts(
    example: Example, stored: Stored, reader: str, tensor: onnxmap.Tensor, array: np.ndarray
) -> None:
    kind, expected = example.kind, example.array
    assert (tensor.name, tensor.dtype, tensor.shape) == ("w", kind.number, example.shape)
    assert (tensor.size, tensor.ndim) == (expected.size, expected.ndim)
    assert (tensor.dtype.bits, tensor.dtype.numpy()) == (kind.bits, kind.dtype)
    assert not array.flags.writeable
    assert array.dtype.str == np.dtype(kind.dtype).str
    copy = tensor.numpy(copy=True)
    assert copy.flags.writeable
    assert copy.flags.aligned
    assert_same_array(copy, expected)
    if kind.is_text:
        with pytest.raises(TypeError):
            tensor.tobytes()
        with pytest.raises(TypeError):
            tensor.packed()
        assert not tensor.is_view
        return
    check_bytes(example, stored, tensor)
    if expected.size:
        whole = kind.bits >= 8 and example.storage in ("raw", "external")
        run = kind.field in ("float_data", "double_data") and stored.in_one_run
        if reader == "read" or run is not None:
            assert tensor.is_view == bool((whole or run) and reader != "read")
        if tensor.is_view:
            assert array.flags.aligned == tensor.is_aligned
            assert np.shares_memory(array, tensor.numpy(copy=False))
        else:
            assert array.flags.aligned
            if reader != "read":
                with pytest.raises(ValueError, match="copy"):
                    tensor.numpy(copy=False)


def check_bytes(example: Example, stored: Stored, tensor: onnxmap.Tensor) -> None:
    kind, count = example.kind, len(example.elements)
    raw = tensor.tobytes()
    if example.storage in ("raw", "external"):
        assert raw == stored.raw
        assert tensor.nbytes == len(stored.raw)
    else:  # the bits after the last element of typed entries are not compared
        assert without_padding(kind, raw, count) == without_padding(kind, stored.raw, count)
    if kind.is_packed:
        packed = tensor.packed()
        assert (packed.dtype, packed.ndim, packed.tobytes()) == (np.uint8, 1, raw)
        assert not packed.flags.writeable
    else:
        with pytest.raises(TypeError):
            tensor.packed()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("types")


@pytest.mark.parametrize("storage", STORAGES)
def test_random_types_and_shapes(storage: str, folder: Path) -> None:
    @settings(
        max_examples=EXAMPLES,
        derandomize=not LONG,  # the same examples on every ordinary run, new ones in every long run
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(example=examples(storage), reader=st.sampled_from(READERS))
    def run(example: Example, reader: str) -> None:
        nonlocal ran
        ran += 1
        check(example, reader, folder)

    ran = 0
    run()
    assert ran >= EXAMPLES


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_each_type_in_each_storage_and_shape(name: str, folder: Path) -> None:
    kind = ELEMENT_TYPES[name]
    for i, (storage, shape) in enumerate(itertools.product(storages_of(kind), FIXED_SHAPES)):
        for reader in READERS if EXHAUSTIVE else READERS[i % 2 :: 2]:
            check(example_of(kind, shape, storage), reader, folder)


@pytest.mark.skipif(SANITIZED, reason="the kernels' C++ tests go over every code, too")
@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_every_code_of_narrow_types(name: str, folder: Path) -> None:
    """Each bit pattern once in each storage. For wide types, all patterns of the upper 12 bits."""
    kind = ELEMENT_TYPES[name]
    if kind.is_text:
        every = tuple(bytes([code]) for code in range(256))
    else:
        free = min(kind.bits, 16 if kind.bits == 16 and EXHAUSTIVE else 12)
        every = tuple(code << (kind.bits - free) for code in range(1 << free))
    for storage in storages_of(kind):
        check(Example(kind, (len(every),), every, storage, seed=1), "mmap", folder)


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_views_and_slices_of_each_type(name: str) -> None:
    """Other ways to the same values: `views()` of a model, `np.asarray`, `numpy(out=)`, slices."""
    kind = ELEMENT_TYPES[name]
    for storage in set(storages_of(kind)) - {"external"}:
        example = example_of(kind, (3, 5), storage)
        model = onnxmap.loads(as_model(store(example, "").message))
        tensor, expected = model.initializers["w"], example.array
        assert_same_array(model.views()["w"], expected)
        assert_same_array(np.asarray(tensor), expected)
        assert_same_array(tensor[1:, ::2], expected[1:, ::2])
        out = np.empty((3, 5), kind.dtype)
        assert tensor.numpy(out=out) is out
        assert_same_array(out, expected)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", ["FLOAT", "BFLOAT16", "COMPLEX64", "BOOL", "INT64", "DOUBLE"])
def test_every_alignment(name: str, storage: str, folder: Path) -> None:
    """The values are the same at every offset. The array says whether it is aligned."""
    example = example_of(ELEMENT_TYPES[name], (7,), storage)
    stored = store(example, "aligned.bin")
    for offset in range(16):
        if stored.file is not None:
            moved = bytes(offset) + stored.file
            place = encoder.external_fields("aligned.bin", offset + stored.offset, len(stored.raw))
            number = wire.scalar(encoder.DATA_TYPE, example.kind.number)
            head = wire.scalar(encoder.DIMS, 7) + number + wire.blob(encoder.NAME, b"w")
            message = head + b"".join(place)
            (folder / "aligned.bin").unlink(missing_ok=True)
            (folder / "aligned.bin").write_bytes(moved)
        else:
            message = stored.message
        data = as_model(message, before=offset)
        tensor = onnxmap.loads(data, external_root=folder).initializers["w"]
        assert_same_array(tensor.numpy(), example.array)
        assert tensor.numpy().flags.aligned == (tensor.is_aligned or not tensor.is_view), offset


@pytest.mark.parametrize("name", ["FLOAT", "DOUBLE", "COMPLEX64", "COMPLEX128"])
def test_a_packed_run_is_a_view_of_its_file(name: str, tmp_path: Path) -> None:
    kind = ELEMENT_TYPES[name]
    example = example_of(kind, (3, 5), "packed")
    path = tmp_path / "model.onnx"
    path.write_bytes(as_model(store(example, "").message, before=5))
    model = onnxmap.load(path)
    tensor = model.initializers["w"]
    assert tensor.is_view
    assert not tensor.is_external
    assert Path(tensor.file) == path
    stored = path.read_bytes()[tensor.offset : tensor.offset + tensor.nbytes]
    assert stored == tensor.tobytes() == example.array.tobytes()
    assert np.shares_memory(tensor.numpy(), model.views()["w"])
    assert np.shares_memory(tensor[1:], tensor.numpy())
    in_two = store(example_of(kind, (3, 5), "unpacked"), "").message
    apart = onnxmap.loads(as_model(in_two)).initializers["w"]
    assert (apart.is_view, apart.file, apart.offset) == (False, None, None)


def test_the_encoder_s_table_is_onnx_s() -> None:
    official = dict(TensorProto.DataType.items())
    del official["UNDEFINED"]
    assert {name: kind.number for name, kind in ELEMENT_TYPES.items()} == official
    for kind in ELEMENT_TYPES.values():
        assert kind.field == onnx.helper.tensor_dtype_to_field(kind.number)
        assert kind.dtype == onnx.helper.tensor_dtype_to_np_dtype(kind.number)
    assert len(ELEMENT_TYPES) == 28


def test_the_comparison_notices_one_wrong_bit(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """The comparison can fail: here the encoder packs 4-bit pairs in the wrong order."""
    right = encoder.raw_bytes

    def swapped(kind: ElementType, elements: encoder.Elements, padding: int = 0) -> bytes:
        data = right(kind, elements, padding)
        return bytes(byte >> 4 | (byte & 15) << 4 for byte in data) if kind.bits == 4 else data

    monkeypatch.setattr(encoder, "raw_bytes", swapped)
    with pytest.raises(AssertionError):
        check(example_of(ELEMENT_TYPES["INT4"], (5,), "raw"), "loads", folder)
    check(example_of(ELEMENT_TYPES["INT8"], (5,), "raw"), "loads", folder)
