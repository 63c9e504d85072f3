"""Checks of hostile files: linear time, bounded findings and memory, no crash, lost files."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from onnx import ModelProto
from support.checks.rules import check_all, counts_of, found
from support.checks.valid_models import CHECKED_MODELS
from support.checks.worst_models import IMPORTS, SHAPES, nested, node, uses
from support.hostile.wire_mutator import mutant
from support.models.small import SMALL_MODELS
from support.processes.subprocesses import facts_from, growth_kib
from support.processes.work import Work, too_steep
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

import onnxmap

pytestmark = pytest.mark.filterwarnings("ignore:.*occurs more than once")

SIZES = 50, 500
MUTANTS = 100_000 if LONG else 10_000 if EXHAUSTIVE else 1_000
DEPTH = 100  # the default limit


def loaded(shape: str, n: int, folder: Path) -> tuple[bytes, onnxmap.Model]:
    data = SHAPES[shape](n)
    (folder / "w.bin").write_bytes(bytes(n + 8))
    return data, onnxmap.loads(data, external_root=folder)


@pytest.mark.skipif(SANITIZED, reason="nothing is counted under ASan")
@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_with_the_file(shape: str, tmp_path: Path) -> None:
    for per_element in (0, 10):

        def prepare(n: int, per_element: int = per_element) -> tuple[bytes, Work]:
            data, model = loaded(shape, n, tmp_path)
            return data, lambda: check_all(model, 10 + per_element * n)

        assert not too_steep(prepare, SIZES), f"{per_element} findings of each element"


@pytest.mark.skipif(SANITIZED, reason="nothing is counted under ASan")
@pytest.mark.parametrize(
    "shape",
    [
        "empty initializers",
        "bad sparse tensors",
        "bad tensors of nodes",
        "overlapping external data",
    ],
)
def test_work_grows_with_an_edited_model(shape: str, tmp_path: Path) -> None:
    """The parts of an edited model are anywhere in memory, so that the path of one must be sought.

    A check knows the path.
    """

    def prepare(n: int) -> tuple[bytes, Work]:
        data, model = loaded(shape, n, tmp_path)
        model.proto.graph.name = "edited"
        model.proto.graph.node.add(op_type="Op")
        return data, lambda: check_all(model, 10)

    assert not too_steep(prepare, SIZES)


@pytest.mark.parametrize("shape", SHAPES)
def test_findings_are_capped_and_counted(shape: str, tmp_path: Path) -> None:
    _, model = loaded(shape, 100, tmp_path)
    all_counts, every = counts_of(model)
    assert every == sum(all_counts.values())
    counts, kept = counts_of(model, most=3)
    assert counts == all_counts
    assert kept == sum(min(count, 3) for count in all_counts.values())


def test_only_wanted_rules_are_looked_for() -> None:
    model = onnxmap.loads(SHAPES["nodes that are empty"](5))
    report = model.check(select="node.outputs")
    assert [each.rule for each in report] == ["node.outputs"] * 5
    assert report.counts == {"node.outputs": 5}


def test_very_many_empty_nodes() -> None:
    n = 1_000_000 if EXHAUSTIVE else 100_000
    counts, kept = counts_of(onnxmap.loads(SHAPES["nodes that are empty"](n)), most=2)
    assert counts["node.op_type"] == counts["node.outputs"] == n
    assert kept == 2 * len([rule for rule, count in counts.items() if count > 1]) + len(
        [rule for rule, count in counts.items() if count == 1]
    )


def test_nesting_to_the_limit() -> None:
    """Each level of subgraphs is three messages deep."""
    levels = (DEPTH - 4) // 3
    data = nested(levels, node(uses(b"u"))) + IMPORTS
    places = [where for rule, where in found(data) if rule == "value.undefined"]
    assert len(places) == 1
    assert places[0].count(".g.") == levels
    with pytest.raises(onnxmap.LimitError):
        onnxmap.loads(nested(DEPTH, b"") + IMPORTS)


@pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")
@pytest.mark.parametrize(
    "shape",
    ["nodes that are empty", "undefined values", "one value made again", "unsorted nodes",
     "specifications and inputs", "attributes of a node", "functions that call one",
     "undefined values deep down"],
)  # fmt: skip
def test_memory_is_a_small_multiple_of_the_file(shape: str) -> None:
    facts = growth_kib(
        f"__import__('support.checks.worst_models').checks.worst_models.SHAPES[{shape!r}](40_000)",
        "from support.checks.rules import check_all\n    check_all(onnxmap.loads(data), 10)",
    )
    assert facts["growth"] / facts["size"] < 40


CUT = """
import os
import onnxmap
from support.checks.rules import found_in
from support.checks.worst_models import SHAPES
data = SHAPES[sys.argv[2]](20_000)
codes = {}
for watch in (True, False):
    for left in (0, 1 << 16):
        path = os.path.join(sys.argv[1], f"{watch} {left}.onnx")
        with open(path, "wb") as file:
            file.write(data)
        model = onnxmap.load(path, io="mmap", watch=watch)
        os.truncate(path, left)
        try:
            found_in(model, values=True)
            codes[f"{watch} {left}"] = "none"
        except onnxmap.FileChangedError as error:
            codes[f"{watch} {left}"] = error.code
report(codes=codes)
"""


@pytest.mark.parametrize("shape", ["initializers", "unsorted nodes", "functions"])
def test_a_file_that_is_cut_off(tmp_path: Path, shape: str) -> None:
    codes = facts_from(CUT, str(tmp_path), shape)["codes"]
    assert codes == dict.fromkeys(
        ["True 0", "True 65536", "False 0", "False 65536"], "file.changed"
    )


def test_mutants_are_checked_without_a_crash() -> None:
    rng = random.Random(5)
    seeds = [*CHECKED_MODELS.values(), *SMALL_MODELS.values()]
    checked = broken = 0
    for _ in range(MUTANTS):
        data = mutant(rng, seeds, ModelProto.DESCRIPTOR)
        try:
            model = onnxmap.loads(data)
        except onnxmap.OnnxMapError:
            continue
        checked += 1
        broken += bool(counts_of(model)[0])
    assert checked > MUTANTS / 3
    assert broken > checked / 3
