"""Set metadata and fields of a model: at the end of the file if that is enough, else by a save.

KEY is a key of the metadata, or one of the fields doc_string, producer_name, producer_version,
domain, model_version and ir_version. metadata_props.KEY is always a key of the metadata. KEY=
empties a text. A model_version may be semantic, like 1.2.3. A crash while the end of the file is
written may leave a part of it, and then the file does not load. With -o FILE, the whole file is
saved instead, which is safe.

Example: onnxmap set demo.onnx author=me doc_string='A demo'
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from typing import Any, NamedTuple

import onnxmap
from onnxmap.cli.arguments import valued
from onnxmap.cli.exit_status import UsageError, wrong_values
from onnxmap.cli.model_file import complete_names, open_model
from onnxmap.cli.saving import (
    add_place_options,
    checked_text,
    print_report,
    save_edited,
    settle_place,
)
from onnxmap.errors import SaveError
from onnxmap.types import message_type

_METADATA = "metadata_props."
_NUMBERS = ("model_version", "ir_version")
_FIELDS = ("doc_string", "producer_name", "producer_version", "domain", *_NUMBERS)
# A model without this one is none.
_NEEDED = "ir_version"
# With these errors a file cannot be appended to, and can be saved.
_NEEDS_A_SAVE = ("save.key_exists", "save.link", "save.text")


class Changes(NamedTuple):
    """What the command line asks for: new values, by name. None deletes one."""

    fields: dict[str, Any]
    entries: dict[str, Any]

    def fit_at_the_end(self) -> bool:
        """Whether appended bytes can make all of them, if the keys are new."""
        values = (*self.fields.values(), *self.entries.values())
        return None not in values and _NEEDED not in self.fields


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap set`."""
    parser.add_argument("file", metavar="FILE", help="the model; - is standard input")
    text = "a key, or a field, and its value"
    valued(parser, "names", "KEY=VALUE", text, _complete_value, nargs="*", default=[])
    text = "remove a key, or the value of a field"
    valued(parser, "--delete", "KEY", text, _complete_key, action="append", default=[])
    add_place_options(parser)


def run(arguments: Namespace) -> None:
    """Run `onnxmap set`."""
    changes = _changes(arguments.names, arguments.delete)
    over_itself = arguments.out is None
    settle_place(arguments)
    if over_itself and changes.fit_at_the_end():
        report = _appended(arguments.file, changes, sync=arguments.sync)
        if report is not None:
            print_report(report, arguments, "appended", way="append")
            return
    with open_model(arguments.file, arguments) as model:
        with wrong_values():
            _apply(changes, model)
        report = save_edited(model, arguments)
    print_report(report, arguments, way="save")


def _changes(words: list[str], deleted: list[str]) -> Changes:
    """The changes in `KEY=VALUE` words and the keys to delete.

    Raises:
        UsageError: there are none; a word has no `=`, or is about something that cannot be set.
    """
    changes = Changes({}, {})
    for word in words:
        key, equals, value = checked_text(word).partition("=")
        if not equals:
            raise UsageError(f"{word!r} has no value; write {key}=VALUE, or --delete {key}")
        _add(changes, key, value)
    for key in deleted:
        if key == _NEEDED:
            raise UsageError(f"a model needs {_NEEDED}")
        _add(changes, key, None)
    if not any(changes):
        raise UsageError("there is nothing to set: write KEY=VALUE, or --delete KEY")
    return changes


def _add(changes: Changes, key: str, value: str | None) -> None:
    name = key.removeprefix(_METADATA)
    if not name:
        raise UsageError("a key has at least one character")
    if key not in _FIELDS and _looks_like_field(key):
        way = "use edit --convert-version" if "opset" in key.lower() else "edit it in Python"
        raise UsageError(f"set cannot set {key}; {way}; for metadata, write {_METADATA}{key}")
    target = changes.fields if key in _FIELDS else changes.entries
    if name in target:
        raise UsageError(f"{key} is given twice")
    target[name] = value if value is None or key not in _NUMBERS else _number(key, value)


def _number(name: str, text: str) -> int:
    # Source: ONNX, "ONNX Versioning", "Serializing SemVer version numbers in protobuf".
    parts = re.fullmatch(r"([0-9]{1,5})\.([0-9]{1,5})\.([0-9]{1,10})", text)
    if parts and name == "model_version":
        major, minor, patch = map(int, parts.groups())
        if (major or minor) and major < 1 << 15 and minor < 1 << 16 and patch < 1 << 32:
            return major << 48 | minor << 32 | patch
    if not re.fullmatch(r"-?[0-9]+", text):
        raise UsageError(f"{name} is a whole number, not {text!r}")
    return int(text)


def _looks_like_field(key: str) -> bool:
    """Whether a key is like the name of a field, or a path into one: `Doc_string`, `graph.name`."""
    known = "opset", "opset_version", *(each.name for each in message_type("ModelProto").fields)
    return not key.startswith(_METADATA) and _plain(key.partition(".")[0]) in map(_plain, known)


def _plain(name: str) -> str:
    """A name without what is easily mistaken in it."""
    return name.replace("_", "").lower().rstrip("s")


def _appended(file: str, changes: Changes, *, sync: bool) -> onnxmap.SaveReport | None:
    """Append the changes to the file; return None if they need a save."""
    try:
        with wrong_values():  # a number out of range
            return onnxmap.append(file, metadata_props=changes.entries, sync=sync, **changes.fields)
    except SaveError as error:
        if error.code not in _NEEDS_A_SAVE:
            raise
        return None


def _apply(changes: Changes, model: onnxmap.Model) -> None:
    for name, value in changes.fields.items():
        if value is None:
            model.proto.ClearField(name)
        else:
            setattr(model.proto, name, value)
    for key, text in changes.entries.items():
        if text is not None:
            model.metadata_props[key] = text
        else:
            del model.metadata_props[key]


def _as_given(key: str) -> str:
    """A key of the metadata as the command line names it."""
    return _METADATA * _looks_like_field(key) + key


def _complete_value(prefix: str, **others: Any) -> list[str]:
    """The keys with `=`; nothing after it."""
    return [] if "=" in prefix else [f"{key}=" for key in _complete_key(prefix, **others)]


_complete_key = complete_names(lambda model, _: [*_FIELDS, *map(_as_given, model.metadata_props)])
