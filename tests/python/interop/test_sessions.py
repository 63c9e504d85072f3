"""`Model.session()`: outputs as from the file, and weights that stay in their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.models.sample import write
from support.saves.models import SAVE_MODELS, matmul_model, weight

import onnxmap

onnxruntime = pytest.importorskip("onnxruntime")  # its newest release needs Python 3.11
from support.interop.session_models import (
    CPU,
    ONES,
    SESSION,
    SIDE,
    external_model,
    inline_model,
    run,
    run_file,
    weights,
)

from onnxmap.interop import ort


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[onnx.ModelProto]:
    """The models that onnxruntime gets as bytes."""
    models: list[onnx.ModelProto] = []

    def watched(data: bytes, *arguments: Any, **named: Any) -> Any:
        models.append(onnx.ModelProto.FromString(data))
        return SESSION(data, *arguments, **named)

    monkeypatch.setattr(ort.onnxruntime, "InferenceSession", watched)
    return models


def places(model: onnx.ModelProto) -> dict[str, str]:
    """By name, the file of each initializer that is in none of the bytes."""
    return {
        one.name: "/" + {entry.key: entry.value for entry in one.external_data}["location"]
        for one in model.graph.initializer
        if one.external_data
    }


@pytest.mark.parametrize("prepack", [True, False])
@pytest.mark.parametrize("make", [inline_model, external_model])
def test_outputs_and_places(
    make: Any, prepack: bool, tmp_path: Path, given: list[onnx.ModelProto]
) -> None:
    path = make(tmp_path)
    with onnxmap.load(path) as model:
        session = model.session(CPU, prepack=prepack)
    assert run(session) == run_file(path, prepack=prepack)
    holder = path if make is inline_model else tmp_path / "sub/w.data"
    assert places(given[0]) == dict.fromkeys(("w0", "w1", "w2"), str(holder.resolve()))
    assert given[0].ByteSize() < 2000


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("name", ["chain", "chain_outside", "shared", "nested"])
def test_every_place_of_a_tensor(
    name: str, io: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In subgraphs, functions and attributes, too, if none of them is too small."""
    monkeypatch.setattr(ort, "_LEAST_EXTERNAL", (1,))
    path = SAVE_MODELS[name](tmp_path)
    width = {"chain": 16, "nested": 16}.get(name, 20)
    feed: dict[str, Any] = {"x": np.ones((16, width), np.float32)}
    if name == "nested":
        feed["cond"] = np.array(True)
    assert run(onnxmap.load(path, io=io).session(CPU), feed) == run_file(path, feed)


def test_small_and_empty_tensors_are_in_the_bytes(
    tmp_path: Path, given: list[onnx.ModelProto]
) -> None:
    nodes = [
        helper.make_node("Reshape", ["y", "shape"], ["z"]),
        helper.make_node("Concat", ["z", "none"], ["all"], axis=0),
    ]
    shape = numpy_helper.from_array(np.array([-1]), "shape")
    none = numpy_helper.from_array(np.empty(0, np.float32), "none")
    made = matmul_model([*weights(), shape, none], nodes)
    made.graph.output.add(name="all")
    path = write(made, tmp_path / "model.onnx")
    assert run(onnxmap.load(path).session(CPU)) == run_file(path)
    assert sorted(places(given[0])) == ["w0", "w1", "w2"]


@pytest.mark.parametrize("kind", ["BFLOAT16", "FLOAT16", "INT4", "BOOL", "DOUBLE"])
def test_types(kind: str, tmp_path: Path, given: list[onnx.ModelProto]) -> None:
    number = TensorProto.DataType.Value(kind)
    bits = {"INT4": 4, "BOOL": 8, "DOUBLE": 64}.get(kind, 16)
    data = np.random.default_rng(0).integers(0, 2, 400_000 * bits // 8, np.uint8).tobytes()
    tensor = helper.make_tensor("w", number, [400_000], data, raw=True)
    node = helper.make_node("Cast", ["w"], ["y"], to=TensorProto.FLOAT)
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [400_000])]
    graph = helper.make_graph([node], "g", [], outputs, [tensor])
    opsets = [helper.make_opsetid("", 21)]
    made = helper.make_model(graph, ir_version=10, opset_imports=opsets)
    path = write(made, tmp_path / "model.onnx")
    assert run(onnxmap.load(path).session(CPU), {}) == run_file(path, {})
    assert list(places(given[0])) == ["w"]


def test_edited_weights_under_constant_folding(tmp_path: Path) -> None:
    """onnxruntime computes w0 + w1 while it opens the model: from the values as they are now."""
    path = inline_model(tmp_path)
    made = onnx.load(path)
    made.graph.node.insert(0, helper.make_node("Add", ["w0", "w1"], ["sum"]))
    made.graph.node[1].input[1] = "sum"
    path = write(made, tmp_path / "folded.onnx")
    model = onnxmap.load(path)
    model.initializers["w0"] = model.initializers["w0"].numpy() * 3
    model.initializers["w2"] = np.eye(SIDE, dtype=np.float32)
    model.graph.nodes.append(onnxmap.make_node("Relu", ["y"], ["positive"]))
    model.graph.outputs.append(onnxmap.make_tensor_value_info("positive", 1, ["N", SIDE]))
    found = run(model.session(CPU))
    model.save(tmp_path / "saved.onnx", sync=False)
    assert found == run_file(tmp_path / "saved.onnx")
    assert found != run_file(path)
    assert len(found) == 2


@pytest.mark.parametrize("place", ["memory", "model", "file"])
def test_new_values(place: str, tmp_path: Path, given: list[onnx.ModelProto]) -> None:
    """Those of another model stay in its file; those in memory go into a temporary one."""
    path, other = inline_model(tmp_path), tmp_path / "other.onnx"
    write(matmul_model([weight("v", SIDE, SIDE, seed=9)]), other)
    values = onnxmap.load(other).initializers["v"]
    model = onnxmap.load(path)
    if place == "memory":
        model.initializers["w1"] = values.numpy(copy=True)
    elif place == "model":
        model.initializers["w1"] = values
    else:
        (tmp_path / "raw").write_bytes(values.tobytes())
        model.initializers["w1"] = np.memmap(tmp_path / "raw", "float32", "r", shape=(SIDE, SIDE))
    found = run(model.session(CPU))
    model.save(tmp_path / "saved.onnx", sync=False)
    assert found == run_file(tmp_path / "saved.onnx")
    new_place = places(given[0])["w1"]
    assert (new_place == str(other.resolve())) == (place == "model")
    assert Path(new_place).exists() == (place == "model")


@pytest.mark.parametrize("make", [inline_model, external_model])
def test_buffers(make: Any, tmp_path: Path) -> None:
    path = make(tmp_path)
    model = onnxmap.loads(path.read_bytes(), external_root=tmp_path)
    assert run(model.session(CPU)) == run_file(path)


def test_typed_fields(tmp_path: Path, given: list[onnx.ModelProto]) -> None:
    tensors = weights()
    values = numpy_helper.to_array(tensors[1]).reshape(-1)
    tensors[1] = helper.make_tensor("w1", TensorProto.FLOAT, [SIDE, SIDE], values)
    path = write(matmul_model(tensors), tmp_path / "model.onnx")
    assert run(onnxmap.load(path).session(CPU)) == run_file(path)
    assert len(places(given[0])) == 3


def test_a_remote_model(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    import fsspec

    path = external_model(tmp_path)
    memory = fsspec.filesystem("memory")
    for name in "model.onnx", "sub/w.data":
        memory.put_file(str(tmp_path / name), f"/sessions/{name}")
    model = onnxmap.load("memory://sessions/model.onnx")
    assert run(model.session(CPU)) == run_file(path)


def test_a_cache_of_links(tmp_path: Path) -> None:
    """As of Hugging Face: model and data are links to files with other names."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots/main"
    blobs.mkdir()
    (snapshot / "sub").mkdir(parents=True)
    path = external_model(tmp_path / "source")
    for blob, name in ("1f0c", "model.onnx"), ("8a2d", "sub/w.data"):
        (path.parent / name).rename(blobs / blob)
        depth = "../" * (2 + name.count("/"))
        (snapshot / name).symlink_to(f"{depth}blobs/{blob}")
    linked = snapshot / "model.onnx"
    found = run(onnxmap.load(linked).session(CPU))
    onnxmap.load(linked).save(tmp_path / "inline.onnx", external_data=False, sync=False)
    assert found == run_file(tmp_path / "inline.onnx")
    with pytest.raises(onnxmap.UnsafePathError):
        onnxmap.load(linked, link_policy="strict").session(CPU)


def test_a_location_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    path = external_model(tmp_path / "outer")
    inner = tmp_path / "outer/inner"
    inner.mkdir()
    made = onnx.load(path, load_external_data=False)
    for one in made.graph.initializer:
        one.external_data[0].value = "../sub/w.data"
    with pytest.raises(onnxmap.UnsafePathError):
        onnxmap.load(write(made, inner / "model.onnx")).session(CPU)


def test_outputs(tmp_path: Path) -> None:
    path = inline_model(tmp_path)
    made = onnx.load(path)
    inner = [one for node in made.graph.node for one in node.output if one != "y"]
    session = onnxmap.load(path).session(CPU, outputs=[*inner, "y", "w0", inner[0]])
    assert [one.name for one in session.get_outputs()] == ["y", *inner, "w0"]
    found = session.run(None, ONES)
    np.testing.assert_allclose(found[1], ONES["x"] @ numpy_helper.to_array(weights()[0]), rtol=1e-4)
    assert found[0].tobytes() == run_file(path)[0]
    with pytest.raises(onnxmap.UnknownNameError, match=inner[0]):
        onnxmap.load(path).session(CPU, outputs=[inner[0] + "x"])
    with pytest.raises(TypeError, match="list"):
        onnxmap.load(path).session(CPU, outputs="y")


def test_a_refusal_says_what_onnxruntime_said(tmp_path: Path) -> None:
    model = onnxmap.load(inline_model(tmp_path))
    model.graph.nodes[0].op_type = "NoSuchOperator"
    with pytest.raises(onnxmap.SessionError, match="NoSuchOperator") as caught:
        model.session(CPU)
    assert caught.value.code == "session.refused"
    assert "save it and open the file" in str(caught.value)
    model.close()
    with pytest.raises(ValueError, match="closed"):
        model.session(CPU)


def test_entries_of_prepacked_weights_do_not_move(
    tmp_path: Path, given: list[onnx.ModelProto]
) -> None:
    """They name places in the old data file."""
    path = external_model(tmp_path)
    made = onnx.load(path, load_external_data=False)
    made.graph.initializer[0].external_data.add(key="prepacked_0", value="abc|0;100;;")
    model = onnxmap.load(write(made, tmp_path / "prepacked.onnx"))
    assert run(model.session(CPU)) == run_file(path)
    model.save(tmp_path / "moved.onnx", "moved.data", sync=False)
    for one in given[0], onnx.load(tmp_path / "moved.onnx", load_external_data=False):
        keys = {entry.key for entry in one.graph.initializer[0].external_data}
        assert keys == {"location", "offset", "length"}


def test_many_tensors_need_few_mappings(tmp_path: Path) -> None:
    count = 10_000
    names = [f"t{i}" for i in range(count)]
    tensors = [numpy_helper.from_array(np.full(4, i, np.float32), n) for i, n in enumerate(names)]
    node = helper.make_node("Sum", names[:1000], ["y"])
    rest = helper.make_node("Sum", names[1000:2000], ["z"])
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "yz"]
    graph = helper.make_graph([node, rest], "g", [], outputs, tensors)
    opsets = [helper.make_opsetid("", 21)]
    made = helper.make_model(graph, ir_version=10, opset_imports=opsets)
    path = write(made, tmp_path / "model.onnx")
    before = Path("/proc/self/maps").read_text().count("\n")
    session = onnxmap.load(path).session(CPU)
    assert Path("/proc/self/maps").read_text().count("\n") < before + 1000
    assert run(session, {}) == run_file(path, {})


def test_small_tensors_of_more_than_2_gib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then smaller tensors are mapped, too. If even that is too much, the error says so."""
    path = inline_model(tmp_path)
    model = onnxmap.load(path)
    tried: list[int] = []
    real = ort._core.save_plan

    def plan(**options: Any) -> Any:
        tried.append(options["least_nbytes"])
        if len(tried) <= too_large:
            raise onnxmap.SaveError("too large", code="save.too_large")
        return real(**options)

    monkeypatch.setattr(ort._core, "save_plan", plan)
    too_large = 1
    assert run(model.session(CPU)) == run_file(path)
    assert tried == [64 << 10, 4 << 10]
    tried.clear()
    too_large = 2
    with pytest.raises(onnxmap.SessionError) as caught:
        model.session(CPU)
    assert caught.value.code == "session.too_large"
