"""Random programs of verbs of surgery on random models: results stay, and no rule is broken."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.readers.whole_models import disagreement
from support.run_options import EXHAUSTIVE, LONG, SANITIZED
from support.surgery.models import Feed, feed_of
from support.surgery.programs import EDITS_BEFORE, FEEDS, MAKERS, VERBS, errors, results
from support.surgery.random_models import random_model

import onnxmap

PROGRAMS = 5 if SANITIZED else 2_000 if EXHAUSTIVE else 12
SIZE = 10
# `make models` downloads some.
MODELS = sorted(Path(os.environ.get("ONNXMAP_TEST_MODELS", "/nonexistent")).glob("**/*.onnx"))


def run(data: bytes, rng: random.Random, feeds: Sequence[Feed]) -> Counter[str]:
    """Run a program, and return which verbs did something."""
    first = model = onnxmap.loads(data)
    wanted, broken = results(model, feeds), errors(model)
    done: Counter[str] = Counter()
    program = []
    for _ in range(SIZE):
        verb = rng.choice([*VERBS, *MAKERS])
        program.append(verb)
        before = onnxmap.dumps(model)
        source = model
        try:
            if verb in MAKERS:
                model = MAKERS[verb](model, rng, feeds[0])
                assert onnxmap.dumps(source) == before, program
            else:
                VERBS[verb](model, rng, feeds[0])
        except (ValueError, onnxmap.UnknownNameError):
            assert verb in EDITS_BEFORE or onnxmap.dumps(model) == before, program
            continue
        done[verb] += onnxmap.dumps(model) != before
        assert errors(model) <= broken, program
        found = results(model, feeds)
        if verb not in MAKERS:
            assert wanted.items() <= found.items(), program
        assert all(wanted.get(name, value) == value for name, value in found.items()), program
        wanted = found
    assert disagreement(model) == ""
    first.revert()
    assert onnxmap.dumps(first) == data
    return done


def test_results_stay() -> None:
    done: Counter[str] = Counter()
    for seed in range(PROGRAMS):
        data = random_model(seed).SerializeToString()
        assert errors(onnxmap.loads(data)) == set()
        done += run(data, random.Random(f"verbs {seed}"), FEEDS)
    if not SANITIZED:
        assert set(done) == {*VERBS, *MAKERS}


@pytest.mark.skipif(not MODELS, reason="ONNXMAP_TEST_MODELS names no directory of models")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_results_of_published_models_stay(path: Path) -> None:
    data = path.read_bytes()
    feeds = [feed_of(data)]
    done: Counter[str] = Counter()
    for seed in range(20 if LONG else 3):
        done += run(data, random.Random(f"{path.name} {seed}"), feeds)
    assert len(done) >= 5  # verbs that changed something


@pytest.mark.skipif(SANITIZED, reason="the models alone; no line of the core runs")
def test_the_models_have_all_parts() -> None:
    text = "".join(str(random_model(seed)) for seed in range(PROGRAMS))
    for part in ('"If"', '"Constant"', '"Both"', "then_branch", "quantization_annotation"):
        assert text.count(part) > 3, part
