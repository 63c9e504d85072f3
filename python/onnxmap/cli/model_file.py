"""The model that a command opens: the argument that names it, and how it is opened."""

from __future__ import annotations

import contextlib
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

import onnxmap
from onnxmap.cli.arguments import Completer, InDict, chosen, flag, folders, last_of, pair, valued
from onnxmap.cli.exit_status import UsageError, complain, wrong_values
from onnxmap.errors import OnnxMapError
from onnxmap.types import message_type

STANDARD_INPUT = "-"
# How the names of files of weights end. They are opened as models of nothing else.
WEIGHT_FILES = (".safetensors", ".safetensors.index.json", ".npz")
Opened = TypeVar("Opened")

# The field that messages of these types have, and its values; in the order in which they are tried.
_MARKS: dict[str, tuple[str, Any]] = {
    "OperatorSetProto": ("magic", {"ONNXOPSET"}),
    "SequenceProto": ("elem_type", range(1, 6)),
    "MapProto": ("key_type", {*range(2, 9), 12, 13}),
    "TensorProto": ("data_type", range(1, 1000)),
}


def add_opening_options(parser: ArgumentParser) -> None:
    """Declare the options of `onnxmap.load` that a command takes."""
    group = parser.add_argument_group("how the model is opened")
    text = "the folder of the external data (default: the model's)"
    valued(group, "--external-root", "DIR", text, folders)
    text = "which links to external data are followed (default: contained)"
    links = ("contained", "strict", "trusted")
    group.add_argument("--link-policy", choices=links, default="contained", help=text)
    flag(group, "--allow-hardlinks", "read external data that have another hard link")
    flag(group, "--lenient", "read some wrong tensors as onnx does, and warn")
    text = "map files or read them (default: auto)"
    group.add_argument("--io", choices=("auto", "mmap", "read"), default="auto", help=text)
    text = "for URLs: an option for fsspec, in JSON or a string; may be given several times"
    many: Any = {"type": _storage_option, "action": InDict, "dest": "storage_options"}
    valued(group, "--storage-option", "KEY=VALUE", text, **many)


def _storage_option(text: str) -> tuple[str, object]:
    key, value = pair(text)
    with contextlib.suppress(ValueError, RecursionError):
        return key, json.loads(value)
    return key, value


def open_message(file: str, arguments: Namespace, message: str | None = None) -> onnxmap.ProtoView:
    """Open the message in a file. `-` is standard input.

    It is of the type `message`; if that is None, a model, operator set, tensor, sequence or map.

    Raises:
        ParseError: it is none of them; the error is that of a model.
        UsageError: it is not of the type `message`.
    """
    if message is not None:
        named = _message(file, standard_input(file), arguments, message)
        _check_type(file, named)
        return named
    found = _model_or(file, arguments, *_MARKS)
    return found.proto if isinstance(found, onnxmap.Model) else found


def open_model_or_operators(file: str, arguments: Namespace) -> onnxmap.Model | onnxmap.OperatorSet:
    """Open the model in a file, or the operator set. `-` is standard input.

    Raises:
        ParseError: it is neither; the error is that of a model.
    """
    found = _model_or(file, arguments, "OperatorSetProto")
    return found if isinstance(found, onnxmap.Model) else onnxmap.wrap(found)


def _model_or(file: str, arguments: Namespace, *messages: str) -> onnxmap.Model | onnxmap.ProtoView:
    """Open the model in a file, or else the message as the first of these types that it is."""
    data = standard_input(file)
    try:
        return _model(file, data, arguments)
    except onnxmap.ParseError:
        for message in messages:
            with contextlib.suppress(onnxmap.ParseError):
                found = _message(file, data, arguments, message)
                if _has_mark(found):
                    return found
        raise


def _message(file: str, data: bytes | None, arguments: Namespace, name: str) -> onnxmap.ProtoView:
    if data is None:
        return onnxmap.load_proto(file, name, **chosen(arguments, ("io", "storage_options")))
    return onnxmap.loads_proto(data, name)


def _check_type(file: str, message: onnxmap.ProtoView) -> None:
    """Refuse bytes that are a message of another type, as far as the fields tell.

    A field of another wire type never belongs to the message. Inside it, fields that nobody knows
    may come from a newer onnx.proto. In the message itself they are more likely another message's.

    Raises:
        UsageError: the message has such a field, or lacks its mark (see `_has_mark`).
    """
    for part in _parts(message):
        for field in part.unknown_fields:
            number, name = field.field_number, part.message_type
            if part is message or number in message_type(name).fields_by_number:
                raise UsageError(
                    f"{file} is not a {message.message_type}: its field {number} of wire type "
                    f"{field.wire_type} is not in the {name} of onnx.proto"
                )
    mark = {"OperatorSetProto": "magic", "TensorProto": "data_type"}.get(message.message_type)
    if mark and message.ByteSize() and not _has_mark(message):
        raise UsageError(f"{file} is not a {message.message_type}: its {mark} is missing or wrong")


def _parts(message: onnxmap.ProtoView) -> Iterator[onnxmap.ProtoView]:
    """The message, and all messages inside it."""
    yield message
    for value in present_fields(message).values():
        for each in value if isinstance(value, onnxmap.MessageList) else [value]:
            if isinstance(each, onnxmap.ProtoView):
                yield from _parts(each)


def present_fields(message: onnxmap.ProtoView) -> dict[str, Any]:
    """Return the values of the fields that are set, by name. ListFields() may import onnx."""
    found = {}
    for field in message_type(message.message_type).fields:
        value = getattr(message, field.name)
        if len(value) if field.is_repeated else message.HasField(field.name):
            found[field.name] = value
    return found


def _has_mark(message: onnxmap.ProtoView) -> bool:
    """Whether an operator set has its magic, or another message its mark and no unknown fields.

    A sequence may be a tensor by this, as its values may be numbers. A tensor is no sequence.
    """
    name, values = _MARKS[message.message_type]
    unknown = name != "magic" and any(len(part.unknown_fields) for part in _parts(message))
    return getattr(message, name) in values and not unknown


def open_model(file: str, arguments: Namespace) -> onnxmap.Model:
    """Open the model in a file, or on standard input if its name is `-`."""
    return _model(file, standard_input(file), arguments)


def open_models(files: Sequence[str], arguments: Namespace) -> list[onnxmap.Model]:
    """Open the models in files, of which one may be standard input.

    Raises:
        UsageError: more than one is.
    """
    if files.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input can be only one of the models")
    return [open_model(file, arguments) for file in files]


def opened(read: Callable[[str, Namespace], Opened], arguments: Any) -> dict[str, Opened]:
    """Return what `read` returns for each file of the command line.

    It leaves out files that cannot be read, after an error message: the others are still read.
    """
    found = {}
    for name in dict.fromkeys(arguments.names):
        try:
            found[name] = read(name, arguments)
        except (OnnxMapError, OSError) as failure:
            complain(failure, arguments)
    return found


def completer(read: Callable[[str, Namespace], Iterable[str]]) -> Completer:
    """Return a completer for what `read(prefix, arguments)` finds in a readable file."""

    def complete(prefix: str, parsed_args: Namespace, **_: object) -> Iterable[str]:
        if parsed_args.file != STANDARD_INPUT:
            with contextlib.suppress(OnnxMapError, OSError, UsageError):
                found = [name for name in read(prefix, parsed_args) if name.startswith(prefix)]
                # The shell prints them as they are, and some would control the terminal.
                return filter(str.isprintable, found)
        return []

    return complete


def complete_names(
    read: Callable[[onnxmap.Model, Namespace], Iterable[str]], apart: str = "", end: str = ""
) -> Completer:
    """Return a completer for what `read` finds in the model. `apart` and `end`: see `last_of`."""

    def names(prefix: str, arguments: Namespace) -> list[str]:
        with open_model(arguments.file, arguments) as model:
            return last_of(prefix, apart, read(model, arguments), end)

    return completer(names)


def value_names(model: onnxmap.Model, _: Namespace) -> Iterable[str]:
    """Return the names of the values of the graph."""
    inputs, initializers = (each.name for each in model.graph.inputs), model.initializers.names()
    return filter(None, chain(inputs, initializers, *model.graph.node_outputs()))


complete_initializers = complete_names(lambda model, _: model.initializers.names())
complete_dims = complete_names(lambda model, _: model.graph.dimension_params, ",", "=")
complete_inputs = complete_names(lambda model, _: (x.name for x in model.graph.inputs), "", "=")


def standard_input(file: str) -> bytes | None:
    """Return the bytes of standard input; None if `file` names another file."""
    if file != STANDARD_INPUT:
        return None
    if sys.stdin is None:  # as by `<&-`
        raise UsageError("standard input is closed")
    return sys.stdin.buffer.read()


def _model(file: str, data: bytes | None, arguments: Namespace) -> onnxmap.Model:
    """Open the model in `data`; in the file if that is None."""
    options = opening_options(arguments)
    with wrong_values():  # options that do not fit a URL
        if data is not None:
            return onnxmap.loads(data, **options)
        if not file.endswith(WEIGHT_FILES):
            return onnxmap.load(file, **options)
        if options.pop("external_root") is not None:
            raise UsageError("--external-root is for models")
        if file.endswith(".npz"):
            del options["storage_options"]
            return onnxmap.load_npz(file, **options)
        return onnxmap.load_safetensors(file, **options)


def opening_options(arguments: Namespace) -> dict[str, Any]:
    """Return the arguments of `onnxmap.load` that the command line has."""
    names = "external_root", "link_policy", "allow_hardlinks", "lenient", "io", "storage_options"
    return chosen(arguments, names)
