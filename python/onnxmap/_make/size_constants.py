"""Constants that nodes take as sizes, rewritten for other sizes."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from onnxmap import _core
from onnxmap._make.tensors import tensor_message
from onnxmap._methods.surgery import FREE_INITIALIZERS, free_name
from onnxmap._show.reports import DimReport
from onnxmap.errors import OnnxMapError

_Array: TypeAlias = np.ndarray[Any, Any]
_MOST_BYTES = 1 << 28  # of a state that is made


class _SizePlace(NamedTuple):
    """An input of a node that is a constant, and what this is to hold."""

    path: str
    constant: int  # equal for places of one constant
    changes: tuple[tuple[int, int], ...]  # positions of numbers, or axes of a state, and new sizes
    is_state: bool
    body: Any  # the Graph or Function that has the constant
    maker: Any  # its Tensor, or its Constant node
    user: Any
    input: int


def dim_report(
    value_infos: list[str], places: list[str], certain: list[Any], ir_version: int
) -> DimReport:
    """Let constants hold new sizes, and return the report of `Model.set_dims`.

    A constant that something else uses stays as it is; its places get an initializer.

    Args:
        value_infos: the values whose stored types were removed.
        places: all places of constants that hold an old size.
        certain: those that can be rewritten, with what the core knows of each.
        ir_version: of the model.
    """
    groups: dict[Any, list[_SizePlace]] = {}
    for place in itertools.starmap(_SizePlace, certain):
        groups.setdefault((place.constant, place.is_state, place.changes), []).append(place)
    done: dict[str, None] = {}
    for group in groups.values():
        if _rewrite(group, ir_version >= FREE_INITIALIZERS):
            done |= dict.fromkeys(place.path for place in group)
    return DimReport(value_infos, [path for path in places if path not in done], [*done])


def _rewrite(group: list[_SizePlace], may_add: bool) -> bool:
    """Rewrite the constant of some places, or give them another one, if that is possible."""
    first = group[0]
    body, name = first.body, first.user.inputs[first.input]
    values = _changed(first)
    is_graph = isinstance(body, _core.Graph)
    if values is None or (first.is_state and is_graph and name in body.inputs):
        return False
    if len(body.uses(name)) == len(group):
        if isinstance(first.maker, _core.Node):
            first.maker.attributes.clear()
            first.maker.attributes["value"] = tensor_message(values)
        else:
            body.initializers[name] = tensor_message(values)  # which may have another shape
    elif is_graph and may_add:
        new = free_name(body, name)
        body.initializers[new] = values
        for place in group:
            place.user.inputs[place.input] = new
    else:
        return False
    return True


def _changed(place: _SizePlace) -> _Array | None:
    """The new values of a constant; None if they cannot be made."""
    try:
        if isinstance(place.maker, _core.Node):
            (attribute,) = place.maker.attributes.values()
            value = attribute.value
            values = value.numpy() if isinstance(value, _core.Tensor) else np.array(value, np.int64)
        else:
            values = place.maker.numpy()
    except OnnxMapError:
        return None
    if not place.is_state:
        if max(size for _, size in place.changes) > np.iinfo(values.dtype).max:
            return None
        values = values.copy()
        for position, size in place.changes:
            values.reshape(-1)[position] = size
        return values
    ((axis, size),) = place.changes
    one = values.take([0], axis) if values.size else values
    if not values.size or one.nbytes * size > _MOST_BYTES or not (values == one).all():
        return None
    return one.repeat(size, axis)
