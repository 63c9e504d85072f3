"""A loop of n single edits, with look-ups between them, takes n times as much work as one.

tests/cpp/model/followed_list_test.cpp counts how many elements of a list such look-ups read.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.edits.loops import LOOPS, Loop, chain, chain_file
from support.processes.work import Work, takes_steep_time, too_steep
from support.run_options import LONG, SANITIZED

import onnxmap

pytestmark = pytest.mark.skipif(SANITIZED, reason="nothing is counted under ASan")

SIZES = 300, 3_000


def edited_by(loop: Loop) -> Callable[[int], tuple[bytes, Work]]:
    def prepare(count: int) -> tuple[bytes, Work]:
        model = chain(count)

        def work() -> None:
            loop(model, count)
            model.revert()

        return chain_file(count), work

    return prepare


def names(count: int) -> list[bytes]:
    """One of each kind of element. The type of a node follows its name."""
    kinds = "w%d", "v%d", "k%d", 'n%d"\3Add', "F%d", "x%032d", "b%d"
    return [(kind % (3 * count // 8)).encode() for kind in kinds]


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_of_edits_takes_linear_work(name: str) -> None:
    assert not too_steep(edited_by(LOOPS[name]), SIZES, names)


@pytest.mark.skipif(not LONG, reason="compares times, which other processes can change")
def test_reverts_of_one_model_take_linear_time() -> None:
    """What earlier reverts have left costs nothing."""

    def work(count: int) -> None:
        model = chain(3)
        for i in range(count):
            model.graph.doc_string = f"edit {i}"
            model.revert()

    assert not takes_steep_time(lambda count: lambda: work(count), (4_000, 16_000))


def test_a_quadratic_loop_is_found() -> None:
    def loop(model: onnxmap.Model, count: int) -> None:
        for i in range(0, count, 10):
            model.graph.nodes[i].op_type = "Mul"
            model.graph.op_types()

    assert too_steep(edited_by(loop), SIZES, names)
