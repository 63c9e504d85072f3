"""Save a model to another file, or over its own, and choose where the weights go.

Example: onnxmap save demo.onnx small.onnx --external-data small.data
"""

from __future__ import annotations

import argparse
import os
from argparse import ArgumentParser, Namespace

from onnxmap.cli.arguments import flag, size, valued
from onnxmap.cli.exit_status import UsageError, wrong_values
from onnxmap.cli.model_file import open_model
from onnxmap.cli.saving import (
    STANDARD_OUTPUT,
    add_type_options,
    add_writing_options,
    output_of,
    print_report,
    save_to,
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap save`."""
    parser.add_argument("file", metavar="IN", help="the model; - is standard input")
    parser.add_argument("out", metavar="OUT", help="the new file; - is standard output")
    text = "take the weights from another model, or a file of weights, by name"
    parser.add_argument("--weights", metavar="OTHER", help=text)
    flag(add_saving_options(parser), "--dedupe", "store equal tensors once")


def add_saving_options(parser: ArgumentParser) -> argparse._ActionsContainer:
    """Declare how a command writes a model; return the group of options about the weights."""
    group = parser.add_argument_group("where the weights go (default: where they are)")
    kinds = group.add_mutually_exclusive_group()
    # As bytes, since the file may be called "view".
    here = {"dest": "external_data"}
    text = "into the data file F in the folder of OUT"
    valued(kinds, "--external-data", "F", text, type=os.fsencode)
    flag(kinds, "--inline", "into the model", action="store_const", const=False, **here)
    text = "nowhere: OUT refers to IN, which must not change"
    flag(kinds, "--view", text, action="store_const", const="view", **here)
    text = "let values start at multiples of N bytes (default: 4096 in data files)"
    valued(group, "--align", "N", text, type=size, dest="alignment")
    text = "smaller tensors stay in the model (default: 1024)"
    valued(group, "--threshold", "SIZE", text, type=size, default=1024, dest="size_threshold_bytes")
    text = "split a larger data file; a size is written like 512, 64KiB or 2GB"
    valued(group, "--shard-size", "SIZE", text, type=size, dest="max_shard_size_bytes")
    flag(group, "--attributes", "with --external-data and --view: the tensors of attributes, too")
    add_type_options(group)
    flag(group, "--checksum", "note the SHA-1 of each data file in the model")
    flag(group, "--allow-over-2gib", "write a model of more than 2 GiB, which protobuf cannot read")
    writing = parser.add_argument_group("how the files are written")
    text = "the form of OUT (default: by its extension, such as .onnx or .json, else that of IN)"
    writing.add_argument("--format", choices=("protobuf", "textproto", "json"), help=text)
    text = "refuse any name that is taken"
    flag(writing, "--no-overwrite", text, action="store_false", dest="overwrite")
    text = "if OUT is a symbolic link, replace its target, not the link"
    flag(writing, "--follow-symlinks", text)
    add_writing_options(writing)
    return group


def run(arguments: Namespace) -> None:
    """Run `onnxmap save`."""
    check_saving_options(arguments)
    with open_model(arguments.file, arguments) as model:
        if arguments.weights is not None:
            with wrong_values():
                model.rebase(open_model(arguments.weights, arguments))
        report = save_to(model, arguments)
    print_report(report, arguments)


def check_saving_options(arguments: Namespace) -> None:
    """Refuse options that do not fit standard output, before anything is read.

    Raises:
        UsageError: they do not.
    """
    arguments.out = output_of(arguments.out)
    if arguments.out == STANDARD_OUTPUT and arguments.external_data not in (None, False):
        raise UsageError("standard output has no folder for a data file or a view; write to a file")
