"""`onnxmap.diff`: what differs between two models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._arguments import thread_count
from onnxmap._diff_report import (
    Change,
    DiffList,
    FunctionDiff,
    Kind,
    ModelDiff,
    NodeDiff,
    TensorDiff,
    ValueDiff,
)
from onnxmap._loading import load
from onnxmap._model import Model
from onnxmap._progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onnxmap._paths import Path
    from onnxmap._progress import ProgressArgument

# Before a bar appears, in seconds: most comparisons take less.
_DELAY = 0.3


def diff(
    a: Model | Path,
    b: Model | Path,
    *,
    threads: int | None = None,
    progress: ProgressArgument = False,
) -> ModelDiff:
    """Compare two models: metadata, structure and the values of tensors.

    Nodes are matched by name, then by content, by their first output, and by their place. Tensors
    are matched by name, and those that only one model has by their values. Equal bytes are compared
    where they are, at the speed of memory. Only a tensor that differs is looked at element by
    element.

    What is no difference: the order of initializers, of metadata and of other entries that have
    names, except nodes, inputs and outputs; and how a tensor is stored: inline or external, in
    which file, raw or in a typed field, in segments.
    Edits in memory count.

    A tensor with a fault, such as a missing file, raises nothing: it is a difference with an
    `error`, unless both models hold the same bytes for it.

    Args:
        a: a Model, or the path of one, as for `load`.
        b: the model to compare it with.
        threads: how many threads compare; None for as many as help.
        progress: True draws a bar; a callable gets `(bytes_done, bytes_total)`, which count the
            large tensors of one model.

    Returns:
        What differs.

    Raises:
        TypeError: `a` or `b` is neither a Model nor a path.
        ValueError: a model is closed.
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
    models = [each if isinstance(each, Model) else load(each) for each in (a, b)]
    return compare(*models, threads=threads, progress=progress)


def compare(
    a: Model,
    b: Model,
    *,
    threads: int | None = None,
    progress: ProgressArgument = False,
    delay: float = _DELAY,
    transient: bool = False,
) -> ModelDiff:
    """Return the differences between two models; see `diff`, and `Progress` for the bar."""
    count = thread_count(threads)
    found = _core.compare_models(a._open(), b._open(), count)
    with Progress(progress, found.nbytes, "comparing", delay=delay, transient=transient) as bar:
        changes, items, left_out = found.finish(count, _teller(bar))
    return _report(changes, items, left_out)


def _teller(bar: Progress) -> Callable[[int], None] | None:
    """A function that the core calls with the bytes done."""
    if bar.interval is None:
        return None
    last = 0

    def tell(done: int) -> None:
        nonlocal last
        bar.update(done - last)
        last = done
        bar.refresh()

    return tell


def _report(
    changes: Iterable[tuple[str, Any]], items: Iterable[tuple[Any, ...]], left_out: int
) -> ModelDiff:
    parts: dict[str, list[Any]] = {}
    for section, change in changes:
        parts.setdefault(section, []).append(Change(*change))
    for section, *rest in items:
        parts.setdefault(section, []).append(_item(section, *rest))
    return ModelDiff(**{name: DiffList(part) for name, part in parts.items()}, left_out=left_out)


def _item(
    section: str,
    where_a: str | None,
    where_b: str | None,
    name_a: str,
    name_b: str,
    op_type_a: str,
    op_type_b: str,
    moved: bool,
    changes: list[Any],
    tensor: tuple[Any, ...] | None,
) -> NodeDiff | FunctionDiff | ValueDiff | TensorDiff:
    name = name_b if where_a is None else name_a
    all_changes = tuple(Change(*change) for change in changes)
    if section == "tensors":
        return _tensor(where_a, where_b, name, name_b, all_changes, tensor)
    common = (name, where_a, where_b, moved, all_changes)
    if section == "nodes":
        return NodeDiff(*common, op_type=op_type_b if where_a is None else op_type_a)
    return FunctionDiff(*common) if section == "functions" else ValueDiff(*common)


def _tensor(
    where_a: str | None,
    where_b: str | None,
    name: str,
    name_b: str,
    changes: tuple[Change, ...],
    found: tuple[Any, ...] | None,
) -> TensorDiff:
    assert found is not None
    side_a, side_b, renamed, elements, error = found
    kind: Kind = "renamed" if renamed else "changed"
    if where_a is None or where_b is None:
        kind = "added" if where_a is None else "removed"
    _, dtype_a, shape_a = side_a or (None, None, None)
    _, dtype_b, shape_b = side_b or (None, None, None)
    count, changed, nan_changed, most_abs, most_rel = elements or (0, None, None, None, None)
    max_abs, abs_at = most_abs or (None, None)
    max_rel, rel_at = most_rel or (None, None)
    return TensorDiff(
        kind,
        name,
        None if side_b is None else name_b,
        where_a,
        where_b,
        dtype_a,
        dtype_b,
        shape_a,
        shape_b,
        changed,
        None if changed is None else changed / max(count, 1),
        nan_changed,
        max_abs,
        _index(abs_at, shape_a),
        max_rel,
        _index(rel_at, shape_a),
        error,
        changes,
    )


def _index(at: int | None, shape: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The index of an element by its position among all elements."""
    if at is None or shape is None:
        return None
    index: list[int] = []
    for dim in reversed(shape):
        index.append(at % dim)
        at //= dim
    return tuple(reversed(index))
