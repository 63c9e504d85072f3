"""Sessions of onnxruntime whose weights are pages of the files that hold them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._base.extras import extra
from onnxmap._show.unknown_names import unknown_name
from onnxmap.errors import SaveError, SessionError, printable

with extra("ort"):
    import onnxruntime
    from onnxruntime.capi import _pybind_state

if TYPE_CHECKING:
    from onnxmap._core import Graph
    from onnxmap._files.model import Model

# onnxruntime maps each external tensor by itself, and a process may have some 65 000 mappings.
# Smaller tensors are in the bytes of the model: as many as fit, in a second try.
_LEAST_EXTERNAL = (64 << 10, 4 << 10)  # bytes

_ONLY_FATAL = 4  # the level of onnxruntime's log
_LONGEST_REASON = 2000  # characters shown of what onnxruntime says

_FOLDER = "session.model_external_initializers_file_folder_path"
_NO_PREPACKING = "session.disable_prepacking"
_OPTIMIZED_FORM = "session.save_model_format"
_OPTIMIZED_DATA = "session.optimized_model_external_initializers_file_name"


def open_session(
    model: Model, given: Any, prepack: bool, outputs: Iterable[str] | None, **arguments: Any
) -> onnxruntime.InferenceSession:
    """See `Model.session`. `given`: session options. `arguments`: those that onnxruntime gets."""
    if isinstance(arguments["providers"], onnxruntime.SessionOptions):
        raise TypeError("pass session options by name: model.session(sess_options=options)")
    added = _added_outputs(model.graph, outputs)
    options = _copy_of(given, prepack, "/")
    data = _free_path()
    plan = _plan(model._open(), os.fsencode(data))
    if plan.has_external() and _keeps_references(options):
        raise ValueError(
            "onnxruntime would write an optimized model that refers to files by their absolute "
            f"paths; set the session option {_OPTIMIZED_DATA} to the name of a data file for it"
        )
    with _temporary_file(data, plan):
        parts: list[bytes] = []
        plan.write_model_to(parts.append)
        plan.check_referred_files()
        try:
            session = onnxruntime.InferenceSession(b"".join([*parts, added]), options, **arguments)
        except Exception as error:
            plan.check_referred_files()
            if given is not None and any(tensor.is_external for _, tensor in model.tensors()):
                # The options may have the data files, by their locations.
                options = _copy_of(given, prepack, os.devnull)  # and no file is opened
                with suppress(Exception):
                    whole = model.proto.SerializeToString() + added
                    return onnxruntime.InferenceSession(whole, options, **arguments)
            plan.check_missing_files()  # onnxruntime needs no file for values that the options have
            reason = printable(" ".join(str(error).split()))[:_LONGEST_REASON]
            raise SessionError(
                f"onnxruntime refuses the model: {reason}. To see whether the model is at fault, "
                "save it and open the file with onnxruntime.InferenceSession",
                code="session.refused",
            ) from error
        plan.check_referred_files()
        return session


def quiet_options(prepack: bool) -> onnxruntime.SessionOptions:
    """Return options of sessions that log nothing: their errors are raised."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ONLY_FATAL
    options.add_session_config_entry(_NO_PREPACKING, "0" if prepack else "1")
    return options


def open_own_way(path: str, options: onnxruntime.SessionOptions) -> onnxruntime.InferenceSession:
    """Open a session as onnxruntime does it by itself, to compare the times."""
    return onnxruntime.InferenceSession(path, options)


def warm_up() -> None:
    """Let onnxruntime prepare what it prepares once in a process."""
    onnxruntime.InferenceSession(_smallest(), providers=["CPUExecutionProvider"])


def _free_path() -> Path:
    """A path for a temporary file, in a folder that does not exist yet."""
    try:
        parent = gettempdir()
    except FileNotFoundError:  # most models need no file; for the others, making one fails
        parent = "/"
    return Path(parent).resolve() / f"onnxmap-session-{token_hex(16)}" / "weights.data"


@contextmanager
def _temporary_file(path: Path, plan: _core.SavePlan) -> Iterator[None]:
    """Write what no file holds to a file that exists in this block only, if there is such data.

    The file is gone once onnxruntime has mapped it.
    """
    if not plan.has_data():
        yield
        return
    path.parent.mkdir(mode=0o700)
    try:
        with path.open("wb") as file:
            plan.write_data_to(file.write)
        yield
    finally:
        rmtree(path.parent)


def _plan(document: _core.Document, data: bytes) -> _core.SavePlan:
    for least in _LEAST_EXTERNAL:
        try:
            return _core.save_plan(model=document.proto, location=data[1:], least_nbytes=least)
        except SaveError as error:
            if error.code != "save.too_large":
                raise
    raise SessionError(
        f"the graph and its tensors of less than {_LEAST_EXTERNAL[-1]} bytes have more than 2 GiB, "
        "and onnxruntime reads no such model",
        code="session.too_large",
    )


def _added_outputs(graph: Graph, names: Iterable[str] | None) -> bytes:
    """A part of a model that makes these values outputs, when it is merged with the model."""
    if isinstance(names, str):
        raise TypeError("outputs must be a list of names, not a str")
    known = {value.name for value in graph.outputs}
    part = _core.new("ModelProto")
    for name in dict.fromkeys(names or ()):
        if not isinstance(name, str):
            raise TypeError(f"outputs must be names of values, not {type(name).__name__}")
        if name in known:
            continue
        is_given = name in graph.initializers or any(value.name == name for value in graph.inputs)
        if graph.producer(name) is None and not is_given:
            values = (each for outputs in graph.node_outputs() for each in outputs if each)
            raise unknown_name("value", name, values)
        part.graph.output.add(name=name)
    return bytes(part.SerializeToString())


def _copy_of(given: Any, prepack: bool, folder: str) -> onnxruntime.SessionOptions:
    """A copy of session options, or new ones for None, for external data in `folder`."""
    if not isinstance(given, onnxruntime.SessionOptions | None):
        raise TypeError(f"sess_options must be SessionOptions, not {type(given).__name__}")
    options = onnxruntime.SessionOptions()
    if given is not None:  # onnxruntime makes a copy for each of its sessions, and shows it
        options = _pybind_state.InferenceSession(given, _smallest(), False, False).session_options
    options.add_session_config_entry(_FOLDER, folder)
    if not prepack:
        options.add_session_config_entry(_NO_PREPACKING, "1")
    return options


@cache
def _smallest() -> bytes:
    value = {"type": {"tensor_type": {"elem_type": 1, "shape": {}}}}
    graph = {
        "name": "smallest", "node": [{"op_type": "Identity", "input": ["x"], "output": ["y"]}],
        "input": [{"name": "x", **value}], "output": [{"name": "y", **value}],
    }  # fmt: skip
    model = _core.new("ModelProto", ir_version=8, opset_import=[{"version": 13}], graph=graph)
    return bytes(model.SerializeToString())


def _entry(options: onnxruntime.SessionOptions, key: str) -> str:
    try:
        return str(options.get_session_config_entry(key))
    except RuntimeError:  # there is no such entry
        return ""


def _keeps_references(options: onnxruntime.SessionOptions) -> bool:
    """Whether onnxruntime writes an optimized model with the external entries that it was given."""
    path = options.optimized_model_filepath
    form = _entry(options, _OPTIMIZED_FORM) or ("ORT" if path.lower().endswith(".ort") else "")
    return bool(path) and form != "ORT" and not _entry(options, _OPTIMIZED_DATA)
