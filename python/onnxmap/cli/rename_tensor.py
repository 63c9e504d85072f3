"""Rename an initializer of a model, with everything that uses it.

Example: onnxmap rename-tensor demo.onnx head.weight lm_head.weight
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from onnxmap._base.text import counted
from onnxmap.cli.arguments import valued
from onnxmap.cli.exit_status import wrong_values
from onnxmap.cli.model_file import complete_initializers, open_model
from onnxmap.cli.names import unknown_name
from onnxmap.cli.saving import (
    add_place_options,
    checked_text,
    print_report,
    save_edited,
    settle_place,
)
from onnxmap.errors import UnknownNameError, printable


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap rename-tensor`."""
    parser.add_argument("file", metavar="FILE", help="the model; - is standard input")
    valued(parser, "old", "OLD", "the name of an initializer", complete_initializers)
    valued(parser, "new", "NEW", "its new name", type=checked_text)
    add_place_options(parser)


def run(arguments: Namespace) -> None:
    """Run `onnxmap rename-tensor`."""
    settle_place(arguments)
    with open_model(arguments.file, arguments) as model:
        try:
            with wrong_values():
                model.initializers.rename(arguments.old, arguments.new)
        except UnknownNameError as error:
            raise unknown_name("tensor", arguments.old, error.nearest) from None
        uses = len(model.graph.uses(arguments.new))
        report = save_edited(model, arguments)
    if report.files and not arguments.json:
        names = f"{arguments.old!r} to {arguments.new!r}"
        sys.stdout.write(f"renamed {printable(names)} and {counted(uses, 'use')}\n")
    print_report(report, arguments, uses=uses)
