"""Saves of messages of protobuf, which may have values, a location, or both in one tensor.

What the tensors of the message say is what onnx and onnxmap read afterwards.
"""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.external_data_helper import convert_model_to_external_data
from support.oracles.tensors import tensors_of
from support.run_options import EXHAUSTIVE, LONG
from support.saves.judges import stored_bytes

import onnxmap
from onnxmap.errors import MissingDataError, SaveError, TensorError, UnsafePathError

PROGRAMS = 20_000 if LONG else 2_000 if EXHAUSTIVE else 150
WEIGHT, BIAS = np.arange(600, dtype=np.float32), np.arange(2000, dtype=np.float32) / 3


def message_of(**arrays: np.ndarray) -> ModelProto:
    tensors = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph([], "g", [], [], tensors)
    return helper.make_model(graph)


def given_locations(message: ModelProto, **options: Any) -> ModelProto:
    """The message after onnx's own function, which leaves the values where they are."""
    convert_model_to_external_data(message, **{"size_threshold": 100, **options})
    return message


def read_back(path: Path) -> dict[str, list[Any]]:
    """The values by name; onnx and onnxmap agree on them."""
    values = {name: t.numpy() for name, t in onnxmap.load(path).initializers.items()}
    for tensor in onnx.load(path).graph.initializer:
        np.testing.assert_array_equal(numpy_helper.to_array(tensor), values[tensor.name])
    return {name: array.tolist() for name, array in values.items()}


EXPECTED = {"w": WEIGHT.tolist(), "b": BIAS.tolist()}


def test_values_go_to_the_file_that_the_message_names(tmp_path: Path) -> None:
    message = given_locations(message_of(w=WEIGHT, b=BIAS), location="w.data")
    before = message.SerializeToString()
    report = onnxmap.save(message, tmp_path / "m.onnx")
    assert report.files == [str(tmp_path / "w.data"), str(tmp_path / "m.onnx")]
    assert read_back(tmp_path / "m.onnx") == EXPECTED
    assert message.SerializeToString() == before


def test_each_tensor_may_name_a_file_of_its_own(tmp_path: Path) -> None:
    message = given_locations(message_of(w=WEIGHT, b=BIAS), all_tensors_to_one_file=False)
    onnxmap.save(message, tmp_path / "m.onnx")
    assert {path.name for path in tmp_path.iterdir()} == {"m.onnx", "m.w.data", "m.b.data"}
    assert read_back(tmp_path / "m.onnx") == EXPECTED


def test_an_attribute_may_name_a_file(tmp_path: Path) -> None:
    message = message_of()
    value = numpy_helper.from_array(WEIGHT, "w")
    message.graph.node.append(helper.make_node("Constant", [], ["w"], value=value))
    given_locations(message, location="w.data", convert_attribute=True)
    onnxmap.save(message, tmp_path / "m.onnx")
    tensor = onnxmap.load(tmp_path / "m.onnx").graph.nodes[0].attributes["value"].value
    assert tensor.is_external
    assert tensor.numpy().tolist() == WEIGHT.tolist()


@pytest.mark.parametrize(("external_data", "files"), [(False, set()), ("x.data", {"x.data"})])
def test_an_option_comes_before_the_location(
    tmp_path: Path, external_data: Any, files: set[str]
) -> None:
    message = given_locations(message_of(w=WEIGHT, b=BIAS), location="w.data")
    onnxmap.save(message, tmp_path / "m.onnx", external_data)
    assert {path.name for path in tmp_path.iterdir()} == {"m.onnx", *files}
    assert read_back(tmp_path / "m.onnx") == EXPECTED


def test_a_file_object_takes_no_data_file(tmp_path: Path) -> None:
    message = given_locations(message_of(w=WEIGHT), location="w.data")
    with pytest.raises(ValueError, match="a file object has no folder"):
        onnxmap.save(message, io.BytesIO())
    file = io.BytesIO()
    onnxmap.save(message, file, external_data=False)
    assert onnxmap.loads(file.getvalue()).initializers["w"].numpy().tolist() == WEIGHT.tolist()


def test_values_of_others_in_the_named_file_stay(tmp_path: Path) -> None:
    onnxmap.save(given_locations(message_of(w=WEIGHT), location="w.data"), tmp_path / "m.onnx")
    message = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    added = given_locations(message_of(b=BIAS), location="w.data")
    message.graph.initializer.extend(added.graph.initializer)
    onnxmap.save(message, tmp_path / "m.onnx")
    assert read_back(tmp_path / "m.onnx") == EXPECTED


@pytest.mark.parametrize("location", ["../w.data", "/tmp/w.data", "sub/../../w.data"])
def test_a_location_cannot_lead_out_of_the_folder(tmp_path: Path, location: str) -> None:
    message = given_locations(message_of(w=WEIGHT))
    message.graph.initializer[0].external_data[0].value = location
    folder = tmp_path / "models"
    folder.mkdir()
    with pytest.raises(UnsafePathError):
        onnxmap.save(message, folder / "m.onnx")
    assert [path.name for path in tmp_path.rglob("*")] == ["models"]


@pytest.mark.parametrize("external_data", [False, "x.data"])
def test_a_location_that_is_not_used_may_lead_anywhere(tmp_path: Path, external_data: Any) -> None:
    message = given_locations(message_of(w=WEIGHT))
    message.graph.initializer[0].external_data[0].value = "/elsewhere/w.data"
    onnxmap.save(message, tmp_path / "m.onnx", external_data)
    assert read_back(tmp_path / "m.onnx") == {"w": WEIGHT.tolist()}


def test_data_of_another_model_are_not_replaced(tmp_path: Path) -> None:
    onnxmap.save(message_of(w=WEIGHT), tmp_path / "other.onnx", "w.data")
    for values in (BIAS, -BIAS):  # the second save replaces the first one
        message = given_locations(message_of(b=values), location="w.data")
        onnxmap.save(message, tmp_path / "m.onnx")
        assert read_back(tmp_path / "m.onnx") == {"b": values.tolist()}
    assert read_back(tmp_path / "other.onnx") == {"w": WEIGHT.tolist()}
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"other.onnx", "w.data", "m.onnx", "m.w.data"}


@pytest.mark.parametrize("location", [".bashrc", "setup.py", "new/w.data", "notes.bin", "m.onnx"])
def test_who_made_the_message_does_not_choose_which_files_appear(
    tmp_path: Path, location: str
) -> None:
    if "/" not in location:
        (tmp_path / location).write_bytes(b"mine")
    message = message_of(w=WEIGHT)
    message.graph.initializer[0].data_location = TensorProto.EXTERNAL
    message.graph.initializer[0].external_data.add(key="location", value=location)
    onnxmap.save(message, tmp_path / "m.onnx")
    assert read_back(tmp_path / "m.onnx") == {"w": WEIGHT.tolist()}
    if location != "m.onnx" and "/" not in location:
        assert (tmp_path / location).read_bytes() == b"mine"
    assert {path.name for path in tmp_path.iterdir()} <= {
        "m.onnx", location, next(path.name for path in tmp_path.glob("m.*.*"))
    }  # fmt: skip


@pytest.mark.parametrize("values", [{"raw_data": b""}, {"raw_data": None, "float_data": [0.0]}])
def test_values_that_do_not_fit(tmp_path: Path, values: dict[str, Any]) -> None:
    message = message_of(w=WEIGHT)
    onnxmap.save(message, tmp_path / "m.onnx", "w.data")
    message = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    message.graph.initializer[0].MergeFrom(TensorProto(**values))
    with pytest.raises(TensorError):
        onnxmap.save(message, tmp_path / "n.onnx")
    assert not (tmp_path / "n.onnx").exists()


def test_a_location_goes_with_values_that_stay_in_the_model(tmp_path: Path) -> None:
    message = given_locations(message_of(w=WEIGHT), location="w.data")
    onnxmap.save(message, tmp_path / "m.onnx", external_data=False)
    assert not onnx.load(tmp_path / "m.onnx").graph.initializer[0].external_data


def test_a_message_may_come_from_another_folder(tmp_path: Path) -> None:
    onnxmap.save(message_of(w=WEIGHT, b=BIAS), tmp_path / "m.onnx", "w.data")
    message = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(MissingDataError):
        onnxmap.save(message, out / "m.onnx")
    assert not list(out.iterdir())
    onnxmap.save(message, out / "m.onnx", external_root=tmp_path)
    (tmp_path / "w.data").unlink()
    assert read_back(out / "m.onnx") == EXPECTED
    with pytest.raises(ValueError, match="leave external_root out"):
        onnxmap.save(onnxmap.load(out / "m.onnx"), out / "n.onnx", external_root=tmp_path)


def test_save_all_takes_messages_of_another_folder(tmp_path: Path) -> None:
    onnxmap.save(message_of(w=WEIGHT), tmp_path / "m.onnx", "w.data")
    message = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    out = tmp_path / "out"
    out.mkdir()
    models = {out / "a.onnx": message, out / "b.onnx": message}
    onnxmap.save_all(models, "all.data", external_root=tmp_path)
    assert [read_back(path) for path in models] == [{"w": WEIGHT.tolist()}] * 2


@pytest.mark.parametrize("made_by", ["protobuf", "an edit"])
def test_a_model_without_a_graph_is_not_saved(tmp_path: Path, made_by: str) -> None:
    model: Any = ModelProto(ir_version=8)
    if made_by == "an edit":
        model = onnxmap.loads(message_of(w=WEIGHT).SerializeToString())
        model.proto.ClearField("graph")
    with pytest.raises(SaveError) as caught:
        onnxmap.save(model, tmp_path / "m.onnx")
    assert caught.value.code == "save.no_graph"
    assert not list(tmp_path.iterdir())


def test_a_place_that_an_edit_gives_must_exist(tmp_path: Path) -> None:
    onnxmap.save(message_of(w=WEIGHT), tmp_path / "m.onnx", "w.data")
    model = onnxmap.load(tmp_path / "m.onnx")
    entry = next(e for e in model.proto.graph.initializer[0].external_data if e.key == "location")
    entry.value = "x.data"
    with pytest.raises(MissingDataError):
        model.save(tmp_path / "n.onnx")
    (tmp_path / "x.data").write_bytes((tmp_path / "w.data").read_bytes())
    model.save(tmp_path / "n.onnx")
    assert read_back(tmp_path / "n.onnx") == {"w": WEIGHT.tolist()}


def test_a_model_whose_data_are_elsewhere_can_be_edited(tmp_path: Path) -> None:
    onnxmap.save(message_of(w=WEIGHT), tmp_path / "m.onnx", "w.data")
    (tmp_path / "w.data").rename(tmp_path / "kept")
    model = onnxmap.load(tmp_path / "m.onnx")
    model.proto.graph.initializer[0].name = "v"
    model.save(tmp_path / "m.onnx")
    (tmp_path / "kept").rename(tmp_path / "w.data")
    assert read_back(tmp_path / "m.onnx") == {"v": WEIGHT.tolist()}


def random_tensor(chance: random.Random, name: str, folder: Path) -> TensorProto:
    array = np.frombuffer(chance.randbytes(4 * chance.choice([0, 1, 30, 400])), np.uint32)
    typed = chance.random() < 0.3
    dtype = chance.choice([TensorProto.UINT32, TensorProto.INT32, TensorProto.FLOAT])
    array = array.astype(helper.tensor_dtype_to_np_dtype(dtype))
    if typed:
        return helper.make_tensor(name, dtype, array.shape, array)
    tensor = numpy_helper.from_array(array, name)
    kind = chance.choice(["inline", "both", "both", "elsewhere"])
    if kind == "inline":
        return tensor
    location = chance.choice(["a.data", "b.data", "./a.data", "sub/a.data", "x/../b.data"])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    if kind == "elsewhere":
        file = folder / location
        offset = file.stat().st_size if file.exists() else 0
        with file.open("ab") as data:
            data.write(tensor.raw_data)
        tensor.external_data.add(key="offset", value=str(offset))
        tensor.external_data.add(key="length", value=str(len(tensor.raw_data)))
        tensor.ClearField("raw_data")
    return tensor


def said_by(tensor: TensorProto, folder: Path) -> bytes:
    """The values of a tensor of the message: its own, if it has some."""
    if tensor.HasField("raw_data") or tensor.data_location != TensorProto.EXTERNAL:
        own = TensorProto.FromString(tensor.SerializeToString())
        own.ClearField("data_location")
        return numpy_helper.to_array(own).tobytes()
    return stored_bytes(tensor, folder)


@pytest.mark.parametrize("part", range(10))
def test_every_tensor_has_its_values_afterwards(part: int, tmp_path: Path) -> None:
    for seed in range(part, PROGRAMS, 10):
        chance = random.Random(seed)
        folder = tmp_path / str(seed)
        for name in ("sub", "x"):
            (folder / name).mkdir(parents=True)
        tensors = [random_tensor(chance, f"t{i}", folder) for i in range(chance.randrange(1, 7))]
        message = helper.make_model(helper.make_graph([], "g", [], [], tensors[1:]))
        message.graph.node.append(helper.make_node("Constant", [], ["y"], value=tensors[0]))
        expected = {where: said_by(tensor, folder) for where, tensor in tensors_of(message)}
        options: dict[str, Any] = {"size_threshold_bytes": chance.choice([0, 64, 1024])}
        if chance.random() < 0.5:
            options["external_data"] = chance.choice([False, "a.data", "new.data"])
            if options["external_data"]:
                options["attributes"] = chance.random() < 0.5
                options["dedupe"] = chance.random() < 0.5
        path = folder / "m.onnx"
        try:
            onnxmap.save(message, path, sync=False, **options)
        except SaveError as error:
            if error.code != "save.no_weights":
                raise
            onnxmap.save(message, path, sync=False, **{**options, "attributes": True})
        found = {t.name: t.numpy().tobytes() for _, t in onnxmap.load(path).tensors()}
        assert found == {tensor.name: expected[where] for where, tensor in tensors_of(message)}
        for where, tensor in tensors_of(onnx.load(path)):
            assert numpy_helper.to_array(tensor).tobytes() == expected[where], seed
