"""New models of nothing but arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onnxmap._files.load import loads
from onnxmap._make.messages import make_graph, make_model

if TYPE_CHECKING:
    from onnxmap._model import Model


def from_arrays(
    arrays: Mapping[str, Any], metadata_props: Mapping[str, str] | None = None
) -> Model:
    """Return a new model that holds just these initializers: no nodes, inputs or outputs.

    Args:
        arrays: by name, what `initializers[name] = ...` takes: arrays, numbers, texts, Tensors of
            any model, TensorProtos, or torch tensors. Arrays of 4096 bytes or more are not copied:
            keep them unchanged until a save.
        metadata_props: texts to keep with the model, by key.

    Returns:
        A model that is edited: `revert()` takes the arrays and the texts out again.

    Raises:
        TypeError: `arrays` is no mapping, a name is no text, or ONNX has no type for the elements.
        ValueError: a name is empty.

    Example:
        >>> onnxmap.from_arrays({"w": np.eye(2)}).save("weights.onnx")  # doctest: +SKIP
    """
    given: object = arrays
    if not isinstance(given, Mapping):
        raise TypeError(f"arrays must be a mapping of names, not {type(given).__name__}")
    empty = make_model(make_graph([], "arrays", [], []))  # onnx's checker wants a name
    model = loads(empty.SerializeToString())
    model.metadata_props.update(metadata_props or {})
    model.initializers.update(arrays)
    return model
