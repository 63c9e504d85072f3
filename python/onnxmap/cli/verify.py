"""Compare the external data of models with the checksums that the models declare."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from onnxmap._text import escape
from onnxmap.cli.model_file import add_opening_options, open_model
from onnxmap.cli.outcome import BAD_INPUT, DONE, FINDINGS, complain, in_options
from onnxmap.cli.saving_bar import SECONDS_BEFORE_A_BAR
from onnxmap.cli.text import short_path
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    import onnxmap
    from onnxmap._checksums import DataFile, Outcome

SUMMARY = "compare external data with its declared checksums"

OK = "ok"
DIFFERS = "differs"
NOT_DECLARED = "no checksum"
MALFORMED = "bad checksum"
UNREADABLE = "cannot be read"
NO_FILES = "no data files"
_GOOD = (OK, NOT_DECLARED, NO_FILES)
_STATUS_OF_CODE = {"ext.checksum": DIFFERS, "ext.checksum_form": MALFORMED}


@dataclass(frozen=True, slots=True)
class Row:
    """The result for a data file, or for a model that has none."""

    model: str
    file: str | None
    status: str
    declared: str | None = None
    found: str | None = None
    message: str | None = None  # what is wrong


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap verify`."""
    parser.add_argument("names", nargs="+", metavar="FILE", help="a model; - is standard input")
    parser.add_argument("--json", action="store_true", help="print a list of objects, one a line")
    add_opening_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap verify`."""
    models = {
        name: model for name in arguments.names if (model := _loaded(name, arguments)) is not None
    }
    rows = _rows(models)
    if not models:
        return BAD_INPUT
    if arguments.json:
        _write_json(rows)
    else:
        _write_lines(rows)
    if len(models) < len(set(arguments.names)):
        return BAD_INPUT
    return DONE if all(row.status in _GOOD for row in rows) else FINDINGS


def _loaded(name: str, arguments: argparse.Namespace) -> onnxmap.Model | None:
    """The model, or None after an error message: the other models are still checked."""
    try:
        return open_model(name, arguments)
    except (OnnxMapError, OSError) as failure:
        complain(failure, arguments.parser.format_usage())
        return None


def _rows(models: Mapping[str, onnxmap.Model]) -> list[Row]:
    """The results for all models. A file that several models share is read once."""
    from onnxmap._checksums import bytes_to_read, check_files, data_files
    from onnxmap._progress import Progress

    plan: list[tuple[str, list[DataFile]]] = []
    for name, model in models.items():
        tensors = (tensor for _, tensor in model.tensors())
        plan.append((name, data_files(tensors, declared_only=False)))
    files = [file for _, of_model in plan for file in of_model]
    total = bytes_to_read(files)
    with Progress(True, total, "verifying", delay=SECONDS_BEFORE_A_BAR, transient=True) as bar:
        outcomes = iter(check_files(files, bar, keep_going=True))
    rows = []
    for name, of_model in plan:
        rows += [_row(name, next(outcomes)) for _ in of_model] or [Row(name, None, NO_FILES)]
    return rows


def _row(model: str, outcome: Outcome) -> Row:
    from onnxmap._checksums import wrong_checksum

    file, failure = outcome.file, outcome.failure
    declared = wrong_checksum(file, outcome.digest)
    if declared is None:
        declared = next(iter(file.declared), None)
    if failure is not None:
        code = failure.code if isinstance(failure, OnnxMapError) else ""
        status = _STATUS_OF_CODE.get(code, UNREADABLE)
        return Row(model, file.path, status, declared, outcome.digest, in_options(str(failure)))
    return Row(model, file.path, OK if file.declared else NOT_DECLARED, declared, outcome.digest)


def _write_json(rows: Iterable[Row]) -> None:
    lines = ",\n ".join(json.dumps(asdict(row)) for row in rows)
    sys.stdout.write(f"[{lines}]\n")


def _write_lines(rows: Iterable[Row]) -> None:
    width = len(UNREADABLE)
    for row in rows:
        name = row.model if row.file is None else short_path(row.file)
        said = f"  {_details(row)}" if _details(row) else ""
        sys.stdout.write(f"{row.status:<{width}}  {escape(name)}{said}\n")


def _details(row: Row) -> str:
    if row.status == OK:
        return row.found or ""
    if row.status == DIFFERS:
        return f"declared {row.declared}, found {row.found}"
    return escape(row.message or "")
