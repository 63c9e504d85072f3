"""Write a page about a model, or about what differs from another: one HTML file, for offline use.

It needs the extra `report`.

Example: onnxmap report demo.onnx -o demo.html
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from onnxmap.cli.model_file import open_models
from onnxmap.cli.text import print_json
from onnxmap.errors import printable


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap report`."""
    parser.add_argument("file", metavar="FILE", help="the model; - is standard input")
    parser.add_argument("other", metavar="OTHER", nargs="?", help="a model to compare it with")
    parser.add_argument("-o", dest="out", metavar="OUT", default="report.html", help="the page")


def run(arguments: Namespace) -> None:
    """Run `onnxmap report`."""
    files = list(filter(None, (arguments.file, arguments.other)))
    model, *others = open_models(files, arguments)
    model.report(arguments.out, *others)
    if arguments.json:
        print_json({"file": arguments.out})
    elif arguments.out != "/dev/stdout":
        print(printable(arguments.out))
