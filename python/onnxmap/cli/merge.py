"""Make one model of two, which runs A and then B.

Weights go from file to file, and none is read. The inputs and outputs are those of both models,
without the connected ones.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

import onnxmap
from onnxmap.cli.arguments import each_once, pair, valued
from onnxmap.cli.exit_status import UsageError, wrong_values
from onnxmap.cli.model_file import STANDARD_INPUT, open_model
from onnxmap.cli.save import add_saving_options, check_saving_options
from onnxmap.cli.saving import check_text
from onnxmap.cli.surgery import add_dry_run, save_or_show


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap merge`."""
    parser.add_argument("file", metavar="A", help="the model that runs first; - is standard input")
    parser.add_argument("other", metavar="B", help="the model that runs then")
    parser.add_argument("out", metavar="OUT", help="the new file; - is standard output")
    text = "let an output of A be an input of B; may be given several times"
    many: Any = {"type": pair, "action": "append", "default": []}
    valued(parser, "--connect", "OUTPUT=INPUT", text, **many)
    text = "put TEXT before the names of B's values and nodes"
    valued(parser, "--prefix", "TEXT", text, default="")
    add_dry_run(parser)
    add_saving_options(parser)


def run(arguments: Namespace) -> None:
    """Run `onnxmap merge`."""
    check_saving_options(arguments)
    if arguments.other == STANDARD_INPUT:
        raise UsageError("only A can be standard input; write B to a file")
    for word in (arguments.prefix, *(name for names in arguments.connect for name in names)):
        check_text(word)
    connect = each_once(arguments.connect)
    with (
        open_model(arguments.file, arguments) as model,
        open_model(arguments.other, arguments) as other,
    ):
        with wrong_values():
            merged = onnxmap.merge(model, other, connect, arguments.prefix)
        save_or_show(model, merged, arguments, [])
