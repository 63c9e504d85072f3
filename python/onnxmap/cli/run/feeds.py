"""The inputs of a run: arrays from files, or random ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxmap._enums import DataType
from onnxmap._names import unknown_name
from onnxmap.cli.outcome import UsageError
from onnxmap.cli.text import shape_in_words

if TYPE_CHECKING:
    import onnxmap

RANDOM = "random"
SEED = 0
_UNNAMED_EXTENT = 1  # of a dimension that the model leaves open
# Random indices must be valid for axes of any length but one.
_MOST_INTEGER = 1
_MOST_NAMES = 10  # in an error
_MOST_DIGITS = 18  # of an extent, which has 64 bits
_MOST_ELEMENTS = 1 << 31  # of a random input


def feeds_of(model: onnxmap.Model, words: Sequence[str], sizes: Sequence[str]) -> dict[str, Any]:
    """Return the required inputs of a model by name.

    Args:
        model: the model.
        words: `NAME=FILE` or `NAME=random` from the command line. Other inputs are random.
        sizes: `DIMENSION=N`, the extents of dimensions that the model names.

    Raises:
        UsageError: a word has another form, or an input cannot be made up.
        UnknownNameError: the model has no input of the name.
    """
    given = dict(_pair(word, "NAME=FILE") for word in words)
    inputs = {value.name: value for value in model.graph.inputs}
    for name in given:
        if name not in inputs:
            raise unknown_name("input", name, inputs, _names_in(inputs))
    extents = {name: _extent(text) for name, text in (_pair(word, "DIMENSION=N") for word in sizes)}
    for name in extents:
        if name not in model.graph.dimension_params:
            names = model.graph.dimension_params
            raise unknown_name("dimension", name, names, _names_in(names))
    required = {value.name for value in model.graph.required_inputs}
    random = np.random.default_rng(SEED)
    return {
        name: _read(given[name])
        if given.get(name, RANDOM) != RANDOM
        else _random(value, extents, random)
        for name, value in inputs.items()
        if name in required or name in given
    }


def _names_in(names: Iterable[str]) -> str:
    """The first names, for an error."""
    shown = [repr(name) for name in names]
    more = " ..." if len(shown) > _MOST_NAMES else ""
    return f"The model has {', '.join(shown[:_MOST_NAMES]) or 'none'}{more}"


def _pair(word: str, form: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals or not name or not value:
        raise UsageError(f"{word!r} is not {form}")
    return name, value


def _extent(text: str) -> int:
    if not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise UsageError(f"the size of a dimension must be a whole number, not {text!r}")
    return int(text)


def _read(name: str) -> Any:
    """The array in a file of NumPy, or the tensor in a file of protobuf."""
    import onnxmap

    if Path(name).suffix == ".npy":
        try:
            return np.load(name)
        except (ValueError, EOFError) as error:
            raise UsageError(f"{name}: {error}") from None
    return onnxmap.load_tensor(name).numpy()


def _random(
    value: onnxmap.ValueInfo, extents: Mapping[str, int], random: np.random.Generator
) -> np.ndarray[Any, Any]:
    advice = f"cannot be made up; pass --input {value.name}=FILE"
    if value.dtype is None:  # a sequence, a map or an optional
        raise UsageError(f"input {value.name!r} is no tensor; pass --test-data DIR")
    if value.shape is None:
        raise UsageError(f"input {value.name!r} (any shape) {advice}")
    shape = tuple(
        dimension if isinstance(dimension, int) else extents.get(dimension or "", _UNNAMED_EXTENT)
        for dimension in value.shape
    )
    known = shape_in_words(value.shape)
    if any(extent < 0 for extent in shape) or math.prod(shape) > _MOST_ELEMENTS:
        raise UsageError(f"input {value.name!r} ({known}) {advice}")
    try:
        return _random_array(DataType(value.dtype), shape, random)
    except (ValueError, TypeError, MemoryError) as error:
        raise UsageError(f"input {value.name!r} ({known}) {advice}: {error}") from None


def _random_array(
    kind: DataType, shape: tuple[int, ...], random: np.random.Generator
) -> np.ndarray[Any, Any]:
    made = _MAKERS.get(kind.name)
    if made is not None:
        return made(random, shape)
    if "INT" in kind.name:
        return random.integers(0, _MOST_INTEGER, shape, endpoint=True).astype(kind.numpy())
    return random.standard_normal(shape).astype(kind.numpy())


_MAKERS: dict[str, Callable[[np.random.Generator, Any], np.ndarray[Any, Any]]] = {
    "STRING": lambda _, shape: np.full(shape, "", object),
    "BOOL": lambda random, shape: random.integers(0, 2, shape).astype(bool),
}
