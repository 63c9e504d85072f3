"""Models whose shapes do not fit: one dimension, rank, axis, permutation or output is changed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, numpy_helper

AXES = ("axis", "axes", "perm", "batch_axis", "time_axis")
FEW = 16  # elements of an input that says where or how: axes, sizes, a shape
FAR = 9  # more than the rank of any value


def shape_mutants(seed: ModelProto) -> Iterator[tuple[str, ModelProto]]:
    """Yield a model once for each change, with the kind of the change. Most of them are wrong."""
    for field in ("input", "output"):
        for i, value in enumerate(getattr(seed.graph, field)):
            for kind in _changes_of_shape(value):
                model = _copy(seed)
                _change_shape(getattr(model.graph, field)[i], kind)
                yield f"{field} {kind.split()[0]}", model
    for i, node in enumerate(seed.graph.node):
        for k, attribute in enumerate(node.attribute):
            if attribute.name not in AXES:
                continue
            for change in range(3):
                model = _copy(seed)
                if _change_attribute(model.graph.node[i].attribute[k], change):
                    yield "perm" if attribute.name == "perm" else "axis", model
        for tensor in _axes_of(seed, node):
            model = _copy(seed)
            _change_tensor(model.graph.initializer[tensor])
            yield "axis", model


def with_constants(seed: ModelProto, given: list[object]) -> ModelProto:
    """Return a copy whose small integer inputs are initializers of the values that are given."""
    model = _copy(seed)
    if len(given) != len(model.graph.input):
        return model
    inputs = list(model.graph.input)
    del model.graph.input[:]
    for value_info, value in zip(inputs, given, strict=True):
        is_array = isinstance(value, np.ndarray | np.generic)
        kind = value_info.type.tensor_type.elem_type
        if is_array and kind == TensorProto.INT64 and value.size <= FEW:  # type: ignore[attr-defined]
            model.graph.initializer.append(
                numpy_helper.from_array(np.asarray(value), value_info.name)
            )
        else:
            model.graph.input.append(value_info)
    return model


def _copy(seed: ModelProto) -> ModelProto:
    model = ModelProto()
    model.CopyFrom(seed)
    return model


def _changes_of_shape(value: ValueInfoProto) -> list[str]:
    if not value.type.tensor_type.HasField("shape"):
        return []
    dims = value.type.tensor_type.shape.dim
    known = [f"dim {i}" for i, dim in enumerate(dims) if dim.HasField("dim_value")]
    return [*known, "rank -1", "rank +1"] if dims else ["rank +1"]


def _change_shape(value: ValueInfoProto, change: str) -> None:
    dims = value.type.tensor_type.shape.dim
    kind, place = change.split()
    if kind == "dim":
        dims[int(place)].dim_value += 3
    elif place == "+1":
        dims.add(dim_value=3)
    else:
        del dims[-1]


def _change_attribute(attribute: AttributeProto, change: int) -> bool:
    if attribute.type == AttributeProto.INT:
        attribute.i = (FAR, -FAR, 0)[change]
        return change < 2
    if not attribute.ints:
        return False
    if change == 0:
        attribute.ints[0] = FAR
    elif change == 1:
        attribute.ints.append(attribute.ints[-1])
    else:
        attribute.ints[-1] = -FAR
    return True


def _axes_of(model: ModelProto, node: NodeProto) -> list[int]:
    """The initializers that are axes of a node, by the names that onnx's own tests give them."""
    names = [each.name for each in model.graph.initializer]
    found = [names.index(name) for name in node.input if name in names and name in AXES]
    return [each for each in found if 0 not in model.graph.initializer[each].dims]


def _change_tensor(tensor: TensorProto) -> None:
    values = numpy_helper.to_array(tensor).copy()
    values[(0,) * values.ndim] = FAR
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
