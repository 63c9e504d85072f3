"""Check models against the rules of the ONNX specification, without reading their weights.

Exit status: 0 no errors, 1 errors, 2 a file cannot be read. Warnings and hints are no errors.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from onnxmap._text import escape
from onnxmap.cli.model_file import add_opening_options, open_model_or_operators
from onnxmap.cli.outcome import BAD_INPUT, DONE, FINDINGS, UsageError, complain
from onnxmap.cli.text import short_path
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    from onnxmap._checking import CheckReport

SUMMARY = "check models against the rules of the ONNX specification"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap check`."""
    parser.add_argument(
        "names", nargs="+", metavar="FILE", help="a model or operator set; - is standard input"
    )
    parser.add_argument(
        "--values", action="store_true", help="also read what only the values of tensors tell"
    )
    parser.add_argument(
        "--strict", action="store_true", help="also give advice that many good models do not follow"
    )
    parser.add_argument(
        "--operators",
        action="store_true",
        help="also ask onnx.checker whether nodes fit their operators (needs the extra onnx)",
    )
    parser.add_argument(
        "--select", metavar="RULES", help="look for these rules alone: node.*,value.cycle"
    )
    parser.add_argument("--ignore", metavar="RULES", help="leave these rules out")
    parser.add_argument("--json", action="store_true", help="print a list of objects, one a line")
    add_opening_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap check`."""
    reports = {
        name: report
        for name in dict.fromkeys(arguments.names)
        if (report := _report(name, arguments)) is not None
    }
    if arguments.json:
        _write_json(reports)
    else:
        for name, report in reports.items():
            _write_lines(name, report)
    if len(reports) < len(set(arguments.names)):
        return BAD_INPUT
    return DONE if all(report.ok for report in reports.values()) else FINDINGS


def _report(name: str, arguments: argparse.Namespace) -> CheckReport | None:
    """The report, or None after an error message: the other models are still checked."""
    try:
        return _checked(name, arguments)
    except (OnnxMapError, OSError) as failure:
        complain(failure, arguments.parser.format_usage())
        return None


def _checked(name: str, arguments: argparse.Namespace) -> CheckReport:
    import onnxmap

    options = {
        "strict": arguments.strict,
        "select": _names(arguments.select),
        "ignore": _names(arguments.ignore),
    }
    checked = open_model_or_operators(name, arguments)
    try:
        if isinstance(checked, onnxmap.OperatorSet):
            return checked.check(**options)
        return checked.check(values=arguments.values, operators=arguments.operators, **options)
    except ValueError as failure:  # of the names of rules
        if isinstance(failure, OnnxMapError):
            raise
        raise UsageError(str(failure)) from failure


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [each.strip() for each in text.split(",")]


def _write_json(reports: dict[str, CheckReport]) -> None:
    from onnxmap._checking import to_json

    lines = ",\n ".join(
        json.dumps({"model": name, **to_json(report)}) for name, report in reports.items()
    )
    sys.stdout.write(f"[{lines}]\n")


def _write_lines(name: str, report: CheckReport) -> None:
    sys.stdout.write(f"{escape(short_path(name))}: {report.summary()}\n")
    for line in report.lines():
        sys.stdout.write(f"  {line}\n")
