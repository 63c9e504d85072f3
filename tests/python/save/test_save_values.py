"""`save_tensor`, `save_value`, `save_operator_set`: what they write, both packages read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import ml_dtypes
import numpy as np
import onnx
import pytest
from google.protobuf.message import Message
from onnx import TensorProto, numpy_helper
from support.models.sample import operator_set
from support.oracles.canonical import message_class
from support.oracles.tensor_encoder import ELEMENT_TYPES
from support.oracles.tensors import assert_same_array, assert_same_value, official_value
from support.saves.models import SAVE_MODELS
from support.tensors.examples import example_of

import onnxmap

Kind = Literal["tensor", "sequence", "map", "optional"]

MESSAGES = {"sequence": "SequenceProto", "map": "MapProto", "optional": "OptionalProto"}
FLOATS = np.arange(6, dtype=np.float32).reshape(2, 3)


def read(path: Path, name: str) -> Message:
    return message_class(name).FromString(path.read_bytes())


@pytest.mark.parametrize("shape", [(), (0, 4), (7,), (5, 3, 3)])
@pytest.mark.parametrize("kind", ELEMENT_TYPES)
def test_arrays_of_every_type(kind: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    array = example_of(ELEMENT_TYPES[kind], shape, "raw").array
    if kind == "STRING":
        array = np.array([f"text {i}" for i in range(array.size)], object).reshape(shape)
    report = onnxmap.save_tensor(array, tmp_path / "t.pb", "name", sync=False)
    assert report.files == [str(tmp_path / "t.pb")]
    proto = read(tmp_path / "t.pb", "TensorProto")
    assert isinstance(proto, TensorProto)
    assert (proto.name, proto.data_type) == ("name", ELEMENT_TYPES[kind].number)
    assert_same_array(numpy_helper.to_array(proto), array)
    found = onnxmap.load_tensor(tmp_path / "t.pb")
    assert found.name == "name"
    assert_same_array(found.numpy(), array)


def test_tensors_of_models(tmp_path: Path) -> None:
    """Also those in data files: the values come along. Their names stay unless one is given."""
    model = onnxmap.load(SAVE_MODELS["every_type"](tmp_path))
    for name, tensor in model.initializers.items():
        onnxmap.save_tensor(tensor, tmp_path / "t.pb", sync=False)
        found = onnxmap.load_tensor(tmp_path / "t.pb")
        assert (found.name, found.dtype, found.external) == (name, tensor.dtype, None)
        assert_same_array(found.numpy(), tensor.numpy())
    onnxmap.save_tensor(tensor, tmp_path / "t.pb", "other", sync=False)
    assert onnxmap.load_tensor(tmp_path / "t.pb").name == "other"
    assert tensor.name == name


SEQUENCES: dict[str, list[Any]] = {
    "nothing": [],
    "arrays": [FLOATS, np.array(1.5), np.array(["a", "é"], object), np.zeros((0,), np.int8)],
    "lists": [[FLOATS], [], [FLOATS, FLOATS]],
    "maps": [{1: FLOATS}, {2: FLOATS[0], 3: FLOATS[1]}],
    "lists of lists": [[[FLOATS]], [[], [FLOATS]]],
    "bfloat16": [FLOATS.astype(ml_dtypes.bfloat16)],
}
MAPS: dict[str, dict[Any, Any]] = {
    "integers": {1: FLOATS, -5: FLOATS * 2, 1 << 40: FLOATS},
    "texts": {"a": FLOATS, "": FLOATS * 2, "é": FLOATS},
    "NumPy's integers": {np.int16(3): FLOATS, np.int16(-4): FLOATS},
    "lists": {3: [FLOATS], 4: [FLOATS, FLOATS]},
    "maps": {1: {"x": FLOATS}, 2: {"y": FLOATS}},
}
OPTIONALS: dict[str, Any] = {
    "nothing": None, "an array": FLOATS, "a list": [FLOATS, FLOATS], "a map": {7: FLOATS},
    "an empty list": [],
}  # fmt: skip
VALUES: list[tuple[Kind, str, Any]] = [
    *(("sequence", name, value) for name, value in SEQUENCES.items()),
    *(("map", name, value) for name, value in MAPS.items()),
    *(("optional", name, value) for name, value in OPTIONALS.items()),
]


@pytest.mark.parametrize(("kind", "name", "value"), VALUES, ids=lambda one: str(one)[:20])
def test_values(kind: Kind, name: str, value: Any, tmp_path: Path) -> None:
    onnxmap.save_value(value, tmp_path / "v.pb", kind, sync=False)
    assert_same_value(onnxmap.load_value(tmp_path / "v.pb", kind), value)
    message = read(tmp_path / "v.pb", MESSAGES[kind])
    if (kind, name) == ("map", "maps"):
        return  # numpy_helper.to_dict does not read them
    theirs = official_value(message)
    if kind == "map":  # it gives keys that are texts as bytes
        theirs = {key.decode() if isinstance(key, bytes) else key: theirs[key] for key in theirs}
    assert_same_value(theirs, value)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("sequence", "arrays"), ("sequence", "lists"), ("map", "integers"),
     ("optional", "an array"), ("optional", "a list")],
)  # fmt: skip
def test_the_message_is_the_official_one(kind: Kind, name: str, tmp_path: Path) -> None:
    """Where the official package writes what onnx-data.proto says."""
    value = {"sequence": SEQUENCES, "map": MAPS, "optional": OPTIONALS}[kind][name]
    if name == "arrays":
        value = [FLOATS, np.array(1.5), np.zeros((0,), np.int8)]
    make = {
        "sequence": numpy_helper.from_list,
        "map": numpy_helper.from_dict,
        "optional": numpy_helper.from_optional,
    }
    onnxmap.save_value(value, tmp_path / "v.pb", kind, sync=False)
    found = read(tmp_path / "v.pb", MESSAGES[kind])
    theirs = make[kind](value)
    assert_same_value(official_value(found), official_value(theirs))
    for field in ("elem_type", "key_type", "keys", "string_keys"):
        assert getattr(found, field, None) == getattr(theirs, field, None)


def test_a_tensor_as_a_value(tmp_path: Path) -> None:
    onnxmap.save_value(FLOATS, tmp_path / "v.pb", "tensor", sync=False)
    assert_same_value(onnxmap.load_value(tmp_path / "v.pb", "tensor"), FLOATS)
    assert_same_array(numpy_helper.to_array(onnx.load_tensor(tmp_path / "v.pb")), FLOATS)


def test_a_folder_of_test_data(tmp_path: Path) -> None:
    """What is saved for each input is what `load_test_data` finds."""
    folder = tmp_path / "test_data_set_0"
    folder.mkdir()
    value = onnx.helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    types = [
        value,
        onnx.helper.make_sequence_type_proto(value),
        onnx.helper.make_optional_type_proto(value),
        onnx.helper.make_map_type_proto(TensorProto.INT64, value),
    ]
    infos = [onnx.helper.make_value_info(f"x{i}", one) for i, one in enumerate(types)]
    graph = onnx.helper.make_graph([], "g", infos, [])
    (tmp_path / "model.onnx").write_bytes(onnx.helper.make_model(graph).SerializeToString())
    values: list[tuple[Any, Kind]] = [
        (FLOATS, "tensor"), ([FLOATS], "sequence"), (None, "optional"), ({1: FLOATS}, "map")
    ]  # fmt: skip
    for number, (one, kind) in enumerate(values):
        onnxmap.save_value(one, folder / f"input_{number}.pb", kind, sync=False)
    inputs, outputs = onnxmap.load_test_data(folder)
    assert outputs == []
    for found, (one, _) in zip(inputs, values, strict=True):
        assert_same_value(found, one)


WRONG: list[tuple[Any, Any, type[Exception] | tuple[type[Exception], ...]]] = [
    (FLOATS, "sequence", TypeError),
    ({1: FLOATS}, "sequence", TypeError),
    ([FLOATS, [FLOATS]], "sequence", TypeError),
    ([FLOATS], "map", TypeError),
    ({1: FLOATS, "a": FLOATS}, "map", TypeError),
    ({1.5: FLOATS}, "map", TypeError),
    ({True: FLOATS}, "map", TypeError),
    ({1: FLOATS, 2: [FLOATS]}, "map", TypeError),
    ({1 << 64: FLOATS}, "map", (TypeError, ValueError, OverflowError)),
    ([np.array([object()])], "sequence", TypeError),
    (np.array([1 + 2j], np.complex256), "tensor", (TypeError, ValueError)),
    (np.array(["2020"], "datetime64"), "tensor", (TypeError, ValueError)),
    (object(), "tensor", TypeError),
    (object(), "optional", TypeError),
    (FLOATS, "sparse", ValueError),
    (FLOATS, None, ValueError),
]


@pytest.mark.parametrize(("value", "kind", "error"), WRONG, ids=lambda one: str(one)[:20])
def test_wrong_values(value: Any, kind: Any, error: Any, tmp_path: Path) -> None:
    with pytest.raises(error):
        onnxmap.save_value(value, tmp_path / "v.pb", kind)
    assert list(tmp_path.iterdir()) == []


def test_operator_sets(tmp_path: Path) -> None:
    made = operator_set()
    path = tmp_path / "ops.onnx"
    theirs = onnx.OperatorSetProto(magic="ONNXOPSET", opset_version=1, domain="d")
    theirs.operator.add(op_type="Op")
    for given in (made, made.proto, theirs):
        onnxmap.save_operator_set(given, path, sync=False)
        assert onnxmap.load_operator_set(path).proto == made.proto
        assert read(path, "OperatorSetProto").SerializeToString() == theirs.SerializeToString()
        path.unlink()
    for wrong in (None, b"bytes", onnx.NodeProto(), onnxmap.make_node("Op", [], [])):
        with pytest.raises(TypeError):
            onnxmap.save_operator_set(wrong, path)
    assert not path.exists()


def test_options_and_places(tmp_path: Path) -> None:
    path = tmp_path / "t.pb"
    for save in (
        lambda place, **options: onnxmap.save_tensor(FLOATS, place, **options),
        lambda place, **options: onnxmap.save_value(FLOATS, place, "tensor", **options),
        lambda place, **options: onnxmap.save_operator_set(operator_set(), place, **options),
    ):
        save(path)
        with pytest.raises(FileExistsError):
            save(path, overwrite=False)
        with pytest.raises(FileNotFoundError):
            save(tmp_path / "missing" / "t.pb")
        with pytest.raises(onnxmap.SaveError) as caught:
            save("s3://bucket/t.pb")
        assert caught.value.code == "save.remote"
        path.unlink()
    assert list(tmp_path.iterdir()) == []
