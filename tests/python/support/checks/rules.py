"""What checks find: the one place of the tests that knows how a check is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

import onnxmap
from onnxmap import _core

RULES = [rule[0] for rule in _core.rules()]
LEVELS = {rule[0]: rule[1] for rule in _core.rules()}
REQUIREMENTS = {rule[0]: rule[2] for rule in _core.rules()}

Found = list[tuple[str, str]]
# Rules that many models of the tests break: they have own operators, segments, or parts that
# nothing uses, and say little about themselves.
OF_TEST_MODELS = {
    "operator.not_described", "graph.initializer_unused", "function.unused",
    "model.opset_import_unused", "tensor.segment_used", "model.no_domain", "model.producer",
    "graph.doc_string", "attribute.doc_string",
}  # fmt: skip


def found_in(
    model: Any,
    values: bool = False,
    strict: bool = False,
    ignore: Collection[str] = frozenset(OF_TEST_MODELS),
) -> Found:
    """Return the rule and the path of each finding in a model or an operator set."""
    options: dict[str, Any] = {"strict": strict, "ignore": ignore}
    if not isinstance(model, onnxmap.OperatorSet):
        options["values"] = values
    return [(each.rule, each.where) for each in model.check(**options)]


def found(data: bytes | Path, values: bool = False, strict: bool = False) -> Found:
    """Return the rule and the path of each finding in a model file, or in its bytes."""
    model = onnxmap.load(data) if isinstance(data, Path) else onnxmap.loads(data)
    return found_in(model, values, strict)


def errors_in(data: bytes | Path, values: bool = True) -> Found:
    """Return the findings that are errors."""
    return [each for each in found(data, values) if LEVELS[each[0]] == "error"]


def check_all(model: Any, most: int) -> tuple[list[tuple[int, str, str]], list[int]]:
    """Look for every rule, and in values; return the findings and their counts.

    Unlike `Model.check`, it says how many findings of a rule are kept.
    """
    return _core.check_rules(model.proto, [True] * len(RULES), most, True)


def counts_of(model: Any, most: int = 1000) -> tuple[Counter[str], int]:
    """Return how often each rule is broken, and how many findings are kept."""
    findings, counts = check_all(model, most)
    broken = {rule: count for rule, count in zip(RULES, counts, strict=True) if count}
    return Counter(broken), len(findings)
