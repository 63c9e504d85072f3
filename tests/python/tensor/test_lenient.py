"""`lenient=True`: contradictory tensors are read like onnx reads them, with a warning."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from support import wire_bytes as wire
from support.hostile import bad_tensors as table
from support.hostile.bad_tensors import BAD_TENSORS, Bad
from support.models.sample import floats
from support.oracles import tensor_encoder as encoder
from support.oracles.tensor_encoder import ELEMENT_TYPES
from support.oracles.tensors import assert_same_array

import onnxmap

TWO = table.raw(np.float32([1, 2]).tobytes())
LOAD = {
    "load": lambda data, folder: onnxmap.load(saved(data, folder), lenient=True),
    "read": lambda data, folder: onnxmap.load(saved(data, folder), io="read", lenient=True),
    "loads": lambda data, folder: onnxmap.loads(data, lenient=True),
}


def saved(data: bytes, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(data)
    return path


def as_model(fields: bytes) -> bytes:
    named = wire.blob(8, b"odd") + fields
    good = floats("good", 2).SerializeToString()
    return wire.blob(7, wire.blob(5, named) + wire.blob(5, good))


def long_raw_data() -> dict[str, Bad]:
    """2-, 4- and 6-bit raw_data with more bytes than elements."""
    found = {}
    for kind in ELEMENT_TYPES.values():
        if not kind.is_packed:
            continue
        for count in (0, 1, 5, 8):
            data = encoder.raw_bytes(kind, [(7 * i + 1) % (1 << kind.bits) for i in range(count)])
            fields = table.typed(kind.name, count) + table.raw(data + b"\xa5\x5a\xff")
            found[f"{kind.name} [{count}]"] = Bad(fields, "tensor.data_size")
    return found


def two_places() -> dict[str, Bad]:
    """First raw_data, then the field of the tensor's type: the order in which onnx prefers them."""
    code = "tensor.ambiguous_data"
    floats_and_ints = wire.blob(4, np.float32([3, 4]).tobytes()) + table.entries("int32_data", 5, 6)
    text = table.typed("STRING", 1) + table.one_value("string_data")
    found = {
        f"raw_data and {field}": Bad(table.typed("FLOAT", 2) + TWO + table.one_value(field), code)
        for field in table.TYPED_FIELDS
    }
    return found | {
        "raw_data after its typed field": Bad(
            table.one_value("float_data") + TWO + table.typed("FLOAT", 2), code
        ),
        "float_data and int32_data of floats": Bad(table.typed("FLOAT", 2) + floats_and_ints, code),
        "float_data and int32_data of ints": Bad(table.typed("INT32", 2) + floats_and_ints, code),
        "int32_data and more of uint4": Bad(
            table.typed("UINT4", 4) + floats_and_ints + table.one_value("double_data"), code
        ),
        "raw_data and all typed fields": Bad(
            table.typed("FLOAT", 2) + TWO + b"".join(map(table.one_value, table.TYPED_FIELDS)), code
        ),
        "raw_data and string_data": Bad(text + table.raw(b"xyz"), code),
        "string_data and int64_data": Bad(text + table.one_value("int64_data"), code),
        "uint8 raw_data and its typed field, short": Bad(
            table.typed("UINT8", 3) + table.raw(b"abc") + table.entries("int32_data", 1), code
        ),
    }


OUT_OF_RANGE = {key: bad for key, bad in BAD_TENSORS.items() if bad.code == "tensor.value_range"}
LENIENT = two_places() | long_raw_data() | OUT_OF_RANGE


def official(fields: bytes) -> np.ndarray:
    return numpy_helper.to_array(TensorProto.FromString(fields))


# Each tensor is read in one way, and each kind of fault in all: they take turns.
@pytest.mark.parametrize(("name", "how"), list(zip(LENIENT, itertools.cycle(LOAD), strict=False)))
def test_read_as_onnx_does_with_a_warning(name: str, how: str, tmp_path: Path) -> None:
    fields = LENIENT[name].fields
    model = LOAD[how](as_model(fields), tmp_path)
    tensor, expected = model.initializers["odd"], official(fields)
    with pytest.warns(onnxmap.TensorWarning, match="odd"):
        assert_same_array(tensor.numpy(), expected)
    with pytest.warns(onnxmap.TensorWarning, match="odd"):
        assert_same_array(model.views()["odd"], expected)
    with pytest.warns(onnxmap.TensorWarning, match="odd"):
        assert_same_array(np.asarray(tensor), expected)
    with pytest.warns(onnxmap.TensorWarning, match="odd"):
        assert_same_array(tensor.numpy(copy=True), expected)
    assert tensor.shape == expected.shape


@pytest.mark.parametrize("name", LENIENT)
def test_refused_without_it(name: str) -> None:
    bad = LENIENT[name]
    with pytest.raises(onnxmap.TensorError) as caught:
        onnxmap.loads(as_model(bad.fields)).initializers["odd"].numpy()
    assert caught.value.code == bad.code
    with pytest.raises(onnxmap.TensorError) as caught:
        onnxmap.loads(as_model(bad.fields), lenient=False).views()
    assert (caught.value.code, caught.value.tensor) == (bad.code, "odd")


@pytest.mark.parametrize("name", LENIENT)
def test_a_tensor_in_a_file_of_its_own(name: str, tmp_path: Path) -> None:
    fields = LENIENT[name].fields
    tensor = onnxmap.load_tensor(saved(fields, tmp_path), lenient=True)
    with pytest.warns(onnxmap.TensorWarning):
        assert_same_array(tensor.numpy(), official(fields))


def stays_refused(bad: Bad) -> bool:
    """Everything except two places of in-file data, narrow values, and sub-byte raw_data."""
    if bad.code in ("tensor.value_range", "tensor.ambiguous_data"):
        return table.LOCATION in bad.fields
    message = TensorProto.FromString(bad.fields)
    kind = next((one for one in ELEMENT_TYPES.values() if one.number == message.data_type), None)
    if bad.code != "tensor.data_size" or kind is None or not kind.is_packed:
        return True
    needed = -(-int(np.prod(message.dims, dtype=np.int64)) * kind.bits // 8)
    return not (message.HasField("raw_data") and len(message.raw_data) > needed)


STILL_REFUSED = {key: bad for key, bad in BAD_TENSORS.items() if stays_refused(bad)}


@pytest.mark.parametrize("name", STILL_REFUSED)
def test_tensors_that_onnx_cannot_read_either_stay_refused(name: str) -> None:
    bad = STILL_REFUSED[name]
    tensor = onnxmap.loads(as_model(bad.fields), lenient=True).initializers["odd"]
    with pytest.raises(onnxmap.TensorError) as caught:
        tensor.numpy()
    assert caught.value.code == bad.code


def test_the_tables_agree() -> None:
    codes = {"tensor.wrong_field", "tensor.padding", "tensor.ambiguous_data", "tensor.data_size"}
    assert codes <= {bad.code for bad in STILL_REFUSED.values()}
    read = {key for key in BAD_TENSORS if key not in STILL_REFUSED}
    assert {"raw_data and int64_data", "int4 [4] in 3 bytes", "INT8 entry 256"} <= read


def test_the_bytes_of_the_reading() -> None:
    """`tobytes()` and `packed()` give the bytes that were read, without those that were ignored."""
    for key, bad in long_raw_data().items():
        tensor = onnxmap.loads(as_model(bad.fields), lenient=True).initializers["odd"]
        stored = TensorProto.FromString(bad.fields).raw_data[:-3]
        with pytest.warns(onnxmap.TensorWarning, match="odd"):
            assert tensor.tobytes() == stored, key
        with pytest.warns(onnxmap.TensorWarning, match="odd"):
            assert tensor.packed().tobytes() == stored, key


@pytest.mark.filterwarnings("error")
def test_no_warning_for_right_tensors() -> None:
    model = onnxmap.loads(as_model(LENIENT["raw_data and float_data"].fields), lenient=True)
    assert model.initializers["good"].numpy().tolist() == [0.0, 1.0]
    assert list(model.views(["good"])) == ["good"]
    for fields, values in table.GOOD_TENSORS.values():
        right = onnxmap.loads(as_model(fields), lenient=True).initializers["odd"]
        assert right.numpy().tolist() == values


def test_nothing_warns_before_a_value_is_read() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = onnxmap.loads(
            as_model(OUT_OF_RANGE["one of many UINT8 entries"].fields), lenient=True
        )
        tensor = model.initializers["odd"]
        assert (tensor.shape, tensor.dtype, tensor.size) == ((300,), 2, 300)
        assert "odd" in repr(tensor)
        assert len(model.tensors()) == 2


def test_a_name_of_any_bytes_is_escaped_in_the_warning() -> None:
    named = wire.blob(8, b"odd\n\x1b[31m\xff" + b"x" * 1000)
    fields = named + LENIENT["raw_data and int64_data"].fields
    (tensor,) = onnxmap.loads(wire.blob(7, wire.blob(5, fields)), lenient=True).initializers.all()
    with pytest.warns(onnxmap.TensorWarning, match="odd") as warned:
        assert tensor.numpy().tolist() == [1.0, 2.0]
    for one in warned:
        assert len(str(one.message)) < 500
        assert not {"\n", "\x1b"} & set(str(one.message))


def test_an_unnamed_tensor_is_named_by_its_path() -> None:
    fields = LENIENT["raw_data and int64_data"].fields
    model = onnxmap.loads(wire.blob(7, wire.blob(5, fields)), lenient=True)
    ((_, tensor),) = model.tensors()
    with pytest.warns(onnxmap.TensorWarning, match=r"graph\.initializer\[0\]"):
        assert tensor.numpy().tolist() == [1.0, 2.0]


def test_a_warning_is_a_user_warning_and_can_be_an_error() -> None:
    assert issubclass(onnxmap.TensorWarning, UserWarning)
    tensor = onnxmap.loads(
        as_model(LENIENT["raw_data and int64_data"].fields), lenient=True
    ).initializers["odd"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reads: list[Callable[[], object]] = [tensor.numpy, tensor.tobytes]
        for read in reads:
            with pytest.raises(onnxmap.TensorWarning, match="odd"):
                read()
    with pytest.warns(onnxmap.TensorWarning):
        assert tensor.numpy().tolist() == [1.0, 2.0]
