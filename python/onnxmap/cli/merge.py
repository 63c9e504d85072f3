"""Make one model of two, which runs A and then B.

Weights go from file to file, and none is read. The inputs and outputs are those of both models,
without the connected ones.

Example: onnxmap merge demo.onnx copy.onnx both.onnx --prefix second.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

import onnxmap
from onnxmap.cli.arguments import pair, valued
from onnxmap.cli.exit_status import UsageError, wrong_values
from onnxmap.cli.model_file import STANDARD_INPUT, complete_names, open_model
from onnxmap.cli.save import check_saving_options
from onnxmap.cli.saving import checked_text
from onnxmap.cli.surgery import add_ending_options, save_or_show


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap merge`."""
    parser.add_argument("file", metavar="A", help="the model that runs first; - is standard input")
    parser.add_argument("other", metavar="B", help="the model that runs then")
    parser.add_argument("out", metavar="OUT", help="the new file; - is standard output")
    text = "let an output of A be an input of B; may be given several times"
    outputs = complete_names(lambda model, _: (x.name for x in model.graph.outputs), "", "=")
    many: Any = {"action": "append", "default": []}
    valued(parser, "--connect", "OUTPUT=INPUT", text, outputs, type=_pair, **many)
    text = "let an input that both have be one; may be given several times"
    inputs = complete_names(lambda model, _: (x.name for x in model.graph.inputs))
    valued(parser, "--share", "INPUT", text, inputs, type=checked_text, **many)
    text = "put TEXT before the names of B's values and nodes"
    valued(parser, "--prefix", "TEXT", text, type=checked_text, default="")
    add_ending_options(parser)


def run(arguments: Namespace) -> None:
    """Run `onnxmap merge`."""
    check_saving_options(arguments)
    if arguments.other == STANDARD_INPUT:
        raise UsageError("only A can be standard input; write B to a file")
    with open_model(arguments.file, arguments) as a, open_model(arguments.other, arguments) as b:
        with wrong_values():
            connect: dict[str, list[str]] = {}
            for output, taken in arguments.connect:
                connect.setdefault(output, []).append(taken)
            merged = onnxmap.merge(a, b, connect, arguments.prefix, arguments.share)
        save_or_show(a, merged, arguments, [])


def _pair(word: str) -> tuple[str, str]:
    return pair(checked_text(word))
