"""Set metadata and fields of a model: at the end of the file if that is enough, else by a save.

KEY is a key of the metadata, or one of the fields doc_string, producer_name, producer_version,
domain, model_version and ir_version. metadata_props.KEY is always a key of the metadata. KEY=
empties a text. A crash while the end of the file is written may leave a part of it, and then the
file does not load. With -o FILE, the whole file is saved instead, which is safe.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

import onnxmap
from onnxmap.cli.arguments import valued
from onnxmap.cli.exit_status import DONE, UsageError, wrong_values
from onnxmap.cli.model_file import add_opening_options, complete_names
from onnxmap.cli.names import nearest, unknown_name
from onnxmap.cli.saving import (
    add_place_options,
    check_text,
    is_large,
    open_to_edit,
    place,
    print_report,
    save_to,
)
from onnxmap.cli.text import bytes_in_words, escape, print_json, short_path
from onnxmap.errors import SaveError
from onnxmap.types import message_type

_METADATA = "metadata_props."
_TEXTS = ("doc_string", "producer_name", "producer_version", "domain")
_NUMBERS = ("model_version", "ir_version")
_FIELDS = (*_TEXTS, *_NUMBERS)
# A model without this one is none.
_NEEDED = "ir_version"
# With these errors a file cannot be appended to, and can be saved.
_NEEDS_A_SAVE = ("save.key_exists", "save.link", "save.text")


@dataclass
class Changes:
    """What the command line asks for."""

    fields: dict[str, str | int] = field(default_factory=dict)
    entries: dict[str, str] = field(default_factory=dict)
    deleted_fields: list[str] = field(default_factory=list)
    deleted_entries: list[str] = field(default_factory=list)

    def fit_at_the_end(self) -> bool:
        """Whether appended bytes can make all of them, if the keys are new."""
        return not (self.deleted_fields or self.deleted_entries or _NEEDED in self.fields)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap set`."""
    parser.add_argument("file", metavar="FILE", help="the model; - is standard input")
    text = "a key, or a field, and its value"
    valued(parser, "names", "KEY=VALUE", text, _complete_value, nargs="*", default=[])
    text = "remove a key, or the value of a field"
    valued(parser, "--delete", "KEY", text, _complete_key, action="append", default=[])
    add_place_options(parser)
    add_opening_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap set`."""
    changes = _changes(arguments.names, arguments.delete)
    file, out = place(arguments)
    if arguments.output is None and changes.fit_at_the_end():
        report = _appended(file, changes, sync=not arguments.no_sync)
        if report is not None:
            _tell_appended(report, arguments)
            return DONE
    with open_to_edit(file, out, arguments) as model:
        _apply(changes, model)
        report = save_to(model, out, arguments, allow_over_2gib=is_large(model))
    print_report(report, arguments, {"way": "save"})
    return DONE


def _changes(words: list[str], deleted: list[str]) -> Changes:
    """The changes in `KEY=VALUE` words and the keys to delete.

    Raises:
        UsageError: there are none; a word has no `=`, or is about something that cannot be set.
    """
    changes = Changes()
    seen: set[tuple[bool, str]] = set()
    for word in words:
        check_text(word)
        key, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"{word!r} has no value; write {key}=VALUE, or --delete {key}")
        is_field, name = _meant(key, seen)
        if is_field:
            changes.fields[name] = _number(name, value) if name in _NUMBERS else value
        else:
            changes.entries[name] = value
    for key in deleted:
        is_field, name = _meant(key, seen)
        if is_field and name == _NEEDED:
            raise UsageError(f"a model needs {_NEEDED}")
        (changes.deleted_fields if is_field else changes.deleted_entries).append(name)
    if not seen:
        raise UsageError("there is nothing to set: write KEY=VALUE, or --delete KEY")
    return changes


def _meant(key: str, seen: set[tuple[bool, str]]) -> tuple[bool, str]:
    """Whether a key means a field, and its name; `seen` has those before it, and gets this one."""
    meant = (key in _FIELDS, key.removeprefix(_METADATA))
    if not meant[1]:
        raise UsageError("a key has at least one character")
    if not meant[0] and _looks_like_field(key):
        way = "Model.convert_version() does" if "opset" in key.lower() else "edit it in Python"
        raise UsageError(f"set cannot set {key}; {way}; for metadata, write {_METADATA}{key}")
    if meant in seen:
        raise UsageError(f"{key} is given twice")
    seen.add(meant)
    return meant


def _looks_like_field(key: str) -> bool:
    """Whether a key is like the name of a field, or a path into one: `Doc_string`, `graph.name`."""
    known = "opset", "opset_version", *(each.name for each in message_type("ModelProto").fields)
    return not key.startswith(_METADATA) and _plain(key.partition(".")[0]) in map(_plain, known)


def _plain(name: str) -> str:
    """A name without what is easily mistaken in it."""
    return name.replace("_", "").lower().rstrip("s")


def _number(name: str, text: str) -> int:
    if not re.fullmatch(r"-?[0-9]+", text):
        raise UsageError(f"{name} is a whole number, not {text!r}")
    return int(text)


def _appended(file: str, changes: Changes, *, sync: bool) -> onnxmap.SaveReport | None:
    """Append the changes to the file; return None if they need a save."""
    fields: dict[str, Any] = dict(changes.fields)
    try:
        with wrong_values():  # a number out of range
            return onnxmap.append(file, metadata_props=changes.entries, sync=sync, **fields)
    except SaveError as error:
        if error.code not in _NEEDS_A_SAVE:
            raise
        return None


def _apply(changes: Changes, model: onnxmap.Model) -> None:
    with wrong_values():
        for name, value in changes.fields.items():
            setattr(model.proto, name, value)
        model.metadata_props.update(changes.entries)
    for name in changes.deleted_fields:
        model.proto.ClearField(name)
    for key in changes.deleted_entries:
        if key not in model.metadata_props:
            raise unknown_name("key", key, nearest(key, model.metadata_props))
        del model.metadata_props[key]


def _tell_appended(report: onnxmap.SaveReport, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print_json({"way": "append", **asdict(report)})
        return
    (path,) = report.files
    added = bytes_in_words(report.bytes_written)
    sys.stdout.write(f"appended  {escape(short_path(path))}  {added}\n")


def _complete_value(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """The keys with `=`; nothing after it."""
    return [] if "=" in prefix else [f"{key}=" for key in _complete_key(prefix, parsed_args)]


def _complete_key(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """The fields, and the keys that the model has."""
    fields = [name for name in _FIELDS if name.startswith(prefix)]
    return [*fields, *_complete_own_key(prefix, parsed_args)]


_complete_own_key = complete_names(
    lambda model, _: [_METADATA * _looks_like_field(key) + key for key in model.metadata_props]
)
