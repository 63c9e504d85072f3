"""`Tensor`: attributes, views, copies, slices and files, for all fixed-width types of onnx."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from support import wire_bytes as wire
from support.models.sample import floats, model_of, tensors_of_every_type, write
from support.oracles.tensors import assert_same_array

import onnxmap

TENSORS = {tensor.name: tensor for tensor in tensors_of_every_type()}


@pytest.fixture(scope="module", params=["mmap", "read", "loads"])
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> onnxmap.Model:
    message = model_of(list(TENSORS.values()))
    if request.param == "loads":
        return onnxmap.loads(message.SerializeToString())
    path = write(message, tmp_path_factory.mktemp("tensors") / "model.onnx")
    return onnxmap.load(path, io=request.param)


@pytest.mark.parametrize("name", TENSORS)
def test_every_type_equals_the_official_reading(model: onnxmap.Model, name: str) -> None:
    ours, theirs = model.initializers[name], numpy_helper.to_array(TENSORS[name])
    array = ours.numpy()
    assert_same_array(array, theirs)
    assert array.dtype == ours.dtype.numpy()
    assert (ours.name, ours.ndim, ours.size) == (name, theirs.ndim, theirs.size)
    assert ours.nbytes == theirs.nbytes
    assert ours.shape == theirs.shape
    assert all(type(dim) is int for dim in ours.shape)
    assert isinstance(ours.dtype, onnxmap.DataType)
    assert ours.dtype == TENSORS[name].data_type
    assert ours.dtype.bits == 8 * theirs.itemsize
    assert ours.tobytes() == TENSORS[name].raw_data


@pytest.mark.parametrize("name", [name for name in TENSORS if name.startswith("FLOAT")])
def test_arrays_are_read_only_for_good(model: onnxmap.Model, name: str) -> None:
    array = model.initializers[name].numpy()
    assert not array.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.setflags(write=True)
    with pytest.raises((TypeError, ValueError)):
        array[...] = 0
    base = array
    while isinstance(base, np.ndarray):
        assert not base.flags.writeable
        base = base.base


def test_views_share_memory_and_say_so(model: onnxmap.Model) -> None:
    tensor = model.initializers["FLOAT_matrix"]
    first, second = tensor.numpy(), np.asarray(tensor)
    assert tensor.is_view == (model.io != "read")  # in read mode, every array is read anew
    assert np.shares_memory(first, second) == tensor.is_view
    assert np.shares_memory(first, model.views()["FLOAT_matrix"]) == tensor.is_view


@pytest.mark.parametrize("pad", range(16))
def test_alignment_is_reported_and_never_matters(pad: int, tmp_path: Path) -> None:
    values = np.arange(7, dtype=np.float64)
    tensor = TensorProto(name="w" * (pad + 1), dims=[7], data_type=11, raw_data=values.tobytes())
    path = write(model_of([tensor]), tmp_path / "model.onnx")
    ours = onnxmap.load(path).initializers["w" * (pad + 1)]
    array = ours.numpy()
    assert ours.is_aligned == array.flags.aligned == (ours.offset % 8 == 0)
    assert array.tolist() == values.tolist()
    assert array.sum() == 21.0


def test_file_and_offset(tmp_path: Path) -> None:
    path = write(model_of([floats("w", 3), floats("b", 2)]), tmp_path / "model.onnx")
    for tensor in onnxmap.load(path).initializers.all():
        assert Path(tensor.file) == path
        data = path.read_bytes()[tensor.offset : tensor.offset + tensor.nbytes]
        assert data == tensor.tobytes()
        assert tensor.external is None
        assert not tensor.is_external
    inside = onnxmap.loads(path.read_bytes()).initializers["w"]
    assert inside.file is None


def test_text_fields() -> None:
    tensor = floats("w", 2)
    tensor.doc_string = "doc"
    tensor.metadata_props.add(key="k", value="v")
    ours = onnxmap.loads(model_of([tensor]).SerializeToString()).initializers["w"]
    assert ours.doc_string == "doc"
    assert dict(ours.metadata_props) == {"k": "v"}
    assert str(ours.proto) == str(tensor)


@pytest.fixture
def matrix() -> onnxmap.Tensor:
    tensor = numpy_helper.from_array(np.arange(24, dtype=np.int32).reshape(4, 3, 2), "m")
    return onnxmap.loads(model_of([tensor]).SerializeToString()).initializers["m"]


KEYS = [
    0, -1, slice(1, 3), slice(None), slice(None, None, -1), slice(3, 1), (1, 2), (slice(None), 0),
    (..., 1), (slice(1, None, 2), slice(None), -1), None, [0, 2],
    np.array([True, False, True, False]),
    (0, 1, 1), (), np.int64(2),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_slicing_is_numpy_s(matrix: onnxmap.Tensor, key: object) -> None:
    expected = matrix.numpy()[key]
    found = matrix[key]
    assert np.array_equal(found, expected)
    assert type(found) is type(expected)
    assert np.shape(found) == np.shape(expected)


def test_slices_are_views_where_numpy_s_are(matrix: onnxmap.Tensor) -> None:
    assert np.shares_memory(matrix[1:3], matrix.numpy())
    assert not matrix[1:3].flags.writeable
    for key in (4, -5, (0, 3), (0, 0, 0, 0)):
        with pytest.raises(IndexError):
            matrix[key]


def test_len_and_iteration(matrix: onnxmap.Tensor) -> None:
    assert len(matrix) == 4
    assert [row.tolist() for row in matrix] == matrix.numpy().tolist()
    scalar = onnxmap.loads(
        model_of([TensorProto(name="s", data_type=6, raw_data=b"\x05\0\0\0")]).SerializeToString()
    ).initializers["s"]
    with pytest.raises(TypeError):
        len(scalar)
    assert scalar.numpy().shape == ()
    assert int(scalar.numpy()) == 5
    assert scalar[()] == 5


def test_copy_has_numpy_s_meaning(matrix: onnxmap.Tensor) -> None:
    view = matrix.numpy()
    assert np.shares_memory(matrix.numpy(copy=None), view)
    assert np.shares_memory(matrix.numpy(copy=False), view)
    copy = matrix.numpy(copy=True)
    assert not np.shares_memory(copy, view)
    assert np.array_equal(copy, view)
    assert copy.flags.writeable
    assert copy.flags.aligned
    copy[...] = 0
    assert view.sum() == 276


def test_array_protocol(matrix: onnxmap.Tensor) -> None:
    view = matrix.numpy()
    assert np.shares_memory(np.asarray(matrix), view)
    assert np.shares_memory(np.array(matrix, copy=None), view)
    assert not np.shares_memory(np.array(matrix), view)
    assert np.array(matrix).flags.writeable
    assert np.array(matrix, copy=False) is not None
    as_float = np.asarray(matrix, dtype=np.float64)
    assert as_float.dtype == np.float64
    assert np.array_equal(as_float, view)
    with pytest.raises(ValueError, match="copy"):
        np.array(matrix, dtype=np.float64, copy=False)
    assert float(np.mean(matrix)) == 11.5


def test_memoryview(model: onnxmap.Model) -> None:
    formats = {
        "FLOAT": "f",
        "INT8": "b",
        "UINT16": "H",
        "DOUBLE": "d",
        "INT64": "l",
        "FLOAT16": "e",
    }
    for type_name, code in formats.items():
        view = memoryview(model.initializers[f"{type_name}_matrix"])
        assert view.readonly
        assert view.format.lstrip("<") in (code, {"l": "q"}.get(code, code))
        assert view.shape == (3, 5)
        assert view.tobytes() == TENSORS[f"{type_name}_matrix"].raw_data


@pytest.mark.parametrize("type_name", ["BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E8M0"])
def test_types_without_a_buffer_format(model: onnxmap.Model, type_name: str) -> None:
    """NumPy asks for a buffer before it calls `__array__`. Flat bytes would be wrong values."""
    tensor = model.initializers[f"{type_name}_matrix"]
    with pytest.raises(BufferError):
        memoryview(tensor)
    array = np.asarray(tensor)
    assert array.dtype == tensor.dtype.numpy()
    assert array.shape == tensor.shape
    assert array.tobytes() == TENSORS[f"{type_name}_matrix"].raw_data


def test_asarray_is_numpy_for_every_tensor(model: onnxmap.Model) -> None:
    for tensor in model.initializers.values():
        array = np.asarray(tensor)
        assert array.dtype == tensor.dtype.numpy()
        assert array.tobytes() == tensor.numpy().tobytes()


def test_tofile_to_a_file_that_takes_a_little_at_a_time(model: onnxmap.Model) -> None:
    class Raw(io.RawIOBase):
        taken = b""

        def writable(self) -> bool:
            return True

        def write(self, data: memoryview) -> int:
            self.taken += bytes(data[:7])
            return len(data[:7])

    raw = Raw()
    model.initializers["FLOAT_matrix"].tofile(raw)
    assert raw.taken == TENSORS["FLOAT_matrix"].raw_data


def test_tofile(model: onnxmap.Model, tmp_path: Path) -> None:
    for name in ("FLOAT_matrix", "BFLOAT16_matrix", "INT8_empty", "DOUBLE_scalar"):
        path = tmp_path / name
        with path.open("wb") as file:
            file.write(b"head")
            model.initializers[name].tofile(file)
            file.write(b"tail")
        assert path.read_bytes() == b"head" + TENSORS[name].raw_data + b"tail"
        memory = io.BytesIO()
        model.initializers[name].tofile(memory)
        assert memory.getvalue() == TENSORS[name].raw_data


def tensor_of(data: bytes) -> onnxmap.Tensor:
    named = wire.blob(8, b"bad") + data
    return onnxmap.loads(wire.blob(7, wire.blob(5, named))).initializers["bad"]


def dims(*values: int) -> bytes:
    return b"".join(wire.scalar(1, value) for value in values)


FLOAT = wire.scalar(2, 1)


def test_rank_64_is_read() -> None:
    tensor = tensor_of(dims(*[1] * 64) + FLOAT + wire.blob(9, b"\0\0\x80\x3f"))
    assert tensor.numpy().shape == (1,) * 64
    assert tensor.numpy().sum() == 1.0


def test_fields_in_any_order_and_typed_twice() -> None:
    parts = [dims(2), FLOAT, wire.blob(9, np.float32([1, 2]).tobytes()), wire.scalar(14, 0)]
    for order in (parts, parts[::-1], [parts[2], *parts], [wire.blob(9, b"x"), *parts]):
        assert tensor_of(b"".join(order)).numpy().tolist() == [1.0, 2.0]


def test_repr_is_one_line_and_touches_no_data(matrix: onnxmap.Tensor) -> None:
    text = repr(matrix)
    assert "\n" not in text
    for part in ("Tensor", "m", "INT32", "4", "3", "2"):
        assert part in text
    long = tensor_of(dims(1 << 40) + FLOAT)
    assert "\n" not in repr(long)


def test_html_form(matrix: onnxmap.Tensor) -> None:
    html = matrix._repr_html_()
    assert html.strip().startswith("<")
    assert "INT32" in html
    evil = onnxmap.loads(model_of([floats("<script>x</script>", 2)]).SerializeToString())
    (tensor,) = evil.initializers.all()
    assert "<script>" not in tensor._repr_html_()
