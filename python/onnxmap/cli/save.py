"""Save a model to another file, or over its own, and choose where the weights go."""

from __future__ import annotations

import argparse
import os

import onnxmap
from onnxmap.cli.arguments import flag, size, valued
from onnxmap.cli.completion import files, nothing
from onnxmap.cli.exit_status import DONE, UsageError, wrong_values
from onnxmap.cli.model_file import add_opening_options, open_model
from onnxmap.cli.saving import (
    STANDARD_OUTPUT,
    add_type_options,
    add_writing_options,
    output_of,
    print_report,
    save_to,
    type_options,
)

_DEFAULT_THRESHOLD = 1024
# Options with the name of the argument of `onnxmap.save`.
_SAME = ("attributes", "checksum", "dedupe", "allow_over_2gib", "format", "follow_symlinks")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap save`."""
    parser.add_argument("file", metavar="IN", help="the model; - is standard input")
    parser.add_argument("out", metavar="OUT", help="the new file; - is standard output")
    text = "take the weights from another model, or a file of weights, by name"
    valued(parser, "--weights", "OTHER", text, files)
    flag(add_saving_options(parser), "--dedupe", "store equal tensors once")


def add_saving_options(parser: argparse.ArgumentParser) -> argparse._ActionsContainer:
    """Declare how a command writes a model; return the group of options about the weights."""
    group = parser.add_argument_group("where the weights go (default: where they are)")
    kinds = group.add_mutually_exclusive_group()
    valued(kinds, "--external-data", "F", "into the data file F in the folder of OUT", nothing)
    flag(kinds, "--inline", "into the model")
    flag(kinds, "--view", "nowhere: OUT refers to IN, which must not change")
    text = "let values start at multiples of N bytes (default: 4096 in data files)"
    valued(group, "--align", "N", text, nothing, type=_power_of_two)
    text = f"smaller tensors stay in the model (default: {_DEFAULT_THRESHOLD})"
    valued(group, "--threshold", "SIZE", text, nothing, type=size, default=_DEFAULT_THRESHOLD)
    text = "split a larger data file; a size is written like 512, 64KiB or 2GB"
    valued(group, "--shard-size", "SIZE", text, nothing, type=size)
    flag(group, "--attributes", "with --external-data and --view: the tensors of attributes, too")
    add_type_options(group)
    flag(group, "--checksum", "note the SHA-1 of each data file in the model")
    flag(group, "--allow-over-2gib", "write a model of more than 2 GiB, which protobuf cannot read")
    writing = parser.add_argument_group("how the files are written")
    text = "the form of OUT (default: by its extension, such as .onnx or .json, else that of IN)"
    writing.add_argument("--format", choices=("protobuf", "textproto", "json"), help=text)
    flag(writing, "--no-overwrite", "refuse any name that is taken")
    text = "if OUT is a symbolic link, replace its target, not the link"
    flag(writing, "--follow-symlinks", text)
    add_writing_options(writing)
    flag(parser, "--json", "print the report as a JSON object")
    add_opening_options(parser)
    return group


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap save`."""
    check_saving_options(arguments)
    with open_model(arguments.file, arguments) as model:
        if arguments.weights is not None:
            with wrong_values():
                model.rebase(open_model(arguments.weights, arguments))
        report = save_as_told(model, arguments)
    print_report(report, arguments)
    return DONE


def save_as_told(model: onnxmap.Model, arguments: argparse.Namespace) -> onnxmap.SaveReport:
    """Save a model to `arguments.out` with the options of `add_saving_options`."""
    external: str | bytes | bool | None = "view" if arguments.view else None
    if arguments.external_data is not None:
        external = os.fsencode(arguments.external_data)  # bytes: the file may be called "view"
    return save_to(
        model,
        arguments.out,
        arguments,
        external_data=False if arguments.inline else external,
        size_threshold_bytes=arguments.threshold,
        alignment=arguments.align,
        max_shard_size_bytes=arguments.shard_size,
        overwrite=not arguments.no_overwrite,
        **type_options(arguments),
        **{name: getattr(arguments, name) for name in _SAME if name in arguments},
    )


def check_saving_options(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together, before anything is read.

    Raises:
        UsageError: they do not.
    """
    arguments.out = output_of(arguments.out)
    if arguments.external_data is None:
        for name in ("checksum", "dedupe", "shard_size"):
            if getattr(arguments, name, False):
                raise UsageError(f"--{name.replace('_', '-')} needs --external-data F")
        if arguments.attributes and not arguments.view:
            raise UsageError("--attributes needs --external-data F or --view")
    elif arguments.out == STANDARD_OUTPUT:
        raise UsageError("standard output has no folder for a data file; write to a file")
    if arguments.view and arguments.out == STANDARD_OUTPUT:
        raise UsageError("a view must be a file in the folder of the model")
    if arguments.view and arguments.align is not None:
        raise UsageError("--align moves values, and --view leaves them in their file")


def _power_of_two(text: str) -> int:
    number = size(text)
    if number < 1 or number & (number - 1):
        raise argparse.ArgumentTypeError(f"must be a power of two, not {text!r}")
    return number
