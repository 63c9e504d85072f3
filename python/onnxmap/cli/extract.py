"""Write weights of a model to a file: safetensors, or arrays of NumPy."""

from __future__ import annotations

import argparse

from onnxmap.cli.arguments import flag, valued
from onnxmap.cli.bar import progress_bar
from onnxmap.cli.completion import files
from onnxmap.cli.exit_status import DONE, wrong_values
from onnxmap.cli.model_file import add_opening_options, complete_names, open_model
from onnxmap.cli.names import chosen_tensors
from onnxmap.cli.saving import (
    add_type_options,
    add_writing_options,
    print_report,
    type_options,
    writing_options,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap extract`."""
    parser.add_argument("file", metavar="FILE", help="the model; - is standard input")
    of_model = complete_names(lambda model, _: model.initializers.names())
    text = "write only these: a name, or a glob like '*.bias'"
    valued(parser, "names", "NAME", text, of_model, nargs="*", default=[])
    text = "the new file: .safetensors, .npz, or .npy for one tensor"
    valued(parser, "-o", "OUT", text, files, dest="out", required=True)
    flag(parser, "--json", "print the report as a JSON object")
    add_type_options(parser)
    add_writing_options(parser)
    add_opening_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap extract`."""
    with open_model(arguments.file, arguments) as model:
        names = chosen_tensors(model, arguments.names)
        with wrong_values(), progress_bar() as bar:
            options = writing_options(arguments, bar) | type_options(arguments)
            report = model.extract_weights(arguments.out, names, **options)
    print_report(report, arguments)
    return DONE
