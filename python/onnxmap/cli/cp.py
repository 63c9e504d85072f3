"""Copy a model with its data files, so that the two models share nothing.

In another folder, data files keep their names if these are plainly names of data files; others are
named after the new model. Beside the old model, and where other models use
the same data file, the copy gets one of its own: cp a.onnx b.onnx copies a.onnx.data to
b.onnx.data. Only bytes that tensors use are copied.

Example: onnxmap cp demo.onnx copy.onnx
"""

from __future__ import annotations

from argparse import Namespace

import onnxmap
from onnxmap.cli.saving import add_copying_arguments, copied, print_report

add_arguments = add_copying_arguments


def run(arguments: Namespace) -> None:
    """Run `onnxmap cp`."""
    report = copied(onnxmap.copy_model, arguments)
    print_report(report, arguments, copies=report.copies)
