"""Run a model in onnxruntime, with its weights mapped from their files.

The inputs are random unless --input or --test-data names files. Beside the times of onnxmap's
session are those of onnxruntime's own way to open the file.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from onnxmap._text import escape
from onnxmap.cli.arguments import at_least_one
from onnxmap.cli.completion import complete_with, folders, nothing
from onnxmap.cli.model_file import STANDARD_INPUT, add_opening_options, open_model
from onnxmap.cli.outcome import DONE, FINDINGS, UsageError
from onnxmap.cli.text import cut, seconds_in_words, shape_in_words

if TYPE_CHECKING:
    import onnxmap

SUMMARY = "run a model in onnxruntime, with its weights mapped from their files"

OURS, OWN = "onnxmap", "onnxruntime"
_LONGEST_REASON = 200  # characters


@dataclass(frozen=True)
class Times:
    """How long one way to open and run a model took, in seconds; or why it failed."""

    contender: str
    opening: float | None = None
    running: float | None = None  # the median of all runs
    error: str | None = None


@dataclass(frozen=True)
class Comparison:
    """Whether an output is what the test data say."""

    output: str
    difference: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap run`."""
    parser.add_argument("file", help="the model; - is standard input")
    given = parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="an array for an input, in a .npy or .pb file, or the word random",
    )
    size = parser.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="DIMENSION=N",
        help="the extent of a named dimension in random inputs (default: 1)",
    )
    data = parser.add_argument(
        "--test-data",
        metavar="DIR",
        help="take the inputs from this folder, and compare the outputs with those in it",
    )
    repeat = parser.add_argument(
        "--repeat",
        type=at_least_one,
        default=1,
        metavar="N",
        help="run N times, and print the median time",
    )
    for argument in given, size, repeat:
        complete_with(argument, nothing)
    complete_with(data, folders)
    parser.add_argument(
        "--no-prepack",
        action="store_true",
        help="use the weights as they are in the files; opening then copies none of them",
    )
    parser.add_argument(
        "--alone", action="store_true", help="do not open the file in onnxruntime's own way, too"
    )
    parser.add_argument("--json", action="store_true", help="print times and comparisons as JSON")
    add_opening_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap run`."""
    from onnxmap.cli.run.feeds import feeds_of

    if arguments.test_data is not None and (arguments.input or arguments.size):
        raise UsageError("--test-data has all inputs, so --input and --size have no use")
    # No time contains the import, nor what onnxruntime does for the first session of a process.
    from onnxmap.interop.ort import quiet_options, warm_up

    warm_up()
    model = open_model(arguments.file, arguments)
    expected: list[Any] | None = None
    if arguments.test_data is None:
        feeds = feeds_of(model, arguments.input, arguments.size)
    else:
        feeds, expected = _test_data(model, arguments.test_data)
    prepack = not arguments.no_prepack
    times, names, outputs = _timed(
        OURS, lambda: model.session(None, quiet_options(prepack)), feeds, arguments
    )
    own = None if arguments.alone else _own_way(arguments, feeds)
    comparisons = None if expected is None else _compared(names, outputs, expected)
    rows = [times] if own is None else [times, own]
    if arguments.json:
        _write_json(rows, comparisons)
    else:
        if comparisons is None:
            _write_outputs(names, outputs)
        else:
            _write_comparisons(comparisons)
        _write_times(rows)
    return FINDINGS if any(one.difference is not None for one in comparisons or ()) else DONE


def _test_data(model: onnxmap.Model, folder: str) -> tuple[dict[str, Any], list[Any]]:
    import onnxmap

    inputs, outputs = onnxmap.load_test_data(folder, model)
    names = [value.name for value in model.graph.required_inputs]
    if len(inputs) > len(names):  # also values for inputs that have initializers
        names = [value.name for value in model.graph.inputs]
    if len(inputs) > len(names):
        raise UsageError(f"{folder} has {len(inputs)} inputs, and the model has {len(names)}")
    return dict(zip(names, inputs, strict=False)), outputs


def _timed(
    contender: str,
    open_session: Callable[[], Any],
    feeds: Mapping[str, Any],
    arguments: argparse.Namespace,
) -> tuple[Times, list[str], list[Any]]:
    """Open a session and run it; return the times, and the names and values of the outputs."""
    start = time.perf_counter()
    session = open_session()
    opening = time.perf_counter() - start
    running, outputs = [], []
    for _ in range(arguments.repeat):
        start = time.perf_counter()
        try:
            outputs = session.run(None, dict(feeds))
        except Exception as error:
            raise UsageError(f"onnxruntime cannot run the model: {error}") from error
        running.append(time.perf_counter() - start)
    names = [output.name for output in session.get_outputs()]
    return Times(contender, opening, median(running)), names, outputs


def _own_way(arguments: argparse.Namespace, feeds: Mapping[str, Any]) -> Times:
    """The times of `InferenceSession(path)`, with the same options."""
    from onnxmap.interop.ort import open_own_way, quiet_options

    if arguments.file == STANDARD_INPUT:
        return Times(OWN, error="standard input has no path")
    options = quiet_options(not arguments.no_prepack)
    try:
        return _timed(OWN, lambda: open_own_way(arguments.file, options), feeds, arguments)[0]
    except Exception as error:  # noqa: BLE001 -- whatever it raises is its result
        return Times(OWN, error=cut(" ".join(str(error).split()), _LONGEST_REASON, 0.2))


def _compared(
    names: Sequence[str], found: Sequence[Any], wanted: Sequence[Any]
) -> list[Comparison]:
    from onnxmap.cli.run.comparison import difference

    if len(found) < len(wanted):
        raise UsageError(f"there are {len(wanted)} outputs in the data, and the model has fewer")
    rows = zip(names, found, wanted, strict=False)
    return [Comparison(name, difference(one, other)) for name, one, other in rows]


def _write_json(rows: Sequence[Times], comparisons: Sequence[Comparison] | None) -> None:
    facts: dict[str, Any] = {"times": [asdict(row) for row in rows]}
    if comparisons is not None:
        facts["comparisons"] = [asdict(one) for one in comparisons]
    json.dump(facts, sys.stdout, indent=2)
    sys.stdout.write("\n")


def _write_outputs(names: Sequence[str], outputs: Sequence[Any]) -> None:
    for name, value in zip(names, outputs, strict=True):
        if hasattr(value, "dtype"):
            kind = f"{value.dtype} {shape_in_words(value.shape)}"
        else:
            kind = type(value).__name__
        lines = [escape(line) for line in str(value).splitlines()]
        sys.stdout.write("\n".join([f"{escape(name)}  {kind}", *lines, ""]))


def _write_comparisons(comparisons: Sequence[Comparison]) -> None:
    for one in comparisons:
        text = "ok" if one.difference is None else "differs"
        details = "" if one.difference is None else f": {one.difference}"
        sys.stdout.write(f"{text:<9}{escape(one.output)}{details}\n")


def _write_times(rows: Sequence[Times]) -> None:
    width = max(len(row.contender) for row in rows)
    sys.stdout.write(f"\n{'':<{width}}  {'opening':>9}  {'running':>9}\n")
    for row in rows:
        if row.opening is None or row.running is None:
            sys.stdout.write(f"{row.contender:<{width}}  {escape(row.error or '')}\n")
            continue
        opening, running = seconds_in_words(row.opening), seconds_in_words(row.running)
        sys.stdout.write(f"{row.contender:<{width}}  {opening:>9}  {running:>9}\n")
