"""What the tests of edits share: a model as the official library reads it after a save."""

from __future__ import annotations

from typing import Any

import onnx

import onnxmap
from support.edits.models import EDIT_MODELS
from support.readers.whole_models import disagreement


def rich() -> onnxmap.Model:
    """A model with subgraphs, a function, training, and tensors of many kinds."""
    return onnxmap.loads(EDIT_MODELS["rich"])


def saved(model: onnxmap.Model) -> onnx.ModelProto:
    """The edited model, and the assurance that every way to read it shows the same edits."""
    assert disagreement(model) == ""
    return onnx.ModelProto.FromString(onnxmap.dumps(model))


def original(model: onnxmap.Model) -> onnx.ModelProto:
    """The model before its edits, as it is after `revert()`."""
    model.revert()
    return onnx.ModelProto.FromString(onnxmap.dumps(model))


def everything(model: onnxmap.Model) -> dict[str, Any]:
    """An object of each class that has properties to assign to, by the name of the class."""
    graph = model.graph
    found = {
        "Model": model,
        "Graph": graph,
        "Node": graph.nodes[2],
        "Attribute": graph.nodes[2].attributes["mode"],
        "ValueInfo": graph.inputs[0],
        "Tensor": graph.initializers["w"],
        "Function": model.functions[0],
        "TrainingInfo": model.training_info[0],
        "QuantizationAnnotation": graph.quantization_annotations[0],
    }
    devices = model.device_configurations
    found["DeviceConfiguration"] = devices.add(name="d", num_devices=2, device=["cpu", "gpu"])
    found["NodeDeviceConfiguration"] = placed = graph.nodes[0].device_configurations.add(
        configuration_id="d"
    )
    found["ShardingSpec"] = spec = placed.sharding_specs.add(tensor_name="x", device=[0, 1])
    found["ShardedDim"] = dim = spec.sharded_dims.add(axis=1)
    found["SimpleShardedDim"] = dim.simple_shardings.add(dim_value=3, num_shards=2)
    found["IntIntListEntry"] = spec.index_to_device_group_maps.add(key=1, value=[2, 3])
    return found
