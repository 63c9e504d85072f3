"""Copy a model with its data files, so that the two models share nothing.

In another folder, data files keep their names if these are plainly names of data files; others are
named after the new model. Beside the old model, and where other models use
the same data file, the copy gets one of its own: cp a.onnx b.onnx copies a.onnx.data to
b.onnx.data. Only bytes that tensors use are copied.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict

from onnxmap._model_files import MODEL_SUFFIX
from onnxmap._neighbours import neighbours
from onnxmap._paths import is_url
from onnxmap.cli.data_files import data_files, has_checksums, new_locations
from onnxmap.cli.destination import DataPlaces, add_place_arguments, check_free, destination
from onnxmap.cli.model_file import open_model
from onnxmap.cli.outcome import DONE
from onnxmap.cli.saving import print_json, print_rows, report_rows, sizes_in_words

SUMMARY = "copy a model with its data files"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap cp`."""
    add_place_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap cp`."""
    from onnxmap._saving import save_with_copies
    from onnxmap.cli.saving_bar import SavingBar

    out = destination(arguments)
    with open_model(arguments.file, arguments) as model:
        places = DataPlaces(out, arguments, may_stay=False)
        copies = _copies(arguments.file, out, data_files(model), places)
        check_free(out, copies.values(), arguments)
        with SavingBar() as bar:
            report = save_with_copies(
                model,
                out,
                {os.fsencode(old): os.fsencode(new) for old, new in copies.items()},
                checksum=has_checksums(model),
                overwrite=arguments.overwrite,
                replace_read_only=arguments.replace_read_only,
                sync=not arguments.no_sync,
                progress=bar,
            )
    if arguments.json:
        print_json({"copies": copies, **asdict(report)})
    else:
        print_rows(report_rows(report))
        print(sizes_in_words(report))
    return DONE


def _copies(
    file: str, out: str, files: dict[str, str | None], places: DataPlaces
) -> dict[str, str]:
    """The new location of each data file."""
    name = os.path.basename(out)
    if is_url(os.fsencode(file)):
        return new_locations(files, name, name, (), places.may_have)
    folder = os.path.dirname(os.path.abspath(file))
    own = set(files)
    if not os.path.samefile(folder, os.path.dirname(out)):
        paths = {location: path for location, path in files.items() if path is not None}
        folders = [folder, *map(os.path.dirname, paths.values())]
        others = neighbours(folders, [file, os.path.realpath(file)])
        own = {
            location
            for location, path in paths.items()
            if others.owner_of(path) or location.lower().endswith(MODEL_SUFFIX)
        }
    return new_locations(files, os.path.basename(file), name, own, places.may_have)
