"""Run a model in onnxruntime, with its weights mapped from their files.

The inputs are random unless --input or --test-data names files. Beside the times of onnxmap's
session are those of onnxruntime's own way to open the file.

Example: onnxmap run demo.onnx --size length=3
"""

from __future__ import annotations

import math
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import onnxmap
from onnxmap._base.text import shape_in_words
from onnxmap.cli import table
from onnxmap.cli.arguments import InDict, at_least_one, flag, folders, pair, valued
from onnxmap.cli.exit_status import DONE, FINDINGS, UsageError
from onnxmap.cli.model_file import STANDARD_INPUT, complete_dims, complete_inputs, open_model
from onnxmap.cli.text import cut, print_json, seconds_in_words
from onnxmap.errors import printable

Words = Mapping[str, str]

_FIGURES = ("opening", "running")
_MOST_ELEMENTS = 1 << 31  # of a random input


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap run`."""
    parser.add_argument("file", help="the model; - is standard input")
    many: Any = {"type": pair, "action": InDict, "default": {}}
    text = "an array for an input, in a .npy or .pb file, or the word random"
    valued(parser, "--input", "NAME=FILE", text, complete_inputs, **many)
    text = "the extent of a named dimension in random inputs (default: 1)"
    valued(parser, "--size", "DIMENSION=N", text, complete_dims, **many)
    valued(parser, "--test-data", "DIR", "a folder with inputs, and outputs to compare", folders)
    text = "run N times, and print the median time"
    valued(parser, "--repeat", "N", text, type=at_least_one, default=1)
    flag(parser, "--no-prepack", "copy no weights into other layouts")
    flag(parser, "--alone", "do not open the file in onnxruntime's own way, too")


def run(arguments: Namespace) -> int:
    """Run `onnxmap run`."""
    if arguments.test_data is not None and (arguments.input or arguments.size):
        raise UsageError("--test-data has all inputs; leave --input and --size out")
    from onnxmap.interop import ort  # needs an optional library

    ort.warm_up()  # no time contains what onnxruntime does for the first session of a process
    model, file, repeat = open_model(arguments.file, arguments), arguments.file, arguments.repeat
    if arguments.test_data is None:
        feeds, expected = feeds_of(model, arguments.input, arguments.size), list[Any]()
    else:
        feeds, expected = _test_data(model, arguments.test_data)
    options = ort.quiet_options(not arguments.no_prepack)
    row, outputs = _timed("onnxmap", lambda: model.session(None, options), feeds, repeat)
    if row["error"] is not None:
        raise UsageError(f"onnxruntime cannot run the model: {row['error']}")
    rows = [row]
    if not arguments.alone and file != STANDARD_INPUT:
        rows += _timed("onnxruntime", lambda: ort.open_own_way(file, options), feeds, repeat)[:1]
    if len(outputs) < len(expected):
        raise UsageError(f"there are {len(expected)} outputs in the data, and the model has fewer")
    found = differences(outputs, expected)
    if arguments.json:
        print_json({"times": rows, "comparisons": found.to_dict()["tensors"]})
    else:
        print(*([found] if expected else _outputs(outputs)), "", sep="\n")
        results = [(row["contender"], _times(row), row["error"]) for row in rows]
        table.print_results(_FIGURES, results)
    return DONE if found.same else FINDINGS


def _test_data(model: onnxmap.Model, folder: str) -> tuple[dict[str, Any], list[Any]]:
    inputs, outputs = onnxmap.load_test_data(folder, model)
    required, every = model.graph.required_inputs, model.graph.inputs
    # Some data have also values for inputs that have initializers.
    values = required if len(inputs) <= len(required) else every
    if len(inputs) > len(values):
        raise UsageError(f"{folder} has {len(inputs)} inputs, and the model has {len(values)}")
    return {value.name: given for value, given in zip(values, inputs, strict=False)}, outputs


def feeds_of(model: onnxmap.Model, given: Words, extents: Words) -> dict[str, Any]:
    """Return the required inputs of a model by name: from the given files, or random.

    Args:
        model: the model.
        given: by the name of an input its file, or the word random.
        extents: the extents of dimensions that the model names.

    Raises:
        UsageError: an input cannot be made up, or the model has no such dimension.
        UnknownNameError: the model has no input of the name.
    """
    values = {value.name: value for value in model.graph.required_inputs}
    values |= {name: model.graph.inputs[name] for name in given}
    if unknown := extents.keys() - set(known := model.graph.dimension_params):
        raise UsageError(f"no dimension is named {unknown.pop()!r}; the model has {list(known)}")
    return {name: _array(each, given.get(name, "random"), extents) for name, each in values.items()}


def _array(value: onnxmap.ValueInfo, path: str, extents: Words) -> Any:
    """A random array, that in a file of NumPy, or the tensor in a file of protobuf."""
    if path == "random":
        return _random(value, extents)
    if not path.endswith(".npy"):
        return onnxmap.load_tensor(path).numpy()
    try:
        return np.load(path)
    except (ValueError, EOFError) as error:
        raise UsageError(f"{path}: {error}") from None


def _random(value: onnxmap.ValueInfo, extents: Words) -> Any:
    """An array for an input. Whole numbers are valid indices of any axis but that of length 1."""
    random = np.random.default_rng([*map(ord, value.name)])  # the same at each call
    try:
        if value.dtype is None or value.shape is None:
            raise ValueError("it is not a tensor of known rank")
        kind = onnxmap.DataType(value.dtype)
        shape = [n if isinstance(n, int) else int(extents.get(n or "", 1)) for n in value.shape]
        if math.prod(shape) > _MOST_ELEMENTS:
            raise ValueError("it is too large")
        if kind == onnxmap.DataType.STRING:
            return np.full(shape, "", object)
        is_whole = kind == onnxmap.DataType.BOOL or "INT" in kind.name
        made = random.integers(0, 2, shape) if is_whole else random.standard_normal(shape)
        return made.astype(kind.numpy())
    except (ValueError, TypeError, MemoryError) as error:
        advice = f"pass --input {value.name}=FILE or --test-data DIR"
        raise UsageError(f"input {value.name!r} cannot be random: {error}; {advice}") from None


def _timed(name: str, opened: Callable[[], Any], feeds: Any, repeat: int) -> tuple[Any, Any]:
    """Open a session and run it; return the times or the error, and the outputs by name."""
    marks = [time.perf_counter()]
    try:
        session = opened()
        marks.append(time.perf_counter())
        for _ in range(repeat):
            outputs = session.run(None, feeds)
            marks.append(time.perf_counter())
    except onnxmap.OnnxMapError:
        raise
    except Exception as error:  # noqa: BLE001 -- whatever onnxruntime raises is its result
        reason = cut(" ".join(str(error).split()), 200)
        return {"contender": name, "opening": None, "running": None, "error": reason}, {}
    opening, *runs = np.diff(marks).tolist()
    row = {"contender": name, "opening": opening, "running": np.median(runs).item(), "error": None}
    return row, {to.name: each for to, each in zip(session.get_outputs(), outputs, strict=True)}


def differences(outputs: Mapping[str, Any], expected: Sequence[Any]) -> onnxmap.ModelDiff:
    """Return how the first outputs differ from what is expected of them.

    Floating-point numbers may differ by the tolerances of onnx's backend tests. NaN equals NaN.
    """
    wanted = zip(outputs, expected, strict=False)
    made = zip(outputs, list(outputs.values())[: len(expected)], strict=False)
    a, b = (dict(leaf for pair in pairs for leaf in _leaves(*pair)) for pairs in (wanted, made))
    return onnxmap.diff(onnxmap.from_arrays(a), onnxmap.from_arrays(b), atol=1e-7, rtol=1e-3)


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The tensors in a value: those of a sequence or map have names like `y[0]`."""
    if isinstance(value, list | dict):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(f"{name}[{key!r}]", each)
    elif value is not None:
        yield name, np.asarray(value)


def _outputs(outputs: Mapping[str, Any]) -> Iterator[str]:
    for name, value in outputs.items():
        shape = f" {shape_in_words(value.shape)}" if hasattr(value, "dtype") else ""
        yield f"{printable(name)}  {getattr(value, 'dtype', type(value).__name__)}{shape}"
        yield from map(printable, str(value).splitlines())


def _times(row: Mapping[str, Any]) -> list[str]:
    return [seconds_in_words(row[each]) for each in _FIGURES if row["error"] is None]
