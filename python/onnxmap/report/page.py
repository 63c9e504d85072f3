"""Writes the page: one HTML file, which works offline."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
from contextlib import suppress
from itertools import chain
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._base.extras import extra
from onnxmap._base.text import bytes_in_words, counted
from onnxmap._files.diff import diff
from onnxmap._read.diff_report import ModelDiff
from onnxmap._read.diff_text import told
from onnxmap._write.options import SaveOptions
from onnxmap._write.paths import local_path
from onnxmap._write.streams import own_descriptor
from onnxmap._write.text_files import locations_in_text
from onnxmap.errors import OnnxMapError, SaveError, printable
from onnxmap.report.facts import facts_of
from onnxmap.report.nodes import node_table
from onnxmap.report.treemap import treemap
from onnxmap.report.weights import histograms, table

with extra("report"):
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from onnxmap._base.paths import Path as AnyPath
    from onnxmap._files.model import Model
    from onnxmap.report.weights import Row, Tensors

_TEMPLATE, _STYLE, _SCRIPT = "report.html.jinja", "page.css", "tables.js"
_LONGEST = 300  # characters of a text from a model
_END = 100  # of these are from its end
_MOST_CHANGES = 100  # of one kind of thing


def write_report(model: Model, path: AnyPath, other: Model | None) -> None:
    """See `Model.report`."""
    place = Path(os.fsdecode(path))
    models = [model] if other is None else [model, other]
    tensors = [each.tensors() for each in models]
    _check_place(place, models, tensors)
    found = ModelDiff() if other is None else diff(model, other)
    loader = PackageLoader("onnxmap.report", ".")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_shown,
    )  # fmt: skip
    environment.filters |= {"size": bytes_in_words, "counted": counted, "broken": _broken}
    style, script = (Markup(loader.get_source(environment, file)[0]) for file in (_STYLE, _SCRIPT))
    tables = list(map(table, tensors))
    (rows, left_out), nodes = tables[0], node_table(model)
    page = environment.get_template(_TEMPLATE).stream(
        style=style,
        script=script,
        hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        model=facts_of(model),
        sizes=[_sizes(*each) for each in zip(models, tables, strict=True)],
        changes=told(found._parts(), found.left_out, _MOST_CHANGES).split("\n"),
        tensors=rows,
        left_out=left_out,
        nodes=nodes[0],
        nodes_left_out=nodes[1],
        treemap=treemap(rows),
        charts=histograms({each.name for each in found.tensors.changed}, *tensors),
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


def _check_place(place: Path, models: Sequence[Model], tensors: Iterable[Tensors]) -> None:
    """Refuse to write over a file that the models still read, maybe of a model they came from."""
    if not place.exists():
        return
    files = {model.path or "" for model in models}
    files.update(os.fsdecode(model._open().absolute_path) for model in models)
    for _, tensor in chain.from_iterable(tensors):
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
    if len(value) > _LONGEST:
        value = f"{value[: _LONGEST - _END]} … {value[-_END:]}"
    return printable(value)


def _broken(name: str) -> Markup:
    """A name, which breaks between its parts if it does not fit."""
    return Markup("<wbr>").join(re.split(r"(?<=.[./_])(?![*]?$)", _shown(name)))


def _sizes(model: Model, tensors: tuple[list[Row], int]) -> dict[str, Any]:
    """What the page compares of models as wholes."""
    rows, left_out = tensors
    return {
        "name": "a model in memory" if model.path is None else PurePath(model.path).name,
        "size as protobuf": model.proto.ByteSize(),
        "nodes": len(model.graph.nodes),
        "tensors": len(rows) + left_out,
        "weights": sum(row.nbytes for row in rows),
    }
