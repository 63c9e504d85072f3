"""`Model.to_proto()` and `onnxmap.from_proto()`: structures, and values that never move."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from support.edits.models import EDIT_MODELS
from support.interop.bridged_models import (
    NAMES,
    WIDTH,
    message_of,
    opened,
    weighted_model,
    wheel_models,
    write_weights,
)
from support.models.sample import model_of, write
from support.saves.judges import entries_of
from support.saves.models import SAVE_MODELS, made_external, weight

import onnxmap

SIDE = 40  # of a square of float32: 6400 bytes, so it is never copied
WEIGHTS = ["copy", "reference", "none"]
AMBIGUOUS = {"sparse", "small_and_odd"}  # two tensors have one name


def write_weighted(folder: Path, name: str = "w", file: str = "model.onnx") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return write(weighted_model(name=name), folder / file)


def write_external(folder: Path, seed: int = 0, names: str = "ab") -> Path:
    """A model with weights in a data file."""
    folder.mkdir(parents=True, exist_ok=True)
    data = bytearray()
    tensors = [
        made_external(weight(name, SIDE, SIDE, seed=seed + i), "w.data", data, 3)
        for i, name in enumerate(names)
    ]
    (folder / "w.data").write_bytes(data)
    return write(model_of(tensors), folder / "model.onnx")


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        (name, weights)
        for name in NAMES
        for weights in WEIGHTS
        if weights != "none" or name not in AMBIGUOUS  # test_names_that_are_not_unique
    ],
)
def test_there_and_back(name: str, weights: Any, tmp_path: Path) -> None:
    model = opened(name, tmp_path)
    message = message_of(model)
    structure = model.to_proto(weights)
    back = onnxmap.from_proto(structure, model)
    assert message_of(back) == message
    assert weights != "copy" or name not in SAVE_MODELS or not back.edited
    if onnxmap.dumps(model) == message.SerializeToString():  # as protobuf encodes it
        assert onnxmap.dumps(back) == onnxmap.dumps(model)
    assert not model.edited


def test_all_models_of_the_wheel() -> None:
    count = 0
    for path in wheel_models():
        model = onnxmap.load(path)
        message = message_of(model)
        assert model.to_proto() == message
        for weights in ("reference", "none"):
            back = onnxmap.from_proto(model.to_proto(weights), model)
            assert message_of(back) == message, path
        count += 1
    assert count > 100


def test_a_copy_is_the_message(tmp_path: Path) -> None:
    path = write_weighted(tmp_path)
    message = onnxmap.load(path).to_proto()
    assert isinstance(message, ModelProto)
    assert message == onnx.load(path)
    assert onnxmap.dumps(onnxmap.from_proto(message)) == path.read_bytes()


def test_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path is absolute, however the model was opened, and the small tensors are inline."""
    path = write_weighted(tmp_path)
    monkeypatch.chdir(tmp_path)
    structure = onnxmap.load("model.onnx").to_proto("reference")
    assert structure.ByteSize() < 1000
    whole = onnx.load(path)
    constant = structure.graph.node[1].attribute[0].t
    pairs = [
        (structure.graph.initializer[0], whole.graph.initializer[0]),
        (constant, whole.graph.node[1].attribute[0].t),
    ]
    for tensor, official in pairs:
        entries = entries_of(tensor)
        assert entries["location"] == str(path)
        begin = int(entries["offset"])
        assert path.read_bytes()[begin : begin + int(entries["length"])] == official.raw_data
        assert not tensor.HasField("raw_data")
    assert list(structure.graph.initializer)[1:] == list(whole.graph.initializer)[1:]


@pytest.mark.parametrize(
    ("kind", "count", "is_inline"),
    [("INT64", 8000, True), ("INT64", 8300, False), ("INT32", 16000, True), ("INT16", 600, False),
     ("FLOAT", 200, True), ("FLOAT", 260, False)],
)  # fmt: skip
def test_which_tensors_are_large(kind: str, count: int, is_inline: bool, tmp_path: Path) -> None:
    number = TensorProto.DataType.Value(kind)
    array = np.zeros(count, helper.tensor_dtype_to_np_dtype(number))
    path = write(model_of([numpy_helper.from_array(array, "t")]), tmp_path / "model.onnx")
    for weights in ("reference", "none"):
        (tensor,) = onnxmap.load(path).to_proto(weights).graph.initializer
        assert tensor.HasField("raw_data") == is_inline
        assert (tensor.name, list(tensor.dims), tensor.data_type) == ("t", [count], number)


def test_values_that_do_not_fit_stay_inline(tmp_path: Path) -> None:
    broken = [
        TensorProto(name="short", dims=[2000], data_type=1, raw_data=b"1234" * 500),
        TensorProto(name="no type", dims=[2000], raw_data=b"1234" * 500),
    ]
    path = write(model_of(broken), tmp_path / "model.onnx")
    assert onnxmap.load(path).to_proto("reference") == onnx.load(path)


def test_documentation_does_not_count(tmp_path: Path) -> None:
    small = numpy_helper.from_array(np.ones(9, np.float32), "small")
    small.doc_string = "documentation " * 200
    path = write(model_of([small]), tmp_path / "model.onnx")
    assert onnxmap.load(path).to_proto("none") == onnx.load(path)


def test_a_copy_of_more_than_2_gib_is_refused(tmp_path: Path) -> None:
    """Structures of it are small."""
    path = write_weights(tmp_path / "model.onnx", count=33, side=4096)
    model = onnxmap.load(path)
    with pytest.raises(onnxmap.SaveError) as caught:
        model.to_proto()
    assert caught.value.code == "save.too_large"
    structure = model.to_proto("reference")
    assert structure.ByteSize() < 10_000
    back = onnxmap.from_proto(structure, model)
    assert back.nbytes == model.nbytes > 1 << 31
    back.infer_shapes()
    assert len(back.graph.value_infos) == 32
    with pytest.raises(onnxmap.SaveError):
        back.save(tmp_path / "saved.onnx")


def test_what_no_file_has_stays_inline(tmp_path: Path) -> None:
    path = write_weighted(tmp_path)
    model = onnxmap.load(path)
    new = np.arange(WIDTH * WIDTH, dtype=np.float32).reshape(WIDTH, WIDTH)
    model.initializers["w"] = new
    model.initializers["list"] = onnxmap.make_tensor("list", 7, [9000], [200] * 9000)
    model.initializers["texts"] = ["text" * 20] * 20
    tensors = {one.name: one for one in model.to_proto("reference").graph.initializer}
    assert numpy_helper.to_array(tensors["w"]).tobytes() == new.tobytes()
    assert len(tensors["list"].int64_data) == 9000
    assert len(tensors["texts"].string_data) == 20
    buffer = onnxmap.loads(path.read_bytes())
    assert buffer.to_proto("reference") == onnx.load(path)


def test_values_of_another_model_and_of_external_files(tmp_path: Path) -> None:
    """Each reference names the file that has the values."""
    model = onnxmap.load(write_external(tmp_path / "one"))
    other = onnxmap.load(write_external(tmp_path / "two", seed=7))
    model.initializers["b"] = other.initializers["a"]
    structure = model.to_proto("reference")
    found = [entries_of(tensor)["location"] for tensor in structure.graph.initializer]
    assert found == [str(tmp_path / "one/w.data"), str(tmp_path / "two/w.data")]
    back = onnxmap.from_proto(structure, model)
    assert back.initializers["a"].is_external
    np.testing.assert_array_equal(back.views()["b"], other.views()["a"])
    assert np.shares_memory(back.views()["b"], other.views()["a"])


def test_renamed_moved_and_reshaped_tensors_follow_their_reference(tmp_path: Path) -> None:
    model = onnxmap.load(write_weighted(tmp_path))
    expected = model.views()["w"]
    structure = model.to_proto("reference")
    graph = structure.graph
    graph.initializer[0].name = "renamed"
    graph.initializer[0].doc_string = "documented"
    graph.initializer[0].metadata_props.add(key="k", value="v")
    del graph.initializer[0].dims[:]
    graph.initializer[0].dims.extend([WIDTH * WIDTH])
    graph.initializer.add().CopyFrom(graph.node[1].attribute[0].t)
    graph.initializer[-1].name = "moved"
    del graph.node[1]
    branch = graph.node.add(op_type="If").attribute.add(name="then_branch", type=5)
    branch.g.initializer.add().CopyFrom(graph.initializer[0])
    back = onnxmap.from_proto(structure, model)
    renamed = back.initializers["renamed"]
    assert (renamed.doc_string, renamed.metadata_props) == ("documented", {"k": "v"})
    assert renamed.shape == (WIDTH * WIDTH,)
    inner = back.graph.nodes[-1].attributes["then_branch"].value.initializers["renamed"]
    for tensor in (renamed, inner):
        assert tensor.numpy().tobytes() == expected.tobytes()
    assert back.views()["moved"].tobytes() == (expected + 1).tobytes()


def test_values_are_not_copied(tmp_path: Path) -> None:
    path = write(model_of([weight("w", 64, 64)]), tmp_path / "model.onnx")
    model = onnxmap.load(path)
    view = model.views()["w"]
    for weights in ("reference", "none"):
        back = onnxmap.from_proto(model.to_proto(weights), model)
        assert np.shares_memory(back.views()["w"], view)
        assert back.initializers["w"].file == str(path)
    model.initializers["w"] = new = np.ones((64, 64), np.float32)
    back = onnxmap.from_proto(model.to_proto("none"), model)
    assert np.shares_memory(back.views()["w"], new)


def test_a_model_that_came_back_is_a_model(tmp_path: Path) -> None:
    """It outlives the source, and can be saved, pickled and edited."""
    path = write_weighted(tmp_path)
    with onnxmap.load(path) as model:
        structure = model.to_proto("reference")
        back = onnxmap.from_proto(structure, model)
    for name, one in {"saved.onnx": back, "pickled.onnx": pickle.loads(pickle.dumps(back))}.items():
        one.save(tmp_path / name, sync=False)
        assert (tmp_path / name).read_bytes() == path.read_bytes()
    assert len(list(tmp_path.iterdir())) == 3  # no data files
    back.initializers.rename("w", "v")
    assert back.views()["v"].shape == (WIDTH, WIDTH)
    back.revert()
    with pytest.raises(onnxmap.TensorError):  # the values are an edit
        back.views()


def test_a_remote_model(tmp_path: Path) -> None:
    """References name URLs, which no other library reads; the way back does."""
    fsspec = pytest.importorskip("fsspec")
    path = write_external(tmp_path)
    write_weighted(tmp_path, file="inline.onnx")
    for name in ("model.onnx", "inline.onnx", "w.data"):
        fsspec.filesystem("memory").put_file(str(tmp_path / name), f"/bridges/{name}")
    for name in ("model.onnx", "inline.onnx"):
        model = onnxmap.load(f"memory://bridges/{name}")
        structure = model.to_proto("reference")
        location = entries_of(structure.graph.initializer[0])["location"]
        assert location == f"memory://bridges/{'w.data' if name == path.name else name}"
        back = onnxmap.from_proto(structure, model)
        assert onnxmap.dumps(back) == (tmp_path / name).read_bytes()
        for mine, theirs in zip(back.views().values(), model.views().values(), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_a_session_maps_the_file_of_the_source(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    path = write_weights(tmp_path / "model.onnx", count=2, side=256, mark=True)
    model = onnxmap.load(path)
    feed = {"x": np.ones((1, 256), np.float32)}
    cpu = ["CPUExecutionProvider"]
    expected = onnxruntime.InferenceSession(str(path), providers=cpu).run(None, feed)[0]
    for back in (
        onnxmap.from_proto(model.to_proto("reference"), model), onnxmap.from_ir(model.to_ir()),
    ):  # fmt: skip
        np.testing.assert_array_equal(back.session(cpu).run(None, feed)[0], expected)


@pytest.mark.parametrize("options", [{"io": "read"}, {"link_policy": "strict"}, {"watch": False}])
def test_the_options_of_the_model_hold(options: dict[str, Any], tmp_path: Path) -> None:
    model = onnxmap.load(write_external(tmp_path / "real"), **options)
    back = onnxmap.from_proto(model.to_proto("reference"), model)
    assert back.proto._reading() == model.proto._reading()
    for name, view in model.views().items():
        assert back.views()[name].tobytes() == view.tobytes()


def test_entries_of_the_model_itself(tmp_path: Path) -> None:
    """Also a message that onnx loaded without external data is a structure."""
    path = write_external(tmp_path / "folder")
    model = onnxmap.load(path)
    structure = onnx.load(path, load_external_data=False)
    structure.graph.initializer[0].name = "renamed"
    back = onnxmap.from_proto(structure, [model])
    np.testing.assert_array_equal(back.views()["renamed"], model.views()["a"])
    assert back.initializers["renamed"].is_external
    entry = structure.graph.initializer[0].external_data[1]
    assert entry.key == "offset"
    entry.value = "4"  # an entry that the model does not have, in a file that it has
    back = onnxmap.from_proto(structure, model)
    data = (tmp_path / "folder/w.data").read_bytes()
    assert back.views()["renamed"].tobytes() == data[4 : 4 + 4 * SIDE * SIDE]


def test_models_of_two_folders(tmp_path: Path) -> None:
    one = onnxmap.load(write_external(tmp_path / "one", names="ab"))
    two = onnxmap.load(write_external(tmp_path / "two", seed=7, names="cd"))
    structure = one.to_proto("reference")
    structure.graph.initializer.extend(two.to_proto("reference").graph.initializer)
    back = onnxmap.from_proto(structure, [one, two])
    found = {name: view.tobytes() for name, view in back.views().items()}
    assert found == {name: view.tobytes() for name, view in {**one.views(), **two.views()}.items()}
    assert [tensor.is_external for tensor in back.initializers.values()] == [
        True,
        True,
        False,
        False,
    ]
    assert np.shares_memory(back.views()["c"], two.views()["c"])


def test_equal_entries_of_two_folders_are_refused(tmp_path: Path) -> None:
    paths = [write_external(tmp_path / name, seed=i) for i, name in enumerate("xy")]
    models = [onnxmap.load(path) for path in paths]
    with pytest.raises(onnxmap.TensorError, match="several models have its entry") as caught:
        onnxmap.from_proto(onnx.load(paths[0], load_external_data=False), models)
    assert caught.value.code == "tensor.no_values"


@pytest.mark.parametrize("change", ["name", "shape", "type", "offset"])
def test_values_that_nobody_has(change: str, tmp_path: Path) -> None:
    model = onnxmap.load(write_weighted(tmp_path))
    structure = model.to_proto("reference" if change == "offset" else "none")
    tensor = structure.graph.initializer[0]
    if change == "name":
        tensor.name = "other"
    elif change == "shape":
        tensor.dims[0] += 1
    elif change == "type":
        tensor.data_type = TensorProto.INT32
    else:
        tensor.external_data[1].value = "0"
    with pytest.raises(onnxmap.TensorError, match="has no values, and no tensor") as caught:
        onnxmap.from_proto(structure, model)
    assert (caught.value.code, caught.value.tensor) == ("tensor.no_values", tensor.name)


@pytest.mark.parametrize("name", sorted(AMBIGUOUS))
def test_names_that_are_not_unique(name: str, tmp_path: Path) -> None:
    model = opened(name, tmp_path)
    with pytest.raises(onnxmap.TensorError, match="several tensors") as caught:
        onnxmap.from_proto(model.to_proto("none"), model)
    assert caught.value.code == "tensor.no_values"


def test_a_constant_without_a_name_is_found_by_its_output(tmp_path: Path) -> None:
    model = onnxmap.load(write_weighted(tmp_path))
    structure = model.to_proto("none")
    assert not structure.graph.node[1].attribute[0].t.HasField("raw_data")
    structure.graph.node.insert(0, helper.make_node("Neg", ["x"], ["negative"]))
    back = onnxmap.from_proto(structure, model)
    found = back.graph.nodes["constant"].attributes["value"].value.numpy()
    np.testing.assert_array_equal(found, model.views()["w"] + 1)
    structure.graph.node[2].output[0] = "other"
    with pytest.raises(onnxmap.TensorError, match="no tensor of the models"):
        onnxmap.from_proto(structure, model)


def test_an_edited_model(tmp_path: Path) -> None:
    model = onnxmap.load(write_weighted(tmp_path))
    model.initializers.rename("w", "v")
    model.graph.nodes.insert(0, onnxmap.make_node("Neg", ["x"], ["n"]))
    model.initializers["new"] = np.zeros(5000, np.float32)
    for weights in WEIGHTS:
        back = onnxmap.from_proto(model.to_proto(weights), model)
        assert message_of(back) == message_of(model)


def test_without_the_package_onnx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = onnxmap.load(write_weighted(tmp_path))
    expected = model.to_proto("reference")
    monkeypatch.setitem(sys.modules, "onnx", None)
    structure = model.to_proto("reference")
    assert type(structure) is not ModelProto
    assert structure.SerializeToString() == expected.SerializeToString()
    back = onnxmap.from_proto(structure, model)
    assert onnxmap.dumps(back) == onnxmap.dumps(model)


def test_messages_of_onnxmap_are_taken_too(tmp_path: Path) -> None:
    model = onnxmap.load(write_weighted(tmp_path))
    structure = onnxmap.loads(model.to_proto("none").SerializeToString())
    for given in (structure, structure.proto):
        assert message_of(onnxmap.from_proto(given, model)) == message_of(model)


def test_wrong_arguments(tmp_path: Path) -> None:
    model = onnxmap.loads(EDIT_MODELS["rich"])
    with pytest.raises(ValueError, match="weights must be one of 'copy', 'reference', 'none'"):
        model.to_proto("all")  # type: ignore[arg-type]
    for wrong in (b"bytes", onnx.GraphProto(), None):
        with pytest.raises(TypeError, match="expected a ModelProto"):
            onnxmap.from_proto(wrong, model)
    for weights in ([], [model, b"bytes"]):
        with pytest.raises(TypeError, match="weights must be a Model"):
            onnxmap.from_proto(model.to_proto(), weights)
    model.close()
    with pytest.raises(ValueError, match="closed"):
        model.to_proto()
