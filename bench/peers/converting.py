"""onnx with safetensors, NumPy or onnxconverter-common: how weights are moved without onnxmap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnxconverter_common.float16 import convert_float_to_float16
from safetensors.numpy import load_file, save_file

from bench import written
from bench.peers.usual import Arrays
from bench.tasks import NEW_DATA, Task, data_file, model_file, writing


def _weights(folder: Path) -> Arrays:
    model = onnx.load(model_file(folder))
    return {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}


def to_safetensors(folder: Path) -> Task:
    """The weights of a model that onnx loads, as a safetensors file."""
    return writing(
        folder,
        lambda path: save_file(dict(_weights(folder)), path.with_suffix(".safetensors")),
        lambda path, full: written.weights(path.with_suffix(".safetensors"), full),
    )


def to_npz(folder: Path) -> Task:
    """The same as an archive of NumPy."""
    return writing(
        folder,
        lambda path: np.savez(path.with_suffix(".npz"), **_weights(folder)),
        lambda path, full: written.weights(path.with_suffix(".npz"), full),
    )


def from_safetensors(folder: Path) -> Task:
    """The weights in a safetensors file as a model with a data file of its own, made by onnx."""
    return writing(
        folder,
        lambda path: onnx.save(
            _model(load_file(data_file(folder))),
            path,
            save_as_external_data=True,
            location=NEW_DATA,
            size_threshold=0,
        ),
        written.arrays,
    )


def save_float16(folder: Path) -> Task:
    """The model with its weights in float16: every value rounded, none moved away from zero."""

    def write(path: Path) -> None:
        converted = convert_float_to_float16(
            onnx.load(model_file(folder)),
            min_positive_val=0.0,
            max_finite_val=65504.0,
            disable_shape_infer=True,  # it would serialize the model, and fail at 2 GiB
        )
        onnx.save(converted, path)

    return writing(folder, write, written.arrays)


def safetensors_to_bfloat16(folder: Path) -> Task:
    """The weights in a safetensors file as a model of bfloat16, made by onnx and ml_dtypes."""

    def write(path: Path) -> None:
        arrays = load_file(data_file(folder))
        onnx.save(_model({name: _bfloat16(array) for name, array in arrays.items()}), path)

    return writing(folder, write, written.arrays)


def _bfloat16(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(ml_dtypes.bfloat16) if array.dtype == np.float32 else array


def _model(arrays: Arrays) -> onnx.ModelProto:
    tensors = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    return helper.make_model(helper.make_graph([], "weights", [], [], tensors))
