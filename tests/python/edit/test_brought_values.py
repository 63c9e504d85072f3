"""Messages of a model in another folder: their external tensors keep their values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, TensorProto, helper
from support.models.sample import external, floats, model_of, write

import onnxmap

COUNT = 2_000
VALUES = np.arange(COUNT, dtype=np.float32)
Model = onnxmap.Model


def stored(name: str, offset: int = 0, count: int = COUNT) -> TensorProto:
    nbytes = str(4 * count)
    return external(name, [count], {"location": "w.bin", "offset": str(offset), "length": nbytes})


def sparse() -> Any:
    indices = helper.make_tensor("i", TensorProto.INT64, [COUNT], range(COUNT))
    return helper.make_sparse_tensor(stored("sparse"), indices, [2 * COUNT])


def write_model(folder: Path, values: np.ndarray[Any, Any]) -> Path:
    folder.mkdir()
    (folder / "w.bin").write_bytes(values.tobytes())
    pieces = [stored("pieces", 2 * COUNT * begin, COUNT // 2) for begin in (0, 1)]
    for begin, piece in enumerate(pieces):
        piece.dims[:] = [COUNT]
        piece.segment.begin = begin * COUNT // 2
        piece.segment.end = (begin + 1) * COUNT // 2
    inner = helper.make_graph([], "inner", [], [], [floats("small", 2), stored("deep")])
    made = model_of([stored("w"), floats("inline", 3), *pieces])
    made.graph.sparse_initializer.append(sparse())
    made.graph.node.extend([
        helper.make_node("Constant", [], ["t"], name="one", value=stored("t")),
        helper.make_node("Constant", [], ["s"], name="sparse", sparse_value=sparse()),
        helper.make_node("If", ["c"], ["y"], name="if", then_branch=inner, else_branch=inner),
        helper.make_node("Op", [], ["l"], name="list", tensors=[floats("f", 1), stored("l")]),
    ])  # fmt: skip
    made.functions.append(helper.make_function("d", "F", [], ["t"], [made.graph.node[0]], []))
    return write(made, folder / "m.onnx")


@pytest.fixture(params=["mmap", "read"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Model:
    return onnxmap.load(write_model(tmp_path / "other", VALUES), io=request.param)


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """Its data file has the same name, and other values."""
    return onnxmap.load(write_model(tmp_path / "here", -1 - VALUES))


def last(model: Model) -> onnxmap.Node:
    return model.graph.nodes[-1]


def if_of(model: Model) -> onnxmap.Graph:
    return model.graph.nodes["if"].attributes["then_branch"].value


# Each adds something of the other model, and returns the tensors that it brought.
ADDS: dict[str, Callable[[Model, Model], Any]] = {
    "append": lambda m, o: [
        m.graph.nodes.append(o.graph.nodes["one"]), last(m).attributes["value"].value
    ],
    "extend": lambda m, o: [
        m.graph.nodes.extend([o.graph.nodes["one"], o.graph.nodes["one"]]),
        *(node.attributes["value"].value for node in m.graph.nodes[-2:]),
    ],
    "add to a list": lambda m, o: [
        m.graph.nodes.__iadd__([o.graph.nodes["one"]]), last(m).attributes["value"].value
    ],
    "insert": lambda m, o: [
        m.graph.nodes.insert(0, o.graph.nodes["one"]), m.graph.nodes[0].attributes["value"].value
    ],
    "replace": lambda m, o: [
        m.graph.nodes.__setitem__(0, o.graph.nodes["one"]),
        m.graph.nodes[0].attributes["value"].value,
    ],
    "replace some": lambda m, o: [
        m.graph.nodes.__setitem__(slice(0, 2), [o.graph.nodes["one"]]),
        m.graph.nodes[0].attributes["value"].value,
    ],
    "replace all": lambda m, o: [
        setattr(m.graph, "nodes", o.graph.nodes), m.graph.nodes["one"].attributes["value"].value,
        m.graph.nodes["list"].attributes["tensors"].value[1], if_of(m).initializers["deep"],
    ],
    "append a view": lambda m, o: [
        m.graph.nodes.append(o.proto.graph.node[0]), last(m).attributes["value"].value
    ],
    "append to a view": lambda m, o: [
        m.proto.graph.node.append(o.graph.nodes["one"]), last(m).attributes["value"].value
    ],
    "subgraphs": lambda m, o: [
        m.graph.nodes.append(o.graph.nodes["if"]),
        last(m).attributes["then_branch"].value.initializers["deep"],
        last(m).attributes["else_branch"].value.initializers["deep"],
    ],
    "tensors": lambda m, o: [
        m.graph.nodes.append(o.graph.nodes["list"]), last(m).attributes["tensors"].value[1]
    ],
    "a sparse tensor": lambda m, o: [
        m.graph.nodes.append(o.graph.nodes["sparse"]),
        last(m).attributes["sparse_value"].value.values,
    ],
    "a function": lambda m, o: [
        m.functions.append(o.functions[0]), m.functions[-1].nodes[0].attributes["value"].value
    ],
    "an attribute": lambda m, o: [
        last(m).attributes.__setitem__("new", o.graph.nodes["one"].attributes["value"]),
        last(m).attributes["new"].value,
    ],
    "the value of an attribute": lambda m, o: [
        setattr(m.graph.nodes["one"].attributes["value"], "value", o.initializers["w"]),
        m.graph.nodes["one"].attributes["value"].value,
    ],
    "values of an attribute": lambda m, o: [
        last(m).attributes.__setitem__("new", [o.initializers["w"], o.initializers["w"]]),
        *last(m).attributes["new"].value,
    ],
    "a graph": lambda m, o: [
        last(m).attributes.__setitem__("new", if_of(o)),
        last(m).attributes["new"].value.initializers["deep"],
    ],
    "a made node": lambda m, o: [
        m.graph.nodes.append(onnxmap.make_node("Op", [], [], value=o.initializers["w"])),
        last(m).attributes["value"].value,
    ],
    "a made graph": lambda m, o: [
        m.graph.nodes.append(
            onnxmap.make_node("Op", [], [], g=onnxmap.make_graph(o.graph.nodes, "g", [], []))
        ),
        last(m).attributes["g"].value.nodes["one"].attributes["value"].value,
    ],
    "a new message": lambda m, o: [
        m.graph.nodes.append(onnxmap.new("NodeProto", attribute=[
            o.graph.nodes["one"].attributes["value"]])),
        last(m).attributes["value"].value,
    ],
    "initializers": lambda m, o: [
        m.proto.graph.initializer.append(o.initializers["w"]),
        onnxmap.wrap(m.proto.graph.initializer[-1]),
    ],
    "an initializer": lambda m, o: [
        m.initializers.__setitem__("w", o.initializers["w"]), m.initializers["w"]
    ],
    "sparse initializers": lambda m, o: [
        m.proto.graph.sparse_initializer.extend(o.graph.sparse_initializers.values()),
        onnxmap.wrap(m.proto.graph.sparse_initializer[-1]).values,
    ],
}  # fmt: skip


@pytest.mark.parametrize("add", ADDS)
def test_external_tensors_keep_their_values(
    add: str, model: Model, other: Model, tmp_path: Path
) -> None:
    _, *tensors = ADDS[add](model, other)
    for tensor in tensors:
        assert not tensor.is_external
        assert np.array_equal(tensor.numpy(), VALUES)
    model.save(tmp_path / "here" / "saved.onnx")
    brought = [tensor.numpy() for tensor in tensors]
    found = {
        where: tensor.numpy()
        for where, tensor in onnxmap.load(tmp_path / "here" / "saved.onnx").tensors()
        if tensor.shape == (COUNT,) and tensor.dtype == onnxmap.DataType.FLOAT
    }
    assert sum(np.array_equal(values, VALUES) for values in found.values()) >= len(brought)


def test_a_made_attribute_has_the_values(other: Model) -> None:
    made = onnxmap.make_attribute("value", other.initializers["w"]).t
    assert (made.raw_data, made.data_location) == (VALUES.tobytes(), 0)
    assert len(made.external_data) == 0


def test_segments_stay_segments(model: Model, other: Model) -> None:
    model.proto.graph.initializer.clear()
    model.proto.graph.initializer.extend(other.initializers.all())
    assert np.array_equal(model.initializers["pieces"].numpy(), VALUES)
    assert model.initializers["inline"].numpy().tolist() == [0, 1, 2]
    assert not any(tensor.data_location for tensor in model.proto.graph.initializer)


def test_mapped_values_are_not_copied(model: Model, tmp_path: Path) -> None:
    other = onnxmap.load(write_model(tmp_path / "other", VALUES))
    model.graph.nodes.append(other.graph.nodes["one"])
    tensor = last(model).attributes["value"].value
    assert tensor.file == str(tmp_path / "other" / "w.bin")
    assert np.shares_memory(tensor.numpy(), other.initializers["w"].numpy())


@pytest.mark.parametrize("add", ADDS)
def test_a_missing_data_file_is_an_error(add: str, model: Model, other: Model) -> None:
    Path(other.path or "").with_name("w.bin").unlink()
    with pytest.raises(onnxmap.ExternalDataError):
        ADDS[add](model, other)
    assert not model.edited


IN_PLACE = [add for add in ADDS if "made" not in add and "new" not in add and add not in (
    "an initializer", "values of an attribute"
)]  # fmt: skip


@pytest.mark.parametrize("add", IN_PLACE)
def test_models_of_one_folder_keep_the_location(add: str, tmp_path: Path) -> None:
    path = write_model(tmp_path / "here", VALUES)
    model = onnxmap.load(path)
    _, *tensors = ADDS[add](model, onnxmap.load(path))
    for tensor in tensors:
        assert tensor.external.location == "w.bin"
        assert np.array_equal(tensor.numpy(), VALUES)


def test_models_without_a_folder_keep_the_location(model: Model) -> None:
    node = onnxmap.loads_proto(
        helper.make_node("Op", [], [], value=stored("t")).SerializeToString(), "NodeProto"
    )
    model.graph.nodes.append(node)
    assert np.array_equal(last(model).attributes["value"].value.numpy(), -1 - VALUES)


COPIES: dict[str, Callable[[GraphProto, Any], object]] = {
    "append": lambda graph, source: graph.node.append(source.node[0]),
    "extend": lambda graph, source: graph.node.extend(source.node),
    "CopyFrom": lambda graph, source: graph.CopyFrom(source),
    "MergeFrom": lambda graph, source: graph.MergeFrom(source),
    "initializer": lambda graph, source: graph.initializer.append(source.initializer[0]),
}


@pytest.mark.parametrize("copy", COPIES)
def test_proto_copies_the_location_as_protobuf_does(
    copy: str, model: Model, other: Model, tmp_path: Path
) -> None:
    expected = GraphProto.FromString(model.proto.graph.SerializeToString())
    COPIES[copy](expected, GraphProto.FromString(other.proto.graph.SerializeToString()))
    COPIES[copy](model.proto.graph, other.proto.graph)
    assert GraphProto.FromString(model.proto.graph.SerializeToString()) == expected


def test_a_save_finds_the_data_of_what_was_added(tmp_path: Path) -> None:
    other = onnxmap.load(write_model(tmp_path / "other", VALUES))
    model = onnxmap.load(write(model_of([floats("w", 3)]), tmp_path / "m.onnx"))
    model.save(tmp_path / "unchanged.onnx")
    model.proto.graph.node.append(other.proto.graph.node[0])
    with pytest.raises(onnxmap.ExternalDataError, match=r"w\.bin"):
        model.save(tmp_path / "saved.onnx")
    assert not (tmp_path / "saved.onnx").exists()
