"""Check models against the rules of the ONNX specification, without reading their weights.

Exit status: 0 no errors, 1 errors, 2 a file cannot be read. Warnings and hints are no errors.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import onnxmap
from onnxmap.cli.arguments import flag
from onnxmap.cli.exit_status import BAD_INPUT, DONE, FINDINGS, wrong_values
from onnxmap.cli.model_file import open_model_or_operators, opened
from onnxmap.cli.text import escape, print_json_list, short_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap check`."""
    parser.add_argument(
        "names", nargs="+", metavar="FILE", help="a model or operator set; - is standard input"
    )
    flag(parser, "--values", "also read what only the values of tensors tell")
    flag(parser, "--strict", "also give advice that many good models do not follow")
    flag(parser, "--no-operators", "do not compare nodes with the signatures of their operators")
    flag(parser, "--full", "also ask onnx.checker, with its inference (needs the extra onnx)")
    parser.add_argument(
        "--select", metavar="RULES", help="look for these rules alone: node.*,value.cycle"
    )
    parser.add_argument("--ignore", metavar="RULES", help="leave these rules out")
    flag(parser, "--json", "print a list of objects, one a line")


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap check`."""
    reports = opened(_report, arguments)
    if arguments.json:
        print_json_list({"model": name, **report.to_dict()} for name, report in reports.items())
    else:
        for name, report in reports.items():
            _write_lines(name, report)
    if len(reports) < len(set(arguments.names)):
        return BAD_INPUT
    return DONE if all(report.ok for report in reports.values()) else FINDINGS


def _report(name: str, arguments: argparse.Namespace) -> onnxmap.CheckReport:
    options: Any = {each: _names(getattr(arguments, each)) for each in ("select", "ignore")}
    options["strict"] = arguments.strict
    checked = open_model_or_operators(name, arguments)
    with wrong_values():  # the names of rules
        if isinstance(checked, onnxmap.OperatorSet):
            return checked.check(**options)
        options |= {"values": arguments.values, "full": arguments.full}
        return checked.check(operators=not arguments.no_operators, **options)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [each.strip() for each in text.split(",")]


def _write_lines(name: str, report: onnxmap.CheckReport) -> None:
    sys.stdout.write(f"{escape(short_path(name))}: {report.summary()}\n")
    for line in report.lines():
        sys.stdout.write(f"  {line}\n")
