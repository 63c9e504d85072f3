"""Print the protobuf text of a model, or of any other message of onnx.proto, or of one field of it.

Without --type, FILE is a model, an operator set, a tensor, a sequence or a map. --json prints
protobuf's JSON, with onnx.proto's field names, and without --unknown-fields.

Example: onnxmap dump demo.onnx 'graph.node["make logits"]'
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import Any

import numpy as np

from onnxmap._base.schema import enum_names
from onnxmap.cli.arguments import flag, valued
from onnxmap.cli.field_path import Found, follow
from onnxmap.cli.model_file import completer, open_message, present_fields
from onnxmap.errors import printable
from onnxmap.types import FieldType, message_types

# Enough to recognise a payload and to show any usual name in full.
LONGEST = 128


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap dump`."""
    parser.add_argument("file", help="the model, or other message; - is standard input")
    text = """one field by its path, like graph.node[3].attribute["value"].t"""
    valued(parser, "field", "FIELD", text, completer(_fields), nargs="?", default="")
    text = "the type of the message in FILE, like NodeProto; a file of another type is refused"
    parser.add_argument("--type", choices=message_types(), metavar="MESSAGE", help=text)
    flag(parser, "--full", f"also print payloads longer than {LONGEST} in full")
    flag(parser, "--unknown-fields", "also print fields that ONNX does not know, by their numbers")


def run(arguments: Namespace) -> None:
    """Run `onnxmap dump`."""
    longest = sys.maxsize if arguments.full else LONGEST
    found = follow(open_message(arguments.file, arguments, arguments.type), arguments.field)
    if arguments.json:
        _write_json(found, longest)
    else:
        _write_text(found, longest, not arguments.full, arguments.unknown_fields)


def _fields(prefix: str, arguments: Namespace) -> list[str]:
    """The fields that are set in the message before the last dot of the path."""
    before, dot, _ = prefix.rpartition(".")
    found = follow(open_message(arguments.file, arguments, arguments.type), before)
    names = present_fields(found.value) if found.is_message else ()
    return [f"{before}{dot}{name}" for name in names]


def _write_json(found: Found, longest: int) -> None:
    if found.is_message:
        found.value.write_json(sys.stdout.write, longest)
    else:
        assert found.parent is not None and found.field is not None  # noqa: PT018 -- a field
        found.parent.write_json(sys.stdout.write, longest, found.field.name, found.index)
    sys.stdout.write("\n")


def _write_text(found: Found, longest: int, *how: bool) -> None:
    """Write a message in text format, or the values of any other field, one a line."""
    values = found.value if found.is_list else (found.value,)
    for number, value in enumerate(values):
        if found.field is None or found.field.type == "message":
            if found.is_list:
                sys.stdout.write(f"# [{number}]\n")
            # Written in parts: text may be hundreds of times as large as the message.
            value.write_text(_write_escaped, longest, *how)
        elif number == longest:
            sys.stdout.write(f"# {len(values)} values, {longest} shown\n")
            break
        else:
            sys.stdout.write(_plain(found.field, value, longest) + "\n")


def _write_escaped(text: str) -> None:
    # Letters of all scripts stay. Invisible characters and those that reorder a line are escaped.
    sys.stdout.write("\n".join(map(printable, text.split("\n"))))


def _plain(field: FieldType, value: Any, longest: int) -> str:
    match field.type:
        case "string" | "bytes":
            shown = value[:longest]
            if field.type == "bytes":
                shown = shown.decode("ascii", "backslashreplace")
            rest = f"  # {len(value)} long, {longest} shown" if len(value) > longest else ""
            return printable(shown) + rest
        case "enum":
            return enum_names(field.type_name).get(value, str(value))
        case "float":
            return str(np.float32(value))  # the fewest digits that make this number
        case _:
            return str(value)
