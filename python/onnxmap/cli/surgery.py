"""What the commands that change the structure of a model share: how they end."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

import onnxmap
from onnxmap.cli.arguments import flag
from onnxmap.cli.bar import progress_bar
from onnxmap.cli.diff import print_diff
from onnxmap.cli.save import add_saving_options
from onnxmap.cli.saving import print_report, save_to
from onnxmap.cli.table import Column, Name, Number, Text, print_table


def add_ending_options(parser: ArgumentParser) -> None:
    """Declare how the model is saved, or `--dry-run`."""
    flag(parser, "--dry-run", "write nothing, and print what would be different")
    add_saving_options(parser)


def save_or_show(
    before: onnxmap.Model, model: onnxmap.Model, arguments: Namespace, verbs: list[dict[str, Any]]
) -> None:
    """Save a model, or print with `--dry-run` how it differs from the one before.

    Args:
        before: the model without the changes.
        model: the model.
        arguments: the command line.
        verbs: the name of each change, as "verb", and the names in its report.
    """
    report = None if arguments.dry_run else save_to(model, arguments)
    if not arguments.json and (report is None or report.files):  # else the model may go there
        parts = (
            (str(each["verb"]), part.replace("_", " "), str(len(names)), ", ".join(names))
            for each in verbs
            for part, names in each.items()
            if part != "verb" and names
        )
        print_table([Name(), Column(), Number(), Text()], list(parts))
    if report is not None:
        print_report(report, arguments, verbs=verbs)
    else:
        with progress_bar("comparing") as bar:
            found = onnxmap.diff(before, model, progress=bar)
        print_diff(found, arguments, verbs=verbs)
