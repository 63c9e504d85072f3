"""`Tensor.to_ir()`: the tensor protocol of onnx_ir. onnx_ir saves it, and onnx reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, numpy_helper
from support.models.sample import external, model_of, write
from support.tensors.places import PLACES, place
from support.tensors.stored import NUMERIC, PACKED_BITS, number_of, random_codes, stored, values_of

import onnxmap

SHAPE = (3, 5, 7)


def data_of(type_name: str) -> bytes:
    return stored(type_name, random_codes(type_name, 105))


def saved_and_read(tensor: Any, folder: Path, **arguments: Any) -> TensorProto:
    """A model with this initializer, which onnx_ir writes and onnx reads."""
    value = ir.Value(name=tensor.name, const_value=tensor)
    graph = ir.Graph([], [], nodes=[], initializers=[value], opset_imports={"": 21}, name="g")
    path = folder / "saved" / "model.onnx"
    path.parent.mkdir()
    ir.save(ir.Model(graph, ir_version=10), path, **arguments)
    (found,) = onnx.load(path).graph.initializer
    return found


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("type_name", NUMERIC)
def test_every_type_satisfies_the_protocol(type_name: str, where: str, tmp_path: Path) -> None:
    tensor = place(where, type_name, SHAPE, data_of(type_name), tmp_path)
    found = tensor.to_ir()
    values = values_of(type_name, random_codes(type_name, 105)).reshape(SHAPE)
    assert isinstance(found, ir.TensorProtocol)
    assert found.name == "t"
    assert isinstance(found.dtype, ir.DataType)
    assert (found.dtype.name, found.dtype.value) == (type_name, number_of(type_name))
    assert isinstance(found.shape, ir.Shape)
    assert found.shape.numpy() == SHAPE
    assert (found.size, found.nbytes) == (105, len(data_of(type_name)))
    assert found.tobytes() == data_of(type_name)
    for array in (found.numpy(), np.asarray(found)):
        assert (array.dtype, array.shape) == (values.dtype, SHAPE)
        assert array.tobytes() == values.tobytes()
    assert found.__dlpack_device__() == (1, 0)
    assert isinstance(found.meta, dict) or hasattr(found.meta, "__setitem__")
    assert type_name in repr(found) or found.dtype.short_name() in repr(found)


@pytest.mark.parametrize("type_name", ["FLOAT", "BFLOAT16", "INT64", "BOOL"])
def test_the_array_is_the_same_memory(type_name: str, tmp_path: Path) -> None:
    for where in ("mmap", "loads"):
        tensor = place(where, type_name, SHAPE, data_of(type_name), tmp_path)
        assert np.shares_memory(tensor.to_ir().numpy(), tensor.numpy())
    found = place("external", "FLOAT", SHAPE, data_of("FLOAT"), tmp_path).to_ir()
    assert not found.numpy().flags.writeable
    assert np.from_dlpack(found).tobytes() == data_of("FLOAT")


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("type_name", NUMERIC)
def test_saved_by_onnx_ir_and_read_by_onnx(type_name: str, inline: bool, tmp_path: Path) -> None:
    tensor = place("mmap", type_name, SHAPE, data_of(type_name), tmp_path)
    arguments = {} if inline else {"external_data": "data.bin", "size_threshold_bytes": 0}
    found = saved_and_read(tensor.to_ir(), tmp_path, **arguments)
    assert (found.name, found.data_type, tuple(found.dims)) == ("t", number_of(type_name), SHAPE)
    assert found.raw_data == data_of(type_name)
    theirs = numpy_helper.to_array(found)
    assert theirs.tobytes() == tensor.numpy().tobytes()
    assert (tmp_path / "saved" / "data.bin").is_file() == (not inline)


FIELDS: dict[str, dict[str, list[Any]]] = {
    "INT64": {"int64_data": [1, -2, 3]},
    "FLOAT": {"float_data": [1, -2, 0.5]},
    "DOUBLE": {"double_data": [1, -2, 0.5]},
    "COMPLEX64": {"float_data": [1, -2, 0.5, 1, 2, 3]},
    "UINT32": {"uint64_data": [1, 2, (1 << 32) - 1]},
    "FLOAT16": {"int32_data": [0x3C00, 0x7C01, 0]},
    "FLOAT8E5M2": {"int32_data": [0x3C, 0x7D, 0]},
    "INT4": {"int32_data": [0x21, 0x0F]},
    "FLOAT6E2M3": {"int32_data": [1, 2, 63]},
    "UINT2": {"int32_data": [0x1B]},
    "BOOL": {"int32_data": [1, 0, 1]},
}


def typed(type_name: str, entries: dict[str, list[Any]]) -> tuple[onnxmap.Tensor, TensorProto]:
    message = TensorProto(name="t", dims=[3], data_type=number_of(type_name), **entries)
    message.doc_string = "what it is"
    message.metadata_props.add(key="k", value="v")
    return onnxmap.loads(model_of([message]).SerializeToString()).initializers["t"], message


@pytest.mark.parametrize("type_name", FIELDS)
def test_typed_fields(type_name: str, tmp_path: Path) -> None:
    tensor, message = typed(type_name, FIELDS[type_name])
    found = tensor.to_ir()
    expected = numpy_helper.to_array(message)
    assert found.numpy().tobytes() == expected.tobytes()
    written = saved_and_read(found, tmp_path)
    assert numpy_helper.to_array(written).tobytes() == expected.tobytes()
    if type_name in PACKED_BITS:
        assert len(written.raw_data) < 3 or PACKED_BITS[type_name] == 6


def test_strings(tmp_path: Path) -> None:
    texts = [b"a", "ü".encode(), b"\xff\0"]
    tensor, _ = typed("STRING", {"string_data": texts})
    found = tensor.to_ir()
    assert isinstance(found, ir.StringTensor)
    assert isinstance(found, ir.TensorProtocol)
    assert found.name == "t"
    assert list(found.string_data()) == texts
    assert found.shape.numpy() == (3,)
    assert found.doc_string == "what it is"
    assert dict(found.metadata_props) == {"k": "v"}
    written = saved_and_read(found, tmp_path)
    assert list(written.string_data) == texts
    assert written.data_type == 8


def test_text_fields_are_copied_for_onnx_ir_to_change(tmp_path: Path) -> None:
    tensor, _ = typed("FLOAT", FIELDS["FLOAT"])
    found = tensor.to_ir()
    assert found.doc_string == "what it is"
    assert dict(found.metadata_props) == {"k": "v"}
    found.metadata_props["new"] = "value"
    found.meta["pass"] = object()
    found.name = "renamed"
    assert (tensor.name, dict(tensor.metadata_props)) == ("t", {"k": "v"})
    written = saved_and_read(found, tmp_path)
    assert (written.name, written.doc_string) == ("renamed", "what it is")
    assert {entry.key: entry.value for entry in written.metadata_props} == {
        "k": "v",
        "new": "value",
    }


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_small_shapes(shape: tuple[int, ...], tmp_path: Path) -> None:
    data = random_codes("FLOAT", int(np.prod(shape))).tobytes()
    tensor = place("mmap", "FLOAT", shape, data, tmp_path)
    written = saved_and_read(tensor.to_ir(), tmp_path)
    assert tuple(written.dims) == shape
    assert numpy_helper.to_array(written).tobytes() == data


def test_it_outlives_the_model(tmp_path: Path) -> None:
    found = place("mmap", "FLOAT", SHAPE, data_of("FLOAT"), tmp_path).to_ir()
    (tmp_path / "model.onnx").unlink()
    assert found.tobytes() == data_of("FLOAT")


def test_a_tensor_that_cannot_be_read_raises_on_reading(tmp_path: Path) -> None:
    missing = external("w", [3], {"location": "missing.bin"})
    path = write(model_of([missing]), tmp_path / "model.onnx")
    found = onnxmap.load(path).initializers["w"].to_ir()
    assert found.shape.numpy() == (3,)
    with pytest.raises(FileNotFoundError):
        found.numpy()


def test_onnx_ir_s_own_functions_accept_it(tmp_path: Path) -> None:
    """`tofile` or `tobytes`, as it chooses, the comparison of contents, and printing."""
    tensor = place("mmap", "FLOAT16", SHAPE, data_of("FLOAT16"), tmp_path)
    found = tensor.to_ir()
    np.testing.assert_array_equal(
        ir.tensor(found.numpy().copy()).numpy().view(np.uint16), found.numpy().view(np.uint16)
    )
    serialized = ir.to_proto(found)
    assert serialized.raw_data == data_of("FLOAT16")
    assert str(found)
