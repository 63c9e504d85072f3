"""`Graph` and its initializers: sequences, columns, and the mapping by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.models.sample import floats, model_of
from support.models.small import SMALL_MODELS

import onnxmap


def load(message: onnx.ModelProto) -> onnxmap.Graph:
    return onnxmap.loads(message.SerializeToString()).graph


@pytest.fixture
def message() -> onnx.ModelProto:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="mm"),
        helper.make_node("Add", ["h", "b"], ["y"], name="add"),
        helper.make_node("Add", ["y", ""], ["z", "", "q"]),
        helper.make_node("Constant", [], ["c"]),
    ]
    made = model_of([floats("w", 6), floats("b", 2)])
    made.graph.CopyFrom(
        helper.make_graph(
            nodes, "net",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [2, "N", None])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [floats("w", 6), floats("b", 2)],
            doc_string="doc",
            value_info=[helper.make_tensor_value_info("h", TensorProto.INT8, [])],
        )
    )  # fmt: skip
    made.graph.metadata_props.add(key="k", value="v")
    return made


def test_fields(message: onnx.ModelProto) -> None:
    graph = load(message)
    assert (graph.name, graph.doc_string) == ("net", "doc")
    assert dict(graph.metadata_props) == {"k": "v"}
    assert [value.name for value in graph.inputs] == ["x"]
    assert [value.name for value in graph.outputs] == ["y"]
    assert [value.name for value in graph.value_infos] == ["h"]
    assert graph.proto.name == "net"


def test_columns_equal_the_nodes(message: onnx.ModelProto) -> None:
    graph, nodes = load(message), message.graph.node
    assert (
        graph.op_types() == [node.op_type for node in nodes] == ["MatMul", "Add", "Add", "Constant"]
    )
    assert graph.node_names() == ["mm", "add", "", ""]
    assert graph.node_inputs() == [["x", "w"], ["h", "b"], ["y", ""], []]
    assert graph.node_outputs() == [["h"], ["y"], ["z", "", "q"], ["c"]]
    counts = graph.op_counts()
    assert type(counts) is dict
    assert counts == Counter(graph.op_types())


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_columns_of_small_models(name: str) -> None:
    made = onnx.ModelProto.FromString(SMALL_MODELS[name])

    def texts(values: Sequence[str]) -> list[str]:
        return [v.decode("utf-8", "surrogateescape") if isinstance(v, bytes) else v for v in values]

    graph = onnxmap.loads(SMALL_MODELS[name]).graph
    nodes = made.graph.node
    assert graph.op_types() == texts([node.op_type for node in nodes])
    assert graph.node_names() == texts([node.name for node in nodes])
    assert graph.node_inputs() == [texts(node.input) for node in nodes]
    assert graph.node_outputs() == [texts(node.output) for node in nodes]


def test_nodes_are_a_lazy_sequence(message: onnx.ModelProto) -> None:
    nodes = load(message).nodes
    assert len(nodes) == 4
    assert nodes[0].op_type == "MatMul"
    assert nodes[-1].op_type == "Constant"
    assert [node.op_type for node in nodes[1:3]] == ["Add", "Add"]
    assert [node.op_type for node in nodes[::-2]] == ["Constant", "Add"]
    assert [node.op_type for node in nodes] == load(message).op_types()
    assert [node.name for node in reversed(nodes)] == ["", "", "add", "mm"]
    for index in (4, -5, 1 << 40):
        with pytest.raises(IndexError):
            nodes[index]
    assert nodes["mm"] == nodes[0]


def test_values(message: onnx.ModelProto) -> None:
    graph = load(message)
    x, y, h = graph.inputs[0], graph.outputs[0], graph.value_infos[0]
    assert (x.dtype, x.shape) == (onnxmap.DataType.FLOAT16, (2, "N", None))
    assert (y.dtype, y.shape) == (onnxmap.DataType.FLOAT, None)
    assert (h.dtype, h.shape) == (onnxmap.DataType.INT8, ())
    assert "x" in repr(x)
    assert "\n" not in repr(x)


def test_values_of_other_types() -> None:
    graph = onnxmap.loads(SMALL_MODELS["maps_and_optionals"]).graph
    mapped, optional, sparse, opaque = graph.inputs
    made = onnx.ModelProto.FromString(SMALL_MODELS["maps_and_optionals"])
    for ours, theirs in zip(graph.inputs, made.graph.input, strict=True):
        assert ours.name == theirs.name
        assert str(ours.proto) == str(theirs)
        assert "\n" not in repr(ours)
    assert mapped.shape is None
    assert optional.shape is None
    assert opaque.shape is None
    assert (sparse.dtype, sparse.shape) == (onnxmap.DataType.INT8, (2,))


def test_initializer_columns(message: onnx.ModelProto) -> None:
    table = load(message).initializers
    assert table.names() == ["w", "b"]
    assert table.shapes() == [(6,), (2,)]
    assert table.dtypes() == [onnxmap.DataType.FLOAT] * 2
    assert all(isinstance(one, onnxmap.DataType) for one in table.dtypes())
    assert list(table.nbytes()) == [24, 8]


def test_initializers_are_a_mapping(message: onnx.ModelProto) -> None:
    table = load(message).initializers
    assert isinstance(table, Mapping)
    assert len(table) == 2
    assert list(table) == list(table.keys()) == ["w", "b"]
    assert "w" in table
    assert "v" not in table
    assert 3 not in table
    assert table["b"].numpy().tolist() == [0.0, 1.0]
    assert table.get("v") is None
    assert [(name, tensor.name) for name, tensor in table.items()] == [("w", "w"), ("b", "b")]
    assert [tensor.shape for tensor in table.values()] == [(6,), (2,)]
    for missing in ("v", "", "W"):
        with pytest.raises(KeyError, match=missing or "''"):
            table[missing]
    assert "\n" not in repr(table)


def test_repeated_and_unnamed_initializers() -> None:
    tensors = [floats("a", 1), floats("w", 2), floats("", 3), floats("w", 4), floats("z", 5)]
    table = load(model_of(tensors)).initializers
    assert [tensor.name for tensor in table.all()] == ["a", "w", "", "w", "z"]
    assert [tensor.shape for tensor in table.all()] == [(1,), (2,), (3,), (4,), (5,)]
    assert [name for name in table if name != "w"] == ["a", "z"]
    assert table["z"].shape == (5,)
    with pytest.raises(onnxmap.OnnxMapError) as caught:
        table["w"]
    assert caught.value.code == "model.duplicate_name"
    assert "w" in str(caught.value)
    with pytest.raises(KeyError):
        table[""]


def test_names_that_are_not_utf_8() -> None:
    tensor = floats("x", 1).SerializeToString().replace(b"\x42\x01x", b"\x42\x01\xff")
    graph = onnx.GraphProto().SerializeToString() + b"\x2a" + bytes([len(tensor)]) + tensor
    table = onnxmap.loads(b"\x3a" + bytes([len(graph)]) + graph).initializers
    assert table.names() == ["\udcff"]
    assert table["\udcff"].numpy().tolist() == [0.0]


def test_merged_graphs_list_the_initializers_of_both() -> None:
    first, second = model_of([floats("a", 1)]), model_of([floats("b", 2)])
    graph = onnxmap.loads(first.SerializeToString() + second.SerializeToString()).graph
    assert graph.initializers.names() == ["a", "b"]
    assert graph.initializers["a"].numpy().tolist() == [0.0]
    assert graph.initializers["b"].numpy().tolist() == [0.0, 1.0]


def test_sparse_initializers() -> None:
    graph = onnxmap.loads(SMALL_MODELS["sparse"]).graph
    assert isinstance(graph.sparse_initializers, Mapping)
    assert list(graph.sparse_initializers) == ["s"]
    sparse = graph.sparse_initializers["s"]
    assert (sparse.name, sparse.shape, sparse.nnz) == ("s", (4,), 2)
    assert sparse.dtype == onnxmap.DataType.FLOAT
    assert sparse.values.numpy().tolist() == [1.0, 2.0]
    assert sparse.indices.numpy().tolist() == [0, 3]
    assert "\n" not in repr(sparse)


def test_all_sparse_initializers() -> None:
    """Looking up a repeated name raises, as for other initializers. `all()` has each of them."""
    made = model_of([])
    for name in ("s", "", "t", "s"):
        made.graph.sparse_initializer.add(values=floats(name, 1), indices=floats("", 1), dims=[3])
    sparse = onnxmap.loads(made.SerializeToString()).graph.sparse_initializers
    assert [one.name for one in sparse.all()] == ["s", "", "t", "s"]
    assert list(sparse) == ["s", "t"]
    assert sparse["t"].name == "t"
    with pytest.raises(onnxmap.ParseError, match=r"more than one tensor is named 's'") as caught:
        sparse["s"]
    assert caught.value.code == "model.duplicate_name"
    with pytest.raises(KeyError, match="no tensor is named 'x'"):
        sparse["x"]


def test_quantization_annotations() -> None:
    (note,) = onnxmap.loads(SMALL_MODELS["quantization_annotations"]).graph.quantization_annotations
    assert note.tensor_name == "w"
    assert dict(note.quant_parameter_tensor_names) == {
        "SCALE_TENSOR": "s",
        "ZERO_POINT_TENSOR": "z",
    }


def test_subgraphs_read_as_graphs() -> None:
    (node,) = onnxmap.loads(SMALL_MODELS["subgraphs"]).graph.nodes
    branch = node.attributes["then_branch"].value
    assert isinstance(branch, onnxmap.Graph)
    assert (branch.name, branch.op_types()) == ("then", ["Neg"])
    assert [graph.name for graph in node.attributes["all"].value] == ["then"]


def test_a_subgraph_s_initializers() -> None:
    weight = numpy_helper.from_array(np.float32([1, 2]), "inner")
    branch = helper.make_graph([], "branch", [], [], [weight])
    made = model_of([])
    made.graph.node.append(helper.make_node("If", ["c"], ["o"], then_branch=branch))
    inner = load(made).nodes[0].attributes["then_branch"].value
    assert inner.initializers.names() == ["inner"]
    assert inner.initializers["inner"].numpy().tolist() == [1.0, 2.0]


def test_repr_is_one_line(message: onnx.ModelProto) -> None:
    text = repr(load(message))
    assert "\n" not in text
    assert "net" in text
    assert "Graph" in text
