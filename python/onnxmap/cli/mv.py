"""Move or rename a model with its data files.

Data files named after the model get the new name: m.onnx.data becomes n.onnx.data. Others keep
theirs; in another folder, only if these are plainly names of data files. Into another folder of the
same file system, data files are renamed, not copied. A file that another model uses stays, and is
copied if the folder is another one.

Example: onnxmap mv demo.onnx moved.onnx
"""

from __future__ import annotations

from argparse import Namespace

import onnxmap
from onnxmap.cli.saving import add_copying_arguments, copied, print_rows
from onnxmap.cli.text import print_json, short_path

add_arguments = add_copying_arguments


def run(arguments: Namespace) -> None:
    """Run `onnxmap mv`."""
    report = copied(onnxmap.move_model, arguments)
    rows = [("moved", *pair) for pair in report.moved.items()]
    rows += [("copied", *pair) for pair in report.copied.items()]
    if arguments.json:
        files = [{"how": how, "from": old, "to": new} for how, old, new in rows]
        stays = [{"file": old, "why": why or None} for old, why in report.stays.items()]
        print_json({"files": files, "stays": stays, "left_over": report.left_over})
        return
    shown = [(word, old, f"to {short_path(new)}") for word, old, new in rows]
    shown += [("stays", old, f"because {why}") for old, why in report.stays.items() if why]
    print_rows(shown, report.left_over)
