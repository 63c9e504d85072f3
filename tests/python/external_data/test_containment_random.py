"""Random links: onnxmap opens exactly the files that the rules allow, with openat2 and without."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from support.containment.child import NO_OPENAT2, NO_PROC, facts_after
from support.containment.random_links import RandomTree, Walk, disagreements
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

pytestmark = pytest.mark.skipif(SANITIZED, reason="random_links_test does the same in C++")

TREES = 2_000 if LONG else 100 if EXHAUSTIVE else 20


def all_were_met(met: dict[str, int]) -> bool:
    codes = {"contained": ["opens", "ext.unsafe_path", "ext.missing", "ext.location"]}
    codes |= {"strict": codes["contained"], "trusted": ["opens", "ext.missing", "ext.location"]}
    return all(met[f"{policy} {code}"] >= 5 for policy in codes for code in codes[policy])


def kernel_s(path: Path) -> str:
    try:
        return "ext.location" if stat.S_ISDIR(path.stat().st_mode) else "opens"
    except OSError:
        return "ext.missing"


def test_the_walk_agrees_with_the_kernel(tmp_path: Path) -> None:
    for seed in range(TREES):
        tree = RandomTree(tmp_path / str(seed), seed)
        for name in tree.locations:
            verdict = Walk(tree.roots, "trusted").verdict(name)
            assert verdict.code == kernel_s(tree.roots[0] / name), (seed, name)


def test_with_openat2(tmp_path: Path) -> None:
    found, met = disagreements(tmp_path, range(TREES))
    assert found == []
    assert all_were_met(met), met


@pytest.mark.parametrize(
    "steps", [(NO_OPENAT2,), (NO_OPENAT2, NO_PROC)], ids=["with /proc", "without /proc"]
)
def test_without_openat2(tmp_path: Path, steps: tuple[str, ...]) -> None:
    code = """
    found, met = random_links.disagreements(folder, range(int(arguments[0])))
    report(found=found, met=met)
    """
    facts = facts_after(steps, code, tmp_path, str(TREES))
    assert facts["found"] == []
    assert all_were_met(facts["met"]), facts["met"]
