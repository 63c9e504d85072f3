"""A loop of n single edits, with look-ups between them, takes n times as long as one.

tests/cpp/model/followed_list_test.cpp counts how many elements of a list such look-ups read.
"""

from __future__ import annotations

import gc
import time
from functools import cache

import pytest
from support.edits.loops import LOOPS, chain
from support.run_options import LONG, SANITIZED

import onnxmap

pytestmark = pytest.mark.skipif(SANITIZED, reason="nothing is timed under ASan")

SIZE = 4_000 if LONG else 1_000
GROWTH = 4
MOST_TIMES = 8  # quadratic work takes 16 times as long; as far from 4 as from 16
TRIES = 6  # the fastest counts


@cache
def model_of(size: int) -> onnxmap.Model:
    return chain(size)


def seconds(name: str, size: int) -> float:
    model = model_of(size)
    gc.collect(0)
    gc.disable()
    try:
        started = time.process_time()
        LOOPS[name](model, size)
        return time.process_time() - started
    finally:
        gc.enable()
        model.revert()


def growth(name: str) -> float:
    """How many times as long a loop of more edits takes, in the best of some tries."""
    small = large = float("inf")
    for _ in range(TRIES):
        large = min(large, seconds(name, GROWTH * SIZE))
        small = min(small, seconds(name, SIZE))
        if large < MOST_TIMES * small:
            break
    return large / small


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_of_edits_takes_linear_time(name: str) -> None:
    assert growth(name) < MOST_TIMES


def test_reverts_of_one_model_take_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What earlier reverts have left costs nothing."""

    def loop(_: onnxmap.Model, count: int) -> None:
        model = chain(3)
        for i in range(count):
            model.graph.doc_string = f"edit {i}"
            model.revert()

    monkeypatch.setitem(LOOPS, "reverts", loop)
    assert growth("reverts") < MOST_TIMES


def test_a_quadratic_loop_is_found() -> None:
    def loop(model: onnxmap.Model, count: int) -> None:
        for i in range(0, count, 10):
            model.graph.nodes[i].op_type = "Mul"
            model.graph.op_types()

    LOOPS["planted"] = loop
    try:
        assert growth("planted") >= MOST_TIMES
    finally:
        del LOOPS["planted"]
