"""The model that a command opens: the argument that names it, and how it is opened."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING, Any

from onnxmap._operator_set import MAGIC
from onnxmap.cli.completion import complete_with, folders

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnxmap

STANDARD_INPUT = "-"


def add_opening_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `onnxmap.load` that a command takes."""
    from onnxmap import _core

    choices = _core.option_names()
    group = parser.add_argument_group("how the model is opened")
    root = group.add_argument(
        "--external-root",
        metavar="DIR",
        help="the folder of the external data (default: the model's)",
    )
    complete_with(root, folders)
    group.add_argument(
        "--link-policy",
        choices=choices["link_policy"],
        default="contained",
        help="which links to external data are followed (default: contained)",
    )
    group.add_argument(
        "--allow-hardlinks",
        action="store_true",
        help="read external data that have another hard link",
    )
    group.add_argument(
        "--lenient", action="store_true", help="read some wrong tensors as onnx does, and warn"
    )
    group.add_argument(
        "--io", choices=choices["io"], default="auto", help="map files or read them (default: auto)"
    )


def open_message(file: str, arguments: argparse.Namespace) -> onnxmap.ProtoView:
    """Open the model in a file, or the tensor or operator set. `-` is standard input.

    Raises:
        ParseError: it is none of them; the error is that of a model.
    """
    import onnxmap

    data = _standard_input(file)
    try:
        return _model(file, data, arguments).proto
    except onnxmap.ParseError:
        found = _view(file, data, arguments, _is_operator_set, _is_tensor)
        if found is None:
            raise
        return found


def open_model_or_operators(
    file: str, arguments: argparse.Namespace
) -> onnxmap.Model | onnxmap.OperatorSet:
    """Open the model in a file, or the operator set. `-` is standard input.

    Raises:
        ParseError: it is neither; the error is that of a model.
    """
    import onnxmap

    data = _standard_input(file)
    try:
        return _model(file, data, arguments)
    except onnxmap.ParseError:
        found = _view(file, data, arguments, _is_operator_set)
        if found is None:
            raise
        return onnxmap.OperatorSet(found)


def _view(
    file: str,
    data: bytes | None,
    arguments: argparse.Namespace,
    *kinds: Callable[[onnxmap.ProtoView], bool],
) -> onnxmap.ProtoView | None:
    """Open the message as the first of these kinds that it is; None if it is none."""
    import onnxmap

    for is_one in kinds:
        message = _MESSAGES[is_one]
        with contextlib.suppress(onnxmap.ParseError):
            if data is None:
                found = onnxmap.load_proto(file, message, io=arguments.io)
            else:
                found = onnxmap.loads_proto(data, message)
            if is_one(found):
                return found
    return None


def _is_operator_set(view: onnxmap.ProtoView) -> bool:
    return bool(view.magic == MAGIC)


def _is_tensor(view: onnxmap.ProtoView) -> bool:
    return view.data_type != 0 and len(view.unknown_fields) == 0


_MESSAGES: dict[Callable[[onnxmap.ProtoView], bool], str] = {
    _is_operator_set: "OperatorSetProto",
    _is_tensor: "TensorProto",
}


def open_model(file: str, arguments: argparse.Namespace) -> onnxmap.Model:
    """Open the model in a file, or on standard input if its name is `-`."""
    return _model(file, _standard_input(file), arguments)


def _standard_input(file: str) -> bytes | None:
    """The bytes of standard input; None if `file` names another file."""
    return sys.stdin.buffer.read() if file == STANDARD_INPUT else None


def _model(file: str, data: bytes | None, arguments: argparse.Namespace) -> onnxmap.Model:
    """Open the model in `data`; in the file if that is None."""
    import onnxmap

    options = opening_options(arguments)
    return onnxmap.load(file, **options) if data is None else onnxmap.loads(data, **options)


def opening_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `onnxmap.load` that the command line has."""
    names = ("external_root", "link_policy", "allow_hardlinks", "lenient", "io")
    return {name: getattr(arguments, name) for name in names}
