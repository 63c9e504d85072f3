"""Differences between models as text, and as what JSON can hold."""

from __future__ import annotations

import base64
import enum
import math
from collections import Counter
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from onnxmap._base.schema import type_name
from onnxmap._base.text import counted, shape_in_words
from onnxmap.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_MOST_SHOWN = 10  # differences of one kind
_MOST_CHANGES = 5  # in one node
_LONGEST = 60  # characters of a value
_SIGNS = {"added": "+", "removed": "-", "moved": ">", "changed": "~", "renamed": "="}
_TITLES = {"opset_imports": "operator sets"}


def told(parts: Mapping[str, Sequence[Any]], left_out: int, most: int = _MOST_SHOWN) -> str:
    """Return the differences as text, that many of each kind."""
    text: list[str] = []
    for name, part in parts.items():
        if len(part):
            text += [f"{_TITLES.get(name, name)}: {_counts(part)}", *lines(part, most)]
    if left_out:
        text.append(f"... and {counted(left_out, 'more difference')}")
    return "\n".join(text) or "no differences"


def _counts(part: Sequence[Any]) -> str:
    counts = Counter(each.kind for each in part)
    return ", ".join(f"{counts[kind]} {kind}" for kind in _SIGNS if kind in counts)


def lines(part: Sequence[Any], most: int = _MOST_SHOWN) -> Iterator[str]:
    """Yield the lines of each kind, in the order of `_SIGNS`."""
    for kind, sign in _SIGNS.items():
        shown = [each for each in part if each.kind == kind]
        for each in shown[:most]:
            yield f"  {sign} {_line(each)}"
            if getattr(each, "changes", ()):
                yield from (f"      {_line(change)}" for change in each.changes[:_MOST_CHANGES])
                if len(each.changes) > _MOST_CHANGES:
                    yield f"      ... and {len(each.changes) - _MOST_CHANGES} more"
        if len(shown) > most:
            yield f"    ... and {len(shown) - most} more {kind}"


def _line(each: Any) -> str:
    if not hasattr(each, "changes"):
        return _change(each)
    if hasattr(each, "dtype_a"):
        return _tensor(each)
    name = _quoted(each.name) if each.name else "without a name"
    operator = f"{printable(each.op_type)} " if hasattr(each, "op_type") else ""
    place = f"{printable(each.where_a or '')} -> {printable(each.where_b or '')}"
    return f"{operator}{name} at {place if each.moved else printable(each.where)}"


def _quoted(name: str) -> str:
    return f"'{printable(name)}'"


def _change(change: Any) -> str:
    where = printable(change.where)
    if change.kind == "moved":
        return f"{where} moved to {printable(change.where_b or '')}"
    if change.a is None and change.b is None:
        return f"{where} {change.kind}"
    is_type = where.endswith(("elem_type", "data_type", "key_type"))
    a, b = (_value(value, is_type) for value in (change.a, change.b))
    return f"{where}: {a} -> {b}"


def _value(value: object, is_type: bool = False) -> str:
    if value is None:
        return "absent"
    if is_type and isinstance(value, int):
        return type_name(value)
    if value is ...:
        return "..."
    if isinstance(value, tuple):
        text = f"[{', '.join(_value(each) for each in value[:_LONGEST])}]"
    elif isinstance(value, str):
        text = f'"{printable(value[:_LONGEST])}"' if len(value) <= _LONGEST else printable(value)
    else:
        text = repr(value if not isinstance(value, bytes) else value[: _LONGEST + 1])
    return text if len(text) <= _LONGEST + 2 else f"{text[:_LONGEST]}..."


def _tensor(tensor: Any) -> str:
    name = _quoted(tensor.name) if tensor.name else printable(tensor.where)
    if tensor.kind == "renamed":
        return f"{name} -> {_quoted(tensor.name_b or '')} ({_type(tensor, 'b')})"
    if tensor.kind in ("added", "removed"):
        return f"{name} ({_type(tensor, 'b' if tensor.kind == 'added' else 'a')})"
    types = list(dict.fromkeys((_type(tensor, "a"), _type(tensor, "b"))))
    told = [f"{name} ({' -> '.join(types)})"]
    if tensor.error is not None:
        told.append(f"cannot be compared: {printable(tensor.error)}")
    if tensor.changed_share is not None:
        told.append(f"{tensor.changed} of its elements changed ({tensor.changed_share:.3%})")
    if tensor.nan_changed:
        told.append(f"{tensor.nan_changed} of them to or from NaN")
    if tensor.max_abs is not None:
        told.append(f"largest difference {tensor.max_abs:.6g} at {list(tensor.max_abs_at or ())}")
    if tensor.max_rel is not None:
        told.append(f"relative {tensor.max_rel:.6g} at {list(tensor.max_rel_at or ())}")
    return ", ".join(told)


def _type(tensor: Any, side: str) -> str:
    dtype, shape = getattr(tensor, f"dtype_{side}"), getattr(tensor, f"shape_{side}")
    return f"{type_name(dtype)} {shape_in_words(shape)}"


def to_dict(parts: Mapping[str, Sequence[Any]]) -> dict[str, object]:
    """Return all differences as what JSON can hold; see `ModelDiff.to_dict`."""
    return {name: [_plain(each) for each in part] for name, part in parts.items()}


def _plain(value: object) -> object:
    """A value as dicts, lists, texts and numbers."""
    if is_dataclass(value) and not isinstance(value, type):
        kind = {"kind": value.kind} if hasattr(value, "kind") else {}
        return kind | {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return "..." if value is ... else value
