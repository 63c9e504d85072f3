"""Random programs of verbs of surgery on random models: results stay, and no rule is broken."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from support.readers.whole_models import disagreement
from support.run_options import EXHAUSTIVE, SANITIZED
from support.surgery.programs import EDITS_BEFORE, MAKERS, VERBS, errors, results
from support.surgery.random_models import random_model

import onnxmap

PROGRAMS = 5 if SANITIZED else 2_000 if EXHAUSTIVE else 12
SIZE = 10


def run(seed: int) -> Counter[str]:
    """Run a program, and return which verbs did something."""
    rng = random.Random(f"verbs {seed}")
    data = random_model(seed).SerializeToString()
    first = model = onnxmap.loads(data)
    wanted, broken = results(model), errors(model)
    assert broken == set()
    done: Counter[str] = Counter()
    for _ in range(SIZE):
        verb = rng.choice([*VERBS, *MAKERS])
        before = onnxmap.dumps(model)
        source = model
        try:
            if verb in MAKERS:
                model = MAKERS[verb](model, rng)
                assert onnxmap.dumps(source) == before, verb
            else:
                VERBS[verb](model, rng)
        except (ValueError, onnxmap.UnknownNameError):
            assert verb in EDITS_BEFORE or onnxmap.dumps(model) == before, verb
            continue
        done[verb] += onnxmap.dumps(model) != before
        assert errors(model) == set(), (seed, verb)
        found = results(model)
        if verb not in MAKERS:
            assert wanted.items() <= found.items(), (seed, verb)
        assert all(wanted.get(name, value) == value for name, value in found.items()), (seed, verb)
        wanted = found
    assert disagreement(model) == ""
    first.revert()
    assert onnxmap.dumps(first) == data
    return done


def test_results_stay() -> None:
    done: Counter[str] = Counter()
    for seed in range(PROGRAMS):
        done += run(seed)
    if not SANITIZED:
        assert set(done) == {*VERBS, *MAKERS}


@pytest.mark.skipif(SANITIZED, reason="the models alone; no line of the core runs")
def test_the_models_have_all_parts() -> None:
    text = "".join(str(random_model(seed)) for seed in range(PROGRAMS))
    for part in ('"If"', '"Constant"', '"Both"', "then_branch", "quantization_annotation"):
        assert text.count(part) > 3, part
