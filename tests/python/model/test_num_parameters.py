"""`Model.num_parameters`: the elements of all initializers and Constant nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support import wire_bytes as wire
from support.models.sample import floats, model_of

import onnxmap

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto


def loaded(made: ModelProto) -> onnxmap.Model:
    return onnxmap.loads(made.SerializeToString())


def graph_of(*nodes: NodeProto, initializers: Any = ()) -> GraphProto:
    return helper.make_graph(list(nodes), "g", [], [], list(initializers))


def model_of_graph(graph: GraphProto) -> onnxmap.Model:
    return loaded(helper.make_model(graph))


def constant(**value: Any) -> NodeProto:
    return helper.make_node("Constant", [], ["c"], **value)


def test_elements_of_initializers_are_counted() -> None:
    scalar = numpy_helper.from_array(np.float32(1), "scalar")
    graph = graph_of(initializers=[floats("w", 6), floats("b", 3), floats("none", 0), scalar])
    assert model_of_graph(graph).num_parameters == 10


@pytest.mark.parametrize("name", ["INT4", "UINT4", "FLOAT4E2M1", "INT2", "UINT2"])
def test_elements_of_less_than_a_byte_are_counted_as_elements(name: str) -> None:
    packed = TensorProto(name="q", dims=[3, 5], data_type=onnxmap.DataType[name].value)
    packed.raw_data = bytes(8 if "4" in name else 4)
    assert model_of_graph(graph_of(initializers=[packed])).num_parameters == 15


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ({"value": floats("", 7)}, 7),
        ({"value_float": 1.5}, 1),
        ({"value_int": 3}, 1),
        ({"value_string": b"abc"}, 1),
        ({"value_floats": [1.0, 2.0, 3.0]}, 3),
        ({"value_ints": [1, 2]}, 2),
        ({"value_strings": [b"a", b"b"]}, 2),
        ({"sparse_value": helper.make_sparse_tensor(floats("", 2), floats("", 2), [90])}, 2),
        ({"value": helper.make_tensor_type_proto(1, [5])}, 0),
        ({}, 0),
    ],
)
def test_values_of_constant_nodes_are_counted(value: dict[str, Any], number: int) -> None:
    assert model_of_graph(graph_of(constant(**value))).num_parameters == number


@pytest.mark.parametrize(
    ("name", "type_number", "field", "run", "number"),
    [
        ("value_ints", 7, 8, bytes([1, 2, 3, 4, 5]), 5),
        ("value_floats", 6, 7, bytes(20), 5),
        ("value_floats", 6, 7, b"", 0),
    ],
)
def test_packed_values_are_counted(
    name: str, type_number: int, field: int, run: bytes, number: int
) -> None:
    """Readers of protobuf take both forms of a list of numbers; onnx writes the other one."""
    attribute = wire.blob(1, name.encode()) + wire.scalar(20, type_number) + wire.blob(field, run)
    node = wire.blob(4, b"Constant") + wire.blob(2, b"c") + wire.blob(5, attribute)
    model = onnxmap.loads(wire.scalar(1, 8) + wire.blob(7, wire.blob(1, node)))
    assert model.num_parameters == number


def test_tensors_of_other_nodes_are_not_counted() -> None:
    fill = helper.make_node("ConstantOfShape", ["s"], ["y"], value=floats("", 1))
    custom = helper.make_node("Constant", [], ["z"], domain="custom", value=floats("", 5))
    assert model_of_graph(graph_of(fill, custom)).num_parameters == 0
    custom.domain = "ai.onnx"
    assert model_of_graph(graph_of(fill, custom)).num_parameters == 5


def test_subgraphs_and_functions_are_counted_and_training_is_not() -> None:
    inner = graph_of(constant(value=floats("", 10)), initializers=[floats("i", 100)])
    branch = graph_of(helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=inner))
    made = helper.make_model(graph_of(helper.make_node("If", ["x"], ["y"], then_branch=branch)))
    function = made.functions.add(name="f", domain="d")
    function.node.append(constant(value=floats("", 1000)))
    function.node.append(helper.make_node("If", ["x"], ["y"], then_branch=inner))
    made.training_info.add().algorithm.initializer.append(floats("momentum", 100_000))
    assert loaded(made).num_parameters == 220 + 1110


def test_a_sparse_initializer_counts_as_its_stored_values() -> None:
    made = model_of([floats("w", 6)])
    made.graph.sparse_initializer.add(values=floats("s", 4), indices=floats("", 4), dims=[1000])
    assert loaded(made).num_parameters == 10


def test_the_segments_of_a_tensor_count_once() -> None:
    made = model_of([])
    for begin, end in ((0, 4), (4, 10)):
        piece = made.graph.initializer.add(name="w", dims=[10], data_type=1)
        piece.segment.begin, piece.segment.end = begin, end
        piece.raw_data = bytes(4 * (end - begin))
    assert loaded(made).num_parameters == 10


def test_invalid_tensors_count_as_nothing_or_as_their_shape() -> None:
    made = model_of([floats("w", 6)])
    for dims in ([-1, 4], [1 << 40, 1 << 40], [1] * 65):
        made.graph.initializer.add(name="bad", dims=dims, data_type=1)
    assert loaded(made).num_parameters == 6
    made.graph.initializer.add(name="missing", dims=[100], data_type=77).data_location = 1
    assert loaded(made).num_parameters == 106
    for _ in range(4):
        made.graph.initializer.add(name="claimed", dims=[(1 << 63) - 1], data_type=1)
    assert loaded(made).num_parameters == (1 << 64) - 1


def test_edits_count() -> None:
    model = loaded(model_of([floats("w", 6)]))
    model.initializers["v"] = np.zeros((2, 2), np.float32)
    assert model.num_parameters == 10
    model.revert()
    assert model.num_parameters == 6


def test_the_number_is_where_people_look() -> None:
    model = loaded(model_of([floats("w", 1234)]))
    assert ", 1,234 parameters, " in repr(model)
    row = "num_parameters</th><td style='text-align:left'>1234</td>"
    assert row in model._repr_html_()
    one = loaded(model_of([floats("w", 1)]))
    assert ", 1 parameter, " in repr(one)


def test_a_closed_model_has_no_number() -> None:
    model = loaded(model_of([]))
    model.close()
    with pytest.raises(ValueError, match="closed"):
        _ = model.num_parameters
