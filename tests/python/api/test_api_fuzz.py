"""Random calls of the whole public interface return, or raise an allowed error. See `api_fuzz`.

The long form (`ONNXMAP_TEST_LONG=1`) starts from a new seed. It runs for `ONNXMAP_FUZZ_MINUTES`,
ten by default.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.api_fuzz.rules import LEFT_OUT, members_of
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

import onnxmap

HERE = Path(__file__).parents[1]
FUZZ = "support.api_fuzz"
pytest.importorskip("fsspec")
SEQUENCES = 60 if EXHAUSTIVE else 40 if SANITIZED else 10


def fuzz(journal: Path, *arguments: str, timeout: float = 600) -> dict[str, Any]:
    """Run the fuzzer. If it ends badly, fail with the lines of its last sequence."""
    command = [sys.executable, "-m", FUZZ, "--journal", str(journal), *arguments]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(HERE)}
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, check=False, env=environment
    )
    if result.returncode != 0:
        lines = journal.read_text() if journal.exists() else ""
        pytest.fail(
            f"{' '.join(command)} ended with {result.returncode}\n{result.stderr[-6000:]}\n"
            f"To run the sequence again: PYTHONPATH=tests/python python -m {FUZZ} --replay FILE\n"
            f"with these lines in FILE:\n{lines}"
        )
    facts: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return facts


def test_a_short_run(tmp_path: Path) -> None:
    facts = fuzz(tmp_path / "journal", "--seed", "short", "--sequences", str(SEQUENCES))
    assert facts["lines"] > 50 * SEQUENCES


@pytest.mark.skipif(not LONG, reason="ONNXMAP_TEST_LONG is not set")
def test_a_long_run(tmp_path: Path) -> None:
    minutes = float(os.environ.get("ONNXMAP_FUZZ_MINUTES", "10"))
    seed = os.environ.get("ONNXMAP_FUZZ_SEED", str(time.time_ns()))
    arguments = ["--seed", seed, "--sequences", "1000000000", "--seconds", str(60 * minutes)]
    fuzz(tmp_path / "journal", *arguments, timeout=60 * minutes + 300)


@pytest.mark.skipif(SANITIZED, reason="the same calls are found without sanitizers")
def test_every_class_and_member_is_reached(tmp_path: Path) -> None:
    """Only calls that the fuzzer finds itself count. A class out of its reach fails this test."""
    facts = fuzz(tmp_path / "journal", "--tour")
    calls = facts["calls"]
    missing = []
    for name in onnxmap.__all__:
        value = getattr(onnxmap, name)
        if callable(value) and f"onnxmap.{name}" not in calls:
            missing.append(name)
        if not inspect.isclass(value) or issubclass(value, (BaseException, int)):
            continue
        own = [member for member in members_of(value) if not member.startswith("_")]
        missing += [f"{name}.{own_one}" for own_one in own if f"{name}.{own_one}" not in calls]
    assert missing == []


@pytest.mark.skipif(SANITIZED, reason="the same calls are made without sanitizers")
@pytest.mark.skipif(not EXHAUSTIVE, reason="ONNXMAP_TEST_EXHAUSTIVE is not set")
def test_the_same_seed_makes_the_same_calls(tmp_path: Path) -> None:
    runs = []
    for name in "ab":
        journal = tmp_path / name
        fuzz(journal, "--seed", "same", "--first", "3", "--sequences", "1")
        runs.append(journal.read_text())
    assert runs[0] == runs[1]
    assert runs[0].startswith("# seed same, sequence 3\n")
    replayed = tmp_path / "replayed"
    fuzz(replayed, "--replay", str(tmp_path / "a"))
    assert replayed.read_text().splitlines()[1:] == runs[0].splitlines()[1:]


def test_each_member_that_is_left_out_has_a_reason() -> None:
    assert all(LEFT_OUT.values())
