"""Time onnxmap and every installed peer on a model, with a new process for each sample."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxmap.cli.arguments import at_least_one
from onnxmap.cli.completion import complete_with, nothing
from onnxmap.cli.model_file import STANDARD_INPUT, add_opening_options, opening_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxmap.cli.bench.samples import Plan, Samples

SUMMARY = "time onnxmap and every installed peer on a model of yours"

ROUNDS = 3
_SAFETENSORS_SUFFIX = ".safetensors"
# The largest resident share of a file that counts as cold: looking at a file may read a page of it.
_MOST_THAT_STAYS = 0.01


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `onnxmap bench`."""
    parser.add_argument("file", help="the model, a file")
    rounds = parser.add_argument(
        "--rounds",
        type=at_least_one,
        default=ROUNDS,
        metavar="N",
        help=f"samples of each contender (default: {ROUNDS}), after one that does not count",
    )
    complete_with(rounds, nothing)
    parser.add_argument(
        "--cold",
        action="store_true",
        help="take the files out of the page cache before each sample, instead of into it",
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    add_opening_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `onnxmap bench`."""
    from onnxmap.cli.bench.counter_bar import CounterBar
    from onnxmap.cli.bench.samples import take_samples

    plan, facts = _plan(arguments)
    with CounterBar(plan.total) as bar:
        samples = take_samples(plan, bar.next)
    facts |= {"versions": _versions(samples), "results": _results(samples)}
    if arguments.json:
        json.dump(facts, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        from onnxmap.cli.bench.page import page
        from onnxmap.cli.screen import draw, open_screen

        draw(page(facts, open_screen()))
    return 0


def _plan(arguments: argparse.Namespace) -> tuple[Plan, dict[str, Any]]:
    """What to measure, and the facts that the page shows with it."""
    import importlib.util  # not in measured processes, which import this module

    import onnxmap
    from onnxmap import _core
    from onnxmap.cli.bench.peers import PEERS, SAFETENSORS, Files
    from onnxmap.cli.bench.samples import Plan, drop
    from onnxmap.cli.outcome import UsageError
    from onnxmap.cli.process_memory import check_is_known

    check_is_known()
    if arguments.file == STANDARD_INPUT:
        raise UsageError(
            "bench cannot read standard input: each library opens the file by its path"
        )
    nbytes = Path(arguments.file).stat().st_size  # peers read only files: no URL, no pipe
    # Not mapped: pages that a mapping has touched cannot leave the page cache.
    options = opening_options(arguments)
    with onnxmap.load(arguments.file, **{**options, "io": "read"}) as model:
        model.residency()  # raises if external data are unsafe: the peers do not check them
        data = model.external_files
        files = Files(arguments.file, data, options)
        if arguments.cold:
            drop(files)
            if (stays := model.residency().share) > _MOST_THAT_STAYS:
                raise UsageError(
                    f"{stays:.0%} of the initializers cannot leave the page cache here; "
                    "run without --cold"
                )
        tensors = list(model.initializers.all())
        is_safetensors = all(tensor.is_external for tensor in tensors) and all(
            file.endswith(_SAFETENSORS_SUFFIX) for file in data
        )
        facts = {
            "path": arguments.file,
            "nbytes": nbytes,
            "external_files": [{"path": f, "nbytes": Path(f).stat().st_size} for f in data],
            "initializers": {"count": len(tensors), "nbytes": model.nbytes},
            "rounds": arguments.rounds,
            "cold": arguments.cold,
            "cores": _core.usable_cpus(),
            "python": platform.python_version(),
        }
    names = [
        name
        for name, peer in PEERS.items()
        if importlib.util.find_spec(peer.module) is not None  # installed
        and (name != SAFETENSORS or (data and is_safetensors))
    ]
    return Plan(files, names, arguments.rounds, arguments.cold), facts


def _results(samples: Sequence[Samples]) -> list[dict[str, Any]]:
    from onnxmap.cli.bench.peers import OURS

    ours = {found.work: found for found in samples if found.contender == OURS}
    return [
        {
            "work": found.work,
            "contender": found.contender,
            "error": found.error,
            "seconds": found.seconds,
            "median_seconds": found.middle("seconds"),
            "times_ours": found.times(ours[found.work]),
            "own_bytes": found.middle("own_bytes"),
            "file_bytes": found.middle("file_bytes"),
            "peak_bytes": found.middle("peak_bytes"),
        }
        for found in samples
    ]


def _versions(samples: Sequence[Samples]) -> dict[str, str]:
    """The versions of the contenders that took part."""
    from onnxmap.cli.bench.peers import PEERS

    there = {found.contender for found in samples}
    return {name: _version_of(PEERS[name].distribution) for name in PEERS if name in there}


def _version_of(distribution: str) -> str:
    import importlib.metadata  # slow, and every measured process imports this module

    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:  # not installed, but importable from a folder
        return "of unknown version"
