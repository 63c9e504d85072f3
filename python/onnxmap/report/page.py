"""Writes the page: one HTML file, which works offline."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import reprlib
from contextlib import suppress
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._base.extras import extra
from onnxmap._base.text import bytes_in_words, counted, escape
from onnxmap._files.diff import diff
from onnxmap._write.options import SaveOptions
from onnxmap._write.paths import local_path
from onnxmap._write.streams import own_descriptor
from onnxmap._write.text_files import locations_in_text
from onnxmap.errors import OnnxMapError, SaveError
from onnxmap.report.facts import facts_of
from onnxmap.report.weights import histograms, table, treemap

with extra("report"):
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxmap._base.paths import Path as AnyPath
    from onnxmap._model import Model
    from onnxmap._read.diff_report import ModelDiff

_TEMPLATE = "report.html.jinja"
_LONGEST = 300  # characters of a text from a model
_MOST_CHANGES = 100  # of one kind of thing
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 120


def write_report(model: Model, path: AnyPath, other: Model | None) -> None:
    """See `Model.report`."""
    place = Path(os.fsdecode(path))
    _check_place(place, [model] if other is None else [model, other])
    found = None if other is None else diff(model, other)
    environment = Environment(
        loader=PackageLoader("onnxmap.report", "."), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_shown,
    )  # fmt: skip
    environment.filters |= {"size": bytes_in_words, "counted": counted}
    tensors, left_out = table(model)
    page = environment.get_template(_TEMPLATE).stream(
        script=_script_hash(environment),
        model=facts_of(model),
        other=None if other is None else _name_of(other),
        changes=None if found is None else _changes(found),
        name=_name_of(model),
        tensors=tensors,
        nbytes=sum(row.nbytes for row in tensors),
        left_out=left_out,
        treemap=treemap(tensors),
        histograms=histograms(model),
    )
    whole = io.BytesIO()
    page.dump(whole, encoding="utf-8", errors="backslashreplace")
    if own_descriptor(path) is not None or (place.exists() and not place.is_file()):
        place.write_bytes(whole.getvalue())  # such as /dev/stdout, which nothing can replace
    else:
        _save(place, whole.getvalue())


def _save(place: Path, page: bytes) -> None:
    """Write the page as a model is written: the file is the old page or the new one, and whole."""
    hooks = SimpleNamespace(
        encoder_of=lambda i, path: lambda _: page, start=lambda total: None,
        locations_in_text=locations_in_text, new_sha1=None, types_of=None,
    )  # fmt: skip
    message = _core.new("OperatorSetIdProto", version=1)  # in whose place the page is written
    row: Any = (message, local_path(place), {}, "none")
    _core.save_models([row], SaveOptions(), hooks, is_message=True)


def _check_place(place: Path, models: Sequence[Model]) -> None:
    """Refuse to write over a file that the models still read, maybe of a model they came from."""
    if not place.exists():
        return
    files = {model.path or "" for model in models}
    files.update(os.fsdecode(model._open().absolute_path) for model in models)
    for _, tensor in (pair for model in models for pair in model.tensors()):
        with suppress(OnnxMapError):  # only this tensor is wrong
            files.add(tensor.file or "")
    if any(Path(file).is_file() and place.samefile(file) for file in files):
        raise SaveError(
            f"{place} is a file of the model; choose another path for the page",
            code="save.own_data",
        )


def _shown(value: Any) -> Any:
    """Text from a model, without what could hide or reorder other text, and not too long."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return escape(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…")


def _script_hash(environment: Environment) -> str:
    """The hash by which the page allows its own script, and no other."""
    assert environment.loader is not None
    text, *_ = environment.loader.get_source(environment, _TEMPLATE)
    script = re.findall("<script>(.*?)</script>", text, re.DOTALL)[-1]
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _name_of(model: Model) -> str:
    return "a model in memory" if model.path is None else PurePath(model.path).name


def _changes(found: ModelDiff) -> dict[str, tuple[int, list[tuple[str, str, str]]]]:
    """For each kind of thing: how many differ, and sign, place and details of the first ones."""
    parts = found._parts()
    return {
        name.replace("_", " "): (len(part), [_change(each) for each in part[:_MOST_CHANGES]])
        for name, part in parts.items()
        if len(part)
    }


def _change(each: Any) -> tuple[str, str, str]:
    if hasattr(each, "max_abs"):
        return each.kind, each.name or each.where, _tensor_change(each)
    if hasattr(each, "changes"):
        places = ", ".join(change.where for change in each.changes[:5])
        return each.kind, each.name or each.where, places
    is_whole = each.a is None and each.b is None
    return each.kind, each.where, "" if is_whole else f"{_value(each.a)} → {_value(each.b)}"


def _value(value: Any) -> str:
    """The beginning of a value, which may be as large as the file; a dash for none."""
    if value is None:
        return "-"
    return _SHORT.repr(value[:_LONGEST] if isinstance(value, str | bytes | tuple) else value)


def _tensor_change(each: Any) -> str:
    told = [str(each.error)] if each.error else []
    if each.kind == "renamed":
        told.append(f"now {each.name_b}")
    for what in ("dtype", "shape"):
        a, b = getattr(each, f"{what}_a"), getattr(each, f"{what}_b")
        if a != b and a is not None and b is not None:
            told.append(f"{what} {getattr(a, 'name', a)} → {getattr(b, 'name', b)}")
    if each.changed:
        told.append(f"{counted(each.changed, 'element')} ({each.changed_share:.2%})")
    if each.max_abs is not None:
        told.append(f"by {each.max_abs:.6g} at most")
    return ", ".join(told)
