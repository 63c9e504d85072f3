"""Finding things in a graph: nodes by name, producers, users, types, order, inputs."""

from __future__ import annotations

import random
from collections import defaultdict

import onnx
import pytest
from onnx import GraphProto, NodeProto, TensorProto, helper
from support.models.sample import floats, model_of

import onnxmap


def value(name: str, shape: list[int | str | None] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def graph_of(nodes: list[NodeProto], **fields: object) -> GraphProto:
    return GraphProto(name="g", node=nodes, **fields)  # type: ignore[arg-type]


def load(graph: GraphProto) -> onnxmap.Graph:
    model = model_of([])
    model.graph.CopyFrom(graph)
    return onnxmap.loads(model.SerializeToString()).graph


@pytest.fixture
def graph() -> onnxmap.Graph:
    body = graph_of(
        [
            helper.make_node("Add", ["x", "mine"], ["inner"], name="in body"),
            helper.make_node("Neg", ["inner"], ["mine"]),
        ],
        output=[value("x"), value("inner")],
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="mm"),
        helper.make_node("Add", ["h", "h"], ["y"], name="add"),
        helper.make_node("If", ["c"], ["z"], name="if", then_branch=body, else_branch=body),
    ]
    return load(
        graph_of(
            nodes,
            input=[value("x", [2, "N", None]), value("w", ["K", "N"]), value("c", [])],
            output=[value("z", ["M"]), value("h")],
            value_info=[value("y", ["batch"])],
            initializer=[floats("w", 6)],
        )
    )


def test_elements_by_name(graph: onnxmap.Graph) -> None:
    assert graph.nodes["add"] == graph.nodes[1]
    assert graph.inputs["w"] == graph.inputs[1]
    assert graph.outputs["h"].name == "h"
    assert graph.value_infos["y"].shape == ("batch",)
    assert "mm" in graph.nodes
    assert "mn" not in graph.nodes
    assert graph.nodes[0] in graph.nodes
    assert graph.inputs[0] not in graph.nodes
    assert None not in graph.nodes
    with pytest.raises(KeyError, match=r"no node is named 'ad'; did you mean 'add'\?") as caught:
        graph.nodes["ad"]
    assert isinstance(caught.value, onnxmap.UnknownNameError)
    assert (caught.value.name, caught.value.nearest) == ("ad", ("add",))
    with pytest.raises(KeyError, match=r"no input is named 'nothing like it'$"):
        graph.inputs["nothing like it"]
    assert graph.nodes._ipython_key_completions_() == ["mm", "add", "if"]


def test_a_repeated_name_is_no_node() -> None:
    graph = load(graph_of([helper.make_node("Neg", ["x"], ["y"], name="same")] * 2))
    assert "same" in graph.nodes
    with pytest.raises(onnxmap.ParseError, match="more than one node is named") as caught:
        graph.nodes["same"]
    assert caught.value.code == "model.duplicate_name"
    assert [node.name for node in graph.nodes] == ["same", "same"]


def test_elements_without_names() -> None:
    model = onnxmap.loads(model_of([]).SerializeToString())
    with pytest.raises(TypeError, match="must be integers or slices"):
        model.proto.opset_import["ai.onnx"]
    assert "ai.onnx" not in model.proto.opset_import
    assert model.proto.opset_import._ipython_key_completions_() == []


def test_functions_by_name() -> None:
    model = model_of([])
    for name in ("Swish", "Gelu"):
        model.functions.add(name=name, domain="d")
    functions = onnxmap.loads(model.SerializeToString()).functions
    assert functions["Gelu"].name == "Gelu"
    with pytest.raises(KeyError, match="no function is named 'Swich'; did you mean 'Swish'"):
        functions["Swich"]


def test_producers_and_users(graph: onnxmap.Graph) -> None:
    assert graph.producer("h") == graph.nodes[0]
    assert graph.producer("x") is None
    assert graph.producer("inner") is None
    assert [node.name for node in graph.consumers("x")] == ["mm", "in body", "in body"]
    assert [node.name for node in graph.consumers("h")] == ["add"]
    assert graph.consumers("z") == []
    uses = graph.uses("h")
    assert uses == [(graph.nodes[1], 0), (graph.nodes[1], 1), (graph, 1)]
    assert isinstance(uses[2].user, onnxmap.Graph)
    of_x = graph.uses("x")
    assert [use.position for use in of_x] == [0, 0, 0, 0, 0]
    assert [type(use.user) for use in of_x] == [
        onnxmap.Node, onnxmap.Node, onnxmap.Graph, onnxmap.Node, onnxmap.Graph,
    ]  # fmt: skip
    assert of_x[2].user == graph.nodes["if"].attributes["then_branch"].value
    assert graph.uses("nothing") == []


def test_types_of_values(graph: onnxmap.Graph) -> None:
    for name, shape in {"x": (2, "N", None), "y": ("batch",), "z": ("M",)}.items():
        info = graph.value(name)
        assert info is not None
        assert info.shape == shape
    assert graph.value("inner") is None
    assert graph.value("") is None


def test_inputs_and_dimensions(graph: onnxmap.Graph) -> None:
    assert [info.name for info in graph.required_inputs] == ["x", "c"]
    assert [info.name for info in graph.overridable_inputs] == ["w"]
    assert list(graph.dimension_params) == ["N", "K", "M", "batch"]


def test_a_sparse_initializer_is_a_default() -> None:
    sparse = onnx.SparseTensorProto(values=floats("w", 1), indices=floats("", 1), dims=[3])
    graph = load(graph_of([], input=[value("w", [3])], sparse_initializer=[sparse]))
    assert [info.name for info in graph.overridable_inputs] == ["w"]
    assert graph.required_inputs == []


def test_all_nodes(graph: onnxmap.Graph) -> None:
    model = model_of([])
    inner = helper.make_node("Neg", ["a"], ["b"])
    holder = helper.make_node("If", ["c"], ["d"], then_branch=graph_of([inner]))
    model.graph.node.extend([helper.make_node("Relu", ["x"], ["y"]), holder])
    model.functions.add(name="f").node.append(helper.make_node("Exp", ["x"], ["y"]))
    model.training_info.add().algorithm.node.append(helper.make_node("Log", ["x"], ["y"]))
    found = onnxmap.loads(model.SerializeToString()).all_nodes()
    assert [(where, node.op_type) for where, node in found] == [
        ("graph.node[0]", "Relu"),
        ("graph.node[1]", "If"),
        ('graph.node[1].attribute["then_branch"].g.node[0]', "Neg"),
        ("training_info[0].algorithm.node[0]", "Log"),
        ("functions[0].node[0]", "Exp"),
    ]


def test_orders_of_shuffled_nodes() -> None:
    """Any order of the nodes is sorted, and a sorted order stays."""
    chosen = random.Random(5)
    for _ in range(50):
        names = ["x"]
        nodes = []
        for i in range(30):
            inputs = chosen.choices(names, k=chosen.randrange(4))
            nodes.append(helper.make_node("Op", inputs, [f"v{i}"], name=f"n{i}"))
            names.append(f"v{i}")
        assert [n.name for n in load(graph_of(nodes)).topological_order()] == [
            node.name for node in nodes
        ]
        chosen.shuffle(nodes)
        order = load(graph_of(nodes)).topological_order()
        assert sorted(node.name for node in order) == sorted(node.name for node in nodes)
        made = {"x"}
        for node in order:
            assert made.issuperset(node.inputs)
            made.update(node.outputs)


def test_a_circle_is_an_error() -> None:
    nodes = [helper.make_node("Op", ["b"], ["a"]), helper.make_node("Op", ["a"], ["b"])]
    with pytest.raises(onnxmap.ParseError, match="own output, so the nodes have no") as caught:
        load(graph_of(nodes)).topological_order()
    assert caught.value.code == "model.cycle"
    assert caught.value.path in ("graph.node[0]", "graph.node[1]")


def test_every_value_of_a_random_graph() -> None:
    """The index has the producers and uses that a loop over the columns finds."""
    chosen = random.Random(7)
    names = [f"v{i}" for i in range(300)]
    nodes = [
        helper.make_node("Op", chosen.choices(["", *names[:i]], k=3) if i else [], [names[i], ""])
        for i in range(300)
    ]
    graph = load(graph_of(nodes))
    uses = defaultdict(list)
    for i, inputs in enumerate(graph.node_inputs()):
        for position, name in enumerate(inputs):
            uses[name].append((i, position))
    for i, name in enumerate(names):
        assert graph.producer(name) == graph.nodes[i]
        expected = [(graph.nodes[node], position) for node, position in uses[name]]
        assert graph.uses(name) == expected


def test_state_variables() -> None:
    made = model_of([floats("w", 1), floats("frozen", 1)])
    for keys in (["w", "step"], ["w"]):
        training = made.training_info.add()
        for key in keys:
            training.update_binding.add(key=key, value=f"new {key}")
        training.initialization_binding.add(key="frozen", value="x")
    assert onnxmap.loads(made.SerializeToString()).state_variables == [
        "frozen", "w", "step",
    ]  # fmt: skip
    assert onnxmap.loads(model_of([]).SerializeToString()).state_variables == []
