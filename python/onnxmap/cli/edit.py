"""Change the structure of a model: the options say how, and are carried out in their order.

No weight is copied, and only --dedupe reads some. Options that remove, replace or make something
say what. --set-dims and --set-shape remove value infos that would be wrong; the constants that they
list hold a number that was changed, and stay as they are. If an option is refused, nothing is
written.
"""

from __future__ import annotations

import argparse
import copy
import re
from collections.abc import Callable
from typing import Any

import onnxmap
from onnxmap.cli.arguments import each_once, pair, size, valued
from onnxmap.cli.completion import nothing
from onnxmap.cli.exit_status import UsageError, wrong_values
from onnxmap.cli.model_file import STANDARD_INPUT, open_model
from onnxmap.cli.save import add_saving_options, check_saving_options
from onnxmap.cli.saving import check_text
from onnxmap.cli.surgery import add_dry_run, save_or_show
from onnxmap.errors import OnnxMapError

_MOST_BYTES = 2**63 - 1  # of a tensor
# Verbs without a value, which are methods of Model.
_PLAIN = {
    "--infer-shapes": "add the types of inner values; needs the package onnx",
    "--prune": "remove what no output needs",
    "--sort": "put each node behind those whose values it uses",
    "--dedupe": "let initializers with the same bits be one",
    "--strip": "remove the documentation of everything",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap edit`."""
    parser.add_argument("file", metavar="IN", help="the model; - is standard input")
    parser.add_argument("out", metavar="OUT", help="the new file, or IN; - is standard output")
    group = parser.add_argument_group("what to do; options may be repeated")

    def verb(name: str, form: str, text: str, read: Callable[[str], Any], **others: Any) -> None:
        def value(word: str) -> tuple[str, Any]:
            check_text(word)
            return name, read(word)

        how: dict[str, Any] = {"dest": "verbs", "action": "append", "type": value, **others}
        valued(group, name, form, text, nothing, **how)

    verb("--rename", "OLD=NEW", "give a value another name", pair)
    verb("--replace-uses", "OLD=NEW", "let all that uses OLD use NEW", pair)
    text = "remove a node, by its name or a value it makes, and use its first input instead"
    verb("--bypass", "NODE", text, str)
    verb("--add-output", "VALUE", "make a value an output", str)
    text = "give dimensions numbers or other names; also NAME=N,NAME=N"
    verb("--set-dims", "NAME=N", text, _dims)
    text = "give an input another shape, like x=N,3,?,?"
    verb("--set-shape", "INPUT=SHAPE", text, _shape)
    text = "keep only what computes OUTPUTS from INPUTS; names are separated by commas"
    verb("--extract", "INPUTS:OUTPUTS", text, _ends)
    for name, text in _PLAIN.items():
        constant: Any = {"action": "append_const", "const": (name, None)}
        group.add_argument(name, dest="verbs", help=text, **constant)
    text = "let tensors of Constant nodes be initializers, if they have as many bytes"
    optional: Any = {"nargs": "?", "const": ("--lift-constants", 0)}
    verb("--lift-constants", "SIZE", text, size, **optional)
    add_dry_run(parser)
    add_saving_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap edit`."""
    check_saving_options(arguments)
    if not arguments.verbs:
        raise UsageError("there is nothing to do; name at least one edit, such as --prune")
    with open_model(arguments.file, arguments) as model:
        before = model
        if arguments.dry_run and arguments.file == STANDARD_INPUT:  # which is read once
            before = copy.deepcopy(model)
        elif arguments.dry_run:
            before = open_model(arguments.file, arguments)
        said = []
        for name, value in arguments.verbs:
            with wrong_values():
                model, found = _carried_out(model, name, value)
            said.append({"verb": name, **found})
        return save_or_show(before, model, arguments, said)


def _carried_out(
    model: onnxmap.Model, name: str, value: Any
) -> tuple[onnxmap.Model, dict[str, Any]]:
    """Carry a verb out; return the model to go on with, and the report by its parts."""
    graph, method = model.graph, name[2:].replace("-", "_")
    match name:
        case "--rename" | "--replace-uses":
            getattr(graph, method)(*value)
        case "--bypass":
            made_by = None if value in graph.nodes else graph.producer(value)
            graph.bypass(made_by or graph.nodes[value])
        case "--add-output":
            graph.add_output(value)
        case "--set-dims" | "--set-shape":
            return model, model.set_dims(*value)._asdict()
        case "--extract":
            return _extracted(model, value), {}
        case "--lift-constants":
            return model, {"initializers": model.lift_constants(min(value, _MOST_BYTES))}
        case "--prune":
            return model, model.prune()._asdict()
        case "--dedupe":
            return model, {"replaced": model.dedupe()}
        case "--infer-shapes":
            _infer_shapes(model)
        case _:
            getattr(model, method)()
    return model, {}


def _extracted(model: onnxmap.Model, text: str) -> onnxmap.Model:
    """The part of the model. Names may have colons: the first one that separates names counts."""
    failure: Exception | None = None
    for colon in re.finditer(":", text):
        ends = text[: colon.start()], text[colon.end() :]
        try:
            return model.extract(*([name for name in end.split(",") if name] for end in ends))
        except KeyError as error:
            failure = failure or error
    raise failure  # type: ignore[misc] # `_ends` saw a colon


def _infer_shapes(model: onnxmap.Model) -> None:
    try:
        model.infer_shapes()
    except (OnnxMapError, ImportError):
        raise
    except Exception as error:  # noqa: BLE001 -- InferenceError of onnx, which may be absent
        raise UsageError(f"onnx cannot infer the shapes: {error}") from None


def _dims(text: str) -> tuple[dict[str, Any]]:
    return (each_once([(name, _dim(value)) for name, value in map(pair, text.split(","))]),)


def _shape(text: str) -> tuple[None, dict[str, Any]]:
    name, shape = pair(text)
    return None, {name: [None if word == "?" else _dim(word) for word in shape.split(",")]}


def _dim(word: str) -> int | str:
    return int(word) if re.fullmatch("-?[0-9]+", word) else word


def _ends(text: str) -> str:
    if ":" not in text:
        raise argparse.ArgumentTypeError(f"must be of the form INPUTS:OUTPUTS, not {text!r}")
    return text
