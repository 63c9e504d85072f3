"""Make a model of some tens of megabytes, open it, view every weight, and show what that cost."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from onnxmap.cli.completion import complete_with, folders
from onnxmap.cli.outcome import UsageError

if TYPE_CHECKING:
    from onnxmap.cli.demo.model import DemoFiles

SUMMARY = "make a model, open it, and show what that cost"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap demo`."""
    keep = parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="make the model in this folder and leave it there"
    )
    complete_with(keep, folders)
    parser.add_argument("--json", action="store_true", help="print the findings as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap demo`."""
    from onnxmap.cli.demo.model import DemoFiles, write_demo_model
    from onnxmap.cli.demo.steps import run_demo
    from onnxmap.cli.process_memory import check_is_known

    check_is_known()
    with ExitStack() as cleanup:
        if arguments.keep is None:
            folder = cleanup.enter_context(tempfile.TemporaryDirectory(prefix="onnxmap-demo-"))
            files = DemoFiles.in_folder(Path(folder))
        else:
            files = DemoFiles.in_folder(arguments.keep)
            _make_room(files)
        write_demo_model(files)
        sizes = {str(path): path.stat().st_size for path in (files.model, files.weights)}
        facts = run_demo(files)
    if arguments.json:
        json.dump({"files": sizes, **asdict(facts)}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        from onnxmap.cli.demo.page import page
        from onnxmap.cli.screen import draw, open_screen

        draw(page(open_screen(), sizes, facts, kept=arguments.keep is not None))
    return 0


def _make_room(files: DemoFiles) -> None:
    """Make the folder if it does not exist. Existing files are not overwritten."""
    files.model.parent.mkdir(parents=True, exist_ok=True)
    for path in (files.model, files.weights):
        if path.exists():
            raise UsageError(f"{path} exists already: choose another folder")
