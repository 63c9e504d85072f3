"""Make a model of some tens of megabytes, and show what onnxmap does with it, and how fast.

Example: onnxmap demo --keep .
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import onnxmap
from onnxmap._base.text import bytes_in_words
from onnxmap.cli import table
from onnxmap.cli.arguments import folders, valued
from onnxmap.cli.demo_model import MODEL, PRODUCER, WEIGHTS, write_demo_model
from onnxmap.cli.exit_status import UsageError
from onnxmap.cli.text import print_json, seconds_in_words
from onnxmap.errors import OnnxMapError

Step = dict[str, Any]  # a line of Python, how many seconds it takes, and what comes of it


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `onnxmap demo`."""
    text = "make the model in this folder and leave it there"
    valued(parser, "--keep", "DIR", text, folders, type=Path)


def run(arguments: Namespace) -> None:
    """Run `onnxmap demo`."""
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as copies:
        write_demo_model(Path(scratch))
        state = ", gone after this" if arguments.keep is None else _keep(scratch, arguments.keep)
        paths = [Path(arguments.keep or scratch, name) for name in (MODEL, WEIGHTS)]
        sizes = {str(path): path.stat().st_size for path in paths}
        steps = list(_steps(paths[0], Path(copies, MODEL)))
    if arguments.json:
        print_json({"files": sizes, "steps": steps})
    else:
        _print(sizes, steps, state, kept=arguments.keep is not None)


def _keep(made: str, folder: Path) -> str:
    """Move the files into the folder, where a demo may have left them; return what the page says.

    Raises:
        UsageError: the folder has another file of such a name.
    """
    present = [name for name in (MODEL, WEIGHTS) if os.path.lexists(folder / name)]
    if present and not _is_demo(folder / MODEL):
        what = f"exists already, and {MODEL} is not a demo's model: choose another folder"
        raise UsageError(f"{folder / present[0]} {what}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in {MODEL, WEIGHTS}.difference(present):
        shutil.move(Path(made, name), folder / name)
    return ", there already" if len(present) == 2 else ""


def _is_demo(path: Path) -> bool:
    """Whether a demo made the model, perhaps that of another version."""
    with suppress(OnnxMapError, OSError), onnxmap.load(path) as model:
        return model.producer_name == PRODUCER
    return False


def _steps(path: Path, copy: Path) -> Iterator[Step]:
    model, seconds = _timed(lambda: onnxmap.load(path))
    found = f"{len(model.graph.nodes)} nodes, {len(model.initializers)} initializers"
    yield {"code": f'model = onnxmap.load("{MODEL}")', "seconds": seconds, "result": found}

    views, seconds = _timed(model.views)
    types = len({view.dtype for view in views.values()})
    copied = sum(tensor.nbytes for tensor in model.initializers.values() if not tensor.is_view)
    found = f"{len(views)} arrays of {types} types, {bytes_in_words(copied)} copied"
    yield {"code": "views = model.views()", "seconds": seconds, "result": found}

    total, seconds = _timed(lambda: sum(array.nbytes for _, array in model.stream(window="8MiB")))
    found = f"{bytes_in_words(total)}, 8 MiB of them at a time"
    yield {"code": 'model.stream(window="8MiB")', "seconds": seconds, "result": found}

    report, seconds = _timed(lambda: model.save(copy))
    found = f"{bytes_in_words(report.bytes_copied)} from file to file"
    yield {"code": f'model.save("copy/{MODEL}")', "seconds": seconds, "result": found}


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def _print(sizes: Mapping[str, int], steps: Sequence[Step], state: str, *, kept: bool) -> None:
    size = bytes_in_words(sum(sizes.values()))
    print(f"A small language model with random weights{state}  {size}\n")
    columns = table.Name(), table.Number(style="green"), table.Text()
    rows = [(each["code"], seconds_in_words(each["seconds"]), each["result"]) for each in steps]
    table.print_table(columns, rows)
    print("\nnext")
    if not kept:
        print("  onnxmap demo --keep .   # leave the model here")
    path = next(iter(sizes)) if kept else MODEL
    in_python = f"import onnxmap; print(onnxmap.load({json.dumps(path, ensure_ascii=False)}))"
    commands = ("onnxmap", "show", path), ("onnxmap", "ls", path, "layers.0.*")
    for words in (*commands, ("python", "-c", in_python)):
        print(" ", shlex.join(words))
