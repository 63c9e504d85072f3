"""A user's script for type checkers: `make check` runs mypy and pyright on it, both strict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_type

import onnxmap


def names(nodes: Sequence[onnxmap.Node]) -> list[str]:
    return [node.name for node in nodes]


def of_a_graph(graph: onnxmap.Graph) -> None:
    for node in graph.nodes:
        assert_type(node, onnxmap.Node)
        assert_type(node.op_type, str)
        assert_type(
            node.device_configurations, onnxmap.MessageList[onnxmap.NodeDeviceConfiguration]
        )
    assert_type(graph.nodes[0], onnxmap.Node)
    assert_type(graph.nodes[1:3], list[onnxmap.Node])
    assert_type(graph.nodes[-1] in graph.nodes, bool)
    assert_type(graph.nodes.index(graph.nodes[0]), int)
    assert_type(graph.nodes.count(graph.nodes[0]), int)
    assert_type(reversed(graph.nodes), Iterator[onnxmap.Node])
    assert_type(names(graph.nodes), list[str])
    for value in graph.inputs:
        assert_type(value, onnxmap.ValueInfo)
    assert_type([value.name for value in (*graph.outputs, *graph.value_infos)], list[str])
    for annotation in graph.quantization_annotations:
        assert_type(annotation, onnxmap.QuantizationAnnotation)


def of_a_model(model: onnxmap.Model) -> None:
    for function in model.functions:
        assert_type(function, onnxmap.Function)
        assert_type(function.nodes, onnxmap.MessageList[onnxmap.Node])
    for info in model.training_info:
        assert_type(info, onnxmap.TrainingInfo)
    for configuration in model.device_configurations:
        assert_type(configuration, onnxmap.DeviceConfiguration)


def of_an_operator_set(path: str) -> list[str]:
    operators = onnxmap.load_operator_set(path).operators
    assert_type(operators, onnxmap.MessageList[onnxmap.Operator])
    return [operator.op_type for operator in operators]


def of_test_data(folder: str) -> None:
    inputs, outputs = onnxmap.load_test_data(folder)
    assert_type([value for value in inputs if value is None], list[None])
    assert len(inputs) == len(outputs)
