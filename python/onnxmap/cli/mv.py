"""Move or rename a model with its data files.

Data files named after the model get the new name: m.onnx.data becomes n.onnx.data. Others keep
theirs; in another folder, only if these are plainly names of data files. Into another folder of the
same file system, data files are renamed, not copied. A file that another model uses stays, and is
copied if the folder is another one.
"""

from __future__ import annotations

import argparse
import os
import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnxmap._model_files import MODEL_SUFFIX
from onnxmap._neighbours import Neighbours, neighbours
from onnxmap._paths import is_url
from onnxmap._text import escape
from onnxmap.cli.data_files import data_files, has_checksums, new_locations, renamed
from onnxmap.cli.destination import DataPlaces, add_place_arguments, check_free, destination
from onnxmap.cli.model_file import open_model
from onnxmap.cli.outcome import DONE, UsageError
from onnxmap.cli.renaming import FileMoves, Place, folders_of
from onnxmap.cli.saving import print_json, print_rows
from onnxmap.cli.text import short_path

if TYPE_CHECKING:
    import onnxmap

SUMMARY = "move or rename a model with its data files"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap mv`."""
    add_place_arguments(parser)


@dataclass
class _Plan:
    """What happens to the data files, by location: the new location, or why a file stays."""

    file: str
    out: str
    moves: dict[str, str] = field(default_factory=dict)
    copies: dict[str, str] = field(default_factory=dict)
    stays: dict[str, str] = field(default_factory=dict)
    removable: set[str] = field(default_factory=set)  # copied files that nobody else needs
    paths: dict[str, str] = field(default_factory=dict)  # of the old files

    def is_a_rename(self) -> bool:
        """Whether the file of the model can be moved as it is."""
        return not self.moves and not self.copies

    def new_place(self, location: str) -> Place:
        new = self.moves.get(location) or self.copies[location]
        return Place(os.path.dirname(self.out), new)

    def files(self, locations: Iterable[str]) -> dict[Place, Place]:
        """The old place by the new one; a file may have several spellings of its location."""
        folder = os.path.dirname(self.file)
        return {self.new_place(location): Place(folder, location) for location in locations}


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap mv`."""
    file = os.path.abspath(arguments.file)
    out = destination(arguments)
    if is_url(os.fsencode(arguments.file)):
        raise UsageError("only a local file can be moved; onnxmap cp copies from a URL")
    if os.path.islink(file):
        raise UsageError(f"{arguments.file} is a symbolic link; move the file that it leads to")
    with open_model(file, arguments) as model:
        plan = _plan(model, file, out, DataPlaces(out, arguments, may_stay=True))
        check_free(out, [*plan.moves.values(), *plan.copies.values()], arguments)
        left_over = _carry_out(plan, model, file, arguments)
    _tell(plan, file, left_over, arguments)
    return DONE


def _plan(model: onnxmap.Model, file: str, out: str, places: DataPlaces) -> _Plan:
    plan = _Plan(file, out)
    files = data_files(model)
    plan.paths = {location: path for location, path in files.items() if path is not None}
    folder = os.path.dirname(file)
    others = neighbours([folder, *map(os.path.dirname, plan.paths.values())], [file])
    if (user := others.user_of(file)) is not None:
        raise UsageError(f"{user} is a view of {file}, and would lose its weights")
    is_same_folder = os.path.samefile(folder, os.path.dirname(out))
    own = set()
    if not is_same_folder:
        own = {
            location
            for location, path in plan.paths.items()
            if others.owner_of(path) or location.lower().endswith(MODEL_SUFFIX)
        }
    names = os.path.basename(file), os.path.basename(out)
    new = new_locations(files, *names, own, places.may_have)
    for location in files:
        why = _why_it_stays(plan, location, folder, others)
        is_renamed = new[location] != posixpath.normpath(location)
        if is_same_folder and (why is not None or not is_renamed):
            plan.stays[location] = why or ""
        elif why is None and _can_rename(plan, location, new[location]):
            plan.moves[location] = new[location]
        else:
            plan.copies[location] = new[location]
            if why is None:
                plan.removable.add(location)
            else:
                plan.stays[location] = why
    return plan


def _why_it_stays(plan: _Plan, location: str, folder: str, others: Neighbours) -> str | None:
    """Why a data file must stay where it is; None if it may be moved."""
    path = plan.paths.get(location)
    if path is None:
        return "it cannot be opened"
    if os.path.islink(path):
        return "it is a symbolic link"
    real = os.path.realpath(path)
    inside = os.path.join(os.path.realpath(folder), "")
    if not real.startswith(inside) or real != os.path.realpath(os.path.join(folder, location)):
        return "it is in another folder"
    if (user := others.owner_of(path)) is not None:
        return f"{escape(os.path.basename(user))} uses it"
    if others.unreadable is not None:
        return f"{escape(os.path.basename(others.unreadable))} may use it"
    return None


def _can_rename(plan: _Plan, location: str, new: str) -> bool:
    """Whether the file system can rename the data file, and nothing is replaced by that."""
    folder = os.path.dirname(plan.out)
    is_taken = os.path.lexists(plan.out) or os.path.lexists(os.path.join(folder, new))
    return not is_taken and _share_file_system(plan.paths[location], folder)


def _share_file_system(path: str, other: str) -> bool:
    return os.stat(path).st_dev == os.stat(other).st_dev


def _carry_out(
    plan: _Plan, model: onnxmap.Model, file: str, arguments: argparse.Namespace
) -> list[str]:
    """Move the files. Return old files that could not be removed.

    The new model is complete before the first data file gets its new name, and the old model goes
    last. With one data file, a crash therefore leaves the old or the new model with its data, and
    the other one, if it is there, without. Where a name is taken, `save_with_copies` replaces it.
    """
    moves = FileMoves(sync=not arguments.no_sync)
    if plan.is_a_rename() and _share_file_system(file, os.path.dirname(plan.out)):
        moves.rename_alone(_place(file), _place(plan.out), may_replace=arguments.overwrite)
        return []
    renamed(model, plan.moves)
    new_places = [plan.new_place(each) for each in (*plan.moves, *plan.copies)]
    with folders_of(new_places, sync=not arguments.no_sync):
        return _save_and_move(plan, model, file, moves, arguments)


def _save_and_move(
    plan: _Plan, model: onnxmap.Model, file: str, moves: FileMoves, arguments: argparse.Namespace
) -> list[str]:
    from onnxmap._saving import save_with_copies
    from onnxmap.cli.saving_bar import SavingBar

    was_there = os.path.lexists(plan.out)
    with SavingBar() as bar:
        report = save_with_copies(
            model,
            plan.out,
            {os.fsencode(old): os.fsencode(new) for old, new in plan.copies.items()},
            checksum=has_checksums(model),
            overwrite=arguments.overwrite,
            replace_read_only=arguments.replace_read_only,
            sync=not arguments.no_sync,
            progress=bar,
        )
    new_files = [_place(plan.out), *map(plan.new_place, plan.copies)]
    with moves.undone_on_failure([] if was_there else new_files, last=_place(file)):
        for new, old in plan.files(plan.moves).items():
            moves.rename(old, new)
        moves.sync_folders()
        moves.remove(_place(file))
    removable = plan.files(plan.removable).values()
    return [*report.left_over, *(old.path for old in removable if not moves.could_remove(old))]


def _place(path: str) -> Place:
    return Place(*os.path.split(path))


def _tell(plan: _Plan, file: str, left_over: list[str], arguments: argparse.Namespace) -> None:
    rows = [("moved", file, plan.out)]
    rows += [("moved", old.path, new.path) for new, old in plan.files(plan.moves).items()]
    removed = plan.files(plan.removable)
    for new, location in {plan.new_place(each): each for each in plan.copies}.items():
        is_moved = new in removed and removed[new].path not in left_over
        rows.append(("moved" if is_moved else "copied", plan.paths[location], new.path))
    kept = {old: why for old, why in plan.stays.items() if old in plan.paths}
    if arguments.json:
        facts = [{"how": how, "from": old, "to": new} for how, old, new in rows]
        stays = [{"file": plan.paths[old], "why": why or None} for old, why in kept.items()]
        print_json({"files": facts, "stays": stays, "left_over": left_over})
        return
    shown = [(word, old, f"to {escape(short_path(new))}") for word, old, new in rows]
    shown += [("stays", plan.paths[old], f"because {why}") for old, why in kept.items() if why]
    shown += [("left", path, "an old file that cannot be removed") for path in left_over]
    print_rows(shown)
