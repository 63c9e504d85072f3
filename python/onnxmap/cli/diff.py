"""Show what differs between two models: metadata, nodes, tensors and everything else.

The first ten differences of each kind are shown; --json has all of them. The form in which tensors
are stored is no difference. Exit status: 0 the same, 1 different.

Example: onnxmap diff demo.onnx copy.onnx --atol 1e-6
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Any

import onnxmap
from onnxmap.cli.arguments import chosen, flag
from onnxmap.cli.bar import progress_bar
from onnxmap.cli.exit_status import DONE, FINDINGS, wrong_values
from onnxmap.cli.model_file import open_models


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap diff`."""
    parser.add_argument("a", metavar="A", help="a model; - is standard input")
    parser.add_argument("b", metavar="B", help="the model to compare it with")
    for name in ("--atol", "--rtol"):
        text = "numbers are the same if |a - b| <= ATOL + RTOL * |b|"
        parser.add_argument(name, type=float, default=0.0, metavar="N", help=text)
    text = "also ignore metadata, docs or names (of nodes); may be given several times"
    words = ("metadata", "docs", "names")
    parser.add_argument("--ignore", choices=words, action="append", default=[], help=text)
    flag(parser, "--cast", "compare tensors of two floating-point types by value")


def run(arguments: Namespace) -> int:
    """Run `onnxmap diff`."""
    how = chosen(arguments, ("atol", "rtol", "ignore", "cast"))
    a, b = open_models((arguments.a, arguments.b), arguments)
    with a, b, progress_bar("comparing") as bar, wrong_values():
        found = onnxmap.diff(a, b, progress=bar, **how)
    print_diff(found, arguments)
    return DONE if found.same else FINDINGS


def print_diff(found: onnxmap.ModelDiff, arguments: Namespace, **said: Any) -> None:
    """Print differences; with `json` an object, which begins with what was `said`."""
    if arguments.json:
        print(json.dumps({**said, **found.to_dict()}))
    else:
        print(found)
