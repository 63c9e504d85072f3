"""docs/from_onnx.md: both columns of each table are run, and their results compared."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onnxmap
from onnxmap.cli import main

PAGE = Path(__file__).parents[3] / "docs/from_onnx.md"
SECTIONS = dict(re.findall(r"(?ms)^## (\S+)\n(.*?)(?=^## |\Z)", PAGE.read_text()))
LIBRARIES = {"onnx", "onnx-ir", "safetensors", "onnx-graphsurgeon"}


def rows(section: str) -> list[tuple[str, str, str]]:
    """The jobs of a table, with the code of both columns."""
    cells = re.findall(r"^\| (\w.*?) \| (`.*`) \| (`.*`) \|$", section, re.MULTILINE)
    return [
        (job, *("\n".join(re.findall(r"`([^`]*)`", code)) for code in both)) for job, *both in cells
    ]


def run(code: str, names: dict[str, Any]) -> object:
    """Run code, and return the value of its last line if that is an expression."""
    *before, last = ast.parse(code).body
    if not isinstance(last, ast.Expr):
        before.append(last)
    exec(compile(ast.Module(before, []), str(PAGE), "exec"), names)  # noqa: S102 -- our own page
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), str(PAGE), "eval"), names)
    return None


def plain(value: Any) -> object:
    """A value that can be compared with that of another library."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tolist() if value.dtype == object else value.tobytes()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if hasattr(value, "SerializeToString"):
        return value.SerializeToString()
    return value


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_both_columns_do_the_same(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--keep", ".", "--json"]) == 0
    onnxmap.save_safetensors(onnxmap.load("demo.onnx"), "w.safetensors", "layers.*")
    theirs: dict[str, Any] = {}
    ours: dict[str, Any] = {}
    table = rows(SECTIONS[library])
    compared = 0
    for job, left, right in table:
        expected, found = run(left, theirs), run(right, ours)
        if expected is not None and found is not None:
            assert plain(found) == plain(expected), job
            compared += 1
    assert compared >= 4


def test_every_table_is_run() -> None:
    assert SECTIONS.keys() == LIBRARIES
    for name, section in SECTIONS.items():
        lines = [line for line in section.splitlines() if line.startswith("| ")]
        assert len(rows(section)) == len(lines) - 1 >= 9, name
