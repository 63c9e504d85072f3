"""Rename an initializer of a model, with everything that uses it."""

from __future__ import annotations

import argparse
import sys

from onnxmap._names import unknown_name
from onnxmap._text import counted, escape
from onnxmap.cli.completion import complete_with, nothing
from onnxmap.cli.model_file import STANDARD_INPUT, add_opening_options, open_model
from onnxmap.cli.outcome import DONE, UsageError
from onnxmap.cli.saving import (
    STANDARD_OUTPUT,
    add_place_options,
    check_text,
    is_large,
    open_to_edit,
    place,
    print_report,
    save_to,
)
from onnxmap.errors import OnnxMapError

SUMMARY = "rename an initializer, with everything that uses it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap rename-tensor`."""
    parser.add_argument("file", metavar="FILE", help="the model; - is standard input")
    old = parser.add_argument("old", metavar="OLD", help="the name of an initializer")
    complete_with(old, _complete_name)
    new = parser.add_argument("new", metavar="NEW", help="its new name")
    complete_with(new, nothing)
    add_place_options(parser)
    add_opening_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap rename-tensor`."""
    check_text(arguments.new)
    file, out = place(arguments)
    with open_to_edit(file, out, arguments) as model:
        if arguments.old not in model.initializers:
            known = model.initializers.names()
            raise UsageError(str(unknown_name("tensor", arguments.old, known)))
        try:
            model.initializers.rename(arguments.old, arguments.new)
        except OnnxMapError:
            raise
        except ValueError as error:
            raise UsageError(str(error)) from None
        uses = len(model.graph.uses(arguments.new))
        report = save_to(model, out, arguments, allow_over_2gib=is_large(model))
    if out == STANDARD_OUTPUT:
        return DONE
    if not arguments.json:
        names = f"{arguments.old!r} to {arguments.new!r}"
        sys.stdout.write(f"renamed {escape(names)} and {counted(uses, 'use')}\n")
    print_report(report, arguments, {"uses": uses})
    return DONE


def _complete_name(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    if parsed_args.file == STANDARD_INPUT:
        return []
    try:
        with open_model(parsed_args.file, parsed_args) as model:
            names = model.initializers.names()
    except (OnnxMapError, OSError):
        return []
    return [name for name in names if name.startswith(prefix) and name.isprintable()]
