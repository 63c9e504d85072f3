"""Save a model to another file, or over its own, and choose where the weights go."""

from __future__ import annotations

import argparse
import os

from onnxmap._arguments import parse_size
from onnxmap._file_forms import FORMS
from onnxmap.cli.completion import complete_with, nothing
from onnxmap.cli.model_file import add_opening_options, open_model
from onnxmap.cli.outcome import DONE, UsageError
from onnxmap.cli.saving import (
    STANDARD_OUTPUT,
    add_numbers,
    add_read_only_option,
    add_sync_option,
    output_of,
    print_report,
    save_to,
)

SUMMARY = "save a model to another file, with its weights inside or outside"

_DEFAULT_THRESHOLD = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap save`."""
    parser.add_argument("file", metavar="IN", help="the model; - is standard input")
    parser.add_argument("out", metavar="OUT", help="the new file; - is standard output")
    group = parser.add_argument_group("where the weights go (default: where they are)")
    kinds = group.add_mutually_exclusive_group()
    location = kinds.add_argument(
        "--external-data", metavar="F", help="into the data file F in the folder of OUT"
    )
    complete_with(location, nothing)
    kinds.add_argument("--inline", action="store_true", help="into the model")
    kinds.add_argument(
        "--view", action="store_true", help="nowhere: OUT refers to IN, which must not change"
    )
    add_numbers(
        group,
        {
            "--align": {
                "metavar": "N",
                "type": _power_of_two,
                "help": "let values start at multiples of N bytes (default: 4096 in data files)",
            },
            "--threshold": {
                "metavar": "SIZE",
                "type": _size,
                "default": _DEFAULT_THRESHOLD,
                "help": f"smaller tensors stay in the model (default: {_DEFAULT_THRESHOLD})",
            },
            "--shard-size": {
                "metavar": "SIZE",
                "type": _size,
                "help": "split a larger data file; a size is written like 512, 64KiB or 2GB",
            },
        },
    )
    group.add_argument(
        "--attributes",
        action="store_true",
        help="with --external-data and --view: the tensors of attributes, too",
    )
    group.add_argument("--dedupe", action="store_true", help="store equal tensors once")
    group.add_argument(
        "--checksum", action="store_true", help="note the SHA-1 of each data file in the model"
    )
    group.add_argument(
        "--allow-over-2gib",
        action="store_true",
        help="write a model of more than 2 GiB, which protobuf cannot read",
    )
    writing = parser.add_argument_group("how the files are written")
    writing.add_argument(
        "--format",
        choices=FORMS,
        help="the form of OUT (default: what its extension says, such as .onnx or .json, else that "
        "of IN)",
    )
    writing.add_argument(
        "--no-overwrite", action="store_true", help="refuse any name that is taken"
    )
    writing.add_argument(
        "--follow-symlinks",
        action="store_true",
        help="if OUT is a symbolic link, replace its target, not the link",
    )
    add_read_only_option(writing)
    add_sync_option(writing)
    parser.add_argument("--json", action="store_true", help="print the report as a JSON object")
    add_opening_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap save`."""
    arguments.out = output_of(arguments.out)
    _check(arguments)
    external: str | bytes | bool | None = None
    if arguments.inline:
        external = False
    elif arguments.view:
        external = "view"
    elif arguments.external_data is not None:
        external = os.fsencode(arguments.external_data)  # bytes: the file may be called "view"
    with open_model(arguments.file, arguments) as model:
        report = save_to(
            model,
            arguments.out,
            arguments,
            external_data=external,
            size_threshold_bytes=arguments.threshold,
            alignment=arguments.align,
            attributes=arguments.attributes,
            checksum=arguments.checksum,
            max_shard_size_bytes=arguments.shard_size,
            dedupe=arguments.dedupe,
            allow_over_2gib=arguments.allow_over_2gib,
            format=arguments.format,
            overwrite=not arguments.no_overwrite,
            follow_symlinks=arguments.follow_symlinks,
        )
    if arguments.out != STANDARD_OUTPUT:
        print_report(report, arguments)
    return DONE


def _check(arguments: argparse.Namespace) -> None:
    if arguments.external_data is None:
        for name in ("checksum", "dedupe", "shard_size"):
            if getattr(arguments, name):
                raise UsageError(f"--{name.replace('_', '-')} needs --external-data F")
        if arguments.attributes and not arguments.view:
            raise UsageError("--attributes needs --external-data F or --view")
    elif arguments.out == STANDARD_OUTPUT:
        raise UsageError("standard output has no folder for a data file; write to a file")
    if arguments.view and arguments.out == STANDARD_OUTPUT:
        raise UsageError("a view must be a file in the folder of the model")
    if arguments.view and arguments.align is not None:
        raise UsageError("--align moves values, and --view leaves them in their file")


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _power_of_two(text: str) -> int:
    number = _size(text)
    if number < 1 or number & (number - 1):
        raise argparse.ArgumentTypeError(f"must be a power of two, not {text!r}")
    return number
