"""Print the protobuf text of a model, a tensor or an operator set, or of one field of it."""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from onnxmap._schema import enum_names
from onnxmap._text import escape
from onnxmap.cli.completion import complete_with
from onnxmap.cli.field_path import Found, follow
from onnxmap.cli.model_file import STANDARD_INPUT, add_opening_options, open_message
from onnxmap.cli.outcome import UsageError
from onnxmap.errors import OnnxMapError

SUMMARY = "print the protobuf text of a model, or of one field of it"

# Enough to recognise a payload and to show any usual name in full.
LONGEST = 128

# Pieces of JSON, of a few characters each, that are written at a time: few system calls, even if
# standard output is a terminal, or Python does not buffer it.
_PIECES_AT_ONCE = 20_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap dump`."""
    parser.add_argument("file", help="the model, tensor or operator set; - is standard input")
    field = parser.add_argument(
        "field",
        nargs="?",
        default="",
        metavar="FIELD",
        help="""one field by its path, like graph.node[3].attribute["value"].t""",
    )
    complete_with(field, _complete_field)
    parser.add_argument(
        "--full", action="store_true", help=f"also print payloads longer than {LONGEST} in full"
    )
    parser.add_argument(
        "--json", action="store_true", help="print protobuf's JSON, with onnx.proto's field names"
    )
    add_opening_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap dump`."""
    longest = sys.maxsize if arguments.full else LONGEST
    found = follow(open_message(arguments.file, arguments), arguments.field)
    if arguments.json:
        # There are many small objects. To look for cycles among them would take most of the time.
        with _without_garbage_collection():
            pieces = json.JSONEncoder(indent=2).iterencode(_json(found, longest))
            while block := "".join(islice(pieces, _PIECES_AT_ONCE)):
                sys.stdout.write(block)
        sys.stdout.write("\n")
    else:
        _write_text(found, longest, limited=not arguments.full)
    return 0


@contextlib.contextmanager
def _without_garbage_collection() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _complete_field(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """The fields that are set in the message before the last dot of the path."""
    before, dot = prefix.rpartition(".")[:2]
    if parsed_args.file == STANDARD_INPUT:
        return []
    try:
        found = follow(open_message(parsed_args.file, parsed_args), before)
    except (OnnxMapError, OSError, UsageError):
        return []
    if not found.is_message:
        return []
    return [f"{before}{dot}{field.name}" for field, _ in found.value.ListFields()]


def _json(found: Found, longest: int) -> Any:
    from onnxmap._proto_json import Form, field_json, message_json

    form = Form(proto_names=True, longest=longest)
    if found.row is None:
        return message_json(found.value, form)
    return field_json(found.row, found.value, form, found.is_list)


def _write_text(found: Found, longest: int, *, limited: bool) -> None:
    """Write a message in text format, or the values of any other field, one a line."""
    values = found.value if found.is_list else (found.value,)
    if found.row is None or found.row["type"] == "message":
        for number, message in enumerate(values):
            if found.is_list:
                sys.stdout.write(f"# [{number}]\n")
            # Written in parts: text may be hundreds of times as large as the message.
            message._write_text(_write_escaped, longest, limited)
        return
    for number, value in enumerate(values):
        if number == longest:
            sys.stdout.write(f"# {len(values)} values, {longest} shown\n")
            break
        sys.stdout.write(_plain(found.row, value, longest) + "\n")


def _write_escaped(text: str) -> None:
    # Letters of all scripts stay. Invisible characters and those that reorder a line are escaped.
    sys.stdout.write("\n".join(map(escape, text.split("\n"))))


def _plain(row: dict[str, Any], value: Any, longest: int) -> str:
    match row["type"]:
        case "string" | "bytes":
            shown = value[:longest]
            if row["type"] == "bytes":
                shown = shown.decode("ascii", "backslashreplace")
            rest = f"  # {len(value)} long, {longest} shown" if len(value) > longest else ""
            return escape(shown) + rest
        case "enum":
            return enum_names(row["type_name"]).get(value, str(value))
        case "float":
            from onnxmap._proto_json import shortest_single

            return str(shortest_single(value))
        case _:
            return str(value)
