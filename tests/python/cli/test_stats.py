"""`onnxmap stats`: the table, the order, names, JSON, and what it refuses."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from support.models.hard_names import EVIL_NAME, save, tensor
from support.processes.command_line import Run, piped

import onnxmap


@pytest.fixture
def path(tmp_path: Path) -> Path:
    values = {
        "w.10": np.float32([[0, 1], [2, 5]]),
        "w.2": np.array([math.nan, math.inf, -3, 0], np.float16),
        "count": np.int64(-(2**63)),
        EVIL_NAME: np.array([], np.float32),
    }
    path = tmp_path / "m.onnx"
    save(path, *(tensor(name, array) for name, array in values.items()))
    return path


def names(out: str) -> list[str]:
    return [line.split()[0] for line in out.splitlines()[1:]]


def test_a_line_for_each_tensor_and_the_total(run: Run, path: Path) -> None:
    ran = run("stats", path)
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    heading = ["name", "type", "shape", "min", "max", "mean", "std", "zeros", "nan", "inf"]
    assert lines[0].split() == heading
    assert lines[1].split() == (
        ["w.10", "FLOAT", "[2,2]", "0", "5", "2", "1.87083", "25.00", "%", "0", "0"]
    )
    assert lines[2].split() == (
        ["w.2", "FLOAT16", "[4]", "-3", "0", "-1.5", "1.5", "25.00", "%", "1", "1"]
    )
    assert lines[3].split()[:5] == ["count", "INT64", "[]", str(-(2**63)), str(-(2**63))]
    assert lines[4].split()[-7:] == ["-", "-", "-", "-", "0", "0", "0"]
    assert lines[5].split()[:2] == ["total", str(-(2**63))]
    assert re.sub(r"[\n\t]", "", ran.out).isprintable()


def test_some_tensors(run: Run, path: Path) -> None:
    assert names(run("stats", path, "w.*").out) == ["w.10", "w.2", "total"]
    assert names(run("stats", path, "count", "w.2").out) == ["w.2", "count", "total"]
    ran = run("stats", path, "w.3")
    assert ran.status == 2
    assert "no tensor is named 'w.3'; did you mean" in ran.err


@pytest.mark.parametrize(
    ("key", "first"),
    [("name", "count"), ("count", "w.2"), ("min", "count"), ("max", "w.10"), ("mean", "count"),
     ("std", "w.10"), ("nan", "w.2"), ("inf", "w.2"), ("zeros", "w.2")],
)  # fmt: skip
def test_the_order(run: Run, path: Path, key: str, first: str) -> None:
    shown = names(run("stats", path, "w.*", "count", "--sort", key).out)
    assert shown[0] == first
    assert shown[-1] == "total"
    assert sorted(shown) == ["count", "total", "w.10", "w.2"]
    if key in ("min", "max", "mean", "std"):  # which one tensor, without values, has not
        assert names(run("stats", path, "--sort", key).out)[:3] == shown[:3]


def test_json(run: Run, path: Path) -> None:
    out = run("stats", path, "--json").out
    rows = json.loads(out)
    assert len(out.splitlines()) == len(rows) == 5
    assert rows[0] == {
        "name": "w.10", "dtype": "FLOAT", "shape": [2, 2], "count": 4, "finite": 4, "min": 0.0,
        "max": 5.0, "mean": 2.0, "std": math.sqrt(3.5), "zeros": 1, "nans": 0, "infinities": 0,
    }  # fmt: skip
    assert rows[2]["min"] == -(2**63)
    assert (rows[3]["name"], rows[3]["mean"]) == (EVIL_NAME, None)
    assert rows[4] | {"min": 0, "max": 0, "mean": 0, "std": 0} == {
        "name": None, "dtype": None, "shape": None, "count": 9, "finite": 7, "min": 0, "max": 0,
        "mean": 0, "std": 0, "zeros": 2, "nans": 1, "infinities": 1,
    }  # fmt: skip


def test_complex_means_are_pairs(run: Run, tmp_path: Path) -> None:
    save(tmp_path / "m.onnx", tensor("c", np.complex64([1 + 2j, 3 - 4j])))
    rows = json.loads(run("stats", tmp_path / "m.onnx", "--json").out)
    assert [row["mean"] for row in rows] == [[2.0, -1.0]] * 2
    assert "2-1j" in run("stats", tmp_path / "m.onnx").out


def test_histograms(run: Run, path: Path) -> None:
    lines = run("stats", path, "w.*", "count", "--histogram").out.splitlines()
    assert lines[0].split("\t")[-1] == "histogram"
    shown = {line.split("\t")[0]: line.split("\t")[-1] for line in lines[1:]}
    assert shown == {
        "w.10": "█  █  █        █", "w.2": "█" + " " * 14 + "█",
        "count": " " * 15 + "█", "total": "",
    }  # fmt: skip
    rows = json.loads(run("stats", path, "--histogram", "--json").out)
    counts, edges = np.histogram(np.float64([0, 1, 2, 5]), 16)
    assert rows[0]["histogram"] == {"counts": counts.tolist(), "edges": edges.tolist()}
    assert sum(rows[1]["histogram"]["counts"]) == 2
    assert rows[3]["histogram"] == {"counts": [0] * 16, "edges": np.linspace(0, 1, 17).tolist()}
    assert rows[4]["histogram"] is None
    assert "histogram" not in json.loads(run("stats", path, "--json").out)[0]


def test_histograms_where_there_are_none(run: Run, tmp_path: Path) -> None:
    save(tmp_path / "m.onnx", tensor("c", np.complex64([1 + 2j, 3 - 4j])))
    rows = json.loads(run("stats", tmp_path / "m.onnx", "--histogram", "--json").out)
    assert [row["histogram"] for row in rows] == [None, None]
    assert run("stats", tmp_path / "m.onnx", "--histogram").out.splitlines()[1].endswith("\t")


def test_histograms_in_ascii(tmp_path: Path) -> None:
    values = np.repeat(np.arange(16), 2 ** np.arange(16) // 1)
    save(tmp_path / "m.onnx", tensor("w", values))
    ran = piped(
        "stats", tmp_path / "m.onnx", "--histogram", environment={"PYTHONIOENCODING": "ascii"}
    )
    assert ran.stdout.splitlines()[1].split("\t")[-1] == "_____________.=#"
    ran = piped(
        "stats", tmp_path / "m.onnx", "--histogram", environment={"PYTHONIOENCODING": "utf-8"}
    )
    assert ran.stdout.splitlines()[1].split("\t")[-1] == "▁▁▁▁▁▁▁▁▁▁▁▁▁▂▄█"


def test_no_initializers(run: Run, tmp_path: Path) -> None:
    save(tmp_path / "m.onnx")
    assert names(run("stats", tmp_path / "m.onnx").out) == ["total"]


def test_what_cannot_be_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"\xff")
    for name in ("bad.onnx", "gone.onnx"):
        ran = run("stats", tmp_path / name)
        assert (ran.status, ran.out) == (2, "")
        assert len(ran.err.splitlines()) == 1


def test_the_same_numbers_as_the_method(path: Path) -> None:
    """In a process of its own."""
    rows = json.loads(piped("stats", path, "--json").stdout)
    stats = onnxmap.load(path).stats()
    assert [(row["mean"], row["std"]) for row in rows] == [
        (found.mean, found.std) for found in [*stats.values(), stats.total]
    ]
