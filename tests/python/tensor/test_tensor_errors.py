"""Malformed tensors: each is refused on access with its code, and all others can be read.

The tables are in `bad_tensors`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from support import wire_bytes as wire
from support.hostile import bad_tensors as table
from support.hostile.bad_tensors import BAD_TENSORS, GOOD_TENSORS, Bad
from support.models.sample import floats
from support.oracles import tensor_encoder as encoder
from support.processes.subprocesses import growth_kib
from support.run_options import SANITIZED

import onnxmap

GRAPH, INITIALIZER, NAME = 7, 5, 8
MIB = 1024

# The values of these fields are checked only when they are read, and a part may be read alone.
OF_VALUES = {"tensor.value_range", "tensor.padding"}


def model_with(fields: bytes, name: str = "bad") -> onnxmap.Model:
    """A model of three initializers. The one with `fields` is between two good ones."""
    own_name = wire.blob(NAME, name.encode()) if name else b""
    good = [floats("before", 2).SerializeToString(), floats("after", 3).SerializeToString()]
    tensors = [good[0], own_name + fields, good[1]]
    return onnxmap.loads(wire.blob(GRAPH, b"".join(wire.blob(INITIALIZER, one) for one in tensors)))


def readers(tensor: onnxmap.Tensor) -> dict[str, Callable[[], object]]:
    """Every way to get a tensor's values."""
    return {
        "numpy": tensor.numpy,
        "numpy(copy=True)": lambda: tensor.numpy(copy=True),
        "numpy(writable=True)": lambda: tensor.numpy(writable=True),
        "asarray": lambda: np.asarray(tensor),
        "tobytes": tensor.tobytes,
        "tofile": lambda: tensor.tofile(io.BytesIO()),
        "slice": lambda: tensor[...],
        "part": lambda: tensor[:1],
        "dlpack": tensor.__dlpack__,
    }


def assert_neighbours_read(model: onnxmap.Model) -> None:
    assert model.initializers["before"].numpy().tolist() == [0.0, 1.0]
    assert model.initializers["after"].tobytes() == np.float32([0, 1, 2]).tobytes()
    assert {k: v.tolist() for k, v in model.views(["after", "before"]).items()} == {
        "after": [0.0, 1.0, 2.0],
        "before": [0.0, 1.0],
    }


def is_text(fields: bytes) -> bool:
    return wire.scalar(encoder.DATA_TYPE, 8) in fields


@pytest.mark.parametrize("name", BAD_TENSORS)
def test_a_fault_is_refused_by_every_reader(name: str, tmp_path: Path) -> None:
    bad = BAD_TENSORS[name]
    assert_message(bad)
    assert_refused_by_all(bad)
    assert_refused_by_stats(bad)
    assert_path_in_place_of_a_name(bad, tmp_path)


def assert_message(bad: Bad) -> None:
    model = model_with(bad.fields)
    tensor = model.initializers["bad"]
    with pytest.raises(onnxmap.TensorError) as caught:
        tensor.numpy()
    error = caught.value
    assert (error.code, error.tensor) == (bad.code, "bad")
    assert "'bad'" in str(error)
    for words in bad.says:
        assert re.search(re.escape(words) + r"(?!\d)", str(error)), (words, str(error))
    assert "\n" not in repr(tensor)
    assert "\n" not in tensor._repr_html_().replace("\n<", "<")
    with pytest.raises(onnxmap.TensorError) as caught:
        model.views()
    assert (caught.value.code, caught.value.tensor) == (bad.code, "bad")
    assert_neighbours_read(model)


def assert_refused_by_all(bad: Bad) -> None:
    tensor = model_with(bad.fields).initializers["bad"]
    for reader, read in readers(tensor).items():
        if is_text(bad.fields) and reader in ("tobytes", "tofile", "dlpack"):
            continue  # strings cannot have this form in any case
        scalar = not onnx.TensorProto.FromString(bad.fields).dims
        if reader == "part" and (scalar or bad.code in OF_VALUES):
            continue
        with pytest.raises(onnxmap.TensorError) as caught:
            read()
        assert caught.value.code == bad.code, reader
    with pytest.raises((BufferError, onnxmap.TensorError)):
        memoryview(tensor)  # the buffer protocol may turn it into a BufferError


def assert_refused_by_stats(bad: Bad) -> None:
    model = model_with(bad.fields)
    if onnx.TensorProto.FromString(bad.fields).data_type == onnx.TensorProto.STRING:
        assert list(model.stats()) == ["before", "after"]  # strings are left out
        return
    with pytest.raises(onnxmap.TensorError) as caught:
        model.stats()
    assert (caught.value.code, caught.value.tensor) == (bad.code, "bad")
    assert list(model.stats(["before"])) == ["before"]


def assert_path_in_place_of_a_name(bad: Bad, folder: Path) -> None:
    tensor = list(model_with(bad.fields, name="").initializers.all())[1]
    with pytest.raises(onnxmap.TensorError) as caught:
        tensor.numpy()
    assert (caught.value.code, caught.value.tensor) == (bad.code, "graph.initializer[1]")
    assert "graph.initializer[1]" in str(caught.value)
    path = folder / "tensor.pb"
    path.write_bytes(bad.fields)
    with pytest.raises(onnxmap.TensorError) as caught:
        onnxmap.load_tensor(path).numpy()
    assert (caught.value.code, caught.value.tensor) == (bad.code, "")


@pytest.mark.parametrize("name", GOOD_TENSORS)
def test_accepted(name: str) -> None:
    fields, values = GOOD_TENSORS[name]
    model = model_with(fields, "w")
    assert model.initializers["w"].numpy().tolist() == values
    assert model.views()["w"].tolist() == values
    assert_neighbours_read(model)


def test_every_edge_of_a_range_is_accepted() -> None:
    """The values next to them are refused."""
    for kind in encoder.ELEMENT_TYPES.values():
        if kind.field != "int32_data":
            continue
        count = 8 // kind.bits if kind.bits in (2, 4) else 1
        for value in table.accepted_entries(kind):
            fields = table.typed(kind.name, count) + table.entries("int32_data", value)
            array = model_with(fields, "w").initializers["w"].numpy()
            code = value & ((1 << max(kind.bits, 8)) - 1)
            codes = [code >> i * kind.bits & ((1 << kind.bits) - 1) for i in range(count)]
            assert array.tobytes() == encoder.expected_array(kind, (count,), codes).tobytes()


def test_padding_bits_are_kept_where_they_are_accepted() -> None:
    """A 2- or 4-bit tensor gives its stored bytes unchanged, so saving it changes nothing."""
    for kind, data in (("INT4", b"\x21\xf3"), ("UINT2", b"\xe4\xfd"), ("FLOAT4E2M1", b"\x12\x93")):
        count = 5 if kind == "UINT2" else 3
        tensor = model_with(table.typed(kind, count) + table.raw(data), "w").initializers["w"]
        assert tensor.tobytes() == tensor.packed().tobytes() == data


def test_bool_bytes_read_as_true() -> None:
    for fields in (
        table.typed("BOOL", 3) + table.raw(b"\0\1\2"),
        table.typed("BOOL", 3) + table.entries("int32_data", 0, 1, 2),
    ):
        tensor = model_with(fields, "w").initializers["w"]
        assert tensor.numpy().dtype == np.bool_
        assert tensor.numpy().view(np.uint8).tolist() == [0, 1, 2]
        assert [bool(value) for value in tensor.numpy()] == [False, True, True]
        assert tensor.tobytes() == b"\0\1\2"


def test_no_elements_in_a_shape_numpy_can_hold() -> None:
    tensor = model_with(table.typed("UINT8", 0, 1 << 62), "w").initializers["w"]
    assert (tensor.size, tensor.numpy().shape) == (0, (0, 1 << 62))
    for shape in ([0, 1 << 62], [1 << 32, 1 << 32, 0]):
        huge = model_with(table.typed("FLOAT", *shape), "w").initializers["w"]
        assert (huge.size, huge.shape) == (0, tuple(shape))


def test_a_name_of_any_bytes_is_escaped_in_the_message() -> None:
    tensor = next(
        one
        for one in model_with(
            wire.blob(NAME, b"evil\n\x1b[31m\xff" + b"x" * 1000) + table.typed("FLOAT", 2), ""
        ).initializers.all()
        if one.name.startswith("evil")
    )
    with pytest.raises(onnxmap.TensorError) as caught:
        tensor.numpy()
    message = str(caught.value)
    assert "\n" not in message
    assert "\x1b" not in message
    assert len(message) < 500
    assert caught.value.tensor == tensor.name


HUGE = {
    "raw float": table.typed("FLOAT", 1 << 40) + table.raw(b"1234"),
    "no data": table.typed("DOUBLE", 1 << 40),
    "one int64": table.typed("INT64", 1 << 40) + table.entries("int64_data", 1),
    "one packed float": table.typed("FLOAT", 1 << 40) + wire.blob(4, table.ONE),
    "one uint8": table.typed("UINT8", 1 << 40) + table.entries("int32_data", 1),
    "one string": table.typed("STRING", 1 << 40) + table.one_value("string_data"),
    "int4 in 4 bytes": table.typed("INT4", 1 << 40) + table.raw(b"1234"),
    "float6 entries": table.typed("FLOAT6E2M3", 1 << 40) + table.entries("int32_data", 1),
    "one segment": table.typed("FLOAT", 1 << 40)
    + table.raw(b"1234")
    + wire.blob(encoder.SEGMENT, wire.scalar(2, 1 << 40)),
}


@pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")
def test_declared_elements_allocate_nothing() -> None:
    facts = growth_kib(
        f"b''.join(wire.blob(5, one) for one in {list(HUGE.values())!r})",
        """
    refused = 0
    for tensor in onnxmap.loads(wire.blob(7, data)).initializers.all():
        for read in (tensor.numpy, lambda: tensor.numpy(copy=True), tensor.tobytes):
            try:
                read()
            except (onnxmap.TensorError, TypeError):
                refused += 1
    assert refused == 27, refused
    """,
    )
    assert facts["growth"] < MIB


@pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")
def test_ten_million_dims_allocate_nothing() -> None:
    facts = growth_kib(
        'wire.blob(7, wire.blob(5, wire.scalar(2, 1) + wire.blob(1, b"\\x01" * 10_000_000)))',
        """
    tensor = next(iter(onnxmap.loads(data).initializers.all()))
    try:
        tensor.numpy()
    except onnxmap.TensorError as error:
        assert error.code == "tensor.rank", error.code
        assert "10000000" in str(error), str(error)
    else:
        raise SystemExit("accepted")
    """,
    )
    assert facts["growth"] < MIB
