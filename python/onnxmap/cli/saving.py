"""What the commands that write models share: options, standard output, and the report."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from onnxmap._own_streams import own_descriptor
from onnxmap._text import bytes_in_words, escape
from onnxmap.cli.completion import complete_with, nothing
from onnxmap.cli.model_file import STANDARD_INPUT, opening_options
from onnxmap.cli.outcome import UsageError
from onnxmap.cli.text import short_path
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import onnxmap

STANDARD_OUTPUT = "-"


def add_sync_option(parser: argparse._ActionsContainer) -> None:
    """Declare `--no-sync`."""
    parser.add_argument(
        "--no-sync", action="store_true", help="do not wait until the disk has the files"
    )


def add_read_only_option(parser: argparse._ActionsContainer) -> None:
    """Declare `--replace-read-only`."""
    parser.add_argument(
        "--replace-read-only",
        action="store_true",
        help="replace also files that must not be written to, as after chmod 444",
    )


def add_place_options(parser: argparse.ArgumentParser) -> None:
    """Declare where a command that edits a file writes, and how."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="write another file instead; - is standard output",
    )
    parser.add_argument(
        "--follow-symlinks",
        action="store_true",
        help="if FILE is a symbolic link, edit the file that it leads to",
    )
    add_read_only_option(parser)
    add_sync_option(parser)
    parser.add_argument("--json", action="store_true", help="print the report as a JSON object")


def add_numbers(parser: argparse._ActionsContainer, numbers: Mapping[str, Any]) -> None:
    """Declare options that take a number, for which the shell offers nothing."""
    for name, options in numbers.items():
        complete_with(parser.add_argument(name, **options), nothing)


def check_text(word: str) -> None:
    """Refuse a word of the command line that is not UTF-8: no text in a model may be so.

    Raises:
        UsageError: it is not.
    """
    if any("\udc80" <= character <= "\udcff" for character in word):
        raise UsageError(f"{word!r} is not UTF-8, which texts in a model are")


def output_of(out: str) -> str:
    """Return the path of an output, or `-` for every way to write standard output."""
    return STANDARD_OUTPUT if own_descriptor(out) == 1 else out


def place(arguments: argparse.Namespace) -> tuple[str, str]:
    """Return the file that is edited, and where the result goes, as they are without links.

    Raises:
        UsageError: the file is a symbolic link, or standard input without `-o`.
    """
    file: str = arguments.file
    if file == STANDARD_INPUT:
        if arguments.output is None:
            raise UsageError("standard input needs a place for the result: -o OUT")
        return file, output_of(arguments.output)
    if arguments.output is not None:
        return file, output_of(arguments.output)
    if os.path.islink(file):
        if not arguments.follow_symlinks:
            raise UsageError(
                f"{file} is a symbolic link; --follow-symlinks edits the file that it leads to"
            )
        file = os.path.realpath(file)
    return file, file


def open_to_edit(file: str, out: str, arguments: argparse.Namespace) -> onnxmap.Model:
    """Open a model for an edit. If it is saved over its file, external data stay where they are.

    Raises:
        UsageError: the file is in a text form, and its name would make the save replace it by
            protobuf's binary form.
    """
    import onnxmap
    from onnxmap._file_forms import BINARY, form_of

    options = opening_options(arguments)
    if file == STANDARD_INPUT:
        return onnxmap.loads(sys.stdin.buffer.read(), **options)
    if file == out:
        options["external_root"] = None
    model = onnxmap.load(file, **options)
    if file == out and form_of(os.fsencode(out), None, model._form) != model._form != BINARY:
        raise UsageError(f"{file} is text, and its name means another form; use -o OUT")
    return model


def save_to(
    model: onnxmap.Model, out: str, arguments: argparse.Namespace, **options: Any
) -> onnxmap.SaveReport:
    """Save a model to a file, or to standard output if its name is `-`.

    Raises:
        UsageError: the options do not go together, or standard output is a terminal or closed.
    """
    import onnxmap
    from onnxmap.cli.saving_bar import SavingBar

    path: Any = out
    if out == STANDARD_OUTPUT:
        path = _standard_output(arguments)
    elif arguments.file == STANDARD_INPUT and arguments.external_root is None:
        _check_data_files(model, out)
    try:
        with SavingBar() as bar:
            return onnxmap.save(
                model,
                path,
                replace_read_only=arguments.replace_read_only,
                sync=not arguments.no_sync,
                progress=bar,
                **options,
            )
    except BrokenPipeError:
        raise UsageError("standard output was closed before it had the whole model") from None
    except OnnxMapError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from None


def _check_data_files(model: onnxmap.Model, out: str) -> None:
    """Refuse a model from standard input whose data files are not where it is saved."""
    from onnxmap import _core

    folder = os.path.dirname(os.path.abspath(out))
    for location in map(os.fsdecode, _core.external_locations(model._open())):
        if not os.path.exists(os.path.join(folder, location)):
            raise UsageError(
                f"the model on standard input has values in {location}, which is not in {folder}; "
                "name the folder of its data files with --external-root DIR"
            )


def _standard_output(arguments: argparse.Namespace) -> Any:
    if sys.stdout.isatty():
        raise UsageError("a model is no text for a terminal; redirect standard output")
    if arguments.json:
        raise UsageError("--json prints the report where the model goes; write to a file")
    sys.stdout.flush()
    return sys.stdout.buffer


def is_large(model: onnxmap.Model) -> bool:
    """Return whether the file of a model is larger than protobuf reads: then a save may be, too."""
    from onnxmap._save_options import MOST_FOR_PROTOBUF

    return model._open().nbytes > MOST_FOR_PROTOBUF


def print_report(
    report: onnxmap.SaveReport, arguments: argparse.Namespace, said: Mapping[str, Any] | None = None
) -> None:
    """Print what a save did; nothing if standard output has the model.

    Args:
        report: the report of the save.
        arguments: with `json`, an object is printed.
        said: what the object has besides, before the report.
    """
    if arguments.json:
        print_json({**(said or {}), **asdict(report)})
    elif report.files:
        print_rows(report_rows(report))
        sys.stdout.write(sizes_in_words(report) + "\n")


def print_json(facts: Mapping[str, Any]) -> None:
    """Print one object."""
    sys.stdout.write(json.dumps(facts, indent=2) + "\n")


def report_rows(report: onnxmap.SaveReport) -> list[tuple[str, str, str]]:
    """What happened to each file: a word, the path, and a note."""
    rows = [("wrote", path, bytes_in_words(os.stat(path).st_size)) for path in report.files]
    rows += [
        ("unused", path, f"{bytes_in_words(nbytes)} that the model does not use")
        for path, nbytes in report.unused.items()
        if nbytes
    ]
    return rows + [
        ("left", path, "an old file that cannot be removed") for path in report.left_over
    ]


def print_rows(rows: Iterable[tuple[str, str, str]]) -> None:
    """Print rows of a word, a path and a note in columns."""
    shown = [(word, escape(short_path(path)), note) for word, path, note in rows]
    words = max((len(word) for word, _, _ in shown), default=0)
    paths = max((len(path) for _, path, _ in shown), default=0)
    for word, path, note in shown:
        sys.stdout.write(f"{word:<{words}}  {path:<{paths}}  {note}".rstrip() + "\n")


def sizes_in_words(report: onnxmap.SaveReport) -> str:
    """Return the bytes of a save as a line of text."""
    return (
        f"{bytes_in_words(report.bytes_written)} written, "
        f"{bytes_in_words(report.bytes_copied)} copied, "
        f"{bytes_in_words(report.bytes_referenced)} referenced"
    )
