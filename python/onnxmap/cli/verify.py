"""Compare the external data of models with the checksums that the models declare."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

import onnxmap
from onnxmap.cli import table
from onnxmap.cli.arguments import flag
from onnxmap.cli.bar import progress_bar
from onnxmap.cli.exit_status import BAD_INPUT, DONE, FINDINGS, in_words
from onnxmap.cli.model_file import add_opening_options, open_model, opened
from onnxmap.cli.text import print_json_list, short_path
from onnxmap.errors import OnnxMapError

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
    flag(parser, "--json", "print a list of objects, one a line")
    add_opening_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap verify`."""
    models = opened(open_model, arguments)
    rows = _rows(models)
    if not models:
        return BAD_INPUT
    if arguments.json:
        print_json_list(map(asdict, rows))
    else:
        _write_lines(rows)
    if len(models) < len(set(arguments.names)):
        return BAD_INPUT
    return DONE if all(row.status in _GOOD for row in rows) else FINDINGS


def _rows(models: Mapping[str, onnxmap.Model]) -> list[Row]:
    """The results for all models. A file that several models share is read once."""
    plan = {name: model.data_files() for name, model in models.items()}
    with progress_bar("verifying") as bar:
        onnxmap.verify_files([file for files in plan.values() for file in files], progress=bar)
    rows = []
    for name, of_model in plan.items():
        rows += [_row(name, file) for file in of_model] or [Row(name, None, NO_FILES)]
    return rows


def _row(model: str, file: onnxmap.DataFile) -> Row:
    declared, failure = file.wrong_checksum, file.failure
    if declared is None:
        declared = next(iter(file.declared), None)
    if failure is not None:
        code = failure.code if isinstance(failure, OnnxMapError) else ""
        status = _STATUS_OF_CODE.get(code, UNREADABLE)
        return Row(model, file.path, status, declared, file.digest, in_words(failure))
    return Row(model, file.path, OK if file.declared else NOT_DECLARED, declared, file.digest)


def _write_lines(rows: Iterable[Row]) -> None:
    shown = [
        (row.status, row.model if row.file is None else short_path(row.file), _details(row))
        for row in rows
    ]
    table.print_table([table.Column(), table.Name(), table.Text()], shown, headed=False)


def _details(row: Row) -> str:
    if row.status == OK:
        return row.found or ""
    if row.status == DIFFERS:
        return f"declared {row.declared}, found {row.found}"
    return row.message or ""
