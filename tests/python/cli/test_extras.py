"""Optional packages that are missing: a command fails in one line, which names the extras."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.processes.subprocesses import facts_from
from support.run_options import EXHAUSTIVE

import onnxmap
from onnxmap.cli import COMMANDS

# The modules that hide an optional package, and the extra that installs it.
PACKAGES = {
    "google": "proto", "onnx": "onnx", "onnx_ir": "ir", "onnxruntime": "ort", "scipy": "scipy",
    "torch": "torch", "dask": "dask", "tqdm": "cli", "rich": "cli", "argcomplete": "cli",
    "jinja2": "report", "squarify": "report", "fsspec": "remote", "aiohttp": "remote",
}  # fmt: skip

# Runs command lines in a process that lacks packages, as if they were not installed.
CHILD = """
import contextlib, importlib.machinery, io, os
hidden, find = sys.argv[1].split(","), importlib.machinery.PathFinder.find_spec

def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in hidden else find(name, path, target)

importlib.machinery.PathFinder.find_spec = staticmethod(find_spec)
from onnxmap.cli import main

def ran(line):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            return [main(line.split()), err.getvalue()]
        except BaseException as error:
            return [repr(error), err.getvalue()]

os.chdir(sys.argv[2])
report(**{line: ran(line) for line in sys.argv[3:]})
"""

# Every command, with the options that lead to other code.
LINES = [
    "show m.onnx", "show m.onnx --json", "ls m.onnx", "ls m.onnx --all", "ls m.onnx --nodes",
    "ls m.onnx --inputs --json", "dump m.onnx", "dump m.onnx graph", "check m.onnx",
    "check m.onnx --values --strict --json", "verify m.onnx", "stats m.onnx", "stats m.onnx --json",
    "stats m.onnx --histogram",
    "diff m.onnx m.onnx --json", "diff m.onnx m.onnx --cast", "save m.onnx a.onnx --inline",
    "save m.onnx b.onnx --external-data b.data --checksum", "save m.onnx c.onnx --view",
    "convert m.onnx w.safetensors", "extract m.onnx w -o w.npz",
    "set m.onnx author=me -o e.onnx --json",
    "set m.onnx doc_string=text -o f.onnx", "rename-tensor m.onnx w v -o g.onnx",
    "edit m.onnx n.onnx --prune --set-dims N=1", "edit m.onnx n.onnx --dedupe --dry-run --json",
    "merge m.onnx m.onnx o.onnx --prefix b.", "merge m.onnx m.onnx o.onnx --prefix b. --dry-run",
    "cp m.onnx h.onnx", "mv h.onnx i.onnx", "bench m.onnx --rounds 1", "demo --keep k",
    "--version", "help", "show --help",
]  # fmt: skip
# What needs a package, and which.
NEEDING = {
    "check m.onnx --full": ("google", "onnx"),
    "edit m.onnx p.onnx --infer-shapes": ("google", "onnx"),
    "run m.onnx": ("onnxruntime",),
    "run m.onnx --alone --json": ("onnxruntime",),
    "report m.onnx -o r.html": ("jinja2", "squarify"),
    "show m.textproto": ("google",),
    "ls m.json": ("google",),
    "save m.onnx j.textproto": ("google",),
    "diff m.onnx m.textproto": ("google",),
    "show memory://m.onnx": ("fsspec",),
    "cp https://127.0.0.1:9/m.onnx l.onnx": ("aiohttp", "fsspec"),
}


NEEDED = sorted({name for names in NEEDING.values() for name in names})
OTHERS = [name for name in PACKAGES if name not in NEEDED]
# One or two packages that lines need, with as many that no line needs, and all of the latter; if
# EXHAUSTIVE, each package alone.
HIDDEN = (
    [(name,) for name in PACKAGES]
    if EXHAUSTIVE
    else [*((*NEEDED[i::4], *OTHERS[i::4]) for i in range(4)), tuple(OTHERS)]
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = onnxmap.make_graph(
        [onnxmap.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [onnxmap.make_tensor_value_info("x", 1, ["N"])],
        [onnxmap.make_tensor_value_info("y", 1, [4])],
        [onnxmap.make_tensor("w", 1, [4], np.arange(4, dtype=np.float32))],
    )
    for name in ("m.onnx", "m.textproto", "m.json"):
        onnxmap.save(onnxmap.make_model(made), tmp_path / name)
    return tmp_path


def results(folder: Path, lines: list[str], *hidden: str) -> dict[str, list[object]]:
    return facts_from(CHILD, ",".join(hidden), str(folder), *lines)


def test_every_command_is_tried() -> None:
    assert {line.split()[0] for line in [*LINES, *NEEDING]} >= set(COMMANDS)


@pytest.mark.parametrize("hidden", HIDDEN, ids=" ".join)
def test_only_what_needs_a_package_fails_without_it(folder: Path, hidden: tuple[str, ...]) -> None:
    """Lines that need none run without those that no line needs; the next test hides all."""
    every = EXHAUSTIVE or hidden == tuple(OTHERS)
    lines = [line for line in LINES if every and not line.startswith(("bench", "demo"))]
    for line, (status, said) in results(folder, [*lines, *NEEDING], *hidden).items():
        absent = [name for name in NEEDING.get(line, ()) if name in hidden or not find_spec(name)]
        if line in lines:
            assert (status, said) == (0, ""), line
        elif absent:
            assert (status, str(said).count("\n")) == (2, 1), (line, said)
            assert f"[{PACKAGES[absent[0]]}]" in str(said) or "[onnx]" in str(said), line
        else:
            assert status in (0, 2), (line, said)  # the URLs lead nowhere
            assert "pip install" not in str(said), line


def test_without_any_of_them(folder: Path) -> None:
    pytest.importorskip("onnx")
    for line, (status, said) in results(folder, LINES, *PACKAGES).items():
        assert (status, said) == (0, ""), line
    wanted = {
        "check m.onnx --full": "'onnxmap[onnx]'",
        "check m.textproto --full": "'onnxmap[onnx,proto]'",
        "edit m.textproto p.onnx --infer-shapes": "'onnxmap[onnx,proto]'",
        "run m.onnx": "'onnxmap[ort]'",
        "run m.json": "'onnxmap[ort,proto]'",
        "run memory://m.onnx": "'onnxmap[ort,remote]'",
        "save m.onnx m.textproto": "'onnxmap[proto]'",
        "show memory://m.onnx": "'onnxmap[remote]'",
        "show s3://bucket/m.onnx": "'onnxmap[remote]'",
    }
    for line, (status, said) in results(folder, list(wanted), *PACKAGES).items():
        assert status == 2, (line, said)
        assert str(said).startswith("onnxmap: ")
        assert str(said).endswith(f"pip install {wanted[line]}\n")


def test_completion_names_its_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    found = results(folder, ["show m.onnx"], "argcomplete")
    status, said = found["show m.onnx"]
    assert status == 2
    assert str(said).endswith("pip install 'onnxmap[cli]'\n")
