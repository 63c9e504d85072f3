"""The place that `onnxmap cp` and `onnxmap mv` are told: a folder, or the name of a file."""

from __future__ import annotations

import argparse
import os
import posixpath
from collections.abc import Iterable
from urllib.parse import urlsplit

from onnxmap import _core
from onnxmap._data_names import is_plain
from onnxmap._model_files import external_paths
from onnxmap._neighbours import file_id, neighbours
from onnxmap._paths import is_url
from onnxmap.cli.completion import complete_with
from onnxmap.cli.model_file import STANDARD_INPUT, add_opening_options
from onnxmap.cli.outcome import UsageError
from onnxmap.cli.saving import add_read_only_option, add_sync_option
from onnxmap.errors import OnnxMapError


def add_place_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare IN, OUT, and the options that `cp` and `mv` share."""
    parser.add_argument("file", metavar="IN", help="the model, a file")
    out = parser.add_argument("out", metavar="OUT", help="a folder, or the name of the new file")
    complete_with(out, _complete_place)
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace OUT, and data files that only the old model of that name uses",
    )
    add_read_only_option(parser)
    add_sync_option(parser)
    parser.add_argument("--json", action="store_true", help="print what was done as a JSON object")
    add_opening_options(parser)


def _complete_place(prefix: str, **_: object) -> Iterable[str]:
    from argcomplete.completers import FilesCompleter

    return FilesCompleter()(prefix)


def destination(arguments: argparse.Namespace) -> str:
    """Return the absolute path of the new file.

    Raises:
        UsageError: it is the old file; a name is taken; one of them is a dash.
        SaveError: it is a device, or a link to one or into /proc.
        PermissionError: it must not be written to.
    """
    command = arguments.parser.prog.split()[-1]
    if STANDARD_INPUT in (arguments.file, arguments.out):
        raise UsageError(f"{command} takes files; for a file of that name write ./-")
    out = os.path.abspath(arguments.out)
    if os.path.isdir(out):
        out = os.path.join(out, _name(arguments.file))
    elif arguments.out.endswith("/"):
        raise UsageError(f"{arguments.out} is no folder")
    is_old = os.path.exists(arguments.file) and os.path.exists(out)
    if is_old and os.path.samefile(out, arguments.file):
        raise UsageError(f"{arguments.file} and {arguments.out} are the same file")
    if os.path.lexists(out) and not arguments.overwrite:
        raise UsageError(f"{out} exists; --overwrite replaces it")
    if os.path.isdir(os.path.dirname(out)):
        _core.check_output(os.fsencode(out), arguments.replace_read_only)
    return out


def _name(file: str) -> str:
    if is_url(os.fsencode(file)):
        return posixpath.basename(urlsplit(file).path)
    return os.path.basename(os.path.normpath(file))


def check_free(out: str, locations: Iterable[str], arguments: argparse.Namespace) -> None:
    """Refuse to write files whose names are taken.

    Args:
        out: the path of the new model, whose name `destination` has checked.
        locations: where its data files will be.
        arguments: with `overwrite`, names of data files may be taken (see `DataPlaces`), and OUT
            if no model has values there.

    Raises:
        UsageError: a name is taken.
        UnsafePathError: a location leads out of the folder, by its text or by a link.
    """
    from onnxmap._save_paths import check_location

    folder = os.path.dirname(out)
    locations = list(locations)
    for location in locations:
        check_location(os.fsencode(folder), os.fsencode(location))
    paths = [os.path.join(folder, location) for location in locations]
    taken = [path for path in paths if os.path.lexists(path)]
    if not arguments.overwrite:
        if taken:
            raise UsageError(f"{taken[0]} exists; --overwrite replaces it")
        return
    if not os.path.lexists(out):
        return
    old = [] if is_url(os.fsencode(arguments.file)) else [os.path.abspath(arguments.file)]
    if (user := neighbours([folder], [out], old).user_of(out)) is not None:
        raise UsageError(f"{out} has values of {user}")


class DataPlaces:
    """The places of data files beside a new model.

    Args:
        out: the path of the new model.
        arguments: with `overwrite`, data files that only the old model at `out` uses are replaced.
        may_stay: whether a file of the old model may be a file of the new one in the same folder.
    """

    def __init__(self, out: str, arguments: argparse.Namespace, *, may_stay: bool) -> None:
        self._out = out
        self._folder = os.path.dirname(out)
        self._overwrite = arguments.overwrite
        self._may_stay = may_stay
        self._file = arguments.file
        self._is_same = not is_url(os.fsencode(self._file)) and os.path.samefile(
            self._folder, os.path.dirname(os.path.abspath(self._file))
        )

    def may_have(self, location: str, old_location: str) -> bool:
        """Return whether a data file may get a location.

        A name that is taken is refused later, unless `overwrite` lets another name be chosen.
        """
        if self._is_same and location == old_location:
            return self._may_stay
        if not is_plain(location, self._folder):
            return False
        path = os.path.join(self._folder, location)
        return not self._overwrite or not os.path.lexists(path) or self._is_replaced(path)

    def _is_replaced(self, path: str) -> bool:
        try:
            own = {file_id(each) for each in external_paths(self._out)}
        except (OnnxMapError, OSError, ImportError):  # there is no old model
            return False
        old = [] if is_url(os.fsencode(self._file)) else [os.path.abspath(self._file)]
        others = neighbours([self._folder, os.path.dirname(path)], [self._out], old)
        return (
            not os.path.islink(path)
            and file_id(path) in own
            and others.owner_of(path) is None
            and others.unreadable is None
        )
