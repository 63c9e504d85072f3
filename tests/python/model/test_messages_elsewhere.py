"""Copies and pickles of messages: where they find their external data, and what bounds them."""

from __future__ import annotations

import copy
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support import wire_bytes as wire
from support.models.sample import model_of

import onnxmap


@pytest.fixture
def external(tmp_path: Path) -> onnxmap.Model:
    weight = numpy_helper.from_array(np.arange(6, dtype=np.float32), "w")
    onnx.save(model_of([weight]), tmp_path / "m.onnx", save_as_external_data=True, size_threshold=0)
    return onnxmap.load(tmp_path / "m.onnx")


def by_pickle(message: Any) -> Any:
    return pickle.loads(pickle.dumps(message))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, by_pickle])
def test_a_copy_finds_its_external_data(copied: Any, external: onnxmap.Model) -> None:
    graph = copied(external.graph)
    assert graph == external.graph
    assert graph.initializers["w"].numpy().tolist() == [0, 1, 2, 3, 4, 5]
    tensor = onnxmap.wrap(copied(external.initializers["w"].proto))
    assert tensor.numpy().tolist() == [0, 1, 2, 3, 4, 5]


def test_a_pickled_message_is_relocated(external: onnxmap.Model, tmp_path: Path) -> None:
    pickled = pickle.dumps(external.graph)
    moved = tmp_path / "moved"
    moved.mkdir()
    for file in list(tmp_path.iterdir()):
        if file.is_file():
            file.rename(moved / file.name)
    with pytest.raises(onnxmap.MissingDataError):
        pickle.loads(pickled).initializers["w"].numpy()
    with onnxmap.relocate(moved):
        graph = pickle.loads(pickled)
    assert graph.initializers["w"].numpy().tolist() == [0, 1, 2, 3, 4, 5]


def test_a_copy_has_the_limits_of_its_model() -> None:
    graph = wire.blob(2, b"g")
    for _ in range(40):  # a graph in an attribute of a node
        graph = wire.blob(1, wire.blob(5, wire.blob(6, graph)))
    model = onnxmap.loads(wire.blob(7, graph), limits=onnxmap.Limits(depth=200))
    assert by_pickle(model.graph) == model.graph
    small = onnxmap.loads(helper.make_model(helper.make_graph([], "g", [], [])).SerializeToString())
    assert len(pickle.dumps(small.graph)) < 100  # options that are usual are left out


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_limits_are_pickled(protocol: int) -> None:
    limits = onnxmap.Limits(depth=50, timeout=3)
    assert pickle.loads(pickle.dumps(limits, protocol)) == limits


def test_a_model_whose_file_has_changed_is_not_pickled(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model_of([numpy_helper.from_array(np.zeros(4), "w")]).SerializeToString())
    model = onnxmap.load(path)
    graph = model.graph
    other = copy.deepcopy(graph)
    path.write_bytes(path.read_bytes() + b"\x32\x01x")
    time.sleep(0.02)  # a file is looked at again after 10 ms
    for ask in (lambda: pickle.dumps(model), lambda: graph == other, lambda: hash(graph)):
        with pytest.raises(onnxmap.FileChangedError):
            ask()


def test_names_of_values_need_not_be_utf8() -> None:
    node = wire.blob(1, wire.blob(1, b"in\xff") + wire.blob(2, b"out\xfe") + wire.blob(4, b"Relu"))
    graph = onnxmap.loads(wire.blob(7, node + wire.blob(2, b"g"))).graph
    name, out = graph.node_inputs()[0][0], graph.node_outputs()[0][0]
    assert [position for _, position in graph.uses(name)] == [0]
    assert graph.consumers(name) == [graph.nodes[0]]
    assert graph.producer(out) == graph.nodes[0]
    assert graph.value(name) is None
    for ask in (graph.producer, graph.uses, graph.consumers, graph.value):
        with pytest.raises(TypeError, match="the name of a value is a str, not NoneType"):
            ask(None)


def test_messages_of_one_kind_have_many_hashes() -> None:
    """Tensors without a name, and types, differ in what is below them or repeated."""
    tensors = [
        TensorProto(data_type=TensorProto.INT64, dims=[n], raw_data=n.to_bytes(8, "little"))
        for n in range(200)
    ]
    types = [helper.make_tensor_type_proto(TensorProto.FLOAT, [n, "N"]) for n in range(200)]
    for messages in (tensors, types):
        name = type(messages[0]).__name__
        views = [onnxmap.loads_proto(m.SerializeToString(), name) for m in messages]
        assert len({hash(view) for view in views}) > 190
        assert len(set(views)) == 200


def test_json_is_bounded() -> None:
    many = TensorProto(int64_data=[1] * 100_000).SerializeToString()
    view = onnxmap.loads_proto(many, "TensorProto", limits=onnxmap.Limits(text_bytes=1_000_000))
    with pytest.raises(onnxmap.LimitError, match="text_bytes") as caught:
        view.to_dict()
    assert caught.value.code == "limit.text_bytes"
    assert len(onnxmap.loads_proto(many, "TensorProto").to_dict()["int64Data"]) == 100_000


def test_paths_are_bounded() -> None:
    data = wire.blob(7, wire.blob(1, b"") * 1000)
    model = onnxmap.loads(data, limits=onnxmap.Limits(text_bytes=10_000))
    with pytest.raises(onnxmap.LimitError, match="text_bytes"):
        model.all_nodes()
    assert len(onnxmap.loads(data).all_nodes()) == 1000


def test_get_of_a_missing_name_suggests_nothing() -> None:
    """It is asked in loops; `[]` takes a millisecond to find names to suggest."""
    model = onnxmap.loads(model_of([numpy_helper.from_array(np.zeros(1), "w")]).SerializeToString())
    found: list[object] = []
    initializers = model.initializers
    assert initializers.get("v", found) is found
    assert initializers.get("w").name == "w"  # type: ignore[union-attr]
    assert initializers.get("v") is None
