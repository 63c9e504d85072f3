"""Change the structure of a model: the options say how, and are carried out in their order.

Weights go from file to file, and only --dedupe reads some. Options that remove, replace or make
something say what. --set-dims and --set-shape remove value infos that would be wrong. The constants
that they list hold a number that was changed; --constants rewrites those whose new numbers are
likely. If an option is refused, nothing is written.

Example: onnxmap edit demo.onnx small.onnx --set-dims batch=1 --prune
"""

from __future__ import annotations

import copy
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import onnxmap
from onnxmap._methods.surgery import free_name
from onnxmap.cli.arguments import Completer, at_least_one, flag, nothing, pair, size, valued
from onnxmap.cli.exit_status import UsageError, wrong_values
from onnxmap.cli.model_file import (
    STANDARD_INPUT,
    complete_dims,
    complete_inputs,
    complete_names,
    open_model,
    value_names,
)
from onnxmap.cli.save import check_saving_options
from onnxmap.cli.saving import checked_text
from onnxmap.cli.surgery import add_ending_options, save_or_show
from onnxmap.errors import OnnxMapError

_MOST_BYTES = 2**63 - 1  # of a tensor
# Verbs without a value, which are methods of Model.
_PLAIN = {
    "--infer-shapes": "add the types of inner values, also shapes that nodes compute; needs onnx",
    "--prune": "remove what no output needs",
    "--sort": "put each node behind those whose values it uses",
    "--dedupe": "let initializers with the same bits be one",
    "--strip": "remove the documentation of everything",
    "--lower-initializers": "make Constant nodes of initializers",
    "--drop-initializer-inputs": "remove the inputs that have a default",
    "--assign-names": "name each node; names of one graph differ",
}
# What a verb returns a list of.
_PARTS = {
    "--inline-functions": "functions", "--dedupe": "replaced", "--assign-names": "nodes",
    "--drop-initializer-inputs": "inputs",
}  # fmt: skip


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap edit`."""
    parser.add_argument("file", metavar="IN", help="the model; - is standard input")
    parser.add_argument("out", metavar="OUT", help="the new file, or IN; - is standard output")
    group = parser.add_argument_group("what to do; options may be repeated")

    for name, form, text, read, offered in _VERBS:
        # The value of an option is optional if the verb has a default.
        default = {"nargs": "?", "const": (name, _DEFAULTS[name])} if name in _DEFAULTS else {}
        option: Any = {"dest": "verbs", "action": "append", "type": partial(_verb, name, read)}
        valued(group, name, form, text, offered, **option, **default)
    for name, text in _PLAIN.items():
        group.add_argument(name, dest="verbs", action="append_const", const=(name, None), help=text)
    flag(parser, "--constants", "let changed dimensions change the constants that hold their sizes")
    add_ending_options(parser)


def _verb(name: str, read: Callable[[str], Any], word: str) -> tuple[str, Any]:
    return name, read(checked_text(word))


def run(arguments: Namespace) -> None:
    """Run `onnxmap edit`."""
    check_saving_options(arguments)
    if not arguments.verbs:
        raise UsageError("there is nothing to do; name at least one edit, such as --prune")
    if arguments.constants and not {"--set-dims", "--set-shape"} & {
        name for name, _ in arguments.verbs
    }:
        raise UsageError("--constants needs --set-dims or --set-shape")
    with open_model(arguments.file, arguments) as model:
        before = model
        if arguments.dry_run:
            is_stream = arguments.file == STANDARD_INPUT  # which is read once
            before = copy.deepcopy(model) if is_stream else open_model(arguments.file, arguments)
        said = []
        for name, value in arguments.verbs:
            with wrong_values():
                model, found = _carried_out(model, name, value, arguments.constants)
            said.append({"verb": name, **found})
        save_or_show(before, model, arguments, said)


def _carried_out(
    model: onnxmap.Model, name: str, value: Any, constants: bool
) -> tuple[onnxmap.Model, Any]:
    """Carry a verb out; return the model to go on with, and the report by its parts."""
    graph: Any = model.graph
    found: Any = None
    method = name[2:].replace("-", "_")
    match name:
        case "--rename" | "--replace-uses":
            getattr(graph, method)(*value)
        case "--add-output" | "--remove-output" | "--add-prefix":
            getattr(graph, method)(value)
        case "--bypass":
            graph.bypass(_found(graph, value))
        case "--insert-after" | "--insert-before":
            is_after = name == "--insert-after"
            place = value[0] if is_after else _found(graph, value[0])
            inputs = [place] if is_after else place.inputs[:1]
            output = free_name(graph, f"{value[0]}.new")
            getattr(graph, method)(place, onnxmap.make_node(value[1], inputs, [output]))
        case "--replace":
            nodes = [_found(graph, each) for each in value[0].split(",")]
            new = onnxmap.make_node(value[1], nodes[0].inputs, nodes[-1].outputs)
            graph.replace(nodes, [new])
        case "--set-dims" | "--set-shape":
            found = model.set_dims(value[0], value[1], constants)
        case "--extract":
            model = _extracted(model, value)
        case "--inline-functions":
            found = model.inline_functions(None if value is None else [value])
        case "--infer-shapes":
            _asking_onnx("infer the shapes", lambda: model.infer_shapes(data_prop=True))
        case "--convert-version":
            _asking_onnx("convert the model", lambda: model.convert_version(value))
        case "--dedupe":
            found = [f"{gone}={kept}" for gone, kept in model.dedupe()]
        case "--lift-constants" | "--raise-ir":
            found = getattr(model, method)(min(value, _MOST_BYTES))
        case _:
            found = getattr(model, method)()
    if isinstance(found, list):
        return model, {_PARTS.get(name, "initializers"): found}
    return model, found._asdict() if found else {}


def _found(graph: Any, name: str) -> Any:
    """The node of a name, or the one that makes the value of that name."""
    made_by = None if name in graph.nodes else graph.producer(name)
    return made_by or graph.nodes[name]


def _extracted(model: onnxmap.Model, text: str) -> onnxmap.Model:
    """The part of the model. Names may have colons: the first one that separates names counts."""
    failure: Exception = UsageError(f"--extract takes INPUTS:OUTPUTS, not {text!r}")
    for colon in re.finditer(":", text):
        ends = text[: colon.start()], text[colon.end() :]
        try:
            return model.extract(*([name for name in end.split(",") if name] for end in ends))
        except KeyError as error:
            failure = error
    raise failure


def _asking_onnx(what: str, call: Callable[[], None]) -> None:
    try:
        call()
    except (OnnxMapError, ImportError):
        raise
    except Exception as error:  # noqa: BLE001 -- InferenceError of onnx, which may be absent
        # An assertion of onnx's C++ begins with its place there.
        reason = str(error).rpartition("` failed: ")[2].removeprefix("Warning: ")
        raise UsageError(f"onnx cannot {what}: {reason}") from None


def _dims(text: str) -> tuple[dict[str, Any], None]:
    pairs = [pair(each) for each in text.split(",")]
    dims = {name: _dim(value) for name, value in pairs}
    if len(dims) < len(pairs):
        raise UsageError(f"a name is given twice: {text}")
    return dims, None


def _shape(text: str) -> tuple[None, dict[str, Any]]:
    name, shape = pair(text)
    return None, {name: [_dim(word) for word in shape.split(",")]}


def _dim(word: str) -> int | str:
    return int(word) if re.fullmatch("-?[0-9]+", word) else word


_values = complete_names(value_names, "=,:")
_nodes = complete_names(lambda model, _: filter(None, model.graph.node_names()), "=,")
# Verbs with a value: how it is written, what reads it, and what the shell offers.
_VERBS: Sequence[tuple[str, str, str, Callable[[str], Any], Completer]] = (
    ("--rename", "OLD=NEW", "give a value another name", pair, _values),
    ("--replace-uses", "OLD=NEW", "let all that uses OLD use NEW", pair, _values),
    ("--bypass", "NODE", "let a node's first input take its place; or name a value it makes", str,
     _nodes),
    ("--insert-after", "VALUE=OP", "let what uses VALUE use what OP makes of it", pair, _values),
    ("--insert-before", "NODE=OP", "let NODE use what OP makes of its first input", pair, _nodes),
    ("--replace", "NODE,...=OP", "put OP, such as Relu, in the place of nodes", pair, _nodes),
    ("--add-output", "VALUE", "make a value an output", str, complete_names(value_names)),
    ("--remove-output", "VALUE", "let a value be an output no longer", str, _values),
    ("--add-prefix", "TEXT", "put a text before the names of all values and nodes", str, nothing),
    ("--set-dims", "NAME=N,...", "give dimensions numbers or other names; ? for none", _dims,
     complete_dims),
    ("--set-shape", "INPUT=SHAPE", "give an input another shape, like x=N,3,?,?", _shape,
     complete_inputs),
    ("--extract", "INPUTS:OUTPUTS", "keep what makes OUTPUTS of INPUTS, like a,b:c", str, _values),
    ("--inline-functions", "NAME", "put a function's nodes where it is called (default: of all)",
     str, complete_names(lambda model, _: (each.name for each in model.functions))),
    ("--lift-constants", "SIZE", "make initializers of Constant nodes of at least SIZE bytes", size,
     nothing),
    ("--convert-version", "N", "convert to version N of ONNX's operators; needs the package onnx",
     at_least_one, nothing),
    ("--raise-ir", "N", "give the model the later IR version N", at_least_one, nothing),
)  # fmt: skip
_DEFAULTS = {"--inline-functions": None, "--lift-constants": 0}
