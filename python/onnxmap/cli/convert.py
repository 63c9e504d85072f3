"""Convert between files of weights: .onnx, .safetensors and .npz, by their extensions.

Example: onnxmap convert layers.safetensors layers.npz --dtype float32
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from onnxmap.cli import extract
from onnxmap.cli.arguments import flag, valued
from onnxmap.cli.exit_status import UsageError
from onnxmap.cli.model_file import WEIGHT_FILES, open_model
from onnxmap.cli.saving import (
    add_type_options,
    add_writing_options,
    print_report,
    save_to,
)

MODEL_FILES = (".onnx", ".textproto", ".json")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap convert`."""
    text = "a model, a file of weights, or the index of a sharded checkpoint"
    parser.add_argument("file", metavar="IN", help=text)
    parser.add_argument("out", metavar="OUT", help="the new file; for .npy, IN has one tensor")
    text = "for a model: put its weights into the data file F in the folder of OUT"
    valued(parser, "--external-data", "F", text, type=os.fsencode, default=False)
    flag(parser, "--allow-over-2gib", "write a model of more than 2 GiB")
    add_type_options(parser)
    add_writing_options(parser)


def run(arguments: Namespace) -> None:
    """Run `onnxmap convert`."""
    if arguments.out.endswith((*WEIGHT_FILES, ".npy")):
        if arguments.external_data or arguments.allow_over_2gib:
            raise UsageError("--external-data and --allow-over-2gib are for models")
        arguments.names = []
        extract.run(arguments)
        return
    if not arguments.out.endswith(MODEL_FILES):
        known = ", ".join((*MODEL_FILES, *WEIGHT_FILES, ".npy"))
        raise UsageError(f"{arguments.out} has no extension of a model or of weights: {known}")
    with open_model(arguments.file, arguments) as model:
        report = save_to(model, arguments)
    print_report(report, arguments)
