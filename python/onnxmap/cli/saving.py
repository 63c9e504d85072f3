"""What the commands that write models share: options, standard output, and the report."""

from __future__ import annotations

import argparse
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, TypeVar

import onnxmap
from onnxmap._base.text import bytes_in_words
from onnxmap.cli import table
from onnxmap.cli.arguments import InDict, chosen, flag, last_of, valued
from onnxmap.cli.bar import progress_bar
from onnxmap.cli.exit_status import UsageError, wrong_values
from onnxmap.cli.model_file import STANDARD_INPUT, opening_options
from onnxmap.cli.text import print_json, short_path

Report = TypeVar("Report")
STANDARD_OUTPUT = "-"
_MOST_FOR_PROTOBUF = 2**31 - 1  # bytes of a model
# The options of the commands have the names of these arguments of the calls.
WRITING = ("replace_read_only", "sync")
CHANGING_TYPES = ("dtype", "allow_loss")
_FLOATS = "B?FLOAT(16|8E[45].*)?|DOUBLE"  # types that a save writes
_SAVING = (
    "external_data", "size_threshold_bytes", "alignment", "attributes", "checksum",
    "max_shard_size_bytes", "dedupe", "allow_over_2gib", "format", "overwrite", "follow_symlinks",
    *WRITING, *CHANGING_TYPES,
)  # fmt: skip


def add_writing_options(parser: argparse._ActionsContainer) -> None:
    """Declare how files are written."""
    text = "replace also files that must not be written to, as after chmod 444"
    flag(parser, "--replace-read-only", text)
    text = "do not wait until the disk has the files"
    flag(parser, "--no-sync", text, action="store_false", dest="sync")


def add_type_options(parser: argparse._ActionsContainer) -> None:
    """Declare in which types weights are written."""
    text = "write floating-point initializers in this type; or PATTERN=TYPE, also several times"
    valued(parser, "--dtype", "TYPE", text, _complete_types, type=_new_type, action=InDict)
    flag(parser, "--allow-loss", "with --dtype: also if values are too large, or become 0")


def _complete_types(prefix: str, **_: object) -> list[str]:
    floats = (each for each in onnxmap.DataType if re.fullmatch(_FLOATS, each.name))
    return last_of(prefix, "=", (each.numpy().name for each in floats))


def _new_type(text: str) -> tuple[str, str]:
    pattern, _, name = text.rpartition("=")
    return pattern or "*", name


def add_place_options(parser: ArgumentParser) -> None:
    """Declare where a command that edits a file writes, and how."""
    text = "write another file instead; - is standard output"
    parser.add_argument("-o", "--output", dest="out", metavar="OUT", help=text)
    flag(parser, "--follow-symlinks", "if FILE is a symbolic link, edit the file that it leads to")
    add_writing_options(parser)


def add_copying_arguments(parser: ArgumentParser) -> None:
    """Declare IN, OUT, and the options that `cp` and `mv` share."""
    parser.add_argument("file", metavar="IN", help="the model, a file")
    parser.add_argument("out", metavar="OUT", help="a folder, or the name of the new file")
    text = "replace OUT, and data files that only the old model of that name uses"
    flag(parser, "--overwrite", text)
    add_writing_options(parser)


def copied(call: Callable[..., Report], arguments: Namespace) -> Report:
    """Call `onnxmap.copy_model` or `move_model`, with a bar while it works.

    Raises:
        UsageError: IN or OUT is a dash, or a name is taken.
    """
    if STANDARD_INPUT in (arguments.file, arguments.out):
        raise UsageError("cp and mv take files; for a file of that name write ./-")
    options = chosen(arguments, ("overwrite", *WRITING)) | opening_options(arguments)
    try:
        with wrong_values(), progress_bar() as bar:
            return call(arguments.file, arguments.out, progress=bar, **options)
    except FileExistsError as error:
        if arguments.overwrite or error.filename is None:
            raise
        taken, new = os.fsdecode(error.filename), arguments.out
        if os.path.isdir(new):
            new = os.path.join(new, os.path.basename(arguments.file))
        is_model = os.path.abspath(taken) == os.path.abspath(new)
        condition = "" if is_model else f" if only the old {new} uses it, else takes another name"
        raise UsageError(f"{taken} exists; --overwrite replaces it{condition}") from None


def checked_text(word: str) -> str:
    """Return a word of the command line that goes into a model.

    Raises:
        UsageError: it is not UTF-8, which strings in a model must be.
    """
    if any("\udc80" <= character <= "\udcff" for character in word):
        raise UsageError(f"{word!r} is not UTF-8, which strings in a model must be")
    return word


def output_of(out: str) -> str:
    """Return the path of an output, or `-` for other names of standard output."""
    return STANDARD_OUTPUT if out in ("/dev/stdout", "/dev/fd/1") else out


def settle_place(arguments: Namespace) -> None:
    """Let `file` and `out` be the file that is edited, and where the result goes, without links.

    If they are the same, external data stay where they are.

    Raises:
        UsageError: the file is a symbolic link, or standard input without `-o`.
    """
    if arguments.out is not None:
        arguments.out = output_of(arguments.out)
    elif arguments.file == STANDARD_INPUT:
        raise UsageError("standard input needs a place for the result: -o OUT")
    elif not os.path.islink(arguments.file):
        arguments.out = arguments.file
    elif arguments.follow_symlinks:
        arguments.out = arguments.file = os.path.realpath(arguments.file)
    else:
        advice = "--follow-symlinks edits the file that it leads to"
        raise UsageError(f"{arguments.file} is a symbolic link; {advice}")
    if arguments.file == arguments.out != STANDARD_OUTPUT:
        arguments.external_root = None


def save_edited(model: onnxmap.Model, arguments: Namespace) -> onnxmap.SaveReport:
    """Save a model after an edit. Its file keeps its form, and may stay too large for protobuf."""
    options: dict[str, Any] = {"allow_over_2gib": model.proto.ByteSize() > _MOST_FOR_PROTOBUF}
    if arguments.file == arguments.out:
        options["format"] = model.format
    return save_to(model, arguments, **options)


def save_to(model: onnxmap.Model, arguments: Namespace, **others: Any) -> onnxmap.SaveReport:
    """Save a model to the file `out`, or to standard output if its name is `-`.

    Raises:
        UsageError: the options do not go together, or standard output is a terminal or closed.
    """
    path: Any = arguments.out
    if path == STANDARD_OUTPUT:
        path = _standard_output(arguments)
    elif arguments.file == STANDARD_INPUT and arguments.external_root is None:
        _check_data_files(model, path)
    try:
        with wrong_values(), progress_bar() as bar:
            return onnxmap.save(model, path, progress=bar, **chosen(arguments, _SAVING), **others)
    except BrokenPipeError:
        raise UsageError("standard output was closed before it had the whole model") from None


def _check_data_files(model: onnxmap.Model, out: str) -> None:
    """Refuse a model from standard input whose data files are not where it is saved."""
    folder = os.path.dirname(os.path.abspath(out))
    outside = (tensor.proto.external_data for _, tensor in model.tensors() if tensor.is_external)
    entries = (entry for entries in outside for entry in entries if entry.key == "location")
    for location in dict.fromkeys(entry.value for entry in entries):
        if not os.path.exists(os.path.join(folder, location)):
            raise UsageError(
                f"the model on standard input has values in {location}, which is not in {folder}; "
                "name the folder of its data files with --external-root DIR"
            )


def _standard_output(arguments: Namespace) -> Any:
    if sys.stdout.isatty():
        raise UsageError("refusing to write a model to a terminal; redirect standard output")
    if arguments.json:
        raise UsageError("--json prints the report where the model goes; write to a file")
    sys.stdout.flush()
    return sys.stdout.buffer


def print_report(
    report: onnxmap.SaveReport, arguments: Namespace, done: str = "wrote", **said: Any
) -> None:
    """Print what a save did; nothing if standard output has the model.

    Args:
        report: the report of the save.
        arguments: with `json`, an object is printed.
        done: what was done with the files, in one word.
        said: what the object has besides, before the report.
    """
    if arguments.json and report.files:
        print_json({**said, **asdict(report)})
    elif report.files:
        rows = [(done, path, bytes_in_words(os.stat(path).st_size)) for path in report.files]
        unused = ((path, bytes_in_words(size)) for path, size in report.unused.items() if size)
        rows += [("unused", path, f"{size} that the model does not use") for path, size in unused]
        print_rows(rows, report.left_over)
        sizes = report.bytes_written, report.bytes_copied, report.bytes_referenced
        print("{} written, {} copied, {} referenced".format(*map(bytes_in_words, sizes)))
        if report.vanished:
            print(f"{sum(report.vanished.values())} values became 0 in their new type")


def print_rows(rows: Iterable[tuple[str, str, str]], left_over: Iterable[str]) -> None:
    """Print rows of a word, a path and a note in columns, and the old files that are left over."""
    left = (("left", path, "an old file that cannot be removed") for path in left_over)
    shown = [(word, short_path(path), note) for word, path, note in (*rows, *left)]
    table.print_table([table.Column(), table.Name(), table.Text()], shown)
