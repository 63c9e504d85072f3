"""Compare the external data of models with the checksums that the models declare.

Example: onnxmap verify demo.onnx
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import NamedTuple

import onnxmap
from onnxmap.cli import table
from onnxmap.cli.bar import progress_bar
from onnxmap.cli.exit_status import BAD_INPUT, DONE, FINDINGS, in_words
from onnxmap.cli.model_file import open_model, opened
from onnxmap.cli.text import print_json_list, short_path

OK = "ok"
DIFFERS = "differs"
NOT_DECLARED = "no checksum"
NO_FILES = "no data files"
_GOOD = (OK, NOT_DECLARED, NO_FILES)
_STATUS_OF_CODE = {"ext.checksum": DIFFERS, "ext.checksum_form": "bad checksum"}


class Row(NamedTuple):
    """The result for a data file, or for a model that has none."""

    model: str
    file: str | None
    status: str
    declared: str | None = None
    found: str | None = None
    message: str | None = None  # what is wrong


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap verify`."""
    parser.add_argument("names", nargs="+", metavar="FILE", help="a model; - is standard input")


def run(arguments: Namespace) -> int:
    """Run `onnxmap verify`."""
    models = opened(open_model, arguments)
    rows = _rows(models, arguments)
    if not models:
        return BAD_INPUT
    if arguments.json:
        print_json_list(row._asdict() for row in rows)
    else:
        columns = table.Column(), table.Name(), table.Text()
        paths = (row.model if row.file is None else short_path(row.file) for row in rows)
        shown = [(row.status, path, _details(row)) for row, path in zip(rows, paths, strict=True)]
        table.print_table(columns, shown)
    if len(models) < len(set(arguments.names)):
        return BAD_INPUT
    return DONE if all(row.status in _GOOD for row in rows) else FINDINGS


def _rows(models: Mapping[str, onnxmap.Model], arguments: Namespace) -> list[Row]:
    """The results for all models. A file that several models share is read once."""
    plan = {name: model.data_files() for name, model in models.items()}
    with progress_bar("verifying") as bar:
        onnxmap.verify_files([file for files in plan.values() for file in files], progress=bar)
    rows = []
    for name, of_model in plan.items():
        rows += [_row(name, file, arguments) for file in of_model] or [Row(name, None, NO_FILES)]
    return rows


def _row(model: str, file: onnxmap.DataFile, arguments: Namespace) -> Row:
    status, declared, message = OK if file.declared else NOT_DECLARED, file.wrong_checksum, None
    if declared is None:
        declared = next(iter(file.declared), None)
    if file.failure is not None:
        status = _STATUS_OF_CODE.get(getattr(file.failure, "code", ""), "cannot be read")
        message = in_words(file.failure, arguments)
    return Row(model, file.path, status, declared, file.digest, message)


def _details(row: Row) -> str:
    if row.status == OK:
        return row.found or ""
    if row.status == DIFFERS:
        return f"declared {row.declared}, found {row.found}"
    return row.message or ""
