"""The shapes after `infer_shapes()` and `convert_version()`: all that the package onnx infers.

The oracle is the same call of onnx on the whole model, for each model that onnx ships.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnx.shape_inference
import onnx.version_converter
import pytest
from onnx import ModelProto
from support.interop.bridged_models import message_of, weighted_model, wheel_models, whole_message
from support.run_options import EXHAUSTIVE

import onnxmap

VERSIONS = (13, 18, 21, 26) if EXHAUSTIVE else (21,)
STEP = 1 if EXHAUSTIVE else 3  # between the models that are converted


def types_of(message: ModelProto) -> dict[tuple[str, str], onnx.TypeProto]:
    """The types of inputs, outputs and inner values: the shapes, too."""
    graph = message.graph
    lists = {"input": graph.input, "output": graph.output, "value": graph.value_info}
    return {(kind, value.name): value.type for kind, each in lists.items() for value in each}


def as_it_is(path: Path, folder: Path) -> onnxmap.Model:
    return onnxmap.load(path)


def with_external_data(path: Path, folder: Path) -> onnxmap.Model:
    """As onnx writes it: all tensors in data files, also those that decide shapes."""
    onnx.save_model(
        onnx.load(path), folder / "model.onnx", save_as_external_data=True,
        location=f"{folder.name}.data", size_threshold=0, convert_attribute=True,
    )  # fmt: skip
    return onnxmap.load(folder / "model.onnx")


@pytest.mark.parametrize("opened", [as_it_is, with_external_data])
def test_inferred_shapes(opened: Callable[..., onnxmap.Model], tmp_path: Path) -> None:
    count = 0
    for i, path in enumerate(wheel_models()):
        for data_prop in (False, True):
            (folder := tmp_path / f"{i}{data_prop}").mkdir()
            model = opened(path, folder)
            whole = onnx.load(path)
            expected = onnx.shape_inference.infer_shapes(whole, data_prop=data_prop)
            model.infer_shapes(data_prop=data_prop)
            assert types_of(message_of(model)) == types_of(expected), path
            count += len(expected.graph.value_info) > len(whole.graph.value_info)
    assert count > 30


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("opened", [as_it_is, with_external_data])
def test_shapes_of_another_version(
    opened: Callable[..., onnxmap.Model], version: int, tmp_path: Path
) -> None:
    """onnx's converter infers shapes first."""
    count = 0
    for i, path in enumerate(list(wheel_models())[::STEP]):
        (folder := tmp_path / str(i)).mkdir()
        model = opened(path, folder)
        converted = onnx.version_converter.convert_version(onnx.load(path), version)
        model.convert_version(version)
        assert types_of(message_of(model)) == types_of(converted), path
        count += bool(converted.graph.value_info)
    assert count > 20 // STEP


def test_a_conversion_that_fails_infers_nothing() -> None:
    made = weighted_model(13)
    made.graph.node[0].op_type = "NoSuchOperator"
    model = onnxmap.loads(made.SerializeToString())
    with pytest.raises(RuntimeError, match="NoSuchOperator"):
        model.convert_version(18)
    assert not model.edited


def test_shapes_of_values_that_a_conversion_replaces() -> None:
    """The new nodes have types, too, and the values that are gone have none."""
    made = weighted_model(13)
    model = onnxmap.loads(made.SerializeToString())
    model.convert_version(21)
    expected: Any = onnx.version_converter.convert_version(made, 21)
    assert types_of(whole_message(model)) == types_of(expected)
