"""`onnxmap.diff`: what differs between two models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from onnxmap import _core
from onnxmap._base.arguments import thread_count
from onnxmap._files.load import load
from onnxmap._files.model import Model
from onnxmap._read.diff_report import (
    Change,
    DiffList,
    FunctionDiff,
    Kind,
    ModelDiff,
    NodeDiff,
    TensorDiff,
    ValueDiff,
)
from onnxmap._show.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxmap._base.paths import Path
    from onnxmap._show.progress import ProgressArgument

Ignored = Literal["metadata", "docs", "names"]

# Before a bar appears, in seconds: most comparisons take less.
_DELAY = 0.3


def diff(
    a: Model | Path,
    b: Model | Path,
    *,
    atol: float = 0.0,
    rtol: float = 0.0,
    ignore: Ignored | Iterable[Ignored] = (),
    cast: bool = False,
    threads: int | None = None,
    progress: ProgressArgument = False,
) -> ModelDiff:
    """Compare two models: metadata, structure and the values of tensors.

    Nodes are matched by name, then by content, by their first output, and by their place. Tensors
    are matched by name, and those that only one model has by their values. Equal bytes are compared
    where they are, at the speed of memory. Only a tensor that differs is compared element by
    element.

    What `diff` ignores: the order of initializers, of metadata and of other entries that have
    names, except nodes, inputs and outputs; how a tensor is stored: inline or external, in which
    file, raw or in a typed field, in segments, as a view; whether a field is absent or has its
    default; and whether ONNX's own domain is absent, empty or `ai.onnx`.
    Edits in memory are compared, too.

    A tensor with a fault, such as a missing file, raises nothing: it is a difference with an
    `error`, unless both models hold the same bytes for it.

    Args:
        a: a Model, or the path of one, as for `load`.
        b: the model to compare it with.
        atol: how far apart two numbers may be, as for `numpy.isclose`: they are the same if
            `abs(a - b) <= atol + rtol * abs(b)`. With a tolerance, all NaNs are the same.
        rtol: the same as a share of the number in `b`.
        ignore: what else to ignore: "metadata" (`metadata_props` anywhere, and the producer,
            domain and version of the model), "docs" (doc strings), "names" (of nodes and graphs),
            or several of them.
        cast: compare tensors of two floating-point types by value: as float32, or as float64 if
            one of them is. Their types are then ignored. So are the nodes Cast that a save with
            `dtype` added: its tensor `w.float16` is `w`.
        threads: how many threads compare; None for as many as help.
        progress: True draws a bar with tqdm; a callable gets `(bytes_done, bytes_total)`, which
            count the large tensors of one model.

    Returns:
        What differs.

    Raises:
        TypeError: `a` or `b` is neither a Model nor a path.
        ValueError: a model is closed; a tolerance is negative or NaN; `ignore` has another word.
        ParseError: a file is not a valid model.
        LimitError: tensors refer to the same bytes so often that comparing them all would take too
            long (`limit.overlap`).
        FileChangedError: a file changed since it was loaded.
        OSError: the system cannot read a file.

    Example:
        >>> diff = onnxmap.diff("model.onnx", "model_fp16.onnx")
        >>> diff.same
        False
        >>> diff.tensors.changed[0].max_abs
        0.00048828125
    """
    documents = [(each if isinstance(each, Model) else load(each))._open() for each in (a, b)]
    count = thread_count(threads)
    found = _core.compare_models(documents[0], documents[1], count, atol, rtol, ignore, cast)
    with Progress(progress, found.nbytes, "comparing", delay=_DELAY) as bar:
        changes, items, left_out = found.finish(count, bar.callback)
    return _report(changes, items, left_out)


def _report(
    changes: Iterable[tuple[str, Any]], items: Iterable[tuple[Any, ...]], left_out: int
) -> ModelDiff:
    parts: dict[str, list[Any]] = {}
    for section, change in changes:
        parts.setdefault(section, []).append(Change(*change))
    for section, *facts in items:
        parts.setdefault(section, []).append(_item(section, *facts))
    return ModelDiff(**{name: DiffList(part) for name, part in parts.items()}, left_out=left_out)


def _item(section: str, *facts: Any) -> NodeDiff | FunctionDiff | ValueDiff | TensorDiff:
    name, where_a, where_b, moved, changes, op_type, tensor = facts
    changes = tuple(Change(*change) for change in changes)
    if tensor is not None:
        return _tensor(name, where_a, where_b, changes, *tensor)
    common = (name, where_a, where_b, moved, changes)
    if section == "nodes":
        return NodeDiff(*common, op_type)
    return FunctionDiff(*common) if section == "functions" else ValueDiff(*common)


def _tensor(
    name: str, where_a: str | None, where_b: str | None, changes: tuple[Change, ...], *found: Any
) -> TensorDiff:
    a, b, is_renamed, elements, error = found
    kind: Kind = "renamed" if is_renamed else "changed"
    if where_a is None or where_b is None:
        kind = "added" if where_a is None else "removed"
    _, dtype_a, shape_a = a or (None, None, None)
    name_b, dtype_b, shape_b = b or (None, None, None)
    facts = (kind, name, name_b, where_a, where_b, dtype_a, dtype_b, shape_a, shape_b)
    if elements is None:
        return TensorDiff(*facts, error=error, changes=changes)
    count, changed, nan_changed, *largest = elements
    (max_abs, abs_at), (max_rel, rel_at) = (each or (None, None) for each in largest)
    abs_at, rel_at = (_index(at, shape_a) for at in (abs_at, rel_at))
    share = changed / max(count, 1)
    differences = (changed, share, nan_changed, max_abs, abs_at, max_rel, rel_at)
    return TensorDiff(*facts, *differences, error, changes)


def _index(at: int | None, shape: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The index of an element by its position among all elements."""
    if at is None or shape is None:
        return None
    return tuple(map(int, np.unravel_index(at, shape)))
