"""What checks find: the one place of the tests that knows how a check is called."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import onnxmap
from onnxmap import _core

RULES = [rule[0] for rule in _core.rules()]
LEVELS = {rule[0]: rule[1] for rule in _core.rules()}
MOST = 1000

Found = list[tuple[str, str]]


def check(document: Any, values: bool, strict: bool, most: int = MOST) -> tuple[Any, list[int]]:
    """Return the findings and their counts, as the extension has them."""
    wanted = [strict or LEVELS[rule] != "strict" for rule in RULES]
    return _core.check_rules(document, wanted, most, values)


def found_in(model: Any, values: bool = False, strict: bool = False) -> Found:
    """Return the rule and the path of each finding in a model or an operator set."""
    findings, _ = check(_document(model), values, strict)
    return [(RULES[rule], where) for rule, where, _ in findings]


def counts_of(model: Any, values: bool = False, most: int = MOST) -> tuple[Counter[str], int]:
    """Return how often each rule is broken, and how many findings are kept."""
    findings, counts = check(_document(model), values, True, most)
    broken = {rule: count for rule, count in zip(RULES, counts, strict=True) if count}
    return Counter(broken), len(findings)


def found(data: bytes | Path, values: bool = False, strict: bool = False) -> Found:
    """Return the rule and the path of each finding in a model file, or in its bytes."""
    model = onnxmap.load(data) if isinstance(data, Path) else onnxmap.loads(data)
    return found_in(model, values, strict)


def errors_in(data: bytes, values: bool = True) -> Found:
    """Return the findings that are errors."""
    return [each for each in found(data, values) if LEVELS[each[0]] == "error"]


def _document(model: Any) -> Any:
    return model._document
