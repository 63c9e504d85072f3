"""Which rules need the operators: the core and the package both have a list of them."""

from __future__ import annotations

import re
from pathlib import Path

from support.checks.rules import RULES

from onnxmap._read.checks import chosen_rules

ROOT = Path(__file__).parents[3]


def test_the_operators_are_looked_up_for_no_rule_that_is_left() -> None:
    """One such rule made a check without operators 1.4 times as much work."""
    source = (ROOT / "cpp/check/checking.cpp").read_text()
    needed = set(re.findall(r"rule == Rule::(\w+)", source))
    left_out = set(RULES) - chosen_rules(True, None, None, operators=False)
    others = {name for name in left_out if not name.startswith("operator.")}
    assert {name.replace(".", "_") for name in others} == needed
