"""Time onnxmap and every installed peer on a model, with a new process for each sample.

Each opens the model, makes an array of every initializer, and reads every byte, in its usual way.
A time is that since the start. The memory is that of the model and its arrays.

Example: onnxmap bench demo.onnx --rounds 1
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import onnxmap
from onnxmap._base.text import bytes_in_words
from onnxmap.cli import table
from onnxmap.cli.arguments import at_least_one, flag, valued
from onnxmap.cli.exit_status import UsageError
from onnxmap.cli.model_file import STANDARD_INPUT, opening_options
from onnxmap.cli.text import print_json, seconds_in_words

# The figures of a sample, with their headings.
FIGURES = {
    "open_seconds": "open", "arrays_seconds": "all arrays", "bytes_seconds": "every byte",
    "own_bytes": "own memory", "file_bytes": "of files",
}  # fmt: skip
# A contender that takes this long has only one turn: noise is small compared to that.
SLOW_SECONDS = 20.0
# The largest resident share of a file that counts as cold: looking at a file may read a page of it.
MOST_THAT_STAYS = 0.01
STATUS = Path("/proc/self/status")


class Peer(NamedTuple):
    """A library.

    Attributes:
        module: the module to import.
        arrays: gets the model; returns every initializer as an array, by name. None if the library
            cannot do that.
        function: what opens a model by its path.
        options: its other arguments.
    """

    module: str
    arrays: Callable[[Any], dict[str, np.ndarray[Any, Any]]] | None = None
    function: str = "load"
    options: Mapping[str, Any] = MappingProxyType({})


def _onnx_arrays(model: Any) -> dict[str, np.ndarray[Any, Any]]:
    to_array = importlib.import_module("onnx.numpy_helper").to_array
    return {tensor.name: to_array(tensor) for tensor in model.graph.initializer}


def _onnx_ir_arrays(model: Any) -> dict[str, np.ndarray[Any, Any]]:
    return {name: value.const_value.numpy() for name, value in model.graph.initializers.items()}


OURS = "onnxmap"
CPU = ["CPUExecutionProvider"]
PEERS = {
    OURS: Peer("onnxmap", onnxmap.Model.views),
    "onnx": Peer("onnx", _onnx_arrays),
    "onnx-ir": Peer("onnx_ir", _onnx_ir_arrays),
    "onnxruntime": Peer("onnxruntime", None, "InferenceSession", {"providers": CPU}),
    "onnx2": Peer("onnx_extended.onnx2", options={"skip_raw_data": True}),
}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap bench`."""
    parser.add_argument("file", help="the model, a file")
    valued(parser, "--rounds", "N", "samples of each (default: 3)", type=at_least_one, default=3)
    flag(parser, "--cold", "keep the files out of the page cache")


def run(arguments: Namespace) -> None:
    """Run `onnxmap bench`."""
    if not STATUS.exists():
        raise UsageError(f"bench measures memory, which works only on Linux: no {STATUS}")
    if arguments.file == STANDARD_INPUT:
        raise UsageError("bench cannot read standard input: each library opens the file itself")
    options = opening_options(arguments)
    # Not mapped: pages that a mapping has touched cannot leave the page cache.
    with onnxmap.load(arguments.file, **{**options, "io": "read"}) as model:
        model.residency()  # raises if external data are unsafe: the peers do not check them
        paths = [arguments.file, *model.external_files]
        sizes = {path: Path(path).stat().st_size for path in paths}  # no URL: peers read only files
        if arguments.cold:
            _prepare(sizes, cold=True)
            if (stays := model.residency().share) > MOST_THAT_STAYS:
                raise UsageError(f"{stays:.0%} of the initializers cannot leave the page cache")
    results = _results(sizes, options, arguments)
    if arguments.json:
        facts = {"files": sizes, "rounds": arguments.rounds, "cold": arguments.cold}
        print_json({**facts, "results": results})
    else:
        rows = [(_title(each), _medians(each["samples"]), each["error"]) for each in results]
        table.print_results(FIGURES.values(), rows)


def _title(result: dict[str, Any]) -> str:
    return " ".join(filter(None, (result["contender"], result["version"])))


def _prepare(paths: Iterable[str], *, cold: bool) -> None:
    """Take files out of the page cache, as far as the system allows it, or into it."""
    for path in paths:
        with Path(path).open("rb", buffering=0) as file:
            if cold:
                os.fsync(file.fileno())  # pages that are not on disk yet cannot be dropped
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            while not cold and file.read(8 << 20):
                pass


def _results(paths: Iterable[str], options: Any, arguments: Namespace) -> list[Any]:
    """The samples of each contender that is installed. They take turns.

    Raises:
        UsageError: onnxmap itself cannot read the files.
    """
    installed = [name for name, peer in PEERS.items() if find_spec(peer.module.split(".")[0])]
    nothing: dict[str, Any] = {"version": None, "error": None}
    results = [{"contender": name, **nothing, "samples": list[Any]()} for name in installed]
    expected = None
    for name, result in [*zip(installed, results, strict=True)] * arguments.rounds:
        if result["error"] is not None or _is_slow(result["samples"]):
            continue
        if sys.stderr.isatty():
            print(f"\r\x1b[K{name}\r", end="", file=sys.stderr, flush=True)
        _prepare(paths, cold=arguments.cold)
        report = _report(name, arguments.file, options)
        if name == OURS:
            expected = report.get("read")
        if report.get("read", expected) not in (None, expected):
            report = {"error": f"did not read the same as {OURS}"}
        if "error" not in report:
            result["version"] = report["version"]
            result["samples"].append(report["sample"])
        elif name == OURS:
            raise UsageError(report["error"])
        else:
            result |= {**nothing, **report, "samples": []}
    return results


def _is_slow(samples: Iterable[dict[str, float]]) -> bool:
    seconds = (sample[key] for sample in samples for key in sample if key.endswith("_seconds"))
    return max(seconds, default=0.0) > SLOW_SECONDS


def _report(*request: Any) -> dict[str, Any]:
    """What one sample has cost and read, or its error."""
    # The modules of this process, but those of the current folder.
    path = [folder for folder in sys.path if folder]
    program = f"import sys; sys.path[:] = {path!r}; from onnxmap.cli import bench; bench.sample()"
    command = [sys.executable, "-W", "ignore", "-c", program, json.dumps(request)]
    ran = subprocess.run(command, capture_output=True, errors="replace", check=False)
    if not ran.stdout.endswith("}\n"):  # it died
        last = ran.stderr.strip().splitlines()[-1:]
        return {"error": ": ".join([f"ended with status {ran.returncode}", *last])}
    return dict(json.loads(ran.stdout.splitlines()[-1]))


def sample() -> None:
    """In a process of its own, print what a sample costs, as a line of JSON."""
    name, path, options = json.loads(sys.argv[1])
    try:
        report = _measured(PEERS[name], path, options if name == OURS else {})
    except Exception as error:  # noqa: BLE001 -- whatever a peer raises is its result
        report = {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}
    print("\n" + json.dumps(report), flush=True)  # on a line of its own: a peer may print
    os._exit(0)  # do not spend time on freeing gigabytes


def _measured(peer: Peer, path: str, options: dict[str, Any]) -> dict[str, Any]:
    importlib.import_module("ml_dtypes")  # onnxmap imports it at first use, the peers at once
    opened = getattr(importlib.import_module(peer.module), peer.function)
    gc.collect()
    before, start = _memory(), time.perf_counter()
    model = opened(path, **peer.options, **options)
    sample: dict[str, float] = {"open_seconds": time.perf_counter() - start}
    read = None
    if peer.arrays is not None:
        arrays = peer.arrays(model)
        sample["arrays_seconds"] = time.perf_counter() - start
    sample |= {key: max(now - before[key], 0) for key, now in _memory().items()}
    if peer.arrays is not None:
        read = [len(arrays), _touched(arrays.values())]
        sample["bytes_seconds"] = time.perf_counter() - start
    version = sys.modules[peer.module.split(".")[0]].__version__
    return {"version": version, "read": read, "sample": sample}


def _memory() -> dict[str, int]:
    """Bytes of this process in memory: its own, and pages of files."""
    rows = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    names = {"own_bytes": "RssAnon", "file_bytes": "RssFile"}
    return {key: int(rows[name].split()[0]) << 10 for key, name in names.items()}


def _touched(arrays: Iterable[np.ndarray[Any, Any]]) -> int:
    """The sum of all bytes as 64-bit numbers: the cheapest work that reads every byte."""
    total = 0
    for array in (one for one in arrays if one.dtype != object):  # not of texts
        stored = array.reshape(-1).view(np.uint8)
        whole = len(stored) // 8 * 8
        total += int(stored[:whole].view(np.uint64).sum()) + int(stored[whole:].sum())
    return total % 2**64


def _medians(samples: Sequence[dict[str, float]]) -> Iterator[str]:
    for key in FIGURES:
        values = [sample[key] for sample in samples if key in sample]
        in_words = seconds_in_words if key.endswith("_seconds") else bytes_in_words
        yield in_words(float(np.median(values))) if values else ""
