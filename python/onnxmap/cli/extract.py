"""Write weights of a model to a file: safetensors, or arrays of NumPy.

Example: onnxmap extract demo.onnx 'layers.*' -o layers.safetensors
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from onnxmap.cli.arguments import chosen, valued
from onnxmap.cli.bar import progress_bar
from onnxmap.cli.exit_status import wrong_values
from onnxmap.cli.model_file import complete_initializers, open_model
from onnxmap.cli.names import chosen_tensors
from onnxmap.cli.saving import (
    CHANGING_TYPES,
    WRITING,
    add_type_options,
    add_writing_options,
    print_report,
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap extract`."""
    parser.add_argument("file", metavar="FILE", help="the model; - is standard input")
    text = "write only these: a name, or a glob like '*.bias'"
    valued(parser, "names", "NAME", text, complete_initializers, nargs="*", default=[])
    text = "the new file: .safetensors, .npz, or .npy for one tensor"
    parser.add_argument("-o", dest="out", metavar="OUT", required=True, help=text)
    add_type_options(parser)
    add_writing_options(parser)


def run(arguments: Namespace) -> None:
    """Run `onnxmap extract`."""
    with open_model(arguments.file, arguments) as model:
        names = chosen_tensors(model, arguments.names)
        with wrong_values(), progress_bar() as bar:
            options = chosen(arguments, (*WRITING, *CHANGING_TYPES))
            report = model.extract_weights(arguments.out, names, progress=bar, **options)
    print_report(report, arguments)
