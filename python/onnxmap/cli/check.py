"""Check models against the rules of the ONNX specification, without reading their weights.

Exit status: 0 no errors, 1 errors, 2 a file cannot be read. Warnings and hints are no errors.

Example: onnxmap check demo.onnx --ignore 'tensor.*,node.name_repeated'
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import onnxmap
from onnxmap.cli.arguments import chosen, flag, last_of, valued
from onnxmap.cli.exit_status import BAD_INPUT, DONE, FINDINGS, with_options, wrong_values
from onnxmap.cli.model_file import open_model_or_operators, opened
from onnxmap.cli.text import print_json_list, short_path
from onnxmap.errors import printable
from onnxmap.types import rule_names


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap check`."""
    text = "a model or operator set; - is standard input"
    parser.add_argument("names", nargs="+", metavar="FILE", help=text)
    flag(parser, "--values", "also check what only the values of tensors show")
    flag(parser, "--strict", "also give advice that many good models do not follow")
    text = "do not compare nodes with the signatures of their operators"
    flag(parser, "--no-operators", text, action="store_false", dest="operators")
    flag(parser, "--full", "also ask onnx.checker, with its inference (needs the extra onnx)")
    text = "look for these rules alone: node.*,value.cycle"
    valued(parser, "--select", "RULES", text, _complete_rules, type=_rules)
    valued(parser, "--ignore", "RULES", "leave these rules out", _complete_rules, type=_rules)


def run(arguments: Namespace) -> int:
    """Run `onnxmap check`."""
    reports = opened(_report, arguments)
    if arguments.json:
        print_json_list({"model": name, **report.to_dict()} for name, report in reports.items())
    else:
        for name, report in reports.items():
            head = f"{printable(short_path(name))}: {report.summary()}"
            lines = (with_options(line, arguments) for line in report.lines())
            print(head, *lines, sep="\n  ")
    if len(reports) < len(set(arguments.names)):
        return BAD_INPUT
    return DONE if all(report.ok for report in reports.values()) else FINDINGS


def _report(name: str, arguments: Namespace) -> onnxmap.CheckReport:
    options = chosen(arguments, ("select", "ignore", "strict"))
    checked = open_model_or_operators(name, arguments)
    with wrong_values():  # the names of rules
        if isinstance(checked, onnxmap.OperatorSet):
            return checked.check(**options)
        options |= chosen(arguments, ("values", "full", "operators"))
        return checked.check(**options)


def _complete_rules(prefix: str, **_: object) -> list[str]:
    return last_of(prefix, ",", rule_names())


def _rules(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")]
