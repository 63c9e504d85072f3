"""Small models with weights in data files, and their values as the onnx package reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# What data files begin with, and no tensor uses.
GARBAGE = b"nobody's" * 16

Values = dict[str, list[float]]


def weight(seed: int, length: int = 500) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """An array that is equal to no other one with another seed."""
    return np.arange(length, dtype=np.float32) + 1000 * seed


def save_weighted(path: Path, locations: Mapping[str, str | None], first_seed: int = 1) -> Values:
    """Write a model that adds its weights up, and its data files; return the values by name.

    Args:
        path: of the model.
        locations: of the values of each weight; None: in the model. A data file that exists gets
            more values at its end.
        first_seed: of the first weight.
    """
    weights = {name: weight(first_seed + i) for i, name in enumerate(locations)}
    tensors = []
    for name, location in locations.items():
        if location is None:
            tensors.append(numpy_helper.from_array(weights[name], name))
            continue
        data = path.parent / location
        data.parent.mkdir(parents=True, exist_ok=True)
        if not data.exists():
            data.write_bytes(GARBAGE)
        raw = weights[name].tobytes()
        tensor = TensorProto(name=name, data_type=1, dims=[len(weights[name])], data_location=1)
        for key, value in {
            "location": location,
            "offset": str(data.stat().st_size),
            "length": str(len(raw)),
        }.items():
            tensor.external_data.add(key=key, value=value)
        with data.open("ab") as file:
            file.write(raw)
        tensors.append(tensor)
    graph = helper.make_graph(
        [helper.make_node("Sum", list(locations), ["y"])],
        "sum",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None])],
        initializer=tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    helper.set_model_props(model, {"author": "somebody"})
    path.write_bytes(model.SerializeToString())
    return {name: array.tolist() for name, array in weights.items()}


def values_of(path: Path) -> Values:
    """The weights of a model by name, read by onnx."""
    model = onnx.load(str(path))
    return {each.name: numpy_helper.to_array(each).tolist() for each in model.graph.initializer}


def locations_of(path: Path) -> dict[str, str]:
    """The locations of the weights that are in data files, by name."""
    model = onnx.load(str(path), load_external_data=False)
    return {
        tensor.name: entry.value
        for tensor in model.graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }


def names_in(folder: Path) -> set[str]:
    """The names of all files in a folder, at any depth."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
