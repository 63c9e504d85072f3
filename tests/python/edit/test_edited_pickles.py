"""Pickles and copies of edited models, messages and tensors have the edits.

The pickle of an edited model of a file refers to its large weights, and has the rest by value.
"""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.edits.rich_model import rich
from support.models.sample import external, floats, model_of, write
from support.readers.whole_models import disagreement

import onnxmap

COUNT = 100_000  # elements of a large weight
MANY = 400_000  # bytes of it

Edit = Callable[[onnxmap.Model], object]


def write_model(folder: Path, name: str = "model.onnx") -> Path:
    """A model with large weights inline, external and in a typed field, and in a subgraph."""
    (folder / "w.bin").write_bytes(np.ones(COUNT, np.float32).tobytes())
    body = helper.make_graph([], "body", [], [], [floats("inner", COUNT, 3)])
    made = model_of(
        [
            floats("first", COUNT), floats("small", 3), floats("second", COUNT, 1),
            external("outside", [COUNT], {"location": "w.bin"}),
            TensorProto(name="typed", dims=[3], data_type=7, int64_data=[1, 2, 3]),
        ],
        producer_name="p",
    )  # fmt: skip
    made.graph.node.append(helper.make_node("If", ["c"], ["o"], name="if", then_branch=body))
    made.graph.node.append(helper.make_node("Add", ["first", "second"], ["y"], name="add"))
    return write(made, folder / name)


def assign_other(model: onnxmap.Model) -> None:
    """A weight of another file, in the same folder and in one of its own."""
    assert model.path is not None
    folder = Path(model.path).parent
    (folder / "sub").mkdir(exist_ok=True)
    for place in (folder, folder / "sub"):
        other = onnxmap.load(write(model_of([floats("t", COUNT, 9)]), place / "other.onnx"))
        model.initializers[f"of {place.name}"] = other.initializers["t"]


EDITS: dict[str, tuple[Edit, int]] = {  # and how many large weights the pickle has by value
    "a field": (lambda m: setattr(m, "producer_name", "changed"), 0),
    "a node": (lambda m: m.graph.nodes.insert(0, onnxmap.make_node("Neg", ["x"], ["z"])), 0),
    "a node less": (lambda m: m.graph.nodes.pop(0), 0),
    "order of weights": (lambda m: m.proto.graph.initializer.reverse(), 0),
    "names of weights": (lambda m: m.initializers.rename("first", "renamed"), 0),
    "metadata of a weight": (lambda m: setattr(m.initializers["first"], "doc_string", "d"), 0),
    "shape of a weight": (lambda m: m.proto.graph.initializer[0].dims.append(1), 0),
    "a weight less": (lambda m: m.proto.graph.initializer.pop(0), 0),
    "a weight twice": (lambda m: m.initializers.__setitem__("copy", m.initializers["first"]), 0),
    "a weight inside": (
        lambda m: m.initializers.__setitem__("i", dict(m.tensors())[
            'graph.node[0].attribute["then_branch"].g.initializer[0]'
        ]), 0,
    ),
    "an external weight inline": (
        lambda m: m.initializers.__setitem__("i", m.initializers["outside"]), 0,
    ),
    "a small array": (lambda m: m.initializers.__setitem__("first", np.arange(7)), 0),
    "a large array": (lambda m: m.initializers.__setitem__("first", np.ones(COUNT, np.float32)), 1),
    "a weight of another model": (assign_other, 0),
    "external entries": (
        lambda m: m.proto.graph.initializer[3].external_data.add(key="offset", value="0"), 0,
    ),
    "the typed field": (lambda m: m.proto.graph.initializer[4].int64_data.__setitem__(0, 5), 0),
    "wrong dims": (lambda m: m.proto.graph.initializer[0].dims.append(7), 0),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_a_model_of_a_file_and_its_edits(edit: str, tmp_path: Path) -> None:
    model = onnxmap.load(write_model(tmp_path))
    change, by_value = EDITS[edit]
    change(model)
    data = pickle.dumps(model)
    assert by_value * MANY <= len(data) < by_value * MANY + 20_000
    again = pickle.loads(data)
    expected = onnx.ModelProto.FromString(onnxmap.dumps(model))
    found = onnx.ModelProto.FromString(onnxmap.dumps(again))
    assert found.SerializeToString(deterministic=True) == expected.SerializeToString(
        deterministic=True
    )
    assert (again.path, again.edited, again.io) == (model.path, True, "mmap")
    for copied in (copy.copy(model), copy.deepcopy(model)):
        assert onnxmap.dumps(copied) == onnxmap.dumps(again)
    if edit not in ("wrong dims",):
        for name in model.initializers:
            ours, theirs = model.initializers[name].numpy(), again.initializers[name].numpy()
            assert ours.dtype == theirs.dtype
            assert ours.tobytes() == theirs.tobytes()
    again.revert()
    assert onnxmap.dumps(again) == (tmp_path / "model.onnx").read_bytes()


@pytest.mark.parametrize("io", ["mmap", "read"])
def test_weights_are_views_of_the_file_again(io: Any, tmp_path: Path) -> None:
    model = onnxmap.load(write_model(tmp_path), io=io)
    model.graph.nodes[0].name = "renamed"
    again = pickle.loads(pickle.dumps(model))
    tensor = again.initializers["first"]
    assert (again.io, tensor.file, tensor.is_view) == (io, model.path, io == "mmap")
    assert tensor.offset == model.initializers["first"].offset
    assert tensor.numpy().tobytes() == model.initializers["first"].numpy().tobytes()
    twice = pickle.loads(pickle.dumps(again))
    assert onnxmap.dumps(twice) == onnxmap.dumps(again)
    twice.graph.nodes[0].name = "edited again"
    assert pickle.loads(pickle.dumps(twice)).graph.nodes[0].name == "edited again"


def test_a_reverted_model_is_a_plain_reference(tmp_path: Path) -> None:
    model = onnxmap.load(write_model(tmp_path))
    plain = pickle.dumps(model)
    model.producer_name = "changed"
    assert len(pickle.dumps(model)) > len(plain)
    model.revert()
    assert pickle.dumps(model) == plain


def test_another_process_has_the_edits(tmp_path: Path) -> None:
    model = onnxmap.load(write_model(tmp_path))
    model.initializers["first"] = np.full(3, 2.5)
    assign_other(model)
    (tmp_path / "m.pickle").write_bytes(pickle.dumps(model))
    code = (
        "import pickle, sys\n"
        "model = pickle.load(open('m.pickle', 'rb'))\n"
        "print(model.initializers['first'].numpy().tolist(), model.edited)\n"
        "print(model.initializers['of sub'].numpy()[:2].tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["[2.5, 2.5, 2.5] True", "[9.0, 10.0]"]


def test_a_relative_path_of_another_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = onnxmap.load(write_model(tmp_path))
    write(model_of([floats("t", COUNT, 9)]), tmp_path / "other.onnx")
    model.initializers["t"] = onnxmap.load("other.onnx").initializers["t"]
    data = pickle.dumps(model)
    tensor = pickle.dumps(model.initializers["t"])
    assert len(data) + len(tensor) < 20_000
    monkeypatch.chdir("/")
    assert pickle.loads(data).initializers["t"].numpy()[0] == 9
    assert pickle.loads(tensor).numpy()[0] == 9


def test_a_copied_folder(tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        write_model(tmp_path / name)
        write(model_of([floats("t", COUNT, 9)]), tmp_path / name / "other.onnx")
    model = onnxmap.load(tmp_path / "here" / "model.onnx")
    model.producer_name = "changed"
    other = onnxmap.load(tmp_path / "here" / "other.onnx")
    model.initializers["t"] = other.initializers["t"]
    data = pickle.dumps(model)
    with onnxmap.relocate(tmp_path / "there"):
        again = pickle.loads(data)
    there = str(tmp_path / "there")
    assert (again.producer_name, str(Path(str(again.path)).parent)) == ("changed", there)
    assert again.initializers["t"].file == f"{there}/other.onnx"
    assert again.initializers["outside"].file == f"{there}/w.bin"


def test_a_file_that_changed_is_noticed(tmp_path: Path) -> None:
    model = onnxmap.load(write_model(tmp_path))
    model.producer_name = "changed"
    assign_other(model)
    data = pickle.dumps(model)
    write(model_of([floats("t", COUNT, 8)]), tmp_path / "other.onnx")
    with pytest.raises(onnxmap.FileChangedError):
        pickle.loads(data)
    write(model_of([floats("t", COUNT, 9)]), tmp_path / "other.onnx")
    assert pickle.loads(data).producer_name == "changed"
    (tmp_path / "model.onnx").write_bytes(b"\x08\x0a" + (tmp_path / "model.onnx").read_bytes())
    with pytest.raises(onnxmap.FileChangedError):
        pickle.loads(data)


def test_options_are_kept(tmp_path: Path) -> None:
    path = write_model(tmp_path)
    limits = onnxmap.Limits(tensors=9)
    model = onnxmap.load(path, io="read", check="lazy", watch=False, lenient=True, limits=limits)
    model.graph.nodes[0].name = "renamed"
    again = pickle.loads(pickle.dumps(model))
    assert again._options.unusual() == model._options.unusual()
    assert again.graph.nodes[0].name == "renamed"


def test_a_model_of_a_buffer_is_a_value() -> None:
    model = rich()
    model.initializers["w"] = np.arange(COUNT)
    model.graph.nodes[0].name = "renamed"
    again = pickle.loads(pickle.dumps(model))
    assert onnxmap.dumps(again) == onnxmap.dumps(model)
    assert (again.edited, disagreement(again)) == (False, "")


@pytest.mark.parametrize("of", ["node", "graph", "view", "attribute", "value", "function"])
def test_edited_messages(of: str, tmp_path: Path) -> None:
    model = rich()
    thing: Any = {
        "node": model.graph.nodes[1], "graph": model.graph, "view": model.proto.graph.node[1],
        "attribute": model.graph.nodes[1].attributes["alpha"], "value": model.graph.inputs[0],
        "function": model.functions[0],
    }[of]  # fmt: skip
    thing.doc_string = "edited"
    for made in (copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
        assert type(made) is type(thing)
        assert made == thing
        assert hash(made) == hash(thing)
        assert made.doc_string == "edited"
        made.doc_string = "a copy"
        assert thing.doc_string == "edited"
        assert made != thing
    del model.graph.nodes[1]
    assert pickle.loads(pickle.dumps(thing)) == thing  # also if it was removed


def test_edited_tensors(tmp_path: Path) -> None:
    model = onnxmap.load(write_model(tmp_path))
    array = np.arange(COUNT, dtype=np.int16)
    model.initializers["second"] = array
    assign_other(model)
    model.initializers["first"].doc_string = "edited"
    folder = tmp_path.name
    sizes = {"first": 0, "second": array.nbytes, f"of {folder}": 0, "of sub": 0}
    for name, by_value in sizes.items():
        tensor = model.initializers[name]
        data = pickle.dumps(tensor)
        assert by_value <= len(data) < by_value + 2_000, name
        again = pickle.loads(data)
        assert (again.name, again.doc_string) == (name, tensor.doc_string)
        assert again.numpy().tobytes() == tensor.numpy().tobytes()
        assert copy.copy(tensor) is copy.deepcopy(tensor) is tensor


@pytest.mark.parametrize("how", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_model_that_was_saved_over_its_file(how: Any, tmp_path: Path) -> None:
    """Its file is gone: a pickle that refers to the new one could never be loaded."""
    path = tmp_path / "model.onnx"
    onnxmap.from_arrays({"w": np.ones(5000, np.float32)}).save(path, sync=False)
    model = onnxmap.load(path)
    model.initializers["w"] = np.zeros(5000, np.float32)
    model.save(path, sync=False)
    with pytest.raises(onnxmap.FileChangedError, match="load the model again"):
        how(model)
